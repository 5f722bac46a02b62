"""Changes to a stream that concern no single duel: its items, and sources that are held back."""

from __future__ import annotations

from collections.abc import Sequence

from duelwise.stream.catalogue import check_ids
from duelwise.stream.items import Put, chunks, news, read_items, records_of
from duelwise.stream.replica import Replica


def put_items(replica: Replica, items: object) -> Put:
    """Add items or change them; all are checked before the first is recorded."""
    settings = replica.settings
    checked = [read_items(some, settings) for some in chunks(records_of(items, settings))]
    total = Put(0, 0, 0)
    for put in checked:
        with replica.lock, replica.batch() as batch:
            new, counts = news(put, replica.folded.catalogue)
            if new is not None:
                batch.put_items(new)
        total = Put(*(a + b for a, b in zip(total, counts, strict=True)))
    return total


def withdraw_items(replica: Replica, ids: Sequence[str]) -> int:
    """Offer these items no longer; an unknown id is refused, and then nothing changes."""
    check_ids(ids)
    with replica.lock, replica.batch() as batch:
        replica.folded.catalogue.some(ids)
        if ids:
            batch.withdraw_items(ids)
    return len(ids)


def set_source(replica: Replica, source: str, *, held: bool) -> bool:
    """Hold a source back or release it; False when it is so already."""
    with replica.lock:
        with replica.batch() as batch:
            changed = batch.hold_source(source) if held else batch.release_source(source)
        replica.upkeep()
    return changed
