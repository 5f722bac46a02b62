"""A log as it would be had some votes been lies, or late: who lies is chosen by an attack."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from duelwise.answers.belief import TYPICAL_SCALE
from duelwise.answers.offline import unit_precision
from duelwise.answers.raters import fit
from duelwise.errors import InvalidInput
from duelwise.randomness import generator
from duelwise.stream.events import Asked, Expired, Recorded, Told
from duelwise.types import Array, BoolArray, IntArray

RIVALS = 64  # items that a strategic attack looks at as the one to put first


class Target(NamedTuple):
    """What an attack may know: all votes that count, in order, and the items that are ranked."""

    dz: Array  # (n, d)
    outcome: Array  # (n,)
    source: list[str | None]
    items: Array  # (K, d)
    seed: int

    @property
    def turnable(self) -> BoolArray:
        """(n,) a tie cannot be turned round."""
        return self.outcome != 0.5


def random_votes(target: Target, lies: int) -> IntArray:
    """Votes drawn at random; more lies hold those of fewer."""
    order = generator(target.seed, "lies at random", 0).permutation(np.flatnonzero(target.turnable))
    return order[:lies]


def some_sources(target: Target, lies: int) -> IntArray:
    """All votes of one source after another, in random order, until there are enough lies."""
    names = sorted({name for name in target.source if name is not None})
    if not names:
        raise InvalidInput("No vote names its source, so no source can lie. Take another attack.")
    order = generator(target.seed, "lying sources", 0).permutation(len(names))
    place: dict[str, int] = {names[k]: at for at, k in enumerate(order.tolist())}
    ranks = np.array([len(names) if name is None else place[name] for name in target.source])
    rows = np.flatnonzero(target.turnable & (ranks < len(names)))
    return rows[np.argsort(ranks[rows], kind="stable")][:lies]


def strategic_votes(target: Target, lies: int) -> IntArray:
    """The votes that do most, to first order, to put another item first.

    Turning vote i round moves θ̂ by H⁻¹Δz_i (1 - 2o_i); the rival is the item that so many lies bring
    nearest to the leader, or past it. Without two items the votes are turned that shrink θ̂ most.
    """
    variance = TYPICAL_SCALE**2 / unit_precision(target.dz)
    theta, hessian = fit(target.dz, target.outcome, np.ones(len(target.dz)), variance)
    moves = np.linalg.solve(hessian, target.dz.T).T * (1 - 2 * target.outcome)[:, None]
    moves[~target.turnable] = 0.0
    if len(target.items) < 2:
        return _largest(moves @ (-hessian @ theta), lies)
    utility = target.items @ theta
    order = np.argsort(-utility, kind="stable")
    leader, rivals = order[0], order[1 : 1 + RIVALS]
    gains = moves @ (target.items[rivals] - target.items[leader]).T  # (n, rivals)
    reach = np.sort(np.maximum(gains, 0.0), axis=0)[::-1][:lies].sum(axis=0)
    best = int((reach - (utility[leader] - utility[rivals])).argmax())
    return _largest(gains[:, best], lies)


def _largest(gain: Array, lies: int) -> IntArray:
    order = np.argsort(-gain, kind="stable")[:lies]
    return order[gain[order] > 0]


ATTACKS: dict[str, Callable[[Target, int], IntArray]] = {
    "strategic": strategic_votes,
    "random": random_votes,
    "source": some_sources,
}
"""Which votes are turned round, by name."""


def turned(old: Sequence[Recorded], votes: frozenset[int]) -> list[Recorded]:
    """The same log with the votes of these events turned round."""
    return [
        one._replace(event=one.event._replace(outcome=1 - one.event.outcome))
        if one.seq in votes and isinstance(one.event, Told)
        else one
        for one in old
    ]


def delayed(old: Sequence[Recorded], votes: frozenset[int], duels: int, seed: int) -> list[Recorded]:
    """The same log with these votes late, by 0 to twice so many further duels, drawn at random.

    What is due beyond the last duel comes at the end, in the order in which it was due; what is due after
    its own duel has expired comes just before that.
    """
    if duels == 0:
        return list(old)
    late = iter(generator(seed, "late votes", 0).integers(2 * duels + 1, size=len(votes)).tolist())
    found: list[Recorded] = []
    waiting: list[tuple[int, int, Recorded]] = []  # a heap: due when so many duels were asked
    asked = 0
    for one in old:
        if one.seq in votes:
            heapq.heappush(waiting, (asked + next(late), one.seq, one))
        else:
            if isinstance(one.event, Expired):
                own = sorted(entry for entry in waiting if entry[2].event.round == one.event.round)
                found += [vote._replace(at=one.at) for _, _, vote in own]
                waiting = [entry for entry in waiting if entry[2].event.round != one.event.round]
                heapq.heapify(waiting)
            found.append(one)
        while waiting and waiting[0][0] <= asked:
            found.append(heapq.heappop(waiting)[2]._replace(at=one.at))
        asked += isinstance(one.event, Asked)
    end = old[-1].at if old else 0.0
    return found + [heapq.heappop(waiting)[2]._replace(at=end) for _ in range(len(waiting))]
