"""How well recipes foresee the votes of a log, beside the fit that hindsight allows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from duelwise.answers.logistic import logistic
from duelwise.answers.offline import offline_fit
from duelwise.answers.scoring import MeanWithError, Score, log_losses, mean_of, score
from duelwise.errors import InvalidInput, check_known
from duelwise.learning.recipes import STREAM_RECIPES
from duelwise.randomness import generator
from duelwise.stream.derive import derived_events
from duelwise.stream.events import Asked, Recorded, Told
from duelwise.stream.logs import Log, RecordedLog
from duelwise.stream.prequential import Walked, held_out, walk
from duelwise.stream.settings import StreamSettings
from duelwise.stream.stream_state import StreamState
from duelwise.types import Array, IntArray

COIN = math.log(2.0)  # the log-loss of a coin
POSTERIOR, OFFLINE = "the stream's answers", "offline fit"
UNIDENTIFIED = "What other choices than those of the log would have been worth cannot be told from it:"
IDENTIFY = "A stream with keep_candidates and a random_share above 0 records what that takes."
IDENTIFIED = (
    "The chance of a recipe's favourite to win over another candidate drawn at random is weighted by how "
    "likely each pair was to be shown. Regret is in no log: nobody votes on how much better something is."
)


@dataclass(frozen=True)
class Folds:
    """A fixed way to divide votes: every vote falls into one of the folds, by the seed alone."""

    count: int = 5
    seed: int = 0

    @property
    def name(self) -> str:
        """What it is called wherever a number of it is shown."""
        return f"{self.count} folds of the votes, seed {self.seed}"

    def of(self, votes: int) -> IntArray:
        """(n,) the fold of each vote, all of nearly one size."""
        order = generator(self.seed, "folds of votes", 0).permutation(votes)
        fold = np.empty(votes, dtype=np.int64)
        fold[order] = np.arange(votes) % self.count
        return fold


class EvaluationLine(NamedTuple):
    """One way to foresee votes."""

    name: str
    kind: Literal["recipe", "posterior", "offline"]
    prequential: Score | None  # each vote foreseen just before it was learned from
    held_out: Score | None  # each vote foreseen without the votes of its fold
    beyond_offline: MeanWithError | None  # held-out log-loss less the offline fit's, vote by vote
    favourite_wins: MeanWithError | None  # over another candidate drawn at random, where the log can tell


class Evaluation(NamedTuple):
    """What was found."""

    votes: int
    sources: int
    folds: str | None
    lines: tuple[EvaluationLine, ...]
    policy_value: str  # what can, or cannot, be said of other choices

    @property
    def log_loss_of_a_coin(self) -> float:
        """log 2: what knowing nothing costs a vote."""
        return COIN


def evaluate(
    settings: StreamSettings, log: Log, *, upto: int, recipes: Sequence[str] = (), folds: Folds | None = None
) -> Evaluation:
    """Live through a log once with each recipe, the stream's own where none is named.

    The pairs stay those that were served; folds leave votes out as a retraction does. `folds=None`
    spares the held-out part.
    """
    old = list(log.events(after=0, upto=upto))
    names = list(dict.fromkeys(recipes)) or [settings.recipe]
    _check(names, folds)
    offers, policy_value = _offers(old)
    lines: list[EvaluationLine] = []
    first: Walked | None = None
    offline: Array | None = None
    for name in names:
        own = with_recipe(settings, name)
        lived = RecordedLog(derived_events(StreamState(own), old))
        walked = walk(own, lived, offers, posterior=first is None)
        if not len(walked.outcome):
            raise InvalidInput("The log holds no vote that counts. Expected some: let people vote first.")
        by_theta = by_posterior = None
        if folds is not None:
            fold = folds.of(len(walked.outcome))
            offline = _offline(walked, fold) if offline is None else offline
            by_theta, by_posterior = held_out(own, walked, fold)
        lines.append(_line(name, "recipe", walked, walked.chance, by_theta, offline))
        if first is None:
            first = walked
            posterior = _line(
                POSTERIOR, "posterior", walked, walked.posterior_chance, by_posterior, offline
            )._replace(favourite_wins=None)
            lines.append(posterior)
    assert first is not None
    if offline is not None:
        hindsight = score(offline, first.outcome, first.source)
        lines.append(EvaluationLine(OFFLINE, "offline", None, hindsight, None, None))
    return Evaluation(
        votes=len(first.outcome),
        sources=len({name for name in first.source if name is not None}),
        folds=None if folds is None else folds.name,
        lines=tuple(lines),
        policy_value=policy_value,
    )


def with_recipe(settings: StreamSettings, name: str) -> StreamSettings:
    """The same stream with another recipe; options go with the recipe they were made for, but for φ̂'s."""
    if name == settings.recipe:
        return settings
    kept = {key: value for key, value in settings.options.items() if key == "post_serving"}
    return StreamSettings.from_dict(settings.to_dict() | {"recipe": name, "options": kept})


def _line(
    name: str, kind: Literal["recipe", "posterior"], walked: Walked, before: Array, without: Array | None,
    offline: Array | None,
) -> EvaluationLine:  # fmt: skip
    outcome, source = walked.outcome, walked.source
    beyond = None
    if without is not None and offline is not None:
        beyond = mean_of(log_losses(without, outcome) - log_losses(offline, outcome), source)
    known = not np.isnan(walked.favoured).any()
    return EvaluationLine(
        name=name,
        kind=kind,
        prequential=score(before, outcome, source),
        held_out=None if without is None else score(without, outcome, source),
        beyond_offline=beyond,
        favourite_wins=mean_of(walked.favoured, source) if known else None,
    )


def _offline(walked: Walked, fold: IntArray) -> Array:
    """(n,) chances by the offline fit to the votes of the other folds."""
    dz = walked.z[:, 0] - walked.z[:, 1]
    chance = np.empty(len(fold))
    for number in np.unique(fold).tolist():
        inside = fold == number
        theta = offline_fit(dz[~inside], walked.outcome[~inside])
        chance[inside] = logistic(dz[inside] @ theta)
    return chance


def _offers(old: Sequence[Recorded]) -> tuple[dict[int, Array], str]:
    """Candidates by round where other choices can be valued from the log, and what to say of it."""
    told = {one.event.round for one in old if isinstance(one.event, Told)}
    asked = [one.event for one in old if isinstance(one.event, Asked) and one.event.round in told]
    offers = {one.round: one.candidates for one in asked if one.candidates is not None}
    wrong: list[str] = []
    if len(offers) < len(asked):
        wrong.append(f"{len(asked) - len(offers)} of {len(asked)} duels do not say what else was on offer")
    certain = sum(one.probability is None for one in asked)
    if certain:
        wrong.append(f"{certain} pairs were chosen and not drawn, so others had no chance to be voted on")
    if wrong:
        return {}, f"{UNIDENTIFIED} {'; '.join(wrong)}. {IDENTIFY}"
    return offers, IDENTIFIED


def _check(names: Sequence[str], folds: Folds | None) -> None:
    for name in names:
        check_known("recipe", name, STREAM_RECIPES)
    if folds is not None and folds.count < 2:
        raise InvalidInput(f"There are {folds.count} folds; expected at least two, or none.")
