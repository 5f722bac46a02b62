"""A log walked once: what each event makes of its ticket, and why one cannot have happened."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np

from duelwise.storage import TicketRow
from duelwise.storage.rows import NO_ROUND
from duelwise.stream import tickets
from duelwise.stream.candidates import LARGEST, is_name
from duelwise.stream.events import (
    Asked,
    Cut,
    Imputed,
    ItemsPut,
    ItemsWithdrawn,
    Observed,
    Projected,
    Ranged,
    Rebuilt,
    Recorded,
    Skipped,
    SourceHeld,
    SourceReleased,
    SourcesWeighed,
    Told,
    kind_of,
)
from duelwise.stream.lifecycle import STEPS
from duelwise.stream.settings import StreamSettings
from duelwise.types import AnyArray, Array

OUTCOMES = (0.0, 0.5, 1.0)


class TicketHistory:
    """The tickets of a log and the rounds it has served, after the events taken so far."""

    def __init__(self, settings: StreamSettings) -> None:
        self._settings = settings
        self.tickets: dict[int, TicketRow] = {}
        self.rounds = 0
        self._named: set[str] = set()
        self._items: set[str] = set()
        self._encoder = settings.encoder

    def take(self, recorded: Recorded) -> str | None:
        """Go one event on; returns why it cannot have happened, and then it is passed over."""
        event = recorded.event
        wrong = self._wrong_stamp(recorded) or self._wrong_values(recorded)
        if wrong is not None:
            return wrong
        if type(event) in STEPS:
            if isinstance(event, Asked) and event.round != self.rounds:
                return f"serves duel {event.round} where duel {self.rounds} is the next"
            ticket = self.tickets.get(event.round)
            after = tickets.after(ticket, recorded)
            if after is None:
                state = "was never asked" if ticket is None else f"was {ticket.state}"
                return f"says that duel {event.round} was {kind_of(event)}, which {state}"
            self.tickets[event.round] = after
        if isinstance(event, Asked) or (isinstance(event, Cut) and event.round != NO_ROUND):
            self.rounds = event.round + 1
        if isinstance(event, ItemsPut):
            self._items.update(event.ids)
        elif isinstance(event, ItemsWithdrawn):
            self._items.difference_update(event.ids)
        elif isinstance(event, Projected):
            self._encoder = self._encoder.fitted(event)
        if recorded.event_id is not None:
            self._named.add(recorded.event_id)
        return None

    def _wrong_stamp(self, recorded: Recorded) -> str | None:
        if not _is_number(recorded.at):
            return f"has the time {recorded.at!r}"
        name = recorded.event_id
        if name is not None and (not _is_name(name) or name in self._named):
            return f"has the event_id {name!r:.80}, which is used before or is no name"
        round: object = recorded.event.round
        return None if _is_whole(round, least=NO_ROUND) else f"has the round {round!r:.80}"

    def _wrong_values(self, recorded: Recorded) -> str | None:
        event = recorded.event
        if isinstance(event, Asked):
            return self._wrong_question(event, recorded.seq)
        if isinstance(event, Observed | Imputed):
            return self._wrong_context(event)
        if isinstance(event, Told) and event.outcome not in OUTCOMES:
            return f"has the outcome {event.outcome!r:.80}"
        if isinstance(event, Told | Skipped) and event.source is not None and not _is_name(event.source):
            return f"has the source {event.source!r:.80}"
        if isinstance(event, SourceHeld | SourceReleased) and not _is_name(event.source):
            return f"has the source {event.source!r:.80}"
        if isinstance(event, SourcesWeighed) and not (
            _are_names(event.sources, None) and _is_whole(event.votes, least=0)
        ):
            return f"has the sources {event.sources!r:.80} of {event.votes!r:.40} votes"
        if isinstance(event, ItemsPut):
            return self._wrong_items(event)
        if isinstance(event, ItemsWithdrawn):
            return self._wrong_withdrawal(event)
        if isinstance(event, Projected):
            return self._wrong_projection(event)
        if isinstance(event, Rebuilt) and not _is_whole(event.upto, least=0, most=recorded.seq - 1):
            return f"rebuilds up to event {event.upto!r:.80}"
        if isinstance(event, Ranged):
            return self._wrong_ranges(event)
        if isinstance(event, Cut) and event.round not in (NO_ROUND, self.rounds):
            return f"cuts duel {event.round} where duel {self.rounds} is the next"
        return None

    def _wrong_ranges(self, ranged: Ranged) -> str | None:
        dim = self._settings.model_dim
        for name in ("centre", "half", "reach"):
            values: object = getattr(ranged, name)
            if not isinstance(values, np.ndarray) or cast("AnyArray", values).shape != (dim,):
                return f"has {name} {values!r:.80} in a stream of {dim} features"
            if not np.isfinite(cast("Array", values)).all():
                return f"has {name} that is not finite"
        if not self._settings.scales or ranged.settled not in (False, True):
            return f"sets ranges in a stream of edition {self._settings.edition}"
        return None if (ranged.half > 0).all() and (ranged.reach > 0).all() else "has a range without width"

    def _wrong_context(self, event: Observed | Imputed) -> str | None:
        known = np.where(np.isnan(event.y), 0.0, event.y)
        wrong = self._wrong_array("y", known, self._settings.post_dim)
        if wrong is None and isinstance(event, Observed) and event.x is not None:
            wrong = self._wrong_array("x", event.x, self._settings.context_dim)
            if wrong is None and (event.fresh is None or event.fresh.shape != event.y.shape):
                wrong = "does not say what is new in it"
        return wrong

    def _wrong_question(self, asked: Asked, seq: int) -> str | None:
        dx, dy = self._settings.context_dim, self._settings.post_dim
        wrong = self._wrong_array("x", asked.x, dx) or self._wrong_array(
            "predicted", asked.predicted, dy, largest=math.inf
        )
        if wrong is None and (asked.y is not None or dy == 0):
            wrong = self._wrong_array("y", asked.y, dy)
        if wrong is None and asked.candidates is not None:
            wrong = self._wrong_array("candidates", asked.candidates, dx, rows=len(asked.candidates))
        if wrong is None and asked.bounds is not None:
            wrong = self._wrong_array("bounds", asked.bounds, dx)
        if wrong is not None:
            return wrong
        arms = asked.arms
        if arms.shape != (2,) or arms.min() < 0 or arms[0] == arms[1]:
            return f"has the arms {arms!r:.80}"
        if not _is_name(asked.tag) or asked.swapped not in (False, True):
            return f"has the tag {asked.tag!r:.80} and swapped {asked.swapped!r:.80}"
        if not _is_whole(asked.model_version, least=0, most=seq - 1):
            return f"was chosen after event {asked.model_version!r:.80}"
        if asked.probability is not None and not (
            _is_number(asked.probability) and 0 < asked.probability <= 1
        ):
            return f"has the probability {asked.probability!r:.80}"
        for ids, count in ((asked.ids, 2), (asked.candidate_ids, None)):
            if ids is not None and not _are_names(ids, count):
                return f"has the ids {ids!r:.80}"
        return None

    def _wrong_items(self, put: ItemsPut) -> str | None:
        if not _are_names(put.ids, None) or len(set(put.ids)) != len(put.ids):
            return f"has the ids {put.ids!r:.80}"
        wrong = self._wrong_array("x", put.x, self._settings.context_dim, rows=len(put.ids))
        if wrong is None and put.y is not None:
            wrong = self._wrong_array("y", put.y, self._settings.post_dim, rows=len(put.ids))
        for name in ("known", "groups", "contents"):
            values: Sequence[object] | None = getattr(put, name)
            if wrong is None and values is not None and len(values) != len(put.ids):
                wrong = f"has {len(values)} {name} of {len(put.ids)} items"
        return wrong

    def _wrong_withdrawal(self, withdrawn: ItemsWithdrawn) -> str | None:
        if not _are_names(withdrawn.ids, None):
            return f"has the ids {withdrawn.ids!r:.80}"
        absent = [id for id in withdrawn.ids if id not in self._items]
        return f"withdraws the item {absent[0]!r:.80}, which is not there" if absent else None

    def _wrong_projection(self, projected: Projected) -> str | None:
        waiting = self._encoder.to_fit
        if projected.name not in waiting:
            return f"fits the projection of {projected.name!r:.80}, which waits for none"
        length, dim = waiting[projected.name][:2]
        for name, values, shape in (
            ("centre", projected.centre, (length,)), ("axes", projected.axes, (length, dim)),
        ):  # fmt: skip
            if values.shape != shape or not np.isfinite(values).all():
                return f"has {name} of shape {values.shape} where {shape} finite numbers are expected"
        return None

    def _wrong_array(
        self, name: str, values: AnyArray | None, columns: int, *, rows: int = 2, largest: float = LARGEST
    ) -> str | None:
        if not isinstance(values, np.ndarray) or values.shape != (rows, columns):
            shape = values.shape if isinstance(values, np.ndarray) else values
            return f"has {name} of shape {shape!r:.80} in a stream of ({rows}, {columns})"
        if not (np.isfinite(values).all() and (np.abs(values) <= largest).all()):
            return f"has {name} that is not finite, or beyond ±{largest:g}"
        return None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_whole(value: object, *, least: int, most: int = 2**62) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _is_name(value: object) -> bool:
    return isinstance(value, str) and is_name(value)


def _are_names(values: object, count: int | None) -> bool:
    if not isinstance(values, list | tuple):
        return False
    names = cast("Sequence[object]", values)
    return (count is None or len(names) == count) and all(map(_is_name, names))
