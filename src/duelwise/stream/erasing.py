"""A source's name can be forgotten: its votes stay, under a pseudonym, and the fold does not change."""

from __future__ import annotations

import secrets

from duelwise.storage import SnapshotRow, Store, pack, unpack
from duelwise.storage.repairing import SourceEraser
from duelwise.stream.arithmetic import ARITHMETIC, FORMAT
from duelwise.stream.candidates import check_source
from duelwise.stream.events import Skipped, SourceHeld, SourceReleased, SourcesWeighed, Told, decode, encode
from duelwise.stream.ledger import renamed_source

NAMING = (
    "told",
    "skipped",
    "source_held",
    "source_released",
    "sources_weighed",
)  # kinds of events that name a source


def erase_source(store: Store, name: str, source: str) -> str:
    """Write a pseudonym over a source's name, everywhere in a stream; returns the pseudonym.

    It is drawn at random, so that nobody can find the name by trying. Backups and exports that
    were made before still hold the name.
    """
    check_source(source)
    pseudonym = f"erased-{secrets.token_hex(6)}"
    with store.erasing(store.stream(name).id) as eraser:
        snapshot = eraser.snapshot(format=FORMAT, arithmetic=ARITHMETIC)
        _rewrite_events(eraser, source, pseudonym)
        for number, payload in eraser.cut_events():
            if payload is not None and source.encode() in payload:
                eraser.blank(number)
        kept = [] if snapshot is None else [_renamed(snapshot, source, pseudonym)]
        eraser.finish(source, pseudonym, kept)
    return pseudonym


def _rewrite_events(eraser: SourceEraser, source: str, pseudonym: str) -> None:
    """A damaged row is left to a repair, which keeps it: erase again after that."""
    for scanned in eraser.scan():
        if scanned.event is None or scanned.kind not in NAMING:
            continue
        event = decode(scanned.event).event
        if isinstance(event, Told | Skipped | SourceHeld | SourceReleased) and event.source == source:
            payload = encode(event._replace(source=pseudonym))
            eraser.rewrite(scanned.event._replace(payload=payload))
        elif isinstance(event, SourcesWeighed) and source in event.sources:
            named = [pseudonym if name == source else name for name in event.sources]
            eraser.rewrite(scanned.event._replace(payload=encode(event._replace(sources=named))))


def _renamed(snapshot: SnapshotRow, source: str, pseudonym: str) -> SnapshotRow:
    fields, arrays = unpack(snapshot.payload)
    return snapshot._replace(payload=pack(renamed_source(fields, source, pseudonym), arrays))
