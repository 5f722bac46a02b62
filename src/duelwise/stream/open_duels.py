"""Pairs whose votes are not all learned from yet, in the user's units: what the belief is fed with."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import compress, islice
from typing import NamedTuple, cast

import numpy as np

from duelwise.learning.core.sequence import HEARING, OBSERVING
from duelwise.storage import JSON
from duelwise.storage.rows import OPEN_STATES
from duelwise.stream.columns import Columns
from duelwise.stream.events import Asked
from duelwise.stream.settings import StreamSettings
from duelwise.types import Array, IntArray, Snapshot

SHARE = "duels."


class Heard(NamedTuple):
    """A vote that has come."""

    outcome: float
    source: str | None
    at: float


class LearnedVote(NamedTuple):
    """A vote as it was learned from."""

    round: int
    dz: Array  # (d,) first minus second, y as observed, and as expected where it never was
    outcome: float
    source: str | None
    at: float
    weight: float


class OpenDuels:
    """z (2, d) of each pair, and its votes in the order in which they came."""

    def __init__(self, settings: StreamSettings) -> None:
        self._dim, self._sides = settings.model_dim, settings.sides
        self._z: dict[int, Array] = {}
        self._heard: dict[int, list[Heard]] = {}
        # z and outcome of duels that were asked together, from round `_first` on, and votes on earlier ones.
        self._first, self._asked, self._outcome = 0, np.empty((0, 2, self._dim)), np.empty(0)
        self._told: dict[int, float] = {}
        self._sources: dict[int, str | None] = {}  # of the votes on both

    def ask(self, asked: Asked) -> None:
        x = self._sides.shown(asked.x, swapped=asked.swapped)
        y = asked.predicted if asked.y is None else asked.y
        self._z[asked.round] = np.concatenate((x, y), axis=1) if y.shape[1] else x

    def observe(self, round: int, y: Array) -> None:
        """Take over what is known of y (2, dy); NaN where it is not."""
        if round in self._z and y.shape[1]:
            known = self._z[round][:, -y.shape[1] :]
            known[...] = np.where(np.isnan(y), known, y)

    def pair(self, round: int) -> Array:
        """(2, d) z of a duel's pair as it is known by now, y as expected where it is not."""
        return self._z[round]

    def hear(self, round: int, vote: Heard) -> None:
        if round in self._z:
            self._heard.setdefault(round, []).append(vote)

    def learn(self, round: int, weight: float) -> LearnedVote | None:
        """The oldest vote of a duel that was not learned from yet."""
        waiting = self._heard.get(round)
        if not waiting:
            return None
        vote, z = waiting.pop(0), self._z[round]
        return LearnedVote(round, z[0] - z[1], vote.outcome, vote.source, vote.at, weight)

    def take_all(self, first: int, x: Array, events: Columns) -> None:
        """Plain events, whose first duel has this round: x (a, 2, dx) as shown. Until `keep` ends it."""
        asked, dx = events.asked, x.shape[2]
        y = np.where(asked.at_once[:, None, None], asked.y, asked.predicted)
        self._first, self._asked = first, np.concatenate((x, y), axis=2)
        seen = events.round[events.kind == OBSERVING]
        now = seen >= first
        self._asked[seen[now] - first, :, dx:] = events.y[now]
        for round, known in zip(seen[~now].tolist(), events.y[~now], strict=True):
            self.observe(round, known)
        told = events.round[events.kind == HEARING]
        now = told >= first
        self._outcome = np.empty(len(x))
        self._outcome[told[now] - first] = events.outcome[now]
        self._told = dict(zip(told[~now].tolist(), events.outcome[~now].tolist(), strict=True))
        self._sources = dict(zip(told.tolist(), events.source, strict=True))

    def learn_all(self, rounds: IntArray) -> tuple[Array, Array, list[str | None]]:
        """Δz (m, d), outcome (m,) and sources of the votes of these rounds (m,)."""
        now, dz, outcome = rounds >= self._first, np.empty((len(rounds), self._dim)), np.empty(len(rounds))
        pairs = self._asked[rounds[now] - self._first]
        dz[now], outcome[now] = pairs[:, 0] - pairs[:, 1], self._outcome[rounds[now] - self._first]
        for place in np.flatnonzero(~now).tolist():
            round = int(rounds[place])
            z, told = self._z[round], self._told.get(round)
            dz[place], outcome[place] = z[0] - z[1], self._heard[round][0].outcome if told is None else told
        known = self._sources
        sources = [known[k] if k in known else self._heard[k][0].source for k in rounds.tolist()]
        return dz, outcome, sources

    def keep(self, left: Mapping[int, str], events: Columns) -> None:
        """Of the duels of these rounds those whose state is open; of those asked together no others."""
        for round, state in left.items():
            if state not in OPEN_STATES:
                self.close(round)
            elif round >= self._first:
                self._z[round] = self._asked[round - self._first].copy()
        if "voted" in left.values():
            at = compress(events.rows.at, (events.kind == HEARING).tolist())
            told = events.round[events.kind == HEARING].tolist()
            votes = map(Heard, events.outcome.tolist(), events.source, at)
            for round, vote in zip(told, votes, strict=True):
                if left.get(round) == "voted":
                    self._heard[round] = [vote]
        self._asked, self._told, self._sources = self._asked[:0], {}, {}

    def close(self, round: int) -> None:
        """Nothing is waited for any more."""
        self._z.pop(round, None)
        self._heard.pop(round, None)

    def differences(self, most: int) -> Array:
        """(m, d) Δẑ of the latest duels of which no vote has come, oldest first."""
        latest = islice((z for round, z in reversed(self._z.items()) if round not in self._heard), most)
        found = [z[0] - z[1] for z in latest]
        return np.array(found[::-1]).reshape(-1, self._dim)

    def snapshot(self) -> tuple[dict[str, JSON], Snapshot]:
        heard = [[round, *vote] for round, votes in self._heard.items() for vote in votes]
        z = np.array(list(self._z.values())).reshape(-1, 2, self._dim)
        arrays: Snapshot = {SHARE + "round": np.fromiter(self._z, dtype=np.int64), SHARE + "z": z}
        return {"heard": cast("JSON", heard)}, arrays

    def restore(self, fields: dict[str, JSON], arrays: Snapshot) -> None:
        rounds: list[int] = arrays[SHARE + "round"].tolist()
        self._z = {round: z.copy() for round, z in zip(rounds, arrays[SHARE + "z"], strict=True)}
        self._heard = {}
        for round, outcome, source, at in cast("list[tuple[int, float, str | None, float]]", fields["heard"]):
            self._heard.setdefault(round, []).append(Heard(outcome, source, at))
