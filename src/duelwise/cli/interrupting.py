"""Ctrl-C that ends a long command within two seconds, also while code is being compiled.

Compiling holds the main thread for seconds at a time, and what Python raises there may be lost in a
callback from C, which would print it and go on. So a thread of its own hears the signal too, and ends the
process if nobody else has. And what the interrupt cut short, a compiler's objects among it, fails a moment
later for want of its other half: once the signal was heard, every error is the interrupt, and none is
printed. Nothing is lost by that: results are written whole or not at all.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console

GRACE_SECONDS = 1.5  # to end in an orderly way
STOPPED = 130  # the shell's code for a command that was interrupted


@contextmanager
def interruptible(kept: str) -> Generator[None]:
    """While this lasts, Ctrl-C ends the command promptly and says what is kept."""
    is_main = threading.current_thread() is threading.main_thread()  # signals are its affair
    if not is_main or signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background
        yield
        return
    notice = _Notice(kept)
    hearing, speaking = socket.socketpair()
    speaking.setblocking(False)
    threading.Thread(target=_watch, args=(hearing, notice), daemon=True).start()
    wakeup_before = signal.set_wakeup_fd(speaking.fileno(), warn_on_full_buffer=False)
    signal_before = signal.signal(signal.SIGINT, notice.hear)
    lost_before, sys.unraisablehook = sys.unraisablehook, _until(notice, sys.unraisablehook)
    try:
        yield
    except (KeyboardInterrupt, Exception) as ended:
        if not isinstance(ended, KeyboardInterrupt) and not notice.is_heard:
            raise
        notice.give()
        raise typer.Exit(STOPPED) from None
    finally:
        signal.signal(signal.SIGINT, signal_before)
        signal.set_wakeup_fd(wakeup_before)
        speaking.close()
        if not notice.is_heard:  # else the process ends, and halves of objects with it
            sys.unraisablehook = lost_before


def _until(notice: _Notice, hook: Callable[[Any], object]) -> Callable[[Any], object]:
    """What tells of exceptions that got lost, silent once Ctrl-C was heard."""

    def tell(lost: Any) -> None:
        if not notice.is_heard:
            hook(lost)

    return tell


class _Notice:
    """A last word, given once whoever gives it."""

    def __init__(self, kept: str) -> None:
        self._kept, self._given, self._lock = kept, False, threading.Lock()
        self.is_heard = False  # from here on, whatever fails fails by the interrupt

    def hear(self, *_signal: object) -> None:
        """The handler of SIGINT."""
        self.is_heard = True
        raise KeyboardInterrupt

    def give(self) -> None:
        with self._lock:
            if not self._given:
                self._given = True
                console = Console(stderr=True)
                console.show_cursor(True)
                console.print(f"\nStopped. {self._kept}", highlight=False, markup=False)


def _watch(hearing: socket.socket, notice: _Notice) -> None:
    """Wait for an interrupt, give the command its grace, then end the process."""
    with hearing:
        while told := hearing.recv(64):
            if signal.SIGINT in told:
                time.sleep(GRACE_SECONDS)
                notice.give()
                sys.stdout.flush()
                os._exit(STOPPED)
