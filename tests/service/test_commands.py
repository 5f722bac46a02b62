"""The commands: serve's refusals, keys, and a stream from creation to repair."""

import json
import sqlite3
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from duelwise.cli import app
from duelwise.errors import Conflict, DuelwiseError, InvalidInput, UnknownStream
from duelwise.service.auth import hash_of
from duelwise.storage import open_store
from duelwise.stream import DecisionStream


def run(*words: str) -> Result:
    result = CliRunner().invoke(app, words)
    if isinstance(result.exception, DuelwiseError):
        raise result.exception
    return result


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    url = f"sqlite:///{tmp_path}/duels.db"
    monkeypatch.setenv("DUELWISE_STORE", url)
    return url


@pytest.fixture
def meals(store: str, tmp_path: Path) -> Path:
    """A stream with three imported duels; its file."""
    run("create", "meals", "--context-dim", "1", "--post-dim", "1", "--feature-names", "price,warmth")
    duels = tmp_path / "past.csv"
    duels.write_text(
        "left.price,right.price,left.warmth,right.warmth,winner,source,event_id\n"
        "1,2,60,40,left,ann,1\n2,1,50,50,tie,bob,2\n3,1,20,70,right,ann,3\n"
    )
    assert "3 duels" in run("import", "meals", str(duels)).output
    return duels


def test_keys_are_made_listed_and_revoked(store: str) -> None:
    token = run("keys", "add", "till", "--role", "write").stdout.splitlines()[0]
    opened = open_store(store)
    assert opened.keys.all()[0].hash == hash_of(token)
    opened.close()
    listed = run("keys", "list").output
    assert "till" in listed
    assert token not in listed
    run("keys", "revoke", "till")
    opened = open_store(store)
    assert opened.keys.all()[0].revoked_at is not None
    opened.close()
    with pytest.raises(InvalidInput, match="admin"):
        run("keys", "add", "boss", "--role", "admn")


def test_serving_the_network_without_keys_is_refused(store: str) -> None:
    with pytest.raises(InvalidInput, match="duelwise keys add"):
        run("serve", "--host", "0.0.0.0")


def test_a_limit_that_cannot_be_is_refused(store: str) -> None:
    with pytest.raises(InvalidInput, match="candidate_limit"):
        run("serve", "--candidate-limit", "1")


def test_an_import_twice_changes_nothing(meals: Path) -> None:
    assert "0 duels" in run("import", "meals", str(meals)).output
    assert "meals" in run("streams").output


def test_an_export_is_the_log(meals: Path) -> None:
    lines = [json.loads(line) for line in run("export", "meals").stdout.splitlines()]
    assert lines[0]["name"] == "meals"
    assert sum(line.get("kind") == "told" for line in lines) == 3


def test_a_backup_is_restored_float_for_float(meals: Path, store: str, tmp_path: Path) -> None:
    file = str(tmp_path / "meals.backup")
    run("backup", "meals", file)
    run("restore", file, "--store", f"sqlite:///{tmp_path}/other.db")
    with pytest.raises(Conflict):
        run("restore", file)
    with (
        DecisionStream.open(store, "meals") as old,
        DecisionStream.open(f"sqlite:///{tmp_path}/other.db", "meals") as new,
    ):
        assert old.snapshot_state() == new.snapshot_state()


def test_damage_is_found_and_repaired(meals: Path, tmp_path: Path) -> None:
    assert "as it was recorded" in run("verify", "meals").output
    assert "Nothing is damaged" in run("repair", "meals").output
    database = sqlite3.connect(tmp_path / "duels.db")
    database.execute("UPDATE events SET payload = zeroblob(9) WHERE seq = 4")
    database.commit()
    database.close()
    found = run("verify", "meals")
    assert found.exit_code == 1
    assert "4" in found.output
    assert "read-only" in run("streams").output
    assert "Set aside: 4" in run("repair", "meals").output
    assert "as it was recorded" in run("verify", "meals").output


def test_an_unknown_stream_is_named(meals: Path) -> None:
    with pytest.raises(UnknownStream):
        run("export", "meels")
    with pytest.raises(InvalidInput, match="--options"):
        run("create", "x", "--context-dim", "1", "--options", "{")
