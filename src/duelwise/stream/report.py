"""What a stream can say of itself at a glance."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np

from duelwise.answers.belief import Posterior
from duelwise.answers.foresight import Foreseen
from duelwise.learning.monitoring import watched
from duelwise.storage import JSON, TicketRow
from duelwise.stream import tickets
from duelwise.stream.answering import PositionBias, position_bias
from duelwise.stream.ledger import WEIGHT_BINS
from duelwise.stream.stream_state import StreamState
from duelwise.stream.vote_delays import delay_quantile
from duelwise.types import Array

QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
SOURCES_SHOWN = 20
LEVEL = 0.95  # of every interval here
TWO_SIDED = 1.959964  # standard errors to either side of a 95 % interval


@dataclass(frozen=True, kw_only=True)
class Coefficient:
    """What a feature adds to a candidate's utility for each of its own units, and how sure that is."""

    feature: str
    estimate: float  # in the feature's own unit
    standard_error: float
    low: float  # of the 95 % interval
    high: float


@dataclass(frozen=True, kw_only=True)
class FeatureRange:
    """Between which values a feature tells anything, and how many of those served lay outside."""

    feature: str
    low: float
    high: float
    learned: bool  # else it was declared
    clamped: int


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """What the theory supposes, as the duels so far have it; features in units of their range."""

    flat_share: float | None  # of duels with ġ < κ at the estimate of their time
    estimate_norm: float  # the largest ‖Θ̂‖, to be held against M
    feature_norm: float  # the largest ‖z‖ of a served candidate, to be held against L/2
    learning_rate: float | None  # a in φ̂'s error ∝ t^-a; None before there is enough
    served_error: float | None  # that error lately


@dataclass(frozen=True, kw_only=True)
class DownWeighted:
    ticket: str
    weight: float
    source: str | None


@dataclass(frozen=True, kw_only=True)
class SourceWeight:
    source: str
    votes: int
    mean_weight: float


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """φ̂, judged on each context before it learned from it."""

    contexts: int
    mean_squared_error: float | None  # per value, in units of half a range where features have one
    unexplained_share: float | None  # of that error in the spread of y; 1 is no better than the mean


@dataclass(frozen=True, kw_only=True)
class Positions:
    """Whether the side matters: without position bias left and right win alike."""

    left_wins: int
    right_wins: int
    ties: int
    first_on_left: float | None  # share of duels whose leader was shown on the left
    bias: PositionBias | None  # where the stream estimates it


@dataclass(frozen=True, kw_only=True)
class Report:
    """The state of a stream after event `model_version`."""

    name: str
    summary: str  # in one plain sentence
    recipe: str
    model_version: int
    counts: Mapping[str, int]  # tickets by state
    pending: int  # tickets that wait for a vote, a context, or both
    oldest_pending_seconds: float | None
    delay_seconds: Mapping[str, float | None]  # quantiles from asking to voting
    weight_histogram: tuple[int, ...]  # votes learned, by weight
    weight_edges: tuple[float, ...]  # one more than there are bins
    down_weighted_votes: tuple[DownWeighted, ...]
    down_weighted_sources: tuple[SourceWeight, ...]
    log_det_served: float  # V
    log_det_arrived: float  # W
    coefficients: tuple[Coefficient, ...]
    foresight: Foreseen | None  # how well votes were foreseen, each before it was learned from
    held_sources: tuple[str, ...]  # whose votes do not count
    prediction: Prediction
    positions: Positions
    assumptions: Assumptions | None  # None in streams of 0.1
    ranges: tuple[FeatureRange, ...]  # none in streams of 0.1
    ranges_settled: bool  # their units stay
    fallbacks: int  # duels whose pair was drawn at random, since the learner could not choose
    rebuild_is_due: bool  # retracted votes are still being taken out
    clock_jump_seconds: float  # by how far the clock is ahead of the time that is believed
    read_only: str | None  # why, if it is
    problem: str | None  # the last failure of background work

    def to_dict(self) -> dict[str, JSON]:
        """As JSON knows it: every part by its names."""
        return {one.name: _plain(getattr(self, one.name)) for one in dataclasses.fields(self)}


def _plain(value: object) -> JSON:
    """Nested records as objects."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {one.name: _plain(getattr(value, one.name)) for one in dataclasses.fields(value)}
    if isinstance(value, tuple):
        names: tuple[str, ...] | None = getattr(cast("object", value), "_fields", None)
        parts = [_plain(part) for part in cast("tuple[object, ...]", value)]
        return parts if names is None else dict(zip(names, parts, strict=True))
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in cast("Mapping[str, object]", value).items()}
    return cast("JSON", value)


def make_report(
    *,
    name: str,
    folded: StreamState,
    low: Mapping[int, TicketRow],
    at: float,
    read_only: str | None,
    problem: str | None,
    allowing: Callable[[Posterior], Posterior] | None = None,
) -> Report:
    """The report of a folded stream; `low` holds the tickets of its least weighted votes.

    `allowing` may widen what is known of Θ, as where the votes of a source are alike.
    """
    known = folded.belief.posterior()
    known = known if allowing is None else allowing(known)
    ledger, learner = folded.ledger, folded.learner
    oldest = next((ticket.asked_at for ticket in ledger.waiting.values()), None)  # in the order of asking
    return Report(
        name=name,
        summary=summary_of(folded),
        recipe=folded.settings.recipe,
        model_version=folded.seq,
        counts={**ledger.counts},
        pending=len(ledger.waiting),
        oldest_pending_seconds=None if oldest is None else max(0.0, at - oldest),
        delay_seconds={label: delay_quantile(ledger.delays, share) for label, share in QUANTILES.items()},
        weight_histogram=tuple(ledger.weights.tolist()),
        weight_edges=tuple((np.arange(WEIGHT_BINS + 1) / WEIGHT_BINS).tolist()),
        down_weighted_votes=tuple(
            DownWeighted(
                ticket=tickets.write(vote.round, low[vote.round].tag), weight=vote.weight, source=vote.source
            )
            for vote in ledger.lowest
            if vote.round in low and vote.weight < 1
        ),
        down_weighted_sources=_sources(folded),
        log_det_served=float(learner.served_geometry.log_det[0]),
        log_det_arrived=float(learner.arrived_geometry.log_det[0]),
        coefficients=_coefficients(folded, known),
        foresight=folded.belief.foreseen(),
        held_sources=tuple(sorted(folded.left_out.sources)),
        prediction=_prediction(folded),
        positions=_positions(folded, known),
        assumptions=_assumptions(folded),
        ranges=_ranges(folded),
        ranges_settled=folded.inputs.settled,
        fallbacks=ledger.fallbacks,
        rebuild_is_due=ledger.rebuild_is_due,
        clock_jump_seconds=ledger.time.jump(at),
        read_only=read_only,
        problem=problem,
    )


def _sources(folded: StreamState) -> tuple[SourceWeight, ...]:
    each = [
        SourceWeight(source=source, votes=votes, mean_weight=total / votes)
        for source, (votes, total) in folded.ledger.sources.items()
    ]
    return tuple(sorted(each, key=lambda one: (one.mean_weight, one.source))[:SOURCES_SHOWN])


def _coefficients(folded: StreamState, known: Posterior) -> tuple[Coefficient, ...]:
    error: list[float] = np.sqrt(np.diagonal(known.covariance)).tolist()
    before = folded.settings.sides.columns
    names = folded.settings.feature_names
    rows = zip(names, known.mean[before:].tolist(), error[before:], strict=True)
    return tuple(
        Coefficient(
            feature=name,
            estimate=estimate,
            standard_error=spread,
            low=estimate - TWO_SIDED * spread,
            high=estimate + TWO_SIDED * spread,
        )
        for name, estimate, spread in rows
    )


def summary_of(folded: StreamState) -> str:
    """How well the stream knows its voters, in one plain sentence."""
    seen = folded.belief.foreseen()
    if seen is None:
        return "No vote has been learned from yet."
    sources = len(folded.ledger.sources) + folded.ledger.sources_dropped
    fit = "calibrated" if seen.calibrated else "not well calibrated"
    from_whom = f" from {sources} source{'s' if sources != 1 else ''}" if sources else ""
    return (
        f"Foresees {seen.accuracy_now:.0%} of votes, {seen.accuracy_at_first:.0%} at first; {fit}; "
        f"{seen.votes} vote{'s' if seen.votes != 1 else ''}{from_whom}."
    )


def _ranges(folded: StreamState) -> tuple[FeatureRange, ...]:
    inputs = folded.inputs
    if not folded.settings.scales:
        return ()
    before = folded.settings.sides.columns
    bounds = inputs.ranges.raw(np.stack((-inputs.ranges.reach, inputs.ranges.reach), axis=1))[0]
    return tuple(
        FeatureRange(feature=name, low=low, high=high, learned=learned, clamped=clamped)
        for name, low, high, learned, clamped in zip(
            folded.settings.feature_names, *bounds[:, before:].tolist(), inputs.learned[before:].tolist(),
            inputs.clamped[0, before:].tolist(), strict=True,
        )
    )  # fmt: skip


def _assumptions(folded: StreamState) -> Assumptions | None:
    if not folded.settings.scales:
        return None
    seen = watched(folded.learner.monitors)

    def known(values: Array) -> float | None:
        return None if np.isnan(values[0]) else float(values[0])

    return Assumptions(
        flat_share=known(seen.flat_share), estimate_norm=float(seen.estimate_norm[0]),
        feature_norm=float(seen.feature_norm[0]), learning_rate=known(seen.learning_rate),
        served_error=known(seen.served_error),
    )  # fmt: skip


def _prediction(folded: StreamState) -> Prediction:
    learner = folded.learner
    seen = int(learner.scores.contexts_seen[0])
    error, spread = float(learner.scores.prediction_error[0]), float(learner.scores.context_spread[0])
    values = seen * learner.post_dim
    return Prediction(
        contexts=seen if learner.post_dim else 0,
        mean_squared_error=error / values if values else None,
        unexplained_share=error / spread if spread > 0 else None,
    )


def _positions(folded: StreamState, known: Posterior) -> Positions:
    ledger = folded.ledger
    asked = sum(ledger.counts.values())
    return Positions(
        left_wins=ledger.wins["left"],
        right_wins=ledger.wins["right"],
        ties=ledger.wins["tie"],
        first_on_left=ledger.first_on_left / asked if asked else None,
        bias=position_bias(folded.settings, known, level=LEVEL),
    )
