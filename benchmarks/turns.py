"""What a transaction of the live path costs: by itself, for each stream in it, for each request.

    python -m benchmarks.turns [--page docs/decisions/the-live-path.md]

Asks and tells (10 candidates, 10 features) of one to eight streams share a transaction, as a service makes
it but without HTTP. Processor time of this process is taken in turns over several sizes, and

    transaction + streams * stream + requests * request

is fitted to the least of each. The server's own time is not in it.
"""

from __future__ import annotations

import argparse
import itertools
import select
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.random import Generator

from benchmarks.processes import database, postgresql
from benchmarks.timing import write_between_marks
from duelwise.storage import Store, open_store
from duelwise.stream import DecisionStream, StreamSettings
from duelwise.stream.operations import Ask, Decision, Operation, Tell
from duelwise.stream.postgres_turns import begin_postgres_turn
from duelwise.stream.replica import ALONE_SECONDS
from duelwise.stream.sqlite_turns import Answers, Busy, begin_sqlite_turn
from duelwise.stream.warming import warm_once

STREAMS, CANDIDATES, FEATURES = 8, 10, 10
SIZES = tuple(itertools.product((1, 2, 4, 8), (1, 2, 4)))  # streams, and asks and as many votes of each
WARM_TURNS, TURNS, REPEATS = 100, 60, 9

Groups = list[tuple[DecisionStream, list[Operation]]]
Commit = Callable[[Store, Groups], list[Answers]]


def on_sqlite(store: Store, groups: Groups) -> list[Answers]:
    """As one process of several does it: decided ahead of the file's lock."""
    turn = begin_sqlite_turn(store, groups, ahead=True)
    while not turn.lock():
        pass
    turn.commit()
    return turn.finish()


def on_postgresql(store: Store, groups: Groups) -> list[Answers]:
    try:
        turn = begin_postgres_turn(store, groups)
    except Busy:  # once a minute there is more to do
        return [stream.commit(operations) for stream, operations in groups]

    def received() -> None:
        connection = turn.connection
        while not connection.receive():
            select.select([connection], [connection] if connection.is_unsent else [], [], 10)

    if turn.asks:
        received()
    turn.decide()
    received()
    return turn.finish()


class Load:
    """Clients that ask, and vote on what they were shown the time before."""

    def __init__(self, store: Store, commit: Commit, rng: Generator) -> None:
        settings = StreamSettings(context_dim=FEATURES)
        warm_once(settings)
        self._store, self._commit = store, commit
        self._streams = [DecisionStream.create(store, f"bench{i}", settings) for i in range(STREAMS)]
        self._shown: list[list[str]] = [[] for _ in self._streams]
        self._offers = rng.random((64, CANDIDATES, FEATURES))

    def turn(self, streams: int, asks: int) -> None:
        groups: Groups = []
        for stream, shown in zip(self._streams[:streams], self._shown, strict=False):
            votes: list[Operation] = [Tell(ticket, "left") for ticket in shown[:asks]]
            del shown[:asks]
            groups.append((stream, [*votes, *(Ask(x) for x in self._offers[:asks])]))
        for shown, answers in zip(self._shown, self._commit(self._store, groups), strict=False):
            shown += [answer.ticket for answer in answers if isinstance(answer, Decision)]

    def microseconds(self, streams: int, asks: int) -> float:
        began = time.process_time()
        for _ in range(TURNS):
            self.turn(streams, asks)
        return (time.process_time() - began) / TURNS * 1e6


def fitted(taken: dict[tuple[int, int], float]) -> tuple[Sequence[float], float]:
    """What a transaction, a stream and a request cost, and how far the fit is off at most."""
    parts = np.array([(1.0, streams, 2 * streams * asks) for streams, asks in taken])
    measured = np.array(list(taken.values()))
    relative = parts / measured[:, None]
    costs, *_ = np.linalg.lstsq(relative, np.ones(len(measured)), rcond=None)
    return costs.tolist(), float(np.abs(relative @ costs - 1).max())


def measured(store: Store, commit: Commit) -> dict[tuple[int, int], float]:
    """Least processor time of a transaction of each size, in µs."""
    load, first = Load(store, commit, np.random.default_rng(0)), max(SIZES)
    time.sleep(ALONE_SECONDS)  # nobody else writes: nothing has to be asked for
    for _ in range(WARM_TURNS):
        load.turn(*first)
    turns = [{size: load.microseconds(*size) for size in SIZES} for _ in range(REPEATS)]
    return {size: min(turn[size] for turn in turns) for size in SIZES}


def row(name: str, taken: dict[tuple[int, int], float]) -> str:
    (transaction, stream, request), off = fitted(taken)
    return f"| {name} | {transaction:.0f} | {stream:.0f} | {request:.0f} | {off:.0%} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--page", type=Path, help="a page to write the table into, between its marks")
    given = parser.parse_args()
    lines = [
        "| µs of processor time | a transaction | each stream in it | each request | off by at most |",
        "|---|---|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"sqlite:///{folder}/turns.db")
        lines.append(row("SQLite", measured(store, on_sqlite)))
        store.close()
    with postgresql() as server:
        store = open_store(database(server, "turns"))
        store.open_pipeline()
        lines.append(row("PostgreSQL", measured(store, on_postgresql)))
        store.close()
    text = "\n".join([*lines, ""])
    print(text)
    if given.page is not None:
        write_between_marks(given.page, "turns", text)


if __name__ == "__main__":
    main()
