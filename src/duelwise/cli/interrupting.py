"""Ctrl-C that ends a long command within two seconds, also while code is being compiled.

Compiling holds the main thread for seconds at a time, and what Python raises there may be lost in a
callback from C, which would print it and go on. So a thread of its own hears the signal too, and ends the
process if nobody else has. And what was cut short in that callback may fail a moment later for want of its
result: such an error is the interrupt. Nothing is lost by that: results are written whole or not at all.
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
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's affair
        return
    notice = _Notice(kept)
    hearing, speaking = socket.socketpair()
    speaking.setblocking(False)
    threading.Thread(target=_watch, args=(hearing, notice), daemon=True).start()
    before = signal.set_wakeup_fd(speaking.fileno(), warn_on_full_buffer=False)
    lost_before, sys.unraisablehook = sys.unraisablehook, _without_interrupts(sys.unraisablehook, notice)
    try:
        yield
    except (KeyboardInterrupt, Exception) as ended:
        if not isinstance(ended, KeyboardInterrupt) and not notice.is_due:
            raise
        notice.give()
        raise typer.Exit(STOPPED) from None
    finally:
        signal.set_wakeup_fd(before)
        sys.unraisablehook = lost_before
        speaking.close()


def _without_interrupts(hook: Callable[[Any], object], notice: _Notice) -> Callable[[Any], object]:
    """What tells of exceptions that got lost, silent about Ctrl-C: the watching thread has heard it."""

    def tell(lost: Any) -> None:
        if lost.exc_type is KeyboardInterrupt:
            notice.is_due = True
        else:
            hook(lost)

    return tell


class _Notice:
    """A last word, given once whoever gives it."""

    def __init__(self, kept: str) -> None:
        self._kept, self._given, self._lock = kept, False, threading.Lock()
        self.is_due = False  # an interrupt got lost: whatever fails now, fails by it

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
