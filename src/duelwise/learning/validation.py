"""What a learner refuses, and how it says so. Nothing here changes anything."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import NoReturn, cast

import numpy as np

from duelwise.errors import AlreadyTold, CannotChoose, InvalidInput, UnknownRound
from duelwise.learning.core import batch
from duelwise.learning.core.pending import ROWS
from duelwise.types import AnyArray, Array, Contexts, Duel, IntArray, Snapshot, Votes


def check_whole(name: str, value: object, *, least: int, most: int | None = None) -> None:
    """Refuse anything but an integer of at least `least`, and at most `most` where that is given."""
    small = isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least
    if small or (most is not None and cast(int, value) > most):
        upper = "" if most is None else f" and at most {most}"
        raise InvalidInput(f"{name} is {value!r}. Expected a whole number of at least {least}{upper}.")


def check_budget(name: str, value: object) -> None:
    """Refuse anything but a finite number of at least 0, or the word "unknown"."""
    if value == "unknown":
        return
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 <= float(value) < math.inf:
        raise InvalidInput(f"{name} is {value!r}; expected a finite number of at least 0, or 'unknown'.")


def run_numbers(runs: object) -> tuple[int, ...]:
    """0 … R-1 for a number R of runs, else the run numbers that were listed."""
    if not isinstance(runs, Iterable):
        check_whole("runs", runs, least=1)
        return tuple(range(int(cast(int, runs))))
    numbers = tuple(cast(Iterable[int], runs))
    for run in numbers:
        check_whole("run number", run, least=0)
    if not numbers:
        raise InvalidInput("runs is empty. Expected a number of runs or a list of run numbers.")
    return tuple(int(run) for run in numbers)


_INT64 = np.dtype(np.int64)

PARTS = {
    "select": ("pairs", "LeaderChallenger()"),
    "weigh": ("start", "ServedLeverage(clip=0.1)"),
    "estimate": ("start", "FullMLE()"),
    "post_serving": ("start", "Spline()"),
    "width": ("at", "ConstantWidth(value=0.1)"),
}
"""What each part of a learner must be able to do, and one that can."""


PARTS_MEMORY = ("estimate.", "post_serving.")
"""The names in a snapshot of what parts with a memory of their own keep."""


def parts(**given: object) -> None:
    """Refuse a part that cannot do its work, such as the name of one."""
    for name, part in given.items():
        method, example = PARTS[name]
        if not hasattr(part, method) or isinstance(part, type):
            raise InvalidInput(
                f"{name} is {part!r}. Expected a part with a method {method!r}, such as {example}; "
                f"names are for recipes: rcdp_ucb({name}={part!r}, ...)."
            )


def candidates(x: Array, *, runs: int, context_dim: int) -> Array:
    """x (R, K, dx) of at least two candidates."""
    x = np.ascontiguousarray(x, dtype=np.float64)
    if x.ndim != 3 or x.shape[0] != runs or x.shape[2] != context_dim:
        raise InvalidInput(
            f"The candidates have shape {x.shape}; expected (runs, candidates, context_dim) = "
            f"({runs}, K, {context_dim})."
        )
    if x.shape[1] < 2:
        raise InvalidInput(f"There are {x.shape[1]} candidates; a duel needs at least two.")
    return x


def finite(x: Array) -> None:
    """Refuse candidates x (R, K, dx) that are not all numbers."""
    for run, arm, feature in np.argwhere(~np.isfinite(x))[:1].tolist():
        raise InvalidInput(
            f"Feature {feature} of candidate {arm} in run {run} is {x[run, arm, feature]}; "
            "every feature must be finite."
        )


def arms(pairs: IntArray, *, runs: int, candidates: int, distinct: bool) -> IntArray:
    """The answer of a selection rule, which may be a user's own: (R, 2) positions among the candidates."""
    pairs = _whole("the pair", pairs)
    if pairs.shape != (runs, 2):
        raise InvalidInput(f"The selection rule named pairs of shape {pairs.shape}; expected {(runs, 2)}.")
    fit = pairs.min() >= 0 and pairs.max() < candidates
    if fit and not (distinct and (pairs[:, 0] == pairs[:, 1]).any()):
        return pairs
    if fit:
        raise CannotChoose(
            "The selection rule named one candidate twice although distinct_pair is set. "
            "Let it look at View.distinct."
        )
    raise CannotChoose(
        f"The selection rule named the candidates {pairs.tolist()}; positions are 0 to {candidates - 1}."
    )


def duel(given: Duel, *, round: int, runs: int, context_dim: int, post_dim: int) -> None:
    """A duel of the next round with two rows of features for each run."""
    if given.round != round:
        raise InvalidInput(
            f"The duel is of round {given.round}, but the next round is {round}. "
            "Serve recorded duels once each and in order."
        )
    pair = (runs, 2)
    if given.arms.shape != pair or given.x.shape != (*pair, context_dim):
        raise InvalidInput(
            f"The duel has arms of shape {given.arms.shape} and x of shape {given.x.shape}; "
            f"expected {pair} and {(*pair, context_dim)}."
        )
    if given.predicted.shape != (*pair, post_dim):
        raise InvalidInput(
            f"The duel has predictions of shape {given.predicted.shape}; "
            f"expected {(*pair, post_dim)}: two rows of post_dim for each run."
        )


def contexts(given: Contexts, *, post_dim: int) -> tuple[IntArray, IntArray, Array]:
    """run (n,), round (n,), y (n, 2, dy)."""
    run, round = _whole("run", given.run), _whole("round", given.round)
    y = np.ascontiguousarray(given.y, dtype=np.float64)
    n = run.shape[0] if run.ndim == 1 else -1
    if round.shape != (n,) or y.shape != (n, 2, post_dim):
        raise InvalidInput(
            f"The contexts have run {run.shape}, round {round.shape}, y {y.shape}; "
            f"expected (n,), (n,), (n, 2, {post_dim})."
        )
    return run, round, y


def votes(given: Votes) -> tuple[IntArray, IntArray, Array]:
    """run (n,), round (n,), outcome (n,)."""
    run, round = _whole("run", given.run), _whole("round", given.round)
    outcome = np.ascontiguousarray(given.outcome, dtype=np.float64)
    if run.ndim != 1 or round.shape != run.shape or outcome.shape != run.shape:
        raise InvalidInput(
            f"The votes have run {run.shape}, round {round.shape}, outcome {outcome.shape}; "
            "expected three arrays of one length."
        )
    return run, round, outcome


def state(given: Snapshot, own: Snapshot, fresh: Mapping[str, tuple[int, ...]]) -> None:
    """A snapshot with the names of `own`, and its shapes but for what grows with time.

    What waits grows by rows. What a part remembers is named in `fresh`, with its shape before it has learned
    anything: it grows along axes of length 0, or 1 where runs or features come to differ.
    """
    missing, extra = own.keys() - given.keys(), given.keys() - own.keys()
    if missing or extra:
        raise InvalidInput(
            f"The snapshot lacks {sorted(missing)} and has {sorted(extra)} besides. "
            "Restore into a learner with the settings of the one that made it."
        )
    for name, held in own.items():
        if name in fresh:
            expected, fits = fresh[name], _grown(given[name].shape, fresh[name])
        elif name.startswith(PARTS_MEMORY):  # of a part that may grow as it likes
            continue
        elif name.startswith("pending."):
            rows = (len(given["pending.round"]),) if name.removeprefix("pending.") in ROWS else held.shape[:1]
            expected = (*rows, *held.shape[1:])
            fits = given[name].shape == expected
        else:
            expected, fits = held.shape, given[name].shape == held.shape
        if not fits:
            raise InvalidInput(
                f"{name} of the snapshot has shape {given[name].shape}; this learner's has {expected}. "
                "Restore into a learner with as many runs and features, and the same parts and settings. "
                "Nothing was changed."
            )


def _grown(shape: tuple[int, ...], fresh: tuple[int, ...]) -> bool:
    """Whether an array that began with the shape `fresh` may have come to this one."""
    same = len(shape) == len(fresh)
    return same and all(now == then or then <= 1 for now, then in zip(shape, fresh, strict=True))


def refuse(
    what: str, verdict: int, run: int, round: int, *, runs: int, next_round: int, value: float = np.nan
) -> NoReturn:
    """Say why a context or vote was not taken."""
    where = f"run {run}, round {round}"
    if verdict == batch.NO_SUCH_RUN:
        raise InvalidInput(f"There is no run {run}; runs are 0 to {runs - 1}. Nothing was changed.")
    if verdict == batch.NEVER_SERVED:
        raise UnknownRound(
            f"The {what} for {where} speaks of a duel that was never served; {next_round} rounds were. "
            "Serve the duel first. Nothing was changed."
        )
    if verdict == batch.FINISHED:
        raise UnknownRound(
            f"The duel of {where} waits for nothing: its vote was told already, or it was forgotten. "
            "Hand in each vote once. Nothing was changed."
        )
    if verdict == batch.REPEATED:
        raise AlreadyTold(
            f"The duel of {where} already has this {what}, or all it was served for. Hand in each one once. "
            "Nothing was changed."
        )
    if verdict == batch.NOT_FINITE:
        raise InvalidInput(
            f"The post-serving context of {where} holds infinity; every value must be finite, or NaN where "
            "it is not known. Nothing was changed."
        )
    raise InvalidInput(
        f"The outcome of {where} is {value}; expected 1 (the first of the pair won), 0 (the second) "
        "or 0.5 (a tie). Nothing was changed."
    )


def _whole(name: str, values: AnyArray) -> IntArray:
    """Integers as they are; a fraction would otherwise be cut off unseen."""
    numbers = np.asarray(values)
    if numbers.dtype is _INT64 and numbers.flags.c_contiguous:
        return numbers
    if numbers.dtype.kind not in "iu" and numbers.size:
        raise InvalidInput(f"{name} has the type {numbers.dtype}; expected whole numbers.")
    return np.ascontiguousarray(numbers, dtype=np.int64)
