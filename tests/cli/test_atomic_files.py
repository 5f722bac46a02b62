"""A file is written whole or not at all, wherever it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from duelwise.atomic_files import write_text, write_whole


def test_what_fails_leaves_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    place = tmp_path / "told.txt"
    write_text(place, "before")

    def half(partial: Path) -> None:
        partial.write_text("aft")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_whole(place, half)
    assert place.read_text() == "before"
    assert list(tmp_path.iterdir()) == [place]


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    """As /dev/stdout is: whoever may write in /dev would lose it."""
    pipe, heard = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = Thread(target=lambda: heard.append(pipe.read_text()), daemon=True)
    reader.start()
    write_text(pipe, "told")
    reader.join(10)
    assert heard == ["told"]
    assert pipe.is_fifo()


def test_what_a_shell_leads_to_a_file_comes_behind_what_is_there(tmp_path: Path) -> None:
    """As of `(duelwise backup a /dev/stdout; duelwise backup b /dev/stdout) >> file`."""
    place = tmp_path / "all.txt"
    place.write_text("before\n")
    with place.open("ab") as led:
        for text in ("one", "two"):
            code = f"from duelwise.atomic_files import *; write_text(Path('/dev/stdout'), '{text}\\n')"
            subprocess.run([sys.executable, "-c", code], stdout=led, check=True)
    assert place.read_text() == "before\none\ntwo\n"
    assert list(tmp_path.iterdir()) == [place]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    place, link = tmp_path / "2026.txt", tmp_path / "latest.txt"
    place.write_text("before")
    link.symlink_to(place)
    write_text(link, "after")
    assert link.is_symlink()
    assert place.read_text() == "after"


def test_who_may_read_a_file_stays_as_it_was(tmp_path: Path) -> None:
    place = tmp_path / "votes.csv"
    place.touch()
    place.chmod(0o640)
    write_text(place, "after")
    assert place.stat().st_mode & 0o777 == 0o640
