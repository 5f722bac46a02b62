"""What 0.1 wrote is read by this version, and means the same to the last bit."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import numpy as np
import pytest

from duelwise.learning.learner import DuelingLearner
from duelwise.storage import open_store
from duelwise.stream import DecisionStream
from duelwise.stream.arithmetic import ARITHMETIC
from duelwise.stream.transfer import read_lines

GOLDEN = Path(__file__).parents[1] / "golden"
STREAMS = ("plain", "meals", "exact")


def assert_as_then(name: str, learner: DuelingLearner) -> None:
    """Floats that moved need another arithmetic number, and a file of what they are now."""
    file = GOLDEN / ("folded.npz" if ARITHMETIC == 1 else f"folded-{ARITHMETIC}.npz")
    assert file.exists(), (
        f"arithmetic {ARITHMETIC} needs {file.name}: tools/golden.py writes what a log folds to"
    )
    then = np.load(file)
    np.testing.assert_array_equal(learner.theta, then[f"{name}.theta"])
    for which in ("served", "arrived"):
        geometry = getattr(learner, f"{which}_geometry")
        for part in ("matrix", "inverse", "log_det"):
            np.testing.assert_array_equal(
                getattr(geometry, part), then[f"{name}.{which}.{part}"], err_msg=f"{which} {part}"
            )


@pytest.mark.parametrize("name", STREAMS)
def test_an_exported_log_folds_to_the_same_floats(name: str) -> None:
    with gzip.open(GOLDEN / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        log = read_lines(lines)
    assert_as_then(name, log.fold().learner)


@pytest.mark.parametrize("name", STREAMS)
def test_a_store_opens_with_the_same_state_and_goes_on(name: str, tmp_path: Path) -> None:
    with gzip.open(GOLDEN / "store.db.gz") as packed, (tmp_path / "store.db").open("wb") as file:
        shutil.copyfileobj(packed, file)
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    with DecisionStream.open(store, name) as stream:
        assert_as_then(name, stream._replica.folded.learner)
        duel = stream.ask(np.eye(stream.settings.context_dim))
        assert stream.tell(duel.ticket, "left").changed
    store.close()
