"""The hard instances of the lower bounds: the same few arms in every round, Θ* drawn by fair coins.

Votes follow the scaled linear link of the proofs, P(a beats b) = ½ + κ(u_a - u_b), clipped to [0, 1].
Before the first vote nothing tells one Θ* from another, so no choice is better than chance.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.lab.play.checks import check_number, check_whole
from duelwise.lab.play.scenario import Chainable
from duelwise.lab.play.world import Truth
from duelwise.randomness import RoundDraws, generator, uniforms
from duelwise.types import Array, IntArray

BALL_POINTS = 64
MOST_CUBE_DIM = 8  # 256 arms
MOST_BALL_DIM = 6  # 2⁶ sign vectors are the 64 points


class FiniteWorld(Chainable):
    """A fixed set of arms (K, d) and one Θ* for each run (R, d); u = ⟨Θ*, x⟩ and there is no y."""

    post_dim = 0

    def __init__(
        self, *, points: Array, theta: Array, runs: Sequence[int], seed: int, link_slope: float = 1.0
    ) -> None:
        check_number("link_slope", link_slope, least=0.0)
        if link_slope == 0.0:
            raise InvalidInput("link_slope is 0. Expected more: every vote would be a fair coin.")
        self.run_numbers, self.seed, self.link_slope = tuple(runs), seed, link_slope
        self.points, self.theta = points, theta
        self.arms, self.context_dim = points.shape
        self.utility = theta @ points.T  # (R, K)
        self._draws = RoundDraws(seed, "votes", self.run_numbers, uniforms)

    @property
    def runs(self) -> int:
        """R."""
        return len(self.run_numbers)

    def contexts(self, t: int) -> Array:
        """(R, K, d) the same in every round; a copy, so nobody can change the world."""
        return np.repeat(self.points[None], self.runs, axis=0)

    def reveal(self, t: int, x: Array) -> Truth:
        """Utilities are the same in every round."""
        return Truth(np.empty((self.runs, self.arms, 0)), self.utility.copy(), self.utility.copy())

    def vote(self, t: int, truth: Truth, arms: IntArray) -> Array:
        """(R,) 1 where a uniform is below ½ + κ(u_a - u_b)."""
        run = np.arange(self.runs)
        ahead = truth.utility[run, arms[:, 0]] - truth.utility[run, arms[:, 1]]
        return np.where(self._draws.at(t) < 0.5 + self.link_slope * ahead, 1.0, 0.0)


def sign_vectors(dim: int) -> Array:
    """(2^d, d) every vector of ±1."""
    return np.array(list(itertools.product((-1.0, 1.0), repeat=dim)))


def signs(runs: Sequence[int], seed: int, dim: int) -> Array:
    """(R, d) one fair coin ±1 for each run and coordinate."""
    return np.stack([generator(seed, "theta", run).choice([-1.0, 1.0], dim) for run in runs])


@dataclass(frozen=True, kw_only=True)
class HardWorld:
    """What the hard instances share: how Θ* is drawn and which arms there are is each one's own."""

    dim: int = 4
    gap: float = 0.25  # Δ
    link_slope: float = 1.0  # κ

    def __post_init__(self) -> None:
        check_whole("dim", self.dim, least=1)
        check_number("gap", self.gap, least=0.0)

    def start(self, *, runs: Sequence[int], seed: int) -> FiniteWorld:
        return FiniteWorld(
            points=self.points(seed), theta=self.gap * self.directions(runs, seed),
            runs=runs, seed=seed, link_slope=self.link_slope,
        )  # fmt: skip

    def points(self, seed: int) -> Array:
        """(K, d) the arms."""
        raise NotImplementedError

    def directions(self, runs: Sequence[int], seed: int) -> Array:
        """(R, d) Θ*/Δ: one fair coin for each run and coordinate."""
        return signs(runs, seed, self.dim)

    def data_digest(self) -> str:
        return ""


@dataclass(frozen=True, kw_only=True)
class Hypercube(HardWorld):
    """Arms {±1}^d, Θ* ∈ {±Δ}^d: without a vote, dΔ is lost in every round."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dim > MOST_CUBE_DIM:
            raise InvalidInput(f"dim is {self.dim}. Expected at most {MOST_CUBE_DIM}: there are 2^dim arms.")

    def points(self, seed: int) -> Array:
        return sign_vectors(self.dim)


@dataclass(frozen=True, kw_only=True)
class UnitBall(HardWorld):
    """64 points of the unit ball, all sign vectors over √d among them, Θ* ∈ {±Δ}^d: √dΔ a round."""

    gap: float = 0.125  # Δ

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dim > MOST_BALL_DIM:
            raise InvalidInput(
                f"dim is {self.dim}. Expected at most {MOST_BALL_DIM}: "
                f"all sign vectors are among the {BALL_POINTS} points."
            )

    def points(self, seed: int) -> Array:
        """The corners that are best for some Θ*, then points drawn uniformly from the ball."""
        corners = sign_vectors(self.dim) / math.sqrt(self.dim)
        random = generator(seed, "points", 0)
        others = random.standard_normal((BALL_POINTS - len(corners), self.dim))
        others /= np.linalg.norm(others, axis=1, keepdims=True)
        radius = random.random((len(others), 1)) ** (1.0 / self.dim)
        return np.concatenate([corners, radius * others])


@dataclass(frozen=True, kw_only=True)
class BasisArms(HardWorld):
    """Arms e_1 … e_d, one of them better by Δ than all others: a search among d arms."""

    dim: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("dim", self.dim, least=2)

    def points(self, seed: int) -> Array:
        return np.eye(self.dim)

    def directions(self, runs: Sequence[int], seed: int) -> Array:
        best = [int(generator(seed, "theta", run).integers(self.dim)) for run in runs]
        return np.eye(self.dim)[best]
