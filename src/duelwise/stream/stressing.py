"""How far a ranking and Θ̂ would have moved, had some votes of a log been lies or late."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from duelwise.errors import InvalidInput, check_known
from duelwise.learning.recipes import STREAM_RECIPES
from duelwise.stream.attacks import ATTACKS, Target, delayed, turned
from duelwise.stream.catalogue import Catalogue
from duelwise.stream.derive import derived_events
from duelwise.stream.evaluating import POSTERIOR, with_recipe
from duelwise.stream.events import REWRITING, Asked, Recorded, Told, kind_of
from duelwise.stream.leaving_out import left_out
from duelwise.stream.logs import Log, RecordedLog
from duelwise.stream.prequential import walk
from duelwise.stream.settings import StreamSettings
from duelwise.stream.stream_state import StreamState
from duelwise.types import Array

MOST_ITEMS = 1000  # of those that were served, where a stream has no catalogue


class Moved(NamedTuple):
    """What an attack did to one recipe."""

    name: str  # a recipe, or the stream's answers
    lies: float  # the share of votes that were turned round
    turned: int
    leader: str
    leader_changed: bool
    lead_kept: float | None  # the former leader's lead over the next, as a share; negative: overtaken
    rank_correlation: float | None  # Spearman's, of the items' utilities; None unless some differ
    cosine: float  # between Θ̂ and what it would have been, features in units of their range
    relative_change: float  # ‖Θ̂' - Θ̂‖ / ‖Θ̂‖


class Stressed(NamedTuple):
    """What was found."""

    votes: int
    items: int
    attack: str
    late: int
    lines: tuple[Moved, ...]


class _End(NamedTuple):
    """Where a log leads to, features in units of their range."""

    theta: Array  # (d,) the recipe's Θ̂
    posterior: Array  # (d,) the posterior's mean
    z: Array  # (K, d) items
    raw: Array  # (K, d) the same in the features' own units


class _Items(NamedTuple):
    """What is ranked."""

    ids: list[str]
    x: Array  # (K, dx)
    y: Array  # (K, dy) NaN where it is not known


def stress(
    settings: StreamSettings, log: Log, *, upto: int, attack: str, lies: Sequence[float] = (0.05,),
    late: int = 0, recipes: Sequence[str] = (), seed: int = 0,
) -> Stressed:  # fmt: skip
    """Live through a log with each recipe as it was, and with shares of its votes turned round or late.

    `late` is after how many further duels votes come in the mean. The attack knows all votes and the plain
    fit of them, not the recipe. The pairs stay those that were served.
    """
    names = list(dict.fromkeys(recipes)) or [settings.recipe]
    _check(names, attack, lies, late)
    old = list(log.events(after=0, upto=upto))
    items = _items(settings, old)
    target, counted = _target(with_recipe(settings, names[0]), old, items, seed)
    logs: list[tuple[float, int, list[Recorded]]] = []
    shares: list[float] = sorted({*lies, 0.0} if late else {*lies})
    for share in shares:
        rows = ATTACKS[attack](target, round(share * len(counted)))
        at: list[int] = rows.tolist()
        chosen = frozenset(counted[row] for row in at)
        changed = delayed(turned(old, chosen), frozenset(counted), late, seed)
        logs.append((share, len(chosen), changed))
    lines: list[Moved] = []
    for name in names:
        own = with_recipe(settings, name)
        was, *became = (_end(own, each, items) for each in (old, *(one for _, _, one in logs)))
        for (share, turns, _), now in zip(logs, became, strict=True):
            lines.append(_moved(name, share, turns, (was.theta, now.theta), (was.z, now.z), items.ids))
            if name == names[0]:
                pair = was.posterior, now.posterior
                lines.append(_moved(POSTERIOR, share, turns, pair, (was.z, now.z), items.ids))
    return Stressed(len(counted), len(items.ids), attack, late, tuple(lines))


def _target(
    settings: StreamSettings, old: Sequence[Recorded], items: _Items, seed: int
) -> tuple[Target, list[int]]:
    """What the attack knows, and the events of the votes that count."""
    leaving_out = left_out([one for one in old if kind_of(one.event) in REWRITING])
    counted = [
        one.seq
        for one in old
        if isinstance(one.event, Told) and not leaving_out.leaves_out(one.event, one.seq)
    ]
    if not counted:
        raise InvalidInput("The log holds no vote that counts. Expected some: let people vote first.")
    walked = walk(settings, RecordedLog(derived_events(StreamState(settings), old)), {})
    # Those whom the stream distrusts are foreseen too, and do not count.
    rows = [k for k, source in enumerate(walked.source) if source not in leaving_out.distrusted]
    dz, raw = walked.z[rows, 0] - walked.z[rows, 1], _end(settings, old, items).raw
    return Target(dz, walked.outcome[rows], [walked.source[k] for k in rows], raw, seed), counted


def _end(settings: StreamSettings, old: Sequence[Recorded], items: _Items) -> _End:
    lived = RecordedLog(derived_events(StreamState(settings), old))
    folded = StreamState(settings, leaving_out=left_out(lived.of_kinds(REWRITING, upto=lived.head)))
    folded.apply_all(lived.events(after=0, upto=lived.head))
    ranges = folded.inputs.ranges
    known = np.where(np.isnan(items.y), folded.predict(items.x[None])[0], items.y)
    raw = np.concatenate((settings.sides.unshown(items.x), known), axis=1)
    mean = folded.belief.posterior().mean * ranges.half[0]
    return _End(folded.learner.theta[0].copy(), mean, ranges.scaled(raw[None])[0], raw)


def _moved(
    name: str, lies: float, turns: int, theta: tuple[Array, Array], z: tuple[Array, Array], ids: list[str]
) -> Moved:
    was, now = theta
    before, after = (items @ one for items, one in zip(z, theta, strict=True))
    leaders = [ids[int(one.argmax())] for one in (before, after)] if ids else ["", ""]
    long, longer = float(np.linalg.norm(was)), float(np.linalg.norm(now))
    return Moved(
        name=name,
        lies=lies,
        turned=turns,
        leader=leaders[1],
        leader_changed=leaders[0] != leaders[1],
        lead_kept=_lead_kept(before, after),
        rank_correlation=_spearman(before, after),
        cosine=float(was @ now) / max(long * longer, 1e-300),
        relative_change=float(np.linalg.norm(now - was)) / max(long, 1e-300),
    )


def _lead_kept(before: Array, after: Array) -> float | None:
    if len(before) < 2:
        return None
    leader = int(before.argmax())
    was, now = (float(one[leader] - np.delete(one, leader).max()) for one in (before, after))
    return now / was if was > 0 else None


def _spearman(one: Array, other: Array) -> float | None:
    """Where all utilities are equal there is no order to compare."""
    first, second = _ranks(one), _ranks(other)
    if any(len(np.unique(ranks)) < 2 for ranks in (first, second)):
        return None
    return float(np.corrcoef(first, second)[0, 1])


def _ranks(values: Array) -> Array:
    """Equal values share the mean of their ranks."""
    _, which, times = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(times) - (times - 1) / 2)[which]


def _items(settings: StreamSettings, old: Sequence[Recorded]) -> _Items:
    """The catalogue; without one, what was served, most often first."""
    catalogue = Catalogue(settings)
    for recorded in old:
        catalogue.take(recorded.event)
    if len(catalogue) > 1:
        offered = catalogue.whole()
        return _Items(list(offered.ids), offered.x, np.where(offered.known[:, None], offered.y, np.nan))
    times: Counter[str | bytes] = Counter()
    x: dict[str | bytes, Array] = {}
    for recorded in old:
        if isinstance(recorded.event, Asked):
            for side, row in enumerate(recorded.event.x):
                key = row.tobytes() if recorded.event.ids is None else recorded.event.ids[side]
                times[key] += 1
                x[key] = row
    shown = [key for key, _ in times.most_common(MOST_ITEMS)]
    rows = np.array([x[key] for key in shown]).reshape(-1, settings.context_dim)
    ids = [key if isinstance(key, str) else _described(x[key], settings.context_names) for key in shown]
    return _Items(ids, rows, np.full((len(shown), settings.post_dim), np.nan))


def _described(x: Array, names: Sequence[str]) -> str:
    """An item that has no name, by its features that are not nought."""
    told = [f"{name}={value:.4g}" for name, value in zip(names, x.tolist(), strict=True) if value]
    return ", ".join(told[:3]) + (" …" if len(told) > 3 else "") if told else "all features 0"


def _check(names: Sequence[str], attack: str, lies: Sequence[float], late: int) -> None:
    for name in names:
        check_known("recipe", name, STREAM_RECIPES)
    check_known("attack", attack, ATTACKS)
    for share in lies:
        if not 0 <= share <= 1:
            raise InvalidInput(f"The share of lies is {share}; expected a number from 0 to 1.")
    if late < 0:
        raise InvalidInput(f"late is {late}; expected a number of duels, at least 0.")
