"""What happened to a learner in raw numbers, kept while ranges are learned, so that it can be told again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

import numpy as np

from duelwise.learning.event_batch import EventBatch
from duelwise.learning.scaling.ranges import spread
from duelwise.types import (
    AnyArray,
    Array,
    Contexts,
    Duel,
    Event,
    Forgotten,
    IntArray,
    Snapshot,
    Taught,
    Votes,
)

KINDS: tuple[type[Event], ...] = (Duel, Contexts, Votes, Forgotten, Taught)
NO_SOURCE = -1

E = TypeVar("E", bound=Event)


class RawHistory:
    """Events in their order; many that came as columns stay columns."""

    def __init__(self, *, runs: int, context_dim: int, post_dim: int) -> None:
        self._runs, self._context_dim, self._post_dim = runs, context_dim, post_dim
        self.parts: list[Event | EventBatch] = []
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def append(self, event: Event) -> None:
        self.parts.append(event)
        self._length += 1

    def extend(self, gathered: EventBatch) -> None:
        """Events that have happened together; what is filled again later is copied."""
        self.parts += [gathered] if gathered.is_whole else map(with_offer, gathered.one_by_one())
        self._length += len(gathered)

    def clear(self) -> None:
        self.parts.clear()
        self._length = 0

    @property
    def events(self) -> list[Event]:
        """One by one."""
        each: list[Event] = []
        for part in self.parts:
            each += map(with_offer, part.one_by_one()) if isinstance(part, EventBatch) else [part]
        return each

    def offers(self) -> Array:
        """(n, R, 2, dx) the least and greatest value of every feature that each ask offered."""
        each = [event.offered for event in self.events if isinstance(event, Duel)]
        kept = [one for one in each if one is not None]
        return stacked(kept, (self._runs, 2, self._context_dim))

    def contexts(self) -> Array:
        """(n, R, 2, dy) likewise of what became known after serving; NaN in runs of which nothing did."""
        each = [
            spread_of_pairs(event, runs=self._runs) for event in self.events if isinstance(event, Contexts)
        ]
        return stacked(each, (self._runs, 2, self._post_dim))

    def snapshot(self) -> Snapshot:
        """Columns: the kind and size of each event, and what its kind holds, row by row."""
        events = self.events
        duels = [event for event in events if isinstance(event, Duel)]
        contexts = [event for event in events if isinstance(event, Contexts)]
        votes = [event for event in events if isinstance(event, Votes)]
        taught = [event for event in events if isinstance(event, Taught)]
        named = [event for event in events if not isinstance(event, Duel)]
        pair = (self._runs, 2)
        return {
            "kind": np.array([KINDS.index(type(event)) for event in events], np.int64),
            "size": np.array([_size(event) for event in events], np.int64),
            "run": _joined([np.atleast_1d(event.run) for event in named]),
            "round": _joined([_rounds(event) for event in named]),
            "y": np.concatenate([np.empty((0, 2, self._post_dim)), *(event.y for event in contexts)]),
            "imputed": np.array([event.imputed for event in contexts], np.bool_),
            "taught_x": np.concatenate([np.empty((0, 2, self._context_dim)), *(e.x for e in taught)]),
            "taught_y": np.concatenate([np.empty((0, 2, self._post_dim)), *(e.y for e in taught)]),
            "wanted": np.array([event.wanted for event in duels], np.int64),
            "outcome": np.concatenate([np.empty(0), *(event.outcome for event in votes)]),
            "source": _joined([_sources(event) for event in votes]),
            "arms": np.array([event.arms for event in duels], np.int64).reshape(-1, *pair),
            "x": stacked([event.x for event in duels], (*pair, self._context_dim)),
            "predicted": stacked([event.predicted for event in duels], (*pair, self._post_dim)),
            "offered": self.offers(),
        }

    def restore(self, state: Snapshot) -> None:
        rows, contexts, votes = (iter(range(len(state[name]))) for name in ("run", "y", "outcome"))
        imputed, taught = iter(state["imputed"].tolist()), iter(range(len(state["taught_y"])))
        self.clear()
        round = 0
        for kind, size in zip(state["kind"].tolist(), state["size"].tolist(), strict=True):
            if KINDS[kind] is Duel:
                arms, x, predicted, offered, wanted = (
                    state[name][round] for name in ("arms", "x", "predicted", "offered", "wanted")
                )
                self.append(Duel(round, arms, x, predicted, offered, int(wanted)))
                round += 1
                continue
            at = [next(rows) for _ in range(size)]
            run, rounds = state["run"][at], state["round"][at]
            if KINDS[kind] is Contexts:
                y = state["y"][[next(contexts) for _ in at]]
                self.append(Contexts(run, rounds, y, next(imputed)))
            elif KINDS[kind] is Taught:
                own = [next(taught) for _ in at]
                self.append(Taught(run, state["taught_x"][own], state["taught_y"][own]))
            elif KINDS[kind] is Votes:
                own = [next(votes) for _ in at]
                source: IntArray = state["source"][own]
                known = None if NO_SOURCE in source else source
                self.append(Votes(run, rounds, state["outcome"][own], known))
            else:
                self.append(Forgotten(int(run[0]), int(rounds[0])))


def with_offer(event: E) -> E:
    """A duel says what it was chosen from; where nobody noted it, the pair itself."""
    if isinstance(event, Duel) and event.offered is None:
        return event._replace(offered=spread(event.x))
    return event


def spread_of_pairs(contexts: Contexts, *, runs: int) -> Array:
    """(R, 2, dy) the least and greatest value of each run's pair; NaN in runs of which nothing is known."""
    both = np.full((runs, *contexts.y.shape[1:]), np.nan)
    for side in range(2):
        np.fmin.at(both[:, 0], contexts.run, contexts.y[:, side])
        np.fmax.at(both[:, 1], contexts.run, contexts.y[:, side])
    return both


def stacked(each: Iterable[Array], shape: tuple[int, ...]) -> Array:
    """(n, *shape), also where n is 0."""
    found = list(each)
    return np.array(found, np.float64) if found else np.empty((0, *shape))


def _size(event: Event) -> int:
    return len(event.run) if isinstance(event, Contexts | Votes | Taught) else 1


def _rounds(event: Event) -> AnyArray:
    return np.full(len(event.run), -1) if isinstance(event, Taught) else np.atleast_1d(event.round)


def _sources(votes: Votes) -> IntArray:
    return np.full(len(votes.run), NO_SOURCE) if votes.source is None else votes.source


def _joined(each: list[AnyArray]) -> IntArray:
    return np.concatenate([np.empty(0, np.int64), *each])
