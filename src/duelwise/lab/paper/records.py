"""What a study leaves beside its curves: which curve stands where, what was tried, how long it took."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from duelwise.atomic_files import write_text
from duelwise.errors import InvalidInput
from duelwise.lab.cells.codec import Frozen, Plain, decode, table_at

OWN = "own"
"""The protocol of an experiment that is no figure of the paper."""
LONGEST = 50
"""Letters of a title in a file's name: of four bytes each they stay below the 255 of most file systems."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One curve of a figure, by the key of its cell."""

    figure: str
    panel: str
    variant: str
    method: str
    key: str


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One candidate of a search, and how it did on the held-out runs."""

    task: str
    regime: str
    variant: str
    method: str
    exploration_width: float
    clip_rule: str | None
    mean: float
    chosen: bool
    key: str


@dataclass(frozen=True, kw_only=True)
class Session:
    """One call that worked on the study."""

    started: str
    seconds: float  # by the clock
    simulated: float  # seconds of processor time for simulation, summed over workers
    computed: int
    reused: int
    workers: str
    machine: str


@dataclass(frozen=True, kw_only=True)
class StudySettings:
    """What a study is set to."""

    protocol: str
    post_serving: str
    runs: int
    code: str  # digest of the source files on the simulated path
    title: str = ""  # of a user's own experiment


@dataclass(frozen=True, kw_only=True)
class StudyRecord(StudySettings):
    """A study: enough for a report to be made from the folder alone."""

    entries: tuple[Entry, ...] = ()
    tried: tuple[Tried, ...] = ()
    sessions: tuple[Session, ...] = ()

    @property
    def name(self) -> str:
        """The file's name without its ending; an experiment of one's own goes by its title."""
        if self.protocol == OWN:
            letters = re.sub(r"[\W_]+", "-", self.title.lower()).strip("-")  # of any alphabet
            if letters != self.title or not self.title.isascii() or len(letters) > LONGEST:
                # What is left may be another title's too.
                digest = hashlib.sha256(self.title.encode()).hexdigest()
                letters = f"{letters[:LONGEST]}-{digest[:8]}".strip("-")
            return f"{OWN}-{letters or 'experiment'}"
        return f"{self.protocol}-{self.post_serving}-{self.runs}"

    @property
    def figures(self) -> tuple[str, ...]:
        """The numbers of the figures it holds."""
        return tuple(dict.fromkeys(entry.figure for entry in self.entries))

    def after(self, earlier: StudyRecord) -> StudyRecord:
        """This record with what an earlier one of the same code holds besides it."""
        if earlier.code != self.code:
            return self
        kept = tuple(entry for entry in earlier.entries if entry.figure not in self.figures)
        keys = {tried.key for tried in self.tried}
        tried = tuple(one for one in earlier.tried if one.key not in keys)
        return replace(
            self,
            entries=kept + self.entries,
            tried=tried + self.tried,
            sessions=earlier.sessions + self.sessions,
        )


def path_of(folder: Path, name: str) -> Path:
    """Where the record of that name lies."""
    return folder / "studies" / f"{name}.json"


def write_record(folder: Path, record: StudyRecord) -> StudyRecord:
    """Keep a record, joined to an earlier one of the same study and code, whose place it takes."""
    path, joined = path_of(folder, record.name), record
    earlier = _earlier(path, record)
    for _, one in earlier:
        joined = joined.after(one)
    write_text(path, json.dumps(asdict(joined), indent=1, ensure_ascii=False))
    for other, _ in earlier:
        if other != path:
            other.unlink(missing_ok=True)
    return joined


def _earlier(path: Path, record: StudyRecord) -> list[tuple[Path, StudyRecord]]:
    """Records of the same study. Earlier versions gave those of a user's own experiments other names."""
    found = [(path, read_record(path))] if path.exists() else []
    others = sorted(path.parent.glob(f"{OWN}-*.json")) if record.protocol == OWN else []
    for other in others:
        if other != path:
            with suppress(OSError, ValueError, LookupError, InvalidInput):  # a report says what is wrong
                found.append((other, read_record(other)))
    return [(at, one) for at, one in found if one.name == record.name]


def read_record(path: Path) -> StudyRecord:
    """The record in a file."""
    table = dict(table_at(json.loads(path.read_text(encoding="utf-8")), path.name))
    lists: dict[str, type[Frozen]] = {"entries": Entry, "tried": Tried, "sessions": Session}
    parts = {name: _decode_all(table.pop(name), kind, name) for name, kind in lists.items()}
    return replace(StudyRecord(**vars(decode(table, StudySettings, where=path.name))), **parts)


def records_in(folder: Path) -> list[StudyRecord]:
    """Every study of a folder, those as published first, or an error that says how to make one."""
    found = sorted(
        (folder / "studies").glob("*.json"),
        key=lambda path: (path.name.startswith(OWN), not path.name.startswith("paper"), path.name),
    )
    if not found:
        raise InvalidInput(
            f"There is no study in {folder}. Make one first: duelwise reproduce 1 --folder {folder}, "
            f"or duelwise run FILE.toml --folder {folder}."
        )
    return [read_record(path) for path in found]


def machine() -> str:
    """This machine in one line."""
    system = f"{platform.system()}, Python {platform.python_version()}"
    return f"{_processor()}, {os.cpu_count()} cores, {system}"


def _decode_all(rows: Plain, kind: type[Frozen], where: str) -> tuple[Frozen, ...]:
    assert isinstance(rows, list)
    return tuple(decode(row, kind, where=f"{where}[{place}]") for place, row in enumerate(rows))


def _processor() -> str:
    """The processor's name where the system says it."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text(encoding="utf-8").splitlines() if about.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
