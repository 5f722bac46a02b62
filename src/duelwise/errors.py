"""Errors that say what happened, what was expected and what to do."""

from __future__ import annotations

import difflib
import importlib.util
from collections.abc import Iterable


class DuelwiseError(Exception):
    """Base of every error this package raises on purpose."""


class InvalidInput(DuelwiseError, ValueError):
    """A value has the wrong shape, range or kind. Nothing was changed."""


class CannotChoose(InvalidInput):
    """The learner names no pair that could be served. Nothing was changed."""


class UnknownName(InvalidInput):
    """A name that is in no registry."""


class UnknownRound(DuelwiseError, KeyError):
    """A round that was never served, or is no longer waiting for anything."""

    def __str__(self) -> str:  # KeyError would print the repr of its argument
        return str(self.args[0])


class AlreadyTold(DuelwiseError, ValueError):
    """A second context or a second vote for a duel that already has one."""


class UnknownStream(DuelwiseError, LookupError):
    """A stream that the store does not have."""


class UnknownTicket(DuelwiseError, LookupError):
    """A ticket that this stream never gave out."""


class UnknownItem(DuelwiseError, LookupError):
    """An item or a group that the catalogue of the stream does not have."""


class Conflict(DuelwiseError):
    """What is asked contradicts what is already recorded. Nothing was changed."""


class DuelExpired(DuelwiseError):
    """The duel waited longer than its stream allows and was closed."""


class ReadOnly(DuelwiseError):
    """The stream takes no events until it is repaired, or was opened for reading."""


class BrokenStream(DuelwiseError):
    """A stream that cannot be opened; nothing is wrong with the others."""


class StorageFailure(DuelwiseError, OSError):
    """The database refused or failed; what was not acknowledged may not be recorded."""


class Damaged(DuelwiseError):
    """A stored record fails its checksum or is missing; `seq` is its number, 0 where that is not known."""

    def __init__(self, message: str, *, seq: int = 0) -> None:
        super().__init__(message)
        self.seq = seq


class TicketDamaged(StorageFailure):
    """A ticket's row contradicts the log. The other tickets are served."""


class Folding(DuelwiseError):
    """The stream's log is being folded again; it serves when that is done. `done` is the share so far."""

    def __init__(self, message: str, *, done: float = 0.0) -> None:
        super().__init__(message)
        self.done = done


class Compiling(DuelwiseError):
    """The learner is being compiled; the service is ready when that is done."""


class TooLarge(InvalidInput):
    """A request is beyond a limit of the service. Nothing was changed."""


class Unauthorised(DuelwiseError):
    """The service does not know who asks."""


class Forbidden(DuelwiseError):
    """The key is known and does not allow this."""


class Overloaded(DuelwiseError):
    """Too much waits already; the request was not begun and may be sent again."""


class TooManyRequests(DuelwiseError):
    """The key has used up its share of requests for now; the request was not begun."""


class MissingExtra(DuelwiseError, ImportError):
    """An optional dependency is not installed."""


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UnknownName:
    """The error for a name outside a registry, with the nearest known one."""
    names = sorted(known)
    near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.4)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    known_ones = f"Known: {', '.join(names)}." if names else "There is none yet."
    return UnknownName(f"There is no {kind} called {name!r}.{hint} {known_ones}")


def check_known(kind: str, name: str, known: Iterable[str]) -> None:
    """Refuse a name outside a registry and suggest the nearest."""
    names = list(known)  # in which anything can be looked for, also what has no hash
    if name not in names:
        raise unknown_name(kind, name, names)


def require(module: str, *, extra: str, purpose: str) -> None:
    """Refuse with the pip command when an optional dependency is missing."""
    if importlib.util.find_spec(module) is None:
        raise _missing(module, extra=extra, purpose=purpose)


def missing_extra(error: ModuleNotFoundError, *, extra: str, purpose: str) -> ImportError:
    """What to raise for an import that failed: the pip command, unless the module is one of our own."""
    module = (error.name or "").partition(".")[0]
    return error if module in ("", "duelwise") else _missing(module, extra=extra, purpose=purpose)


def _missing(module: str, *, extra: str, purpose: str) -> MissingExtra:
    return MissingExtra(
        f"{purpose} needs the package {module!r}, which is not installed. "
        f"Install it with: pip install 'duelwise[{extra}]'"
    )
