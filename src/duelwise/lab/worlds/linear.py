"""The linear world of the paper: random contexts, a hidden Θ*, and votes by a link of the difference."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, get_args

import numpy as np

from duelwise.errors import InvalidInput, check_known
from duelwise.lab.play.checks import check_number, check_whole
from duelwise.lab.play.scenario import Chainable
from duelwise.lab.play.world import Truth, WorldBlock
from duelwise.lab.worlds.mappings import Mapping, bound_of, mapping_named
from duelwise.lab.worlds.published_theta import published_normal
from duelwise.learning.core.jit import compiled
from duelwise.learning.validation import run_numbers
from duelwise.randomness import BLOCK, RoundDraws, generator, uniforms
from duelwise.types import Array, IntArray

Scaling = Literal["published", "normalised"]
Parameters = Literal["drawn", "published"]
SQRT3 = math.sqrt(3.0)  # a uniform on [-√3, √3] has standard deviation 1


def _logit(u: Array) -> Array:
    with np.errstate(divide="ignore"):  # u = 0 has probability 2⁻⁵³ and rightly gives -∞
        return np.log(u) - np.log1p(-u)


def _probit(u: Array) -> Array:
    from scipy.special import ndtri  # a fifth of a second to import, and the only use of it

    return ndtri(u)


def _less_half(u: Array) -> Array:
    return u - 0.5


QUANTILES: dict[str, Callable[[Array], Array]] = {
    "logistic": _logit,
    "probit": _probit,
    "clipped-linear": _less_half,  # g(s) = ½ + s on [-½, ½]: the link of the lower bounds
}
"""g⁻¹ of every link g. A uniform u votes for a when u < g(u_a - u_b), that is g⁻¹(u) < u_a - u_b."""


class LinearWorld(Chainable):
    """The linear-logistic world: u = ⟨Θ*, (x, y)⟩, y = φ(x) + ε, P(a beats b) = g(u_a - u_b).

    Contexts are uniform on [-π, π]^dx, ε uniform with standard deviation `noise` (bounded,
    so that ‖z‖ can be), Θ* one draw per run.

    scaling="published": Θ* = context_scale · N(0, I) on x and post_scale · N(0, I) on y.
    parameters="published" takes the normal numbers behind Θ* that the published runs drew: ten runs
    of a world are few, and those of "abs" happen to have a Θ* a fifth longer than expected.
    scaling="normalised": Θ* standard normal, divided by its norm and multiplied by norm_bound, M;
    x and y both multiplied by one constant s, so small that ‖z‖ = ‖(x, y)‖ ≤ ½ whatever is drawn:
    the learner meets y = s φ(x / s) + s ε.

    `runs` is a number R of runs, 0 … R-1, or a list of run numbers, which may repeat: entries
    with one number see the same draws. `post_dim` keeps only the first coordinates of y.
    """

    def __init__(
        self,
        *,
        runs: int | Sequence[int] = 10,
        context_dim: int = 10,
        arms: int = 10,
        mapping: str | Mapping = "none",
        seed: int = 0,
        scaling: Scaling = "published",
        parameters: Parameters = "drawn",
        noise: float = 0.0,
        post_dim: int | None = None,
        link: str = "logistic",
        norm_bound: float = 1.0,
        context_scale: float = 0.1,  # published code
        post_scale: float = 5.0,  # published code
    ) -> None:
        self.run_numbers = run_numbers(runs)
        check_whole("seed", seed, least=0)
        check_linear(
            context_dim=context_dim, arms=arms, noise=noise, link=link, scaling=scaling, parameters=parameters
        )
        self._parameters = parameters
        self.context_dim, self.arms, self.seed, self.noise = context_dim, arms, seed, noise
        self.mapping = mapping_named(mapping)
        self.post_dim = _post_dim(self.mapping, context_dim, post_dim)
        self._distinct = tuple(dict.fromkeys(self.run_numbers))
        self.entry = np.array([self._distinct.index(run) for run in self.run_numbers])  # (R,)
        if scaling == "normalised":
            scale, self._theta = self._safe_scale(), self._normalised_theta(norm_bound)
            self._map = _scaled(self.mapping, scale)
        else:
            scale, self._theta = 1.0, self._published_theta(context_scale, post_scale)
            self._map = self.mapping
        self._quantile = QUANTILES[link]
        self._context_draws = self._uniform_draws("contexts", scale * math.pi, (arms, context_dim))
        self._noise_draws = self._uniform_draws("noise", scale * SQRT3 * noise, (arms, self.post_dim))
        self._vote_draws = RoundDraws(seed, "votes", self._distinct, uniforms)
        self._number, self._drawn = 0, self._draw_block(0)

    @property
    def runs(self) -> int:
        """R."""
        return len(self.run_numbers)

    @property
    def theta(self) -> Array:
        """(R, d) Θ* of every run."""
        return self._theta[self.entry]

    def phi(self, x: Array) -> Array:
        """The mean of y given x: s φ(x / s), s = 1 as published.  # (..., dx) → (..., dy)"""
        return self._map(x)[..., : self.post_dim]

    def contexts(self, t: int) -> Array:
        """(R, K, dx) a copy, so nobody can change the world."""
        return self.block(t // BLOCK).x[t % BLOCK].take(self.entry, axis=0)

    def reveal(self, t: int, x: Array) -> Truth:
        """The truth of round t; x is known from t here and is not looked at."""
        block, at = self.block(t // BLOCK), t % BLOCK
        utility = block.utility[at].take(self.entry, axis=0)
        expected = utility if self.noise == 0.0 else block.expected[at].take(self.entry, axis=0)
        return Truth(block.y[at].take(self.entry, axis=0), utility, expected)

    def vote(self, t: int, truth: Truth, arms: IntArray) -> Array:
        """(R,) 1 where u_a - u_b > g⁻¹(u), u one uniform per run and round; a self-duel is a fair coin."""
        return _clears(truth.utility, arms, self.block(t // BLOCK).hurdle[t % BLOCK], self.entry)

    def block(self, number: int) -> WorldBlock:
        """BLOCK rounds, drawn again when they are not the ones at hand."""
        if number != self._number:
            self._drawn = self._draw_block(number)
            self._number = number
        return self._drawn

    def _draw_block(self, number: int) -> WorldBlock:
        x = self._context_draws.block(number)
        mean = self.phi(x)
        expected = _utility(x, mean, self._theta)
        hurdle = self._quantile(self._vote_draws.block(number))
        if self.noise == 0.0:
            return WorldBlock(x, mean, expected, expected, hurdle)
        y = mean + self._noise_draws.block(number)
        return WorldBlock(x, y, _utility(x, y, self._theta), expected, hurdle)

    def _uniform_draws(self, purpose: str, reach: float, shape: tuple[int, ...]) -> RoundDraws:
        """Uniform on [-reach, reach]."""
        return RoundDraws(
            self.seed,
            purpose,
            self._distinct,
            partial(_uniform, reach=reach, shape=shape),
        )

    def _normal_theta(self) -> Array:
        """(U, d) standard normal; the part on x is the same whatever the mapping."""
        size = self.context_dim + self.post_dim
        if self._parameters == "published":
            return np.stack(
                [published_normal(self.mapping.name, self.seed, run, size) for run in self._distinct]
            )
        return np.stack([generator(self.seed, "theta", run).standard_normal(size) for run in self._distinct])

    def _published_theta(self, context_scale: float, post_scale: float) -> Array:
        check_number("context_scale", context_scale, least=0.0)
        check_number("post_scale", post_scale, least=0.0)
        return self._normal_theta() * np.repeat(
            [context_scale, post_scale], [self.context_dim, self.post_dim]
        )

    def _normalised_theta(self, norm_bound: float) -> Array:
        check_number("norm_bound", norm_bound, least=0.0)
        theta = self._normal_theta()
        return norm_bound * theta / np.linalg.norm(theta, axis=1, keepdims=True)

    def _safe_scale(self) -> float:
        """s = ½ / √(dx π² + dy (largest |φ_j| + √3 noise)²)"""
        largest = bound_of(self.mapping) + SQRT3 * self.noise
        return 0.5 / math.sqrt(self.context_dim * math.pi**2 + self.post_dim * largest**2)


@compiled
def _utility(x: Array, y: Array, theta: Array) -> Array:
    """⟨Θ*, (x, y)⟩  # (BLOCK, U, K, dx), (BLOCK, U, K, dy), (U, d) → (BLOCK, U, K)"""
    rounds, runs, arms, dx = x.shape
    utility = np.zeros((rounds, runs, arms))
    for t in range(rounds):
        for r in range(runs):
            for k in range(arms):
                for i in range(dx):
                    utility[t, r, k] += theta[r, i] * x[t, r, k, i]
                for j in range(y.shape[3]):
                    utility[t, r, k] += theta[r, dx + j] * y[t, r, k, j]
    return utility


@compiled
def _clears(utility: Array, arms: IntArray, hurdle: Array, entry: IntArray) -> Array:
    """utility (R, K), arms (R, 2), hurdle (U,), entry (R,) into the hurdles → (R,) outcomes 0 or 1"""
    outcome = np.empty(len(arms))
    for r in range(len(arms)):
        outcome[r] = 1.0 if utility[r, arms[r, 0]] - utility[r, arms[r, 1]] > hurdle[entry[r]] else 0.0
    return outcome


def _scaled(mapping: Mapping, scale: float) -> Mapping:
    """s φ(x / s): what φ becomes when x and y are both multiplied by s."""
    return replace(mapping, function=partial(_scaled_value, mapping, scale))


def _scaled_value(mapping: Mapping, scale: float, x: Array) -> Array:
    return scale * mapping(x / scale)


def _uniform(
    rng: np.random.Generator, rounds: int, *, reach: float, shape: tuple[int, ...]
) -> Array:  # a named function, so that worlds can be pickled
    return rng.uniform(-reach, reach, (rounds, *shape))


def check_linear(
    *, context_dim: int, arms: int, noise: float, link: str, scaling: str, parameters: str
) -> None:
    """Refuse settings of which no linear world can be made."""
    check_whole("context_dim", context_dim, least=1)
    check_whole("arms", arms, least=2)
    check_number("noise", noise, least=0.0)
    check_known("link", link, QUANTILES)
    check_known("scaling", scaling, get_args(Scaling))
    check_known("kind of parameters", parameters, get_args(Parameters))


def _post_dim(mapping: Mapping, context_dim: int, post_dim: int | None) -> int:
    natural = mapping.post_dim(context_dim)
    if post_dim is None:
        return natural
    check_whole("post_dim", post_dim, least=0)
    if post_dim > natural:
        raise InvalidInput(
            f"post_dim is {post_dim}, but the mapping {mapping.name!r} makes {natural} coordinates "
            f"from {context_dim}. Expected at most {natural}, or None for all of them."
        )
    return post_dim
