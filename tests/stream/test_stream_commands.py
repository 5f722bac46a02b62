"""What the library can do to a stream, the command line can."""

import json
from pathlib import Path
from typing import cast

import pytest
from living import live
from numpy.random import Generator
from typer.testing import CliRunner, Result

from duelwise.cli import app
from duelwise.errors import DuelwiseError, InvalidInput, UnknownItem, UnknownName
from duelwise.storage import open_store
from duelwise.stream import DecisionStream, StreamSettings, setting_fields


def run(*words: str) -> Result:
    result = CliRunner().invoke(app, words)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


SETTINGS = StreamSettings(
    context_dim=3, post_dim=1, recipe="rcdb", options={"post_serving": "ridge"}, seed=3, random_share=0.1,
    feature_names=("price", "stars", "way", "minutes"), vote_ttl_seconds=60, keep_candidates=True, edition=2,
    position_bias=True,
)  # fmt: skip


def test_every_setting_is_an_option(url: str) -> None:
    words = ["create", "meals"]
    for name, value in SETTINGS.to_dict().items():
        flag = f"--{name.replace('_', '-')}"
        if isinstance(value, bool):
            words += [flag]
        elif isinstance(value, list):
            words += [flag, ",".join(map(str, value))]
        else:
            words += [flag, json.dumps(value) if isinstance(value, dict) else str(value)]
    run(*words)
    with DecisionStream.open(url, "meals") as stream:
        assert stream.settings == SETTINGS
    help = run("create", "--help").output
    assert [one.name for one in setting_fields() if f"--{one.name.replace('_', '-')}"[:14] not in help] == []
    with pytest.raises(InvalidInput, match="'context_dim' is missing"):
        run("create", "other")


@pytest.fixture
def tickets(url: str, rng: Generator) -> list[str]:
    with DecisionStream.create(url, "meals", SETTINGS) as stream:
        return [ticket for ticket in live(stream, rng, 60) if stream.ticket(ticket).state == "told"]


def test_votes_are_retracted_reported_and_renamed(url: str, tickets: list[str]) -> None:
    assert "1 votes" in run("retract", "meals", tickets[0], tickets[0]).output
    report = json.loads(run("stream-report", "meals").output)
    assert report["counts"]["retracted"] == 1
    assert not report["rebuild_is_due"]
    name = report["down_weighted_sources"][0]["source"]
    assert "called 'erased-" in run("erase-source", "meals", name).output
    renamed = json.loads(run("stream-report", "meals").output)
    assert renamed["coefficients"] == report["coefficients"]
    sources = {one["source"] for one in renamed["down_weighted_sources"]}
    assert name not in sources
    pseudonym = next(source for source in sources if source.startswith("erased-"))
    assert "0 votes" not in run("retract-source", "meals", pseudonym).output


def test_duels_are_closed(url: str, tickets: list[str]) -> None:
    assert "0 duels" in run("expire", "meals").output
    closed = run("expire", "meals", "--older-than", "0", "--confirm-clock").output
    assert "0 duels" not in closed
    assert json.loads(run("stream-report", "meals").output)["pending"] == 0


def test_a_stream_is_derived_with_other_columns(url: str, tickets: list[str], tmp_path: Path) -> None:
    file = str(tmp_path / "meals.jsonl")
    run("backup", "meals", file)
    run("derive", file, "ratings", "--columns", "minutes,rating=stars,price", "--recipe", "rcdp-ucb")
    run("derive", file, "plain", "--columns", "way,price", "--context-dim", "2")
    for option, value in (("--context-dim", "3"), ("--post-dim", "1"), ("--feature-names", "price,way")):
        with pytest.raises(InvalidInput, match="columns that are kept make it"):
            run("derive", file, "other", "--columns", "way,price", option, value)
    store = open_store(url)
    with DecisionStream.open(store, "meals") as old, DecisionStream.open(store, "ratings") as new:
        assert new.settings.feature_names == ("rating", "price", "minutes")
        assert (new.settings.context_dim, new.settings.post_dim, new.settings.recipe) == (2, 1, "rcdp-ucb")
        assert new.counts() == old.counts()
        asked = [old.ticket(tickets[0]).history[0].details, new.ticket(tickets[0]).history[0].details]
        assert [row[1::-1][:1] + row[:1] for row in cast("list[list[float]]", asked[0]["x"])] == asked[1]["x"]
    with DecisionStream.open(store, "plain") as plain:
        assert plain.settings.post_dim == 0
        assert plain.counts()["told"] >= len(tickets)
    store.close()
    with pytest.raises(UnknownName, match="Did you mean 'stars'"):
        run("derive", file, "wrong", "--columns", "star")
    with pytest.raises(DuelwiseError, match="already a stream"):
        run("derive", file, "plain")


def test_damage_is_told_in_words(url: str, tickets: list[str]) -> None:
    assert "follows from the log" in run("verify", "meals").output
    store = open_store(url)
    with store._changing() as connection:
        connection.exec_driver_sql("UPDATE tickets SET state = 'asked' WHERE round = 0")
    found = run("verify", "meals")
    assert found.exit_code == 1
    assert "rows of 1 tickets differ" in found.output
    assert "1 tickets were written anew" in run("repair", "meals").output
    assert "nothing was changed" in run("repair", "meals").output
    with store._changing() as connection:
        connection.exec_driver_sql("UPDATE events SET payload = zeroblob(9) WHERE seq = 1")
    store.close()
    assert "kept in the table cut_events" in run("repair", "meals").output


def test_a_stream_and_its_backup_are_audited_alike(url: str, tickets: list[str], tmp_path: Path) -> None:
    file = str(tmp_path / "meals.jsonl")
    run("backup", "meals", file)
    found = [json.loads(run("audit", log, "--json").output) for log in ("meals", file)]
    assert found[0] == found[1]
    assert found[0]["votes"] > 5
    run("audit", file, "--html", str(tmp_path / "audit.html"))
    assert "Audit of meals" in (tmp_path / "audit.html").read_text()


def test_json_is_all_that_is_printed(url: str, tickets: list[str], tmp_path: Path) -> None:
    found = run("audit", "meals", "--json", "--html", str(tmp_path / "audit.html"))
    assert json.loads(found.stdout)["votes"] > 5
    (tmp_path / "new.csv").write_text("id,price,stars,way\nsoup,1,2,3\nrice,3,4,5\n")
    loaded = run("items", "meals", "--load", str(tmp_path / "new.csv"), "--withdraw", "rice", "--json")
    assert json.loads(loaded.stdout) == {"added": 2, "changed": 0, "same": 0, "withdrawn": 1}


def test_a_withdrawal_that_is_refused_says_what_was_loaded(
    url: str, tickets: list[str], tmp_path: Path
) -> None:
    (tmp_path / "new.csv").write_text("id,price,stars,way\nsoup,1,2,3\nrice,3,4,5\n")
    words = ["items", "meals", "--load", str(tmp_path / "new.csv"), "--withdraw"]
    with pytest.raises(InvalidInput, match="id of an item"):
        run(*words, "caf\u00e9")
    assert "0 items in all" in run("items", "meals").output
    with pytest.raises(UnknownItem, match=r"no item 'stew'.*The items of .*new.csv were loaded"):
        run(*words, "stew")
    assert "2 items in all" in run("items", "meals").output
