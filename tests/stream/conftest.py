from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from living import SETTINGS, Clock

from duelwise.storage import Store, open_store
from duelwise.stream import DecisionStream


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Of a database that commands take for theirs."""
    monkeypatch.setenv("DUELWISE_STORE", f"sqlite:///{tmp_path}/duels.db")
    return f"sqlite:///{tmp_path}/duels.db"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(f"sqlite:///{tmp_path}/duels.db")
    yield opened
    opened.close()


@pytest.fixture
def stream(store: Store, clock: Clock) -> Iterator[DecisionStream]:
    made = DecisionStream.create(store, "meals", SETTINGS, clock=clock)
    yield made
    made.close()


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(7))
