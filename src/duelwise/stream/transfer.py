"""Logs as JSON lines: export, backup, restore, and a new stream from an old log.

The first line says what stream it is, the last how many events there are and their
checksum, so a torn file is noticed. Floats are written with every digit they have. Every line
of a duel names its ticket, since format 2; a log of format 1 is read as well.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, NoReturn, cast

from duelwise.atomic_files import write_whole
from duelwise.errors import Conflict, InvalidInput, check_known
from duelwise.storage import JSON, Store, Writer
from duelwise.stream.candidates import check_name, check_stream_name
from duelwise.stream.derive import Change, derived_events, same
from duelwise.stream.events import Asked, Event, Recorded, encode, from_json, kind_of, to_json
from duelwise.stream.folding import fold
from duelwise.stream.history import TicketHistory
from duelwise.stream.logs import RecordedLog, StoredLog
from duelwise.stream.settings import StreamSettings
from duelwise.stream.stream_state import StreamState
from duelwise.stream.tickets import write
from duelwise.stream_fields import EDITION

FORMAT = "duelwise log 2"
WITHOUT_TICKETS = "duelwise log 1"  # as 0.1 wrote it
AT_ONCE = 2000  # events sent to the database together


class ExportedLog(NamedTuple):
    """A log read back from its lines."""

    name: str
    uid: str
    created_at: float
    settings: StreamSettings
    log: RecordedLog

    def fold(self) -> StreamState:
        """The state that the log leads to."""
        return fold(self.settings, self.log, upto=self.log.head)


def export_lines(store: Store, name: str) -> Iterator[str]:
    """The log of a stream, one JSON object a line."""
    stream = store.stream(name)
    header: dict[str, JSON] = {
        "format": FORMAT,
        "name": stream.name,
        "uid": stream.uid,
        "created_at": stream.created_at,
        "settings": json.loads(stream.settings),
    }
    line = json.dumps(header)
    checksum = zlib.crc32(line.encode())
    yield line
    tickets_of = TicketNames()
    for recorded in StoredLog(store, stream.id).events(after=0, upto=stream.head):
        ticket = tickets_of.name(recorded.event)
        named = to_json(recorded) | ({} if ticket is None else {"ticket": ticket})
        line = json.dumps(named, allow_nan=False)
        checksum = zlib.crc32(line.encode(), checksum)
        yield line
    yield json.dumps({"end": stream.head, "checksum": checksum})


class TicketNames:
    """The ticket of each event of a log, taken in order."""

    def __init__(self) -> None:
        self._tags: dict[int, str] = {}

    def name(self, event: Event) -> str | None:
        """None where the event is of no duel, or of one whose record was cut."""
        if isinstance(event, Asked):
            self._tags[event.round] = event.tag
        tag = self._tags.get(event.round)
        return None if tag is None else write(event.round, tag)


def read_lines(lines: Iterable[str]) -> ExportedLog:
    """An exported log, checked to be whole and to tell a history that can have happened."""
    checksum, previous = 0, None
    header: dict[str, JSON] = {}
    recorded: list[Recorded] = []
    named: list[JSON] = []  # the tickets that the lines name
    for number, line in enumerate(lines):
        text = line.rstrip("\n")
        if previous is not None:
            checksum = zlib.crc32(previous.encode(), checksum)
            if number > 1:
                fields = _object(previous, number)
                if header["format"] == FORMAT:
                    named.append(fields.pop("ticket", None))
                recorded.append(from_json(fields))
        else:
            header = _header(text)
        previous = text
    end = _object(previous, len(recorded) + 2) if previous is not None and header else {}
    if end.get("end") != len(recorded) or end.get("checksum") != checksum:
        raise InvalidInput(
            f"The exported log is torn or was changed: after {len(recorded)} events its last line should "
            "give their number and checksum. Take a whole copy."
        )
    settings = StreamSettings.from_json(json.dumps(header["settings"]))
    _check_history(settings, recorded)
    _check_tickets(recorded, named)
    return ExportedLog(
        cast("str", header["name"]),
        cast("str", header["uid"]),
        cast("float", header["created_at"]),
        settings,
        RecordedLog(recorded),
    )


def _check_history(settings: StreamSettings, recorded: Iterable[Recorded]) -> None:
    history = TicketHistory(settings)
    for number, one in enumerate(recorded, start=1):
        wrong = history.take(one) if one.seq == number else f"stands at number {number}"
        if wrong is not None:
            raise InvalidInput(f"Event {one.seq!r:.40} of the exported log {wrong}. Take a true copy.")


def _check_tickets(recorded: Sequence[Recorded], named: Sequence[JSON]) -> None:
    """Every line of a duel names its ticket; in a log of format 1 there is none to check."""
    tickets_of = TicketNames()
    for one, ticket in zip(recorded, named, strict=False):
        own = tickets_of.name(one.event)
        if ticket != own:
            raise InvalidInput(
                f"Event {one.seq} of the exported log names the ticket {ticket!r:.80}; its duel has "
                f"{own!r:.80}. Take a true copy."
            )


def _object(text: str, number: int) -> dict[str, JSON]:
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except ValueError as error:
        raise InvalidInput(
            f"Line {number} of the exported log is no JSON: {error}. Take a whole copy."
        ) from error
    return cast("dict[str, JSON]", value) if isinstance(value, dict) else {}


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number that JSON knows")


_HEADER: dict[str, tuple[type, ...]] = {
    "name": (str,), "uid": (str,), "created_at": (int, float), "settings": (dict,)
}  # fmt: skip


def _header(text: str) -> dict[str, JSON]:
    header = _object(text, 1)
    if header.get("format") not in (FORMAT, WITHOUT_TICKETS):
        raise InvalidInput(
            f"The first line gives the format {header.get('format')!r:.80}; expected {FORMAT!r}, or "
            f"{WITHOUT_TICKETS!r} as older versions wrote it."
        )
    for name, kinds in _HEADER.items():
        if not isinstance(header.get(name), kinds):
            raise InvalidInput(
                f"The first line gives the {name} {header.get(name)!r:.80}; expected "
                f"{' or '.join(kind.__name__ for kind in kinds)}. Take a true copy."
            )
    check_name("uid", cast("str", header["uid"]))
    return header


def backup(store: Store, name: str, path: Path) -> None:
    """Write a stream's log to a file: whole, or not at all."""

    def write_lines(partial: Path) -> None:
        with partial.open("w", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in export_lines(store, name))

    write_whole(path, write_lines)


def read_backup(path: Path) -> ExportedLog:
    """The log in a file that `backup` wrote, checked to be whole."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            return read_lines(file)
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{path} is no exported log: byte {error.start} is no text. "
            "Expected what `duelwise backup` wrote: give that file."
        ) from error


def restore(store: Store, exported: ExportedLog, *, name: str | None = None) -> None:
    """The stream of a backup in this store, tickets and all; float for float the same when folded."""
    _fill(
        store,
        name or exported.name,
        exported.uid,
        exported.settings,
        exported.created_at,
        exported.log.events(after=0, upto=exported.log.head),
    )


def derive(
    store: Store,
    name: str,
    settings: StreamSettings,
    exported: ExportedLog,
    *,
    features: Change = same,
    context: Change = same,
) -> None:
    """A new stream that has lived through an old log with other features or another recipe.

    `features` turns the old x (2, dx) of a pair into the new one, `context` likewise its y.
    Tickets, times and votes stay what they were; whole candidate sets are not carried over.
    """
    log = exported.log
    old = list(log.events(after=0, upto=log.head))
    new = derived_events(StreamState(settings), old, features=features, context=context)
    _fill(store, name, exported.uid, settings, time.time(), new)


def derive_columns(
    store: Store,
    name: str,
    exported: ExportedLog,
    columns: Mapping[str, str],
    changes: Mapping[str, JSON] | None = None,
) -> StreamSettings:
    """A new stream from an old log with some of its features, under other names, and other settings.

    `columns` gives the new features in order: {"rating": "stars"} is the old feature stars under the
    name rating. Those known before serving come first, as in the old stream.
    """
    old = exported.settings
    for column in columns.values():
        check_known("feature", column, old.feature_names)
    before = [new for new, column in columns.items() if column in old.context_names]
    after = [new for new, column in columns.items() if column in old.post_names]
    kept: dict[str, JSON] = {
        "context_dim": len(before), "post_dim": len(after), "feature_names": [*before, *after]
    }  # fmt: skip
    for setting, value in (changes or {}).items():
        if value != kept.get(setting, value):
            raise InvalidInput(
                f"{setting} is {value!r}, but the columns that are kept make it {kept[setting]!r}. "
                "Expected it left out: name other columns instead."
            )
    settings = StreamSettings.from_dict(
        old.to_dict()
        | {"edition": EDITION}
        | {"ranges": {new: old.ranges[column] for new, column in columns.items() if column in old.ranges}}
        | dict(changes or {})
        | kept
    )
    x = [old.context_names.index(columns[new]) for new in before]
    y = [old.post_names.index(columns[new]) for new in after]
    derive(store, name, settings, exported, features=lambda old: old[:, x], context=lambda old: old[:, y])
    return settings


def _fill(
    store: Store,
    name: str,
    uid: str,
    settings: StreamSettings,
    created_at: float,
    recorded: Iterable[Recorded],
) -> None:
    """Put a whole log into a new stream, in one transaction."""
    check_stream_name(name)
    settings.start()  # refuses what the learner cannot be made of
    stream, _ = store.create_stream(name=name, uid=uid, settings=settings.to_json(), at=created_at)
    if stream.head > 0 or (stream.uid, stream.settings) != (uid, settings.to_json()):
        raise Conflict(f"There is already a stream {name!r}; give the restored one another name.")
    history = TicketHistory(settings)
    try:
        with store.writing(stream.id) as writer:
            for count, one in enumerate(recorded, start=1):
                _copy(writer, history, one)
                if count % AT_ONCE == 0:
                    writer.flush()
    except BaseException:
        store.discard_empty(stream.id)
        raise


def _copy(writer: Writer, history: TicketHistory, recorded: Recorded) -> None:
    """One event and the ticket it leads to; one that cannot have happened is refused."""
    event = recorded.event
    wrong = history.take(recorded)
    if wrong is None and recorded.seq != writer.head + 1:
        wrong = f"follows event {writer.head}"
    if wrong is not None:
        raise InvalidInput(f"Event {recorded.seq!r:.40} of the log {wrong}. Nothing was restored.")
    writer.append(
        kind_of(event), encode(event), at=recorded.at, round=event.round, event_id=recorded.event_id
    )
    writer.rounds = history.rounds
    if event.round in history.tickets:
        writer.put(history.tickets[event.round])
