"""How processes are started to serve, without starting any."""

from __future__ import annotations

import json
import logging
import socket
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from servers import free_port

from duelwise.errors import InvalidInput
from duelwise.service import ServiceSettings, serving
from duelwise.service.connections import GuardedProtocol
from duelwise.service.logs import JsonLines
from duelwise.service.serving import ProcessArguments


def arguments(**fields: Any) -> ProcessArguments:
    usual = {
        "store": "sqlite:///s.db",
        "settings": ServiceSettings(),
        "host": "127.0.0.1",
        "port": free_port(),
    }
    return ProcessArguments(**{**usual, "workers": 1, "secret": "secret", **fields})


@pytest.mark.parametrize("shared", [False, True])
def test_a_socket_is_shared_where_there_are_several(shared: bool) -> None:
    with serving._listening(arguments(), shared=shared) as listener:
        assert listener.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)
        assert bool(listener.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT)) == shared
        assert listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)


def test_a_port_that_is_taken_is_named() -> None:
    at = arguments()
    with (
        serving._listening(at, shared=False),
        pytest.raises(InvalidInput, match=rf"127\.0\.0\.1, port {at.port} cannot be listened on"),
    ):
        serving._listening(at, shared=False)


class Begun:
    """What `work` would begin."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.said: list[object] = []
        homes: list[tuple[object, ...]] = []

        def run(*_: object, sockets: list[socket.socket]) -> None:
            for one in sockets:
                self.said.append(bool(one.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT)))
                one.close()

        monkeypatch.setattr(serving, "log_to_stderr", lambda: None)
        monkeypatch.setattr(sys, "setswitchinterval", lambda seconds: self.said.append(seconds))
        monkeypatch.setattr(serving.gc, "set_threshold", lambda *_: None)
        monkeypatch.setattr(serving, "most_connections", lambda: 77)
        monkeypatch.setattr(GuardedProtocol, "most", 5)

        def homes_of(*given: object) -> SimpleNamespace:
            homes.append(given)
            return SimpleNamespace(take_connections=self.said.append)

        monkeypatch.setattr(serving, "Homes", homes_of)
        monkeypatch.setattr(serving, "create_app", lambda *_: None)
        monkeypatch.setattr(serving, "Server", lambda _: SimpleNamespace(run=run, adopt="adopted"))
        self.homes = homes


@pytest.mark.parametrize("workers", [1, 2])
def test_a_process_listens_alone_or_beside_others(workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = Begun(monkeypatch)
    serving.work(arguments(workers=workers), 1)
    assert begun.homes == [(1, workers, "secret")]
    assert begun.said == [serving.SWITCH_SECONDS, "adopted", workers > 1]
    assert GuardedProtocol.most == 77


@pytest.mark.parametrize("workers", [1, 2])
def test_one_process_works_itself_and_several_are_kept_alive(
    workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[tuple[object, ...]] = []
    monkeypatch.setattr(serving, "log_to_stderr", lambda: None)
    monkeypatch.setattr(serving, "work", lambda arguments, number: begun.append((arguments.port, number)))
    monkeypatch.setattr(serving, "keep_alive", lambda _, *told: begun.append((told[0].port, "kept", told[1])))
    port = free_port()
    serving.serve("sqlite:///s.db", ServiceSettings(), host="127.0.0.1", port=port, workers=workers)
    assert begun == [(port, 0) if workers == 1 else (port, "kept", 2)]


def test_a_line_of_the_log_is_an_object() -> None:
    record = logging.LogRecord("duelwise.service", logging.WARNING, "file", 1, "%d of %d", (1, 2), None)
    record.created, record.__dict__["request_id"] = 0.25, "mine"
    told = json.loads(JsonLines().format(record))
    assert told["at"] == "1970-01-01T00:00:00.250+00:00"
    assert (told["level"], told["message"], told["request_id"]) == ("warning", "1 of 2", "mine")
    assert "status" not in told
