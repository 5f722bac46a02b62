"""A log walked once with one recipe: what it gave each vote before it learned from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from duelwise.answers.logistic import logistic
from duelwise.learning.core.links import means
from duelwise.stream.events import REWRITING, Asked, Imputed, Observed, Told
from duelwise.stream.leaving_out import LeftOut, left_out
from duelwise.stream.logs import RecordedLog
from duelwise.stream.open_duels import OpenDuels
from duelwise.stream.settings import StreamSettings
from duelwise.stream.stream_state import StreamState
from duelwise.types import Array, IntArray


class Walked(NamedTuple):
    """One row a vote that counts, in the order in which they came."""

    log: RecordedLog
    leaving_out: LeftOut
    seq: IntArray  # (n,) the vote's event
    source: list[str | None]
    outcome: Array  # (n,)
    chance: Array  # (n,) of the first of the pair by the recipe's Θ̂ of that moment
    posterior_chance: Array  # (n,) by the stream's posterior of that moment; NaN where not asked for
    z: Array  # (n, 2, d) as it was known in the end
    fitted_z: Array  # (n, 2, d) the same as the recipe learns from it: observed, or as φ̂ expected it
    favoured: Array  # (n,) wins of the recipe's favourite over any other candidate, weighted; NaN: not known


class _Look(NamedTuple):
    """What is noted of a vote when it comes."""

    seq: int
    told: Told
    chance: float
    posterior_chance: float
    favoured: float


def walk(
    settings: StreamSettings, log: RecordedLog, offers: Mapping[int, Array], *, posterior: bool = False
) -> Walked:
    """Fold a log and look at each vote before it is learned from; `offers`: candidates (K, dx) by round."""
    leaving_out = left_out(log.of_kinds(REWRITING, upto=log.head))
    retracted = leaving_out._replace(distrusted=frozenset())  # whom the stream distrusts it foresees too
    folded = StreamState(settings, leaving_out=leaving_out)
    pairs = OpenDuels(settings)  # of all duels: none is closed
    asked: dict[int, Asked] = {}
    favourite: dict[int, int] = {}
    looks: list[_Look] = []

    def seen(round: int) -> Array:
        """(2, d) the pair as the recipe learns from it."""
        return pairs.pair(round) if folded.learner.rules.observed else _expected(asked[round], settings)

    for recorded in log.events(after=0, upto=log.head):
        event = recorded.event
        if isinstance(event, Asked):
            asked[event.round] = event
            pairs.ask(event)
            if event.round in offers:
                favourite[event.round] = _favourite(folded, offers[event.round])
        elif isinstance(event, Observed | Imputed):
            pairs.observe(event.round, event.y)
        elif isinstance(event, Told) and not retracted.leaves_out(event, recorded.seq):
            at, duel = event.round, asked[event.round]
            chance = float(chances(folded, seen(at)[None])[0])
            answered = posterior_chances(folded, pairs.pair(at)[None])[0] if posterior else np.nan
            won = _won(duel, event.outcome, favourite[at], len(offers[at])) if at in favourite else np.nan
            looks.append(_Look(recorded.seq, event, chance, float(answered), won))
        folded.apply(recorded)
    seq, told, chance, answered, won = zip(*looks, strict=True) if looks else ((),) * 5
    shape = len(looks), 2, settings.model_dim
    return Walked(
        log=log,
        leaving_out=leaving_out,
        seq=np.array(seq, dtype=np.int64),
        source=[one.source for one in told],
        outcome=np.array([one.outcome for one in told]),
        chance=np.array(chance),
        posterior_chance=np.array(answered),
        z=np.array([pairs.pair(one.round) for one in told]).reshape(shape),
        fitted_z=np.array([seen(one.round) for one in told]).reshape(shape),
        favoured=np.array(won),
    )


def held_out(settings: StreamSettings, walked: Walked, fold: IntArray) -> tuple[Array, Array]:
    """Chances (n,) by Θ̂ and by the posterior, each vote foreseen without the votes of its fold (n,)."""
    by_theta, by_posterior = np.empty(len(fold)), np.empty(len(fold))
    for number in np.unique(fold).tolist():
        rows = np.flatnonzero(fold == number)
        without = walked.leaving_out._replace(
            votes=walked.leaving_out.votes | set(walked.seq[rows].tolist()), upto=walked.log.head
        )
        folded = StreamState(settings, leaving_out=without)
        folded.apply_all(walked.log.events(after=0, upto=walked.log.head))
        by_theta[rows] = chances(folded, walked.fitted_z[rows])
        by_posterior[rows] = posterior_chances(folded, walked.z[rows])
    return by_theta, by_posterior


def chances(folded: StreamState, z: Array) -> Array:
    """(n,) the chance of the first of each pair z (n, 2, d) by the learner's own Θ̂."""
    units = _units(folded, z.reshape(-1, z.shape[-1])).reshape(z.shape)
    margin = (units[:, 0] - units[:, 1]) @ folded.learner.theta[0]
    found = np.empty(len(z))
    means(folded.learner.rules.link, margin, found)
    return found


def _units(folded: StreamState, z: Array) -> Array:
    return folded.inputs.ranges.scaled(z[None])[0]


def posterior_chances(folded: StreamState, z: Array) -> Array:
    """(n,) the same by the posterior that answers: E σ(u - u'), by the probit's closed form."""
    posterior, apart = folded.belief.posterior(), z[:, 0] - z[:, 1]
    variance = np.einsum("ij,ij->i", apart @ posterior.covariance, apart)
    return logistic((apart @ posterior.mean) / np.sqrt(1.0 + np.pi * variance / 8.0))


def _expected(duel: Asked, settings: StreamSettings) -> Array:
    """(2, d) the pair as φ̂ expected it when it was served."""
    return np.concatenate((settings.sides.shown(duel.x, swapped=duel.swapped), duel.predicted), axis=1)


def _favourite(folded: StreamState, x: Array) -> int:
    """The position of the candidate of highest utility by Θ̂: x (K, dx)."""
    z = np.concatenate((folded.settings.sides.unshown(x), folded.predict(x[None])[0]), axis=1)
    return int((_units(folded, z) @ folded.learner.theta[0]).argmax())


def _won(duel: Asked, outcome: float, favourite: int, candidates: int) -> float:
    """Inverse propensity: the vote, where the favourite was in it, over how likely the pair was to be shown.

    Its mean is the chance that the favourite wins over another candidate drawn at random.
    """
    arms = duel.arms.tolist()
    if favourite not in arms or duel.probability is None:
        return 0.0
    won = outcome if arms[0] == favourite else 1 - outcome
    return won / (duel.probability * (candidates - 1))
