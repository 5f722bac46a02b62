"""Between a vote and the learner: corrupt, else delay, then deliver.

The paper's prioritised interference: a corrupted vote is delivered at once, only
clean votes are delayed. Budgets are kept here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.lab.play.corruptions import Corruptions
from duelwise.lab.play.delays import FOREVER, Delays
from duelwise.learning.core.jit import compiled
from duelwise.types import AnyArray, Array, BoolArray, IntArray, Served, Votes

NEVER = -1


class Flight(NamedTuple):
    """Votes on their way, each run's in serving order, and what the adversaries have spent."""

    length: IntArray  # (R,)
    round: IntArray  # (R, places)
    due: IntArray  # (R, places)
    vote: Array  # (R, places)
    flips_spent: IntArray  # (R,) votes flipped so far
    delay_spent: IntArray  # (R,) sum of all delays so far
    negative: IntArray  # (R,) the first round whose delay was to be negative; NEVER where none was
    flip_budget: int  # C
    delay_budget: int  # Λ


def flight(*, runs: int, flip_budget: int, delay_budget: int) -> Flight:
    """Nothing on its way, nothing spent."""
    count = np.zeros(runs, np.int64)
    return Flight(
        count.copy(), np.zeros((runs, 4), np.int64), np.zeros((runs, 4), np.int64), np.zeros((runs, 4)),
        count.copy(), count.copy(), np.full(runs, NEVER, np.int64), flip_budget, delay_budget,
    )  # fmt: skip


def with_room(held: Any, rounds: int, names: Sequence[str] = ("round", "due", "vote")) -> Any:
    """The same with places for this many more in every run: `names` are its arrays (R, places, ...)."""
    most, places = int(held.length.max()), held.due.shape[1]
    if most + rounds <= places:
        return held
    while places < most + rounds:
        places *= 2

    def widened(old: AnyArray) -> AnyArray:
        new = np.zeros((old.shape[0], places, *old.shape[2:]), old.dtype)
        new[:, :most] = old[:, :most]
        return new

    return held._replace(**{name: widened(getattr(held, name)) for name in names})


@compiled
def send(held: Flight, r: int, t: int, outcome: float, flip: bool, delay: int) -> None:
    """Run r's vote of round t: corrupt while C lasts, else delay while Λ lasts, and put on the way.

    A negative delay gives nothing back to Λ: it is noted, and refused by whoever plays.
    """
    if delay < 0:
        delay = 0
        if held.negative[r] == NEVER:
            held.negative[r] = t
    # Flipping a tie changes nothing, so it is neither a corruption nor paid for.
    if flip and held.flips_spent[r] < held.flip_budget and outcome != 0.5:
        outcome, delay = 1.0 - outcome, 0
        held.flips_spent[r] += 1
    else:
        delay = min(delay, FOREVER, held.delay_budget - held.delay_spent[r])
        held.delay_spent[r] += delay
    place = held.length[r]
    held.round[r, place], held.due[r, place], held.vote[r, place] = t, t + delay, outcome
    held.length[r] += 1


@compiled
def deliver(held: Flight, r: int, t: int, round: IntArray, vote: Array) -> int:
    """Take out run r's votes that are due by round t, in serving order, into round and vote; how many."""
    taken = 0
    for i in range(held.length[r]):
        if held.due[r, i] <= t:
            round[taken], vote[taken] = held.round[r, i], held.vote[r, i]
            taken += 1
        elif taken > 0:  # places before the first gap stay as they are
            kept = i - taken
            held.round[r, kept], held.due[r, kept] = held.round[r, i], held.due[r, i]
            held.vote[r, kept] = held.vote[r, i]
    held.length[r] -= taken
    return taken


@compiled
def _send_all(held: Flight, t: int, outcome: Array, flips: BoolArray, rounds: IntArray) -> None:
    for r in range(outcome.shape[0]):
        send(held, r, t, outcome[r], flips[r], rounds[r])


@compiled
def _deliver_all(held: Flight, t: int) -> tuple[IntArray, IntArray, Array]:
    total = held.length.sum()
    run, round, vote = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total)
    n = 0
    for r in range(held.length.shape[0]):
        found = deliver(held, r, t, round[n:], vote[n:])
        run[n : n + found] = r
        n += found
    return run[:n], round[:n], vote[:n]


class Channel:
    """The votes on their way and what the adversaries have spent, for R runs.

    A vote sent in round t with delay τ is told at the end of round t + τ.
    """

    def __init__(
        self,
        *,
        runs: int,
        corruptions: Corruptions,
        corruption_budget: int,
        delays: Delays,
        delay_budget: int,
    ) -> None:
        self._corruptions, self._delays = corruptions, delays
        self._flight = flight(runs=runs, flip_budget=corruption_budget, delay_budget=delay_budget)

    @property
    def flips_spent(self) -> IntArray:
        """(R,) votes flipped so far."""
        return self._flight.flips_spent

    @property
    def delay_spent(self) -> IntArray:
        """(R,) sum of all delays so far."""
        return self._flight.delay_spent

    @property
    def in_flight(self) -> int:
        """How many votes are on their way, over all runs."""
        return int(self._flight.length.sum())

    def send(self, t: int, served: Served, outcome: Array, utility: Array) -> None:
        """Take this round's votes.  # outcome (R,), utility (R, K)"""
        runs, outcome = len(self.flips_spent), np.asarray(outcome, np.float64)
        _check_shape("votes of the world", outcome, runs)
        flips = np.asarray(self._corruptions.flips(t, served, outcome, utility), np.bool_)
        rounds = np.asarray(self._delays.rounds(t, served, utility), np.int64)
        _check_shape("flips of the corruption model", flips, runs)
        _check_shape("rounds of the delay model", rounds, runs)
        if rounds.min() < 0:
            _refuse_negative(t)
        self._flight = with_room(self._flight, 1)
        _send_all(self._flight, t, outcome, flips, rounds)

    def arrivals(self, t: int) -> Votes:
        """The votes due by the end of round t, each run's in serving order, each handed out once."""
        return Votes(*_deliver_all(self._flight, t))


def refuse_negative_delays(held: Flight) -> None:
    """For a loop that has sent votes by `send` alone: say which round was the first to ask for one."""
    if (held.negative != NEVER).any():
        _refuse_negative(int(held.negative[held.negative != NEVER].min()))


def _refuse_negative(t: int) -> NoReturn:
    raise InvalidInput(f"The delay model asked for a negative delay in round {t}. Expected 0 or more.")


def _check_shape(what: str, values: AnyArray, runs: int) -> None:
    if values.shape != (runs,):
        raise InvalidInput(f"The {what} have shape {values.shape}. Expected ({runs},): one for each run.")
