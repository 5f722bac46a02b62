"""A stream of a store or the file of a backup: what commands that only read may be pointed at."""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from duelwise.cli.serve import opened

if TYPE_CHECKING:
    from duelwise.stream import DecisionStream
    from duelwise.stream.transfer import ExportedLog

LogArgument = Annotated[str, typer.Argument(help="The name of a stream, or the file of a backup.")]


def log_of(name: str, store: str) -> ExportedLog:
    """The log in a file, or that of a stream in the store."""
    from duelwise.stream.logs import RecordedLog, StoredLog
    from duelwise.stream.settings import StreamSettings
    from duelwise.stream.transfer import ExportedLog, read_backup

    if Path(name).is_file():
        return read_backup(Path(name))
    with opened(store) as at:
        row = at.stream(name)
        recorded = RecordedLog(StoredLog(at, row.id).events(after=0, upto=row.head))
    settings = StreamSettings.from_json(row.settings)
    return ExportedLog(row.name, row.uid, row.created_at, settings, recorded)


@contextmanager
def lived(name: str, store: str) -> Generator[DecisionStream]:
    """A stream that lives through the log: the stream itself, or a passing copy of a backup."""
    from duelwise.stream import DecisionStream

    if not Path(name).is_file():
        with opened(store) as at, DecisionStream.open(at, name) as stream:
            yield stream
        return
    from duelwise.stream.transfer import read_backup, restore

    exported = read_backup(Path(name))
    with tempfile.TemporaryDirectory() as folder, opened(f"sqlite:///{folder}/log.db", new=True) as at:
        restore(at, exported)
        with DecisionStream.open(at, exported.name) as stream:
            yield stream
