"""Changes to a stream that concern no single duel: its items, and sources that are held back."""

from __future__ import annotations

from collections.abc import Sequence

from duelwise.stream.candidates import check_source
from duelwise.stream.catalogue import check_ids
from duelwise.stream.events import ItemsPut, ItemsWithdrawn, SourceHeld, SourceReleased
from duelwise.stream.items import Put, Record, features_by_id, news, read_items, records_of
from duelwise.stream.projections import FITTED_TO
from duelwise.stream.replica import Replica


def put_items(replica: Replica, items: object) -> Put:
    """Add items or change them; all are checked before the first is recorded."""
    checked = _checked(replica, records_of(items, replica.settings))
    total = Put(0, 0, 0)
    for put in checked:
        with replica.lock, replica.batch() as batch:
            new, counts = news(put, replica.folded.catalogue)
            if new is not None:
                batch.record(new)
        total = Put(*(a + b for a, b in zip(total, counts, strict=True)))
    return total


def _checked(replica: Replica, records: Sequence[Record]) -> list[ItemsPut]:
    """Items as columns; a projection that waits for its first items is fitted to these, and recorded."""
    settings = replica.settings
    while True:
        with replica.lock:
            replica.refresh()
            encoder = replica.folded.encoder
        fits = encoder.fit(features_by_id(records[:FITTED_TO]))
        fitted = encoder
        for fit in fits:
            fitted = fitted.fitted(fit)
        checked = read_items(records, settings, fitted)
        if not fits:
            return checked
        with replica.lock, replica.batch() as batch:
            others_first = any(fit.name not in replica.folded.encoder.to_fit for fit in fits)
            if not others_first:
                batch.record(*fits)
                return checked


def withdraw_items(replica: Replica, ids: Sequence[str]) -> int:
    """Offer these items no longer; returns how many were offered until now.

    An id that was never put is refused, and then nothing changes.
    """
    check_ids(ids)
    with replica.lock, replica.batch() as batch:
        offered = replica.folded.catalogue.still(ids)
        if offered:
            batch.record(ItemsWithdrawn(offered))
    return len(offered)


def set_source(replica: Replica, source: str, *, held: bool) -> bool:
    """Hold a source back or release it; False when it is so already."""
    check_source(source)
    with replica.lock:
        with replica.batch() as batch:
            changed = held != (source in replica.folded.left_out.sources)
            if changed:
                batch.record(SourceHeld(source) if held else SourceReleased(source))
        replica.upkeep()
    return changed
