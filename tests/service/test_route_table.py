"""What the interface promises of each route, and what each refusal is: clients are written against it."""

from __future__ import annotations

from pathlib import Path

import pytest

from duelwise.service import create_app
from duelwise.service.app import Application
from duelwise.service.problems import KINDS

STREAM = "/v1/streams/{name}"
STATUS = {
    "invalid-input": 422,
    "too-large": 413,
    "unknown-stream": 404,
    "unknown-ticket": 404,
    "unknown-item": 404,
    "conflict": 409,
    "expired": 410,
    "unauthorised": 401,
    "forbidden": 403,
    "folding": 503,
    "compiling": 503,
    "overloaded": 503,
    "too-many-requests": 429,
    "read-only": 503,
    "damaged": 503,
    "broken-stream": 503,
    "storage-failure": 503,
}


@pytest.fixture
def app(tmp_path: Path) -> Application:
    return create_app(f"sqlite:///{tmp_path}/duels.db")


def test_what_is_made_is_answered_with_201(app: Application) -> None:
    done: dict[str, list[str]] = {}
    for path, methods in app.openapi()["paths"].items():
        for method, said in methods.items():
            done[f"{method.upper()} {path}"] = sorted(code for code in said["responses"] if code < "300")
    assert {route: codes for route, codes in done.items() if codes != ["200"]} == {
        "POST /v1/streams": ["200", "201"],  # 200: it was there
        f"POST {STREAM}/ask": ["201"],
        f"POST {STREAM}/derive": ["201"],
    }


def test_only_a_retraction_may_come_without_a_body(app: Application) -> None:
    free: list[str] = []
    for path, methods in app.openapi()["paths"].items():
        free += [path for said in methods.values() if said.get("requestBody", {}).get("required") is False]
    assert free == [f"{STREAM}/tickets/{{ticket}}/retract"]


def test_what_one_process_decides_is_answered_there(app: Application) -> None:
    """All that is about one stream, but its log, which is read from the store, and a stream made from it."""
    elsewhere = {f"{one.method} {one.path}" for one in app.endpoints if not one.at_home}
    about_one = {text for text in elsewhere if "{name}" in text}
    assert about_one == {f"GET {STREAM}/export", f"POST {STREAM}/derive"}
    assert {"GET /v1/streams", "POST /v1/streams", "GET /healthz"} <= elsewhere


def test_every_refusal_has_its_status() -> None:
    assert {kind.name: kind.status for kind in KINDS.values()} == STATUS
