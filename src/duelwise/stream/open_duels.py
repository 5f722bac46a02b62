"""Pairs whose votes are not all learned from yet, in the user's units: what the belief is fed with."""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple, cast

import numpy as np

from duelwise.storage import JSON
from duelwise.stream.events import Asked
from duelwise.stream.settings import StreamSettings
from duelwise.types import Array, Snapshot

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

    def ask(self, asked: Asked) -> None:
        y = asked.predicted if asked.y is None else asked.y
        self._z[asked.round] = np.concatenate((self._sides.shown(asked.x, swapped=asked.swapped), y), axis=1)

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
