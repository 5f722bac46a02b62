"""A store outlives the version that made it: snapshots are set aside, logs are not."""

import gzip
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from living import SETTINGS, Clock, live, vote
from numpy.random import Generator

import duelwise
from duelwise.errors import Conflict, InvalidInput
from duelwise.storage import Store, open_store
from duelwise.storage.rows import ServerRow
from duelwise.stream import DecisionStream, StreamRegistry, StreamSettings, register
from duelwise.stream.arithmetic import ARITHMETIC
from duelwise.stream.repair import verify
from duelwise.stream.settings import LEFT_OUT

GOLDEN = Path(__file__).parents[1] / "golden"

OPEN = """
import hashlib, sys
from duelwise.stream import DecisionStream
with DecisionStream.open(sys.argv[1], "meals") as stream:
    folded = stream._replica.folded
    duel = stream.ask([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]])
    stream.tell(duel.ticket, "left")
    print(folded.restored_from, folded.learner.theta.tobytes().hex())
"""


def _open_with_another_version(folder: Path, url: str, change: dict[str, tuple[str, str]]) -> list[str]:
    """Open the stream with a copy of the package in which some lines were changed."""
    package = Path(duelwise.__file__).parent
    under_way = shutil.ignore_patterns("*.lock", "*.tmp.*")  # of who compiles at this moment
    shutil.copytree(package, folder / "duelwise", ignore=under_way)  # kernels on disk come along
    for file, (old, new) in change.items():
        path = folder / "duelwise" / file
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))
    done = subprocess.run(
        [sys.executable, "-c", OPEN, url],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "is set aside" not in done.stdout
    return done.stdout.split()


CHANGES = {
    "as it is": {},
    "a state array is renamed": {"stream/stream_state.py": ('SHARE = "learner."', 'SHARE = "model."')},
    "the arithmetic is raised": {
        "stream/arithmetic.py": (f"ARITHMETIC = {ARITHMETIC}\n", f"ARITHMETIC = {ARITHMETIC + 1}\n")
    },
    "the layout is raised": {"stream/arithmetic.py": ("FORMAT = ", "FORMAT = 7000 + ")},
}


@pytest.mark.parametrize("name", CHANGES)
def test_another_version_opens_an_old_stream(name: str, tmp_path: Path, rng: Generator) -> None:
    url = f"sqlite:///{tmp_path}/duels.db"
    with DecisionStream.create(url, "meals", SETTINGS) as stream:
        live(stream, rng, 80)
        seq, theta = stream.model_version, stream._replica.folded.learner.theta.tobytes().hex()
    restored_from, folded = _open_with_another_version(tmp_path / "other", url, CHANGES[name])
    assert folded == theta  # nothing was voted with a context since
    assert int(restored_from) == (seq if name == "as it is" else 0)
    with DecisionStream.open(url, "meals") as stream:  # and back again
        assert stream.model_version == seq + 2
        vote(stream, rng)
        assert verify(stream._store, "meals") == ()


# -- what 0.1 made ----------------------------------------------------------------------


@pytest.fixture
def golden(tmp_path: Path):
    with gzip.open(GOLDEN / "store.db.gz") as packed, (tmp_path / "store.db").open("wb") as file:
        shutil.copyfileobj(packed, file)
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    yield store
    store.close()


MADE_BY = {
    "plain": StreamSettings(context_dim=4, seed=2),
    "meals": StreamSettings(
        context_dim=3, post_dim=2, feature_names=("price", "stars", "way", "minutes", "warmth"), seed=4
    ),
    "exact": StreamSettings(
        context_dim=3, post_dim=1, recipe="rcdb", options={"estimate": "full-mle", "post_serving": "ridge"}
    ),
}
"""The calls in tools/golden.py that made the streams with 0.1."""


@pytest.mark.parametrize("name", MADE_BY)
def test_the_call_that_made_a_stream_in_0_1_finds_it(golden: Store, name: str) -> None:
    assert not register(golden, name, MADE_BY[name], at=0.0)
    with DecisionStream.create(golden, name, MADE_BY[name]) as stream:
        assert stream.settings.edition == 1
        assert stream.counts()["told"] > 0
    for other in (replace(MADE_BY[name], seed=7), replace(MADE_BY[name], vote_ttl_seconds=5)):
        with pytest.raises(Conflict, match="other settings"):
            register(golden, name, other, at=0.0)
    assert verify(golden, name) == ()


def test_a_default_that_changed_finds_what_was_the_default(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = SETTINGS.to_json().replace('"random_share": 0.0', '"random_share": 0.1')
    store.create_stream(name="meals", uid="u", settings=text, at=0.0)
    with pytest.raises(Conflict):
        register(store, "meals", SETTINGS, at=0.0)
    monkeypatch.setitem(LEFT_OUT, 2, {"random_share": 0.1})  # as if 0.0 were the default of a later edition
    assert not register(store, "meals", SETTINGS, at=0.0)
    with pytest.raises(Conflict):
        register(store, "meals", replace(SETTINGS, random_share=0.2), at=0.0)


def test_settings_of_a_later_version_are_refused_in_words(store: Store) -> None:
    text = SETTINGS.to_json()
    for later, says in (
        (text.replace('"edition": 2', '"edition": 9'), "editions up to 2"),
        (text.replace('"seed"', '"seeds"'), "no setting called 'seeds'. Did you mean 'seed'"),
        ("[]", "no JSON object"),
        ("{}", "'context_dim' is missing"),
    ):
        with pytest.raises(InvalidInput, match=says):
            StreamSettings.from_json(later)


# -- servers ----------------------------------------------------------------------------


def _serve_elsewhere(store: Store, arithmetic: int) -> None:
    store.servers.beat(ServerRow("other", "elsewhere, process 7", "9.9", arithmetic, 0.0))


def test_a_store_that_is_served_with_another_arithmetic_is_refused(store: Store, clock: Clock) -> None:
    _serve_elsewhere(store, ARITHMETIC + 1)
    with pytest.raises(Conflict, match=r"elsewhere, process 7 with Duelwise 9.9, arithmetic \d+; this is"):
        StreamRegistry(store, clock=clock)
    with pytest.raises(Conflict, match="two kinds of floats"):
        DecisionStream.create(store, "meals", SETTINGS, clock=clock)
    assert [server.id for server in store.servers.living(within=60)] == ["other"]
    store.servers.leave("other")
    StreamRegistry(store, clock=clock).close()
    assert store.servers.living(within=60) == []


def test_servers_of_one_arithmetic_share_a_store(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    _serve_elsewhere(store, ARITHMETIC)
    registry = StreamRegistry(store, clock=clock)
    assert len(store.servers.living(within=60)) == 2
    registry.close()
    assert [server.id for server in store.servers.living(within=60)] == ["other"]


def test_a_server_that_died_is_forgotten(store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    _serve_elsewhere(store, ARITHMETIC + 1)
    monkeypatch.setattr("duelwise.stream.heartbeat.LIFE_SECONDS", 0.0)
    registry = StreamRegistry(store, clock=clock)
    registry.close()
