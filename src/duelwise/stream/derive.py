"""An old log as another stream would have recorded it: the same votes, other features or another recipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from duelwise.stream.events import (
    Asked,
    Event,
    Expired,
    Imputed,
    ItemsPut,
    Observed,
    Projected,
    Ranged,
    Rebuilt,
    Recorded,
    Retracted,
    SourcesWeighed,
)
from duelwise.stream.ledger import CLOSED, Ledger
from duelwise.stream.lifecycle import transition
from duelwise.stream.past_ranges import ranges_of_log
from duelwise.stream.settings import StreamSettings
from duelwise.stream.stream_state import StreamState
from duelwise.types import Array

Change = Callable[[Array], Array]
"""Turns an old (2, n) of a pair into the new one."""


def same(values: Array) -> Array:
    """Features as they were."""
    return values


def derived_events(
    folded: StreamState, old: Sequence[Recorded], *, features: Change = same, context: Change = same
) -> Iterator[Recorded]:
    """Each event as the new stream would have recorded it; retracted votes are retracted there too.

    `folded` is the new stream's state: it is level with the last event given out.
    """
    sides = folded.settings.sides
    settled = ranges_of_log(folded.inputs, old, lambda x: sides.unshown(features(x)), context)
    if settled is not None:
        new = Recorded(1, old[0].at, settled)
        folded.apply(new)
        yield new
    numbers: dict[int, int] = {}  # of events, old → new: a retraction names a vote by its own
    for recorded in old:
        event = recorded.event
        if isinstance(event, Rebuilt | Ranged):
            continue
        if isinstance(event, Asked):
            event = _asked_anew(event, folded, features, context)
        elif isinstance(event, Observed | Imputed) and folded.settings.post_dim == 0:
            continue
        elif isinstance(event, Observed | Imputed | Expired) and not _can_follow(event, folded.ledger):
            continue  # all that the new stream waits for had come
        elif isinstance(event, Observed):
            event = _observed_anew(event, features, context)
        elif isinstance(event, Imputed):
            event = event._replace(y=folded.inputs.expected_context(0, event.round))
        elif isinstance(event, Projected) and event.name not in folded.encoder.to_fit:
            continue
        elif isinstance(event, ItemsPut):
            event = _items_anew(event, features, context)
        elif isinstance(event, SourcesWeighed) and folded.settings.sources == "equal":
            continue
        elif isinstance(event, Retracted) and event.vote is not None:
            event = event._replace(vote=numbers[event.vote])
        new = Recorded(folded.seq + 1, recorded.at, event, recorded.event_id)
        numbers[recorded.seq] = new.seq
        folded.apply(new)
        yield new
        ranged = folded.due_ranges()
        if ranged is not None:
            new = Recorded(folded.seq + 1, recorded.at, ranged)
            folded.apply(new)
            yield new


def _asked_anew(asked: Asked, folded: StreamState, features: Change, context: Change) -> Asked:
    x = np.array(features(asked.x), dtype=np.float64)
    return asked._replace(
        x=x,
        y=_known_at_once(asked, context, settings=folded.settings),
        predicted=folded.predict(x[None])[0],
        model_version=folded.seq,
        candidates=None,
        candidate_ids=None,
        offered=None,
        bounds=None if asked.bounds is None else _spread(features(asked.bounds)),
    )


def _observed_anew(observed: Observed, features: Change, context: Change) -> Observed:
    """A context with the features that its stream has; of a late one those of its pair, and what is new."""
    y = np.array(context(observed.y), dtype=np.float64)
    if observed.x is None or observed.fresh is None:
        return observed._replace(y=y)
    before = np.array(context(np.where(observed.fresh == 1, np.nan, observed.y)), dtype=np.float64)
    x = np.array(features(observed.x), dtype=np.float64)
    return observed._replace(y=y, x=x, fresh=(~np.isnan(y) & np.isnan(before)).astype(np.int64))


def _can_follow(event: Event, ledger: Ledger) -> bool:
    """Whether the duel still waits for what came next in the old stream."""
    return transition(ledger.waiting.get(event.round, CLOSED), event) is not None


def _items_anew(put: ItemsPut, features: Change, context: Change) -> ItemsPut:
    """Items with the features that pairs of them have."""
    return put._replace(x=_each(put.x, features), y=None if put.y is None else _each(put.y, context))


def _each(rows: Array, change: Change) -> Array:
    """A change of pairs for rows (n, d), one by one: beside itself each has the place of either side."""
    return np.array([change(np.stack((row, row)))[0] for row in rows], dtype=np.float64)


def _spread(x: Array) -> Array:
    """(2, dx) the least and the greatest of x (2, dx)."""
    return np.stack([x.min(axis=0), x.max(axis=0)])


def _known_at_once(asked: Asked, context: Change, *, settings: StreamSettings) -> Array | None:
    """Where nothing is known after serving, all is known at once."""
    if asked.y is not None:
        return np.array(context(asked.y), dtype=np.float64)
    return np.zeros((2, 0)) if settings.post_dim == 0 else None
