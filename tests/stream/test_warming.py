"""What a stream runs is compiled ahead: afterwards nobody waits for a compiler."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from duelwise.stream import warming
from duelwise.stream.settings import StreamSettings

PROGRAM = """
import json, os, sys
os.environ["NUMBA_CACHE_DIR"] = sys.argv[1]
from numba.core import event
from duelwise.learning.core.deferred_compilation import patience
from duelwise.stream import DecisionStream, StreamSettings
from duelwise.stream.operations import Ask, Observe, Tell
from duelwise.stream.warming import warm_once

settings = StreamSettings(**json.loads(sys.argv[2]))
warm_once(settings)
compiled = []

class Listener(event.Listener):
    def on_start(self, begun):
        compiled.append(str(begun.data["dispatcher"].py_func.__name__))

    def on_end(self, ended):
        pass

offer = [[0.1, 0.2, 0.3], [0.3, 0.1, 0.2], [0.2, 0.3, 0.1]]
with event.install_listener("numba:compile", Listener()), patience(0.0):
    with DecisionStream.create(f"sqlite:///{sys.argv[1]}/s.db", "s", settings) as stream:
        for _ in range(3):
            asked = stream.run([Ask(offer), Ask(offer)])
            if settings.post_dim:
                stream.run([Observe(one.ticket, [0.1, 0.2], [0.3, 0.4]) for one in asked])
            stream.run([Tell(one.ticket, "left") for one in asked])
print(json.dumps(compiled))
"""


@pytest.mark.long
@pytest.mark.parametrize(
    "settings",
    [{"context_dim": 3}, {"context_dim": 3, "post_dim": 2}, {"context_dim": 3, "recipe": "rcdp-ucb"}],
    ids=json.dumps,
)
def test_a_warm_stream_compiles_nothing(settings: dict[str, object], tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path), json.dumps(settings)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []


@pytest.mark.warms
def test_one_stream_of_a_kind_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[StreamSettings] = []
    monkeypatch.setattr(warming, "_play_some", played.append)
    monkeypatch.setattr(warming, "_known", set[str]())
    for context_dim, post_dim in ((9, 0), (5, 0), (5, 3), (5, 4)):
        warming.warm_once(StreamSettings(context_dim=context_dim, post_dim=post_dim))
    assert [(one.context_dim, one.post_dim) for one in played] == [(2, 0), (2, 1)]
