"""Tables of the terminal show names as they are."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Thread

import pytest
from typer.testing import CliRunner

from duelwise.cli import app
from duelwise.cli.outputs import table_of
from duelwise.stream import DecisionStream, StreamSettings


@pytest.fixture
def store(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'duels.db'}"
    with DecisionStream.create(
        url, "meals", StreamSettings(context_dim=1, feature_names=("[/m]",))
    ) as stream:
        stream.put_items([{"id": "soup [new]", "features": [1.0]}, {"id": "[/]", "features": [0.0]}])
        for round in range(4):
            stream.tell(stream.ask().ticket, "left", source=("bot [red]", "[/]")[round % 2])
    return url


def shown(*words: str) -> str:
    told = CliRunner().invoke(app, words, catch_exceptions=False, env={"COLUMNS": "80"})
    assert told.exit_code == 0
    return told.stdout


@pytest.mark.parametrize(
    ("command", "name"), [("rank", "soup [new]"), ("items", "soup [new]"), ("raters", "bot [red]")]
)
def test_brackets_in_a_name_are_no_style(store: str, command: str, name: str) -> None:
    lines = shown(command, "meals", "--store", store)
    cells = {cell.strip() for line in lines.splitlines() for cell in line.split("│")}
    assert name in cells or set(name.split()) <= cells  # on one line, or folded at the blank
    assert "[/]" in cells
    assert command != "items" or "[/m]" in lines


def test_a_table_of_raters_has_the_columns_that_say_something(store: str, tmp_path: Path) -> None:
    assert "gold" not in shown("raters", "meals", "--store", store)
    assert "distr" not in shown("raters", "meals", "--store", store)
    gold = tmp_path / "gold.csv"
    gold.write_text("better,worse\nsoup [new],[/]\n")
    assert "gold" in shown("raters", "meals", "--gold", str(gold), "--store", store)


def test_a_long_name_of_a_stream_is_folded_and_not_cut(tmp_path: Path) -> None:
    store, name = f"sqlite:///{tmp_path / 'duels.db'}", "s" * 150
    DecisionStream.create(store, name, StreamSettings(context_dim=1)).close()
    assert shown("streams", "--store", store).count("s") >= 150
    assert "…" not in shown("streams", "--store", store)


def test_an_empty_column_is_left_out_and_the_heads_of_an_empty_table_stay() -> None:
    assert [str(column.header) for column in table_of(("a", "b"), [("1", ""), ("2", "")]).columns] == ["a"]
    assert [str(column.header) for column in table_of(("a", "b"), []).columns] == ["a", "b"]


def test_where_nothing_has_a_name_yet_that_is_said(store: str) -> None:
    told = CliRunner().invoke(app, ["keys", "revoke", "till", "--store", store])
    assert "no key called 'till'. There is none yet." in str(told.exception)


@pytest.mark.parametrize("words", [("backup",), ("votes", "--format", "csv")])
def test_what_goes_into_a_pipe_is_the_content_alone(
    store: str, tmp_path: Path, words: tuple[str, ...]
) -> None:
    pipe, heard = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = Thread(target=lambda: heard.append(pipe.read_text()), daemon=True)
    reader.start()
    told = CliRunner().invoke(app, [*words, "meals", str(pipe), "--store", store], catch_exceptions=False)
    reader.join(10)
    assert len(heard[0].splitlines()) > 4
    assert (told.exit_code, told.stdout) == (0, "")
    assert "'meals'" in told.stderr
