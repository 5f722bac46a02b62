"""Curves on disk: keyed by content, written whole, never mistaken for another."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from small import cells

from duelwise.errors import InvalidInput
from duelwise.lab.cells.experiment import Method
from duelwise.lab.cells.playing import play_cell
from duelwise.lab.sweep import keys
from duelwise.lab.sweep.runner import Runner
from duelwise.lab.sweep.store import CurveStore


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    store, curve = CurveStore(tmp_path), play_cell(cells()[0])
    store.write(curve)
    again = store.read(curve.cell)
    assert again.cell == curve.cell
    for name in ("rounds", "regret", "distinct_regret", "self_duels", "told", "flips_spent", "delay_spent"):
        np.testing.assert_array_equal(getattr(again, name), getattr(curve, name))
    assert (again.seconds, again.machine) == (curve.seconds, curve.machine)


def test_a_curve_is_thinned_and_ends_at_the_horizon() -> None:
    cell = cells()[0]
    curve = play_cell(replace(cell, problem=replace(cell.problem, horizon=450)))
    assert len(curve.rounds) == 200
    assert (curve.rounds[0], curve.rounds[-1]) == (1, 450)
    assert np.all(np.diff(curve.regret, axis=1) >= 0)


def test_other_settings_are_never_found(tmp_path: Path) -> None:
    store, curve = CurveStore(tmp_path), play_cell(cells()[0])
    store.write(curve)
    other = replace(curve.cell, method=Method(name="rcdp-ucb", exploration_width=0.11))
    assert Runner(store=store, jobs=1).missing([curve.cell, other]) == [other]


def test_a_file_under_a_wrong_name_is_refused(tmp_path: Path) -> None:
    store = CurveStore(tmp_path)
    one, other = cells()[:2]
    store.write(play_cell(one))
    shutil.copy(store.path(keys.key(one)), store.path(keys.key(other)))
    with pytest.raises(InvalidInput, match="another cell than its name says"):
        store.read(other)


def test_other_code_or_libraries_give_other_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = cells()[0]
    before = keys.key(cell)
    monkeypatch.setattr(keys, "versions", lambda: {"numpy": "1.0"})
    assert keys.key(cell) != before
    monkeypatch.undo()
    monkeypatch.setattr(keys, "code_digest", lambda: "other")
    assert keys.key(cell) != before


def test_a_leftover_of_a_killed_write_is_not_read(tmp_path: Path) -> None:
    store, cell = CurveStore(tmp_path), cells()[0]
    leftover = store.path(keys.key(cell)).with_name(f".{keys.key(cell)}.parquet.123")
    leftover.parent.mkdir(parents=True)
    leftover.write_bytes(b"torn")
    assert Runner(store=store, jobs=1).missing([cell]) == [cell]


PLAYED = """
import sys
from duelwise.lab.cells.experiment import decode_cell
from duelwise.lab.cells.playing import play_cell
play_cell(decode_cell(sys.argv[1]))
print(*(name for name in sys.modules if name.startswith("duelwise.")))
"""


def test_every_module_that_plays_is_part_of_the_key() -> None:
    """What a fresh process loads to play a cell, against the packages and files in the digest."""
    command = [sys.executable, "-c", PLAYED, cells()[0].canonical()]
    loaded = set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    making = tuple(f"duelwise.{package.replace('/', '.')}." for package in keys.NUMBERS)
    elsewhere = {name for name in loaded if not f"{name}.".startswith(making)} - {"duelwise.lab"}
    assert elsewhere == {f"duelwise.{name.removesuffix('.py')}" for name in keys.SHARED}


def test_a_key_does_not_depend_on_the_process() -> None:
    told = "from small import cells; from duelwise.lab.sweep.keys import key; print(key(cells()[0]))"
    found = subprocess.run(
        [sys.executable, "-c", told], capture_output=True, text=True, check=True, cwd=Path(__file__).parent
    ).stdout.strip()
    assert found == keys.key(cells()[0])
