"""Θ̂ by maximum likelihood over every vote that arrived."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.learning.core.dispatch import kernel
from duelwise.learning.core.geometry import move
from duelwise.learning.core.jit import compiled
from duelwise.learning.core.pending import FREE
from duelwise.learning.core.roles import keeps_votes, learn, reweigh, weigh_arrived
from duelwise.learning.core.round import admit, knows_nothing
from duelwise.learning.core.state import Arrivals, Fit
from duelwise.learning.core.state_pointer import handle
from duelwise.learning.estimation.maximum_likelihood import VoteHistory, count_row, solve, start_over
from duelwise.types import Array, Snapshot


@kernel(keeps_votes, VoteHistory)
def for_good(history: VoteHistory) -> bool:
    """Every vote stays, so it can be put right."""
    return True


@kernel(learn, VoteHistory)
def remember_and_solve(history: VoteHistory, fit: Fit, r: int, arrivals: Arrivals) -> None:
    """(3) over the votes of before and these; one pass of Newton's steps for all of them together.

    A self-duel (Δz = 0) adds nothing to the estimating equation and is left out.
    """
    changed = False
    for i in range(arrivals.outcome.shape[0]):
        if i > 0 and arrivals.round[i] == arrivals.round[i - 1]:
            arrivals.row[i] = arrivals.row[i - 1]  # another vote on the duel just remembered
        if np.isnan(arrivals.outcome[i]):
            _make_final(history, fit, r, arrivals, i)
        elif arrivals.row[i] != FREE:
            _add_vote(history, fit, r, arrivals, i)
        elif not knows_nothing(arrivals.dz[i]):
            admit(fit, r, arrivals, i)
            append_vote(history, r, arrivals, i)
            continue
        else:
            continue
        changed = True
    ridge, link = fit.rules.regularisation[r], fit.rules.link
    if reweigh(fit.weigh, fit, r, history):
        start_over(history, r, fit.theta[r], ridge, link)
        solve(history, r, fit.theta[r], ridge, link)
    elif changed or history.held[r] > history.known[r]:
        solve(history, r, fit.theta[r], ridge, link)


@compiled
def append_vote(history: VoteHistory, r: int, arrivals: Arrivals, i: int) -> None:
    """The first vote on a duel takes a row of its own."""
    place = int(history.held[r])
    for j in range(arrivals.dz.shape[1]):
        history.z[r, j, place] = arrivals.dz[i, j]
    history.weight[r, place], history.outcome[r, place] = arrivals.weight[i], arrivals.outcome[i]
    history.votes[r, place], history.leverage[r, place] = 1.0, arrivals.leverage[i]
    history.admitted[r, place], history.rank[r, place] = arrivals.weight[i], arrivals.rank[i]
    arrivals.row[i] = place
    history.held[r] += 1


@compiled
def _add_vote(history: VoteHistory, fit: Fit, r: int, arrivals: Arrivals, i: int) -> None:
    """One more vote on a duel: the row holds the sum of the weights and the mean of the outcomes.

    The mean is by the weights as they were admitted: those that an audit gave later are not the votes' own,
    and until y is known the duel's is not fixed, which all its votes will share.
    """
    place, counted = int(arrivals.row[i]), arrivals.row[i] < history.known[r]
    if counted:
        count_row(history, r, place, fit.theta[r], fit.rules.link, -1.0)
    for j in range(arrivals.dz.shape[1]):  # the row may have been learned with a provisional Δz
        arrivals.dz[i, j] = history.z[r, j, place]
    admit(fit, r, arrivals, i)
    before, own = history.admitted[r, place], arrivals.weight[i]
    if arrivals.settled[i] == 0:
        before, own = history.votes[r, place], 1.0
    seen = before * history.outcome[r, place] + own * arrivals.outcome[i]
    history.outcome[r, place] = seen / (before + own)
    history.weight[r, place] += arrivals.weight[i]
    history.admitted[r, place] += arrivals.weight[i]
    history.votes[r, place] += 1.0
    if counted:
        count_row(history, r, place, fit.theta[r], fit.rules.link, 1.0)


@compiled
def _make_final(history: VoteHistory, fit: Fit, r: int, arrivals: Arrivals, i: int) -> None:
    """y of a duel is known: its row, learned with what was predicted, is redone, and W with it."""
    place, theta, link, kappa = int(arrivals.row[i]), fit.theta[r], fit.rules.link, fit.rules.curvature[r]
    votes, dz = history.votes[r, place], np.empty(theta.shape[0])
    count_row(history, r, place, theta, link, -1.0)
    for j in range(dz.shape[0]):
        dz[j] = history.z[r, j, place]
        history.z[r, j, place] = arrivals.dz[i, j]
    move(fit.arrived, r, dz, -kappa * history.admitted[r, place])  # what was added, whatever counts by now
    arrivals.weight[i] = weigh_arrived(fit.weigh, fit, r, arrivals.dz[i], arrivals.weight[i])
    move(fit.arrived, r, arrivals.dz[i], kappa * votes * arrivals.weight[i])
    history.weight[r, place], history.leverage[r, place] = votes * arrivals.weight[i], arrivals.leverage[i]
    history.admitted[r, place] = history.weight[r, place]
    count_row(history, r, place, theta, link, 1.0)


@dataclass(frozen=True, kw_only=True)
class FullMLE:
    """(3): Θ solves the weighted, regularised estimating equation over all arrived votes.

    Solved once for each `tell`. Cost per vote grows with the votes learned so far,
    about (2d + 20) flops for each of them, and so does memory.
    """

    tolerance: float = 1e-6  # on the length of the gradient
    most_passes: int = 200

    def start(
        self, *, runs: int, dim: int, link: int, regularisation: Array, curvature: Array
    ) -> MaximumLikelihood:
        if not self.tolerance > 0:
            raise InvalidInput(f"tolerance is {self.tolerance}; it bounds a length and must be positive.")
        return MaximumLikelihood(self, runs, dim, regularisation)


ROWS = ("z", "weight", "admitted", "outcome", "votes", "leverage", "rank")
"""What is kept of a duel, along the last axis."""


class MaximumLikelihood:
    """The state of `FullMLE`: Θ̂, the history, and warm starts for the next solution."""

    def __init__(self, settings: FullMLE, runs: int, dim: int, regularisation: Array) -> None:
        self.settings = settings
        self.theta = np.zeros((runs, dim))
        count = np.zeros(runs, dtype=np.int64)
        self.history = VoteHistory(
            z=np.zeros((runs, dim, 64)), weight=np.zeros((runs, 64)), admitted=np.zeros((runs, 64)),
            outcome=np.zeros((runs, 64)), votes=np.zeros((runs, 64)), leverage=np.zeros((runs, 64)),
            rank=np.zeros((runs, 64)), scratch=np.zeros((runs, 2, 64)), held=count.copy(), known=count.copy(),
            gradient=np.zeros((runs, dim)), inverse=np.eye(dim) / regularisation[:, None, None],
            passes=count.copy(), tolerance=settings.tolerance, most_passes=settings.most_passes,
        )  # fmt: skip

    def learn(self, fit: Fit, r: int, arrivals: Arrivals) -> None:
        remember_and_solve(handle(self.compiled(len(arrivals.outcome))), fit, r, arrivals)

    def compiled(self, more: int) -> VoteHistory:
        needed, capacity = int(self.history.held.max()) + more, self.history.weight.shape[1]
        if needed > capacity:
            while capacity < needed:
                capacity *= 2
            self.history = _with_capacity(self.history, capacity)
        return self.history

    def snapshot(self) -> Snapshot:
        past = self.history
        most = int(past.held.max(initial=0))
        return {
            "theta": self.theta, "held": past.held, "passes": past.passes, "known": past.known,
            "gradient": past.gradient, "inverse": past.inverse,
        } | {name: getattr(past, name)[..., :most] for name in ROWS}  # fmt: skip

    def restore(self, state: Snapshot) -> None:
        self.theta[...] = state["theta"]
        self.history.held[...] = 0
        self.compiled(int(state["held"].max(initial=0)))
        past = self.history = _with_capacity(self.history, self.history.weight.shape[1])
        for name in ("held", "passes", "known", "gradient", "inverse"):
            getattr(past, name)[...] = state[name]
        for name in ROWS:
            getattr(past, name)[..., : state[name].shape[-1]] = state[name]


def _with_capacity(past: VoteHistory, capacity: int) -> VoteHistory:
    """The same votes in arrays for `capacity` of them; zeros beyond, so that equal states look equal."""
    most = int(past.held.max(initial=0))

    def widened(old: Array) -> Array:
        new = np.zeros((*old.shape[:-1], capacity))
        new[..., :most] = old[..., :most]
        return new

    return past._replace(
        scratch=np.zeros((*past.scratch.shape[:-1], capacity)),
        **{name: widened(getattr(past, name)) for name in ROWS},
    )
