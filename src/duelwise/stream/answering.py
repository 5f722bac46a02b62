"""What a stream answers: which is best, how sure that is, whether more votes are needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from duelwise.answers import ranking, settled
from duelwise.answers.belief import Posterior
from duelwise.answers.clustering import clustered
from duelwise.answers.ranking import win_probability
from duelwise.answers.utility_differences import held_equal
from duelwise.errors import InvalidInput, check_known
from duelwise.stream.candidates import Candidates, Features, read_candidates, read_features
from duelwise.stream.catalogue import Catalogue
from duelwise.stream.encoding import Encoder
from duelwise.stream.operations import FromCatalogue
from duelwise.stream.settings import StreamSettings
from duelwise.stream.vote_table import VoteTable
from duelwise.types import Array

ALL = FromCatalogue()


class Knowledge(NamedTuple):
    """What an answer is read from: the belief of one moment, the items and φ̂ as they are when asked."""

    settings: StreamSettings
    posterior: Posterior
    catalogue: Catalogue
    encoder: Encoder
    predict: Callable[[Array], Array]  # (1, K, dx) → (1, K, dy)
    pending: int  # duels whose vote is out


class RankedItem(NamedTuple):
    """One line of a ranking."""

    id: str
    utility: float  # above the mean of the items ranked
    standard_error: float
    low: float
    high: float
    rank: int
    rank_low: int
    rank_high: int
    probability_best: float
    beats_next: float | None  # chance that its utility is above that of the next


class Verdict(NamedTuple):
    """Whether the leader is settled, and about how many more votes that takes."""

    level: float
    settled: bool
    leader: str
    leaders: tuple[str, ...]  # as many as the stream's `top`
    votes_needed: int | None  # None where it cannot be foreseen
    votes_low: int | None
    votes_high: int | None


class Ranking(NamedTuple):
    """Items in order, and the verdict on the first."""

    items: tuple[RankedItem, ...]
    settled: Verdict
    adjusted: tuple[str, ...]  # features that were held equal
    position_bias: PositionBias | None  # taken out; None where the stream does not estimate it


class PositionBias(NamedTuple):
    """What being shown on the left adds to a candidate's utility; above answers are free of it."""

    estimate: float
    standard_error: float
    low: float  # of the level's interval
    high: float


class Best(NamedTuple):
    """The item to serve when there is to be no duel."""

    id: str
    probability_best: float


def rank(
    knowledge: Knowledge,
    candidates: Candidates | FromCatalogue = ALL,
    *,
    adjust: Sequence[str] = (),
    level: float = 0.95,
    limit: int | None = None,
) -> Ranking:
    """Candidates, or items of the catalogue, in order of utility; `adjust` names features held equal."""
    ids, z = features_of(knowledge, candidates)
    before = knowledge.settings.sides.columns
    columns = [before + _column(name, knowledge.settings.feature_names) for name in adjust]
    if limit is not None and limit < 1:
        raise InvalidInput(f"limit is {limit}; expected at least 1.")
    seed = knowledge.settings.seed
    ranked = ranking.rank(knowledge.posterior, z, adjust=columns, level=level, seed=seed, shown=limit)
    columns_out = (
        ranked.utility, ranked.standard_error, ranked.low, ranked.high, ranked.rank, ranked.rank_low,
        ranked.rank_high, ranked.probability_best, ranked.beats_next,
    )  # fmt: skip
    lines = zip(ranked.position.tolist(), *(column.tolist() for column in columns_out), strict=True)
    items = tuple(
        RankedItem(str(ids[at]), *values, beats_next=None if np.isnan(beats) else beats)
        for at, *values, beats in lines
    )
    verdict = _verdict(knowledge, held_equal(knowledge.posterior, columns), ids, z, level)
    return Ranking(
        items, verdict, tuple(adjust), position_bias(knowledge.settings, knowledge.posterior, level=level)
    )


def position_bias(settings: StreamSettings, posterior: Posterior, *, level: float) -> PositionBias | None:
    """What the side is worth, where the model knows sides."""
    if not settings.position_bias:
        return None
    estimate, error = float(posterior.mean[0]), float(np.sqrt(posterior.covariance[0, 0]))
    half = NormalDist().inv_cdf(0.5 + level / 2) * error
    return PositionBias(estimate, error, estimate - half, estimate + half)


def wider_by_source(posterior: Posterior, votes: VoteTable) -> Posterior:
    """What is known of Θ where votes of one source are alike."""
    names, numbers = votes.sources()
    return clustered(posterior, votes.dz, votes.outcome, numbers, len(names))


def best(knowledge: Knowledge, candidates: Candidates | FromCatalogue = ALL) -> Best:
    """The item of highest utility, and the chance that it is the best."""
    ids, z = features_of(knowledge, candidates)
    ranked = ranking.rank(knowledge.posterior, z, seed=knowledge.settings.seed, shown=1)
    return Best(ids[int(ranked.position[0])], float(ranked.probability_best[0]))


def chance(knowledge: Knowledge, first: Features | str, second: Features | str) -> float:
    """The chance that a vote goes to the first of two: features, or ids of the catalogue."""
    return win_probability(knowledge.posterior, _one(knowledge, first), _one(knowledge, second))


def features_of(knowledge: Knowledge, candidates: Candidates | FromCatalogue) -> tuple[Sequence[str], Array]:
    """Ids and z (K, d) on no side, y where it is known and else as φ̂ predicts it."""
    if isinstance(candidates, FromCatalogue):
        offered = knowledge.catalogue.offered(ids=candidates.ids, group=candidates.group)
    else:
        offered = read_candidates(candidates, knowledge.settings.context_names, knowledge.encoder)
    ids = [str(k) for k in range(len(offered.x))] if offered.ids is None else offered.ids
    unshown = knowledge.settings.sides.unshown(offered.x)
    if knowledge.settings.post_dim == 0:
        return ids, unshown
    expected = offered.expected(knowledge.predict(offered.x[None])[0])
    return ids, np.concatenate((unshown, expected), axis=1)


def _one(knowledge: Knowledge, item: Features | str) -> Array:
    if isinstance(item, str):
        kept = knowledge.catalogue.item(item)
        x, y = kept.x, kept.y
    else:
        x = read_features(item, knowledge.settings.context_names, "the item", knowledge.encoder)
        y = None
    if y is None:
        y = knowledge.predict(x[None, None])[0, 0]
    return np.concatenate((knowledge.settings.sides.unshown(x), y))


def _verdict(
    knowledge: Knowledge, posterior: Posterior, ids: Sequence[str], z: Array, level: float
) -> Verdict:
    top = min(knowledge.settings.top, len(ids) - 1)
    found = settled.settled(posterior, z, level=level, top=top, out=knowledge.pending)
    leaders = tuple(str(ids[k]) for k in found.leaders.tolist())
    return Verdict(
        level, found.settled, leaders[0], leaders,
        _count(found.votes_needed), _count(found.votes_low), _count(found.votes_high),
    )  # fmt: skip


def _count(votes: float) -> int | None:
    return int(np.ceil(votes)) if np.isfinite(votes) else None


def _column(name: str, names: Sequence[str]) -> int:
    check_known("feature", name, names)
    return names.index(name)
