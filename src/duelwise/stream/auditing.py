"""A ledger of every vote: what it counted, how surprising it is, what would be without it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from duelwise.answers.influence import Influence, Minority, influence, leaders_without, minority
from duelwise.answers.raters import fit
from duelwise.learning.estimation import FullMLE
from duelwise.learning.weighting import ArrivalRamp, AuditedRamp
from duelwise.learning.weighting.audit import BLOCKS as AUDITED_BLOCKS
from duelwise.learning.weighting.weights import ramp_weight
from duelwise.storage import JSON
from duelwise.stream.vote_table import VoteTable
from duelwise.types import Array

FULL = 0.999  # a weight from which a vote counts in full
BLOCKS = 10  # parts of the log whose shares of full-weight votes are compared
MOVED = 3.0  # standard errors of a share from the share before it: the alarm
LEAST_IN_GROUP = 20  # votes of a group that is looked at
MOST_GROUPS = 200


class GroupCheck(NamedTuple):
    """A group of voters against all others."""

    group: str
    check: Minority
    leader_without: str | None  # the item that would lead without the group


class Audit(NamedTuple):
    """What an audit has found."""

    votes: int
    leader: str | None
    ledger: Mapping[str, list[JSON]]  # columns, a row a vote
    pivotal_votes: int  # without any one of which another item would lead
    full_weight: tuple[float, ...]  # the share of full-weight votes in each tenth of the log
    weights_moved: bool  # the alarm: some tenth differs from those before it by more than chance
    groups: tuple[GroupCheck, ...]

    @property
    def alarms(self) -> tuple[str, ...]:
        """In words, what somebody should look at."""
        found = ["The share of votes that count in full has moved."] if self.weights_moved else []
        for one in self.groups:
            if one.check.held_back_low > 0:
                found.append(f"Votes of {one.group!r} count less than those of others.")
            if one.check.outvoted_low > 0:
                found.append(f"{one.group!r} sees items otherwise than the model, more than chance explains.")
            if one.leader_without not in (None, self.leader):
                found.append(f"Without {one.group!r} the leader would be {one.leader_without!r}.")
        return tuple(found)


def audit(
    votes: VoteTable,
    prior_variance: Array,
    *,
    ids: list[str],
    items: Array,
    groups: Mapping[str, str] | None = None,
) -> Audit:
    """Look at every vote, and at groups of voters: sources by themselves unless `groups` names theirs."""
    if not len(votes):
        return Audit(0, None, {}, 0, (), False, ())
    effects = influence(votes.dz, votes.outcome, prior_variance, items)
    leader = ids[int((items @ effects.theta).argmax())] if ids else None
    weight = _beyond_ramp(votes)
    shares, moved = _full_weight(weight)
    return Audit(
        votes=len(votes),
        leader=leader,
        ledger=_ledger(votes, effects),
        pivotal_votes=int(effects.leader_changes.sum()),
        full_weight=shares,
        weights_moved=moved,
        groups=_groups(votes, weight, prior_variance, ids, items, groups or {}),
    )


def _beyond_ramp(votes: VoteTable) -> Array:
    """(n,) weights as a share of what the recipe lets a vote of that rank count, whoever gave it."""
    parts = votes.settings.start().parts
    ramp = parts.weigh
    if isinstance(ramp, AuditedRamp):
        rank, length = votes.rank, AUDITED_BLOCKS * ramp.corruption_budget
    elif isinstance(ramp, ArrivalRamp):
        keeps = isinstance(parts.estimate, FullMLE)  # such an estimate leaves duels of equals out
        rank, length = (votes.dz.any(axis=1) if keeps else np.ones(len(votes))).cumsum(), ramp.length
    else:
        return votes.weight
    most = np.array([ramp_weight(float(k), length, ramp.power) for k in rank.tolist()])
    return np.minimum(1.0, votes.weight / np.maximum(most, 1e-300))


def _ledger(votes: VoteTable, effects: Influence) -> dict[str, list[JSON]]:
    return {
        "ticket": list(votes.ticket),
        "source": list(votes.source),
        "winner": [votes.winner(k) for k in range(len(votes))],
        "weight": votes.weight.tolist(),
        "leverage": votes.leverage.tolist(),
        "surprise": effects.surprise.tolist(),
        "influence": effects.moved.tolist(),
        "changes_leader": effects.leader_changes.tolist(),
    }


def _full_weight(weight: Array) -> tuple[tuple[float, ...], bool]:
    """Shares of full-weight votes by tenths, and whether one differs from all before it."""
    full = weight >= FULL
    blocks = [block for block in np.array_split(full, BLOCKS) if len(block)]
    shares = [float(block.mean()) for block in blocks]
    moved = False
    for k in range(1, len(blocks)):
        before = np.concatenate(blocks[:k])
        p = min(max(float(before.mean()), 1 / (2 * len(before))), 1 - 1 / (2 * len(before)))
        error = np.sqrt(p * (1 - p) * (1 / len(before) + 1 / len(blocks[k])))
        moved = moved or abs(shares[k] - p) > MOVED * float(error)
    return tuple(shares), moved


def _groups(
    votes: VoteTable, weight: Array, prior_variance: Array, ids: list[str], items: Array,
    groups: Mapping[str, str],
) -> tuple[GroupCheck, ...]:  # fmt: skip
    named = [None if source is None else groups.get(source, source) for source in votes.source]
    numbers: dict[str, int] = {}
    number = np.array([-1 if one is None else numbers.setdefault(one, len(numbers)) for one in named])
    counts = np.bincount(number[number >= 0], minlength=len(numbers))
    names = list(numbers)
    largest = [
        g for g in np.argsort(-counts, kind="stable")[:MOST_GROUPS].tolist() if counts[g] >= LEAST_IN_GROUP
    ]
    place = np.full(len(names) + 1, -1, dtype=np.int64)  # the last stands for votes without a source
    place[largest] = np.arange(len(largest))
    leaders = (
        leaders_without(votes.dz, votes.outcome, place[number], len(largest), prior_variance, items)
        if ids
        else None
    )
    theta, _ = fit(votes.dz, votes.outcome, np.ones(len(votes)), prior_variance)
    margin = votes.dz @ theta
    found: list[GroupCheck] = []
    for k, g in enumerate(largest):
        check = minority(number == g, weight, margin, votes.outcome)
        found.append(GroupCheck(names[g], check, None if leaders is None else ids[int(leaders[k])]))
    return tuple(found)
