"""Between a vote and the learner: corrupt, else delay, then deliver.

The paper's prioritised interference: a corrupted vote is delivered at once, only
clean votes are delayed. Budgets are kept here and nowhere else.
"""

from __future__ import annotations

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.lab.play.corruptions import Corruptions
from duelwise.lab.play.delays import Delays
from duelwise.learning.compiled import compiled
from duelwise.types import AnyArray, Array, BoolArray, IntArray, Served, Votes

RUN, ROUND, DUE = 0, 1, 2  # the rows that say whose vote it is and when it is told


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
        self._corruptions, self._corruption_budget = corruptions, corruption_budget
        self._delays, self._delay_budget = delays, delay_budget
        self.flips_spent = np.zeros(runs, np.int64)  # (R,) votes flipped so far
        self.delay_spent = np.zeros(runs, np.int64)  # (R,) sum of all delays so far
        self._count = 0  # votes on their way: the filled places of the next two, in serving order
        self._ticket = np.empty((3, 4 * runs), np.int64)  # (3, places): RUN, ROUND, DUE
        self._outcome = np.empty(4 * runs)  # (places,)

    @property
    def in_flight(self) -> int:
        """How many votes are on their way, over all runs."""
        return self._count

    def send(self, t: int, served: Served, outcome: Array, utility: Array) -> None:
        """Take this round's votes.  # outcome (R,), utility (R, K)"""
        runs = len(self.flips_spent)
        flips = np.asarray(self._corruptions.flips(t, served, outcome, utility), np.bool_)
        rounds = np.asarray(self._delays.rounds(t, served, utility), np.int64)
        _check_shape("flips of the corruption model", flips, runs)
        _check_shape("rounds of the delay model", rounds, runs)
        self._make_room(self._count + runs)
        accepted = _interfere(
            t, outcome, flips, rounds, self._corruption_budget, self._delay_budget,
            self.flips_spent, self.delay_spent, self._ticket, self._outcome, self._count,
        )  # fmt: skip
        if not accepted:
            raise InvalidInput(
                f"The delay model asked for a negative delay in round {t}. Expected 0 or more."
            )
        self._count += runs

    def arrivals(self, t: int) -> Votes:
        """The votes due by the end of round t, in serving order, each handed out once."""
        self._count, run, round, outcome = _deliver(t, self._ticket, self._outcome, self._count)
        return Votes(run, round, outcome)

    def _make_room(self, needed: int) -> None:
        if needed > len(self._outcome):
            extra = needed  # doubling: growing costs O(1) per vote
            self._ticket = np.concatenate([self._ticket, np.empty((3, extra), np.int64)], axis=1)
            self._outcome = np.concatenate([self._outcome, np.empty(extra)])


def _check_shape(what: str, values: AnyArray, runs: int) -> None:
    if values.shape != (runs,):
        raise InvalidInput(f"The {what} have shape {values.shape}. Expected ({runs},): one for each run.")


@compiled
def _interfere(
    t: int,
    outcome: Array,  # (R,)
    flips: BoolArray,  # (R,) wanted
    rounds: IntArray,  # (R,) wanted
    corruption_budget: int,
    delay_budget: int,
    flips_spent: IntArray,  # (R,) changed
    delay_spent: IntArray,  # (R,) changed
    ticket: IntArray,  # (3, places) changed
    told: Array,  # (places,) changed
    count: int,
) -> bool:
    """Corrupt while C lasts, else delay while Λ lasts, and put on the way; False: a negative delay."""
    if rounds.min() < 0:
        return False
    for r in range(len(outcome)):
        place, delay, vote = count + r, 0, outcome[r]
        # Flipping a tie changes nothing, so it is neither a corruption nor paid for.
        if flips[r] and flips_spent[r] < corruption_budget and vote != 0.5:
            vote = 1.0 - vote
            flips_spent[r] += 1
        else:
            delay = min(rounds[r], delay_budget - delay_spent[r])
            delay_spent[r] += delay
        ticket[RUN, place], ticket[ROUND, place], ticket[DUE, place] = r, t, t + delay
        told[place] = vote
    return True


@compiled
def _deliver(t: int, ticket: IntArray, told: Array, count: int) -> tuple[int, IntArray, IntArray, Array]:
    """Take out what is due and close the gaps: how many stay, then run, round and outcome (n,)."""
    due = 0
    for i in range(count):
        due += ticket[DUE, i] <= t
    run, round, outcome = np.empty(due, np.int64), np.empty(due, np.int64), np.empty(due)
    taken = 0
    for i in range(count):
        if taken < due and ticket[DUE, i] <= t:
            run[taken], round[taken], outcome[taken] = ticket[RUN, i], ticket[ROUND, i], told[i]
            taken += 1
        elif taken > 0:  # places before the first gap stay as they are
            kept = i - taken
            ticket[RUN, kept], ticket[ROUND, kept] = ticket[RUN, i], ticket[ROUND, i]
            ticket[DUE, kept], told[kept] = ticket[DUE, i], told[i]
    return count - due, run, round, outcome
