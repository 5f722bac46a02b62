"""What 0.1 and 0.2 wrote is read by this version, and means the same to the last bit."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import numpy as np
import pytest
from tools.golden import floats, read_log

from duelwise.storage import open_store
from duelwise.stream import DecisionStream
from duelwise.stream.arithmetic import ARITHMETIC
from duelwise.stream.events import REWRITING, Rebuilt
from duelwise.stream.folding import fold
from duelwise.stream.stream_state import StreamState

GOLDEN = Path(__file__).parents[1] / "golden"
STREAMS = ("plain", "meals", "exact")  # of 0.1, in a store too


def assert_as_then(name: str, folded: StreamState) -> None:
    """Floats that moved need another arithmetic number, and a file of what they are now.

    Those of the belief may differ in the last bits: it takes exponentials and logarithms, of which NumPy and
    the C library have others for other processors. Without FMA the belief is 1e-15 off.
    """
    file = GOLDEN / f"folded-{ARITHMETIC}.npz"
    assert file.exists(), (
        f"arithmetic {ARITHMETIC} needs {file.name}: python tools/golden.py --fold writes it"
    )
    then = np.load(file)
    for key, now in floats(folded).items():
        before = then[f"{name}.{key}"]
        if key.startswith("belief."):
            np.testing.assert_allclose(now, before, rtol=1e-12, atol=1e-12 * abs(before).max(), err_msg=key)
        else:
            np.testing.assert_array_equal(now, before, err_msg=key)


@pytest.mark.parametrize("name", [*STREAMS, "several"])
def test_an_exported_log_folds_to_the_same_floats(name: str) -> None:
    assert_as_then(name, read_log(GOLDEN, name).fold())


def test_the_rebuilds_of_a_log_are_still_due_where_they_were() -> None:
    """Each follows a retraction, of one vote or of a whole duel that was open and had taught."""
    exported = read_log(GOLDEN, "several")
    rewriting = exported.log.of_kinds(REWRITING, upto=exported.log.head)
    rebuilt = [recorded.seq for recorded in rewriting if isinstance(recorded.event, Rebuilt)]
    assert len(rebuilt) == 12
    for seq in rebuilt:
        assert fold(exported.settings, exported.log, upto=seq - 1).ledger.rebuild_is_due


@pytest.mark.parametrize("name", STREAMS)
def test_a_store_opens_with_the_same_state_and_goes_on(name: str, tmp_path: Path) -> None:
    with gzip.open(GOLDEN / "store.db.gz") as packed, (tmp_path / "store.db").open("wb") as file:
        shutil.copyfileobj(packed, file)
    store = open_store(f"sqlite:///{tmp_path / 'store.db'}")
    with DecisionStream.open(store, name) as stream:
        assert_as_then(name, stream._replica.folded)
        duel = stream.ask(np.eye(stream.settings.context_dim))
        assert stream.tell(duel.ticket, "left").changed
    store.close()
