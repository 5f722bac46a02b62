"""Ctrl-C ends a command within two seconds and says what is kept, also while the main thread is in C."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from takes import best

BUSY = """
import ctypes, sys, time, types
from duelwise.cli import app, main
from duelwise.cli.interrupting import interruptible

@app.command()
def busy(way: str):
    with interruptible("Two curves are kept."):
        print("begun", flush=True)
        if way == "python":
            time.sleep(60)
        if way == "wrong":
            raise RuntimeError("by itself")
        for _ in range(60):
            try:
                while True:
                    ctypes.CDLL(None).usleep(900_000)  # C that comes back now and then, as a compiler does
            except KeyboardInterrupt as lost:  # told and swallowed, as a callback from C does
                lost = types.SimpleNamespace(
                    exc_type=type(lost), exc_value=lost, exc_traceback=None, err_msg=None, object=None
                )
                sys.unraisablehook(lost)
                if way == "failing":
                    raise RuntimeError("no compiled object yet")  # what the callback would have left
                if way == "halves":
                    kept = Half()  # closed in the middle of the unwinding, and another at the very end
                    sys.half = Half()
                    del kept
                    raise RuntimeError("no compiled object yet")

class Half:
    def __del__(self):
        del self.other_half

sys.argv = ["duelwise", "busy", *sys.argv[1:]]
main()
"""


def interrupted(program: list[str], folder: Path, *, begun: str) -> tuple[int, str, float]:
    """Exit code, what was said, and the seconds from Ctrl-C to the end."""
    with subprocess.Popen(
        program, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1,
        preexec_fn=_hears, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            assert process.stdout is not None
            said = ""
            while begun not in said:
                line = process.stdout.readline()
                assert line, said
                said += line
            time.sleep(0.5)
            os.killpg(process.pid, signal.SIGINT)  # all that a terminal would tell
            at = time.monotonic()
            rest, _ = process.communicate(timeout=60)
            return process.returncode, said + rest, time.monotonic() - at
        finally:
            process.kill()


def _hears() -> None:
    """What a shell starts in the background ignores Ctrl-C, and so would all that it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("way", ["python", "compiling", "failing", "halves"])
def test_it_ends_in_time_and_says_what_is_kept(way: str, tmp_path: Path) -> None:
    def waited() -> float:
        code, said, seconds = interrupted([sys.executable, "-c", BUSY, way], tmp_path, begun="begun")
        assert code == 130
        assert said.count("Stopped. Two curves are kept.") == 1
        assert "Traceback" not in said
        return seconds

    assert best(waited, below=2.5)


def test_an_error_without_an_interrupt_stays_one(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BUSY, "wrong"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "RuntimeError: by itself" in done.stderr
    assert "Stopped" not in done.stderr


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("run linear --horizon 500000 --runs 20", "Nothing is kept"),
        ("reproduce 2 --jobs 1 --runs 50", "Finished curves are kept"),
        ("reproduce 2 --jobs 2 --runs 50", "Finished curves are kept"),
    ],
)
def test_ctrl_c_while_code_is_compiled(words: str, kept: str, tmp_path: Path) -> None:
    """From an empty cache, so that the first seconds are a compiler's."""
    program = [
        sys.executable, "-c",
        "import os, sys; os.environ['NUMBA_CACHE_DIR'] = 'cache'\n"
        f"sys.argv = ['duelwise', *{words.split()!r}]\n"
        "from duelwise.cli import main; main()",
    ]  # fmt: skip

    def waited() -> float:
        shutil.rmtree(tmp_path / "cache", ignore_errors=True)
        code, said, seconds = interrupted(program, tmp_path, begun="curves, about")
        assert code == 130, said
        assert kept in said
        assert "Traceback" not in said
        return seconds

    assert best(waited, below=3.5)  # two, and what a busy machine adds
