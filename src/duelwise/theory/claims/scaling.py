"""Scaling laws: how regret grows with T, C, Λ, μ and d where the theory speaks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from duelwise.lab.play.compiled_loop import play
from duelwise.lab.play.corruptions import StrategicCorruption
from duelwise.lab.play.delays import DelayModel, GaussianDelay, NoDelay, StrategicDelay
from duelwise.lab.play.scenario import Scenario
from duelwise.lab.worlds.linear import LinearWorld
from duelwise.learning import radii
from duelwise.learning.recipes import rcdp_ucb
from duelwise.theory.bounds import Sizes, lower_bound, upper_bound
from duelwise.theory.claim import Checked, Claim, Line, Picture
from duelwise.theory.links import least_slope
from duelwise.theory.measuring import Measured, at_most, exponent_of_means, exponents
from duelwise.types import Array

NORM_BOUND = 4.0  # M: with 1 a vote says so little that only long horizons show a law
WIDTH = 0.5  # c: with 2β_t nothing is exploited within any horizon that can be played


@dataclass(frozen=True, kw_only=True)
class Game:
    """RCDP-UCB in one pass in a normalised world, α = √d/(C + D)."""

    seed: int
    context_dim: int = 6
    horizon: int = 10_000
    runs: int = 20
    corruption_budget: int = 0
    delay_budget: int = 0
    mean_delay: float = 0.0
    width: float = WIDTH

    def delay(self) -> DelayModel:
        if self.delay_budget:
            return StrategicDelay(budget=self.delay_budget)
        return (
            GaussianDelay(mean=self.mean_delay, std=self.mean_delay / 4.0) if self.mean_delay else NoDelay()
        )

    def cumulative(self, at: Array) -> Array:
        """(R, n) regret up to some rounds."""
        world = LinearWorld(
            runs=self.runs, seed=self.seed, context_dim=self.context_dim, arms=6, scaling="normalised",
            norm_bound=NORM_BOUND,
        )  # fmt: skip
        delay = radii.delay_complexity(delay_budget=self.delay_budget, mean_delay=self.mean_delay)
        learner = rcdp_ucb(
            runs=self.runs, seed=self.seed, context_dim=self.context_dim, exploration_width=self.width,
            clip=radii.clip(self.context_dim, self.corruption_budget + delay),
            curvature=least_slope(NORM_BOUND), estimate="one-pass",
        )  # fmt: skip
        scenario = Scenario(world, self.delay(), StrategicCorruption(budget=self.corruption_budget))
        return play(learner, scenario, horizon=self.horizon).cumulative[:, at.astype(int) - 1]


def growth(base: Game, name: str, sizes: tuple[int, ...]) -> Array:
    """(R, n) final regret while one size grows."""
    end = np.array([float(base.horizon)])
    games = [replace(base, **{name: size}) for size in sizes]
    return np.concatenate([each.cumulative(end) for each in games], axis=1)


SWEEPS: dict[str, tuple[str, tuple[int, ...], float]] = {
    "C": ("corruption_budget", (20, 40, 80, 160), 1.0),
    "Λ": ("delay_budget", (1600, 6400, 25_600, 102_400), 0.5),
    "μ": ("mean_delay", (50, 100, 200, 400), 1.0),
    "d": ("context_dim", (4, 8, 16, 32), 1.0),
}
"""Symbol, the size that grows, its values, and the exponent of the upper bound."""


def law(slopes: Array, stated: float) -> Measured:
    """An exponent that must not exceed the stated one."""
    return at_most(slopes, stated)


def check_sweep(symbol: str, base: Game, regret: Array | None = None) -> Checked:
    name, sizes, stated = SWEEPS[symbol]
    regret = growth(base, name, sizes) if regret is None else regret
    x = np.array(sizes, dtype=float)
    measured = law(exponent_of_means(x, regret), stated)
    return Checked(printed=measured, pictures=(_picture(symbol, x, regret, measured, stated),))


def _picture(symbol: str, x: Array, regret: Array, measured: Measured, stated: float) -> Picture:
    mean = regret.mean(axis=0)
    guide = mean[0] * (x / x[0]) ** stated
    return Picture(
        title=f"Regret against {symbol}: exponent {measured.value:.2f} [{measured.low:.2f}, "
        f"{measured.high:.2f}], "
        f"at most {stated:g} by the theorem",
        across=symbol,
        up="regret",
        lines=(
            Line(name="measured", x=tuple(x.tolist()), y=tuple(mean.tolist())),
            Line(name=f"{symbol}^{stated:g}", x=tuple(x.tolist()), y=tuple(guide.tolist())),
        ),
        logarithmic=True,
    )


ROUNDS = np.round(np.geomspace(1e4, 1e6, 9))


def check_horizon(seed: int, *, rounds: Array = ROUNDS, width: float = WIDTH) -> Checked:
    game = Game(seed=seed, horizon=int(rounds[-1]), runs=4, corruption_budget=10, width=width)
    regret = game.cumulative(rounds)
    late = rounds >= rounds[-1] / 10.0
    measured = law(exponents(rounds[late], regret[:, late]), 0.5)
    return Checked(
        printed=measured,
        pictures=(_picture("T", rounds, regret, measured, 0.5), _between(game, rounds, regret)),
    )


def _between(game: Game, rounds: Array, regret: Array) -> Picture:
    """Measured regret between the lower and the upper bound."""

    def sizes(t: float) -> Sizes:
        return Sizes(
            context_dim=game.context_dim, horizon=int(t), corruption_budget=game.corruption_budget,
            norm_bound=NORM_BOUND, curvature=least_slope(NORM_BOUND),
        )  # fmt: skip

    t = tuple(rounds.tolist())
    low = [lower_bound(sizes(each)) for each in t]
    return Picture(
        title="Measured regret between the bounds (the lower one is for the worst instance, not for this "
        "world)",
        across="T",
        up="regret",
        lines=(
            Line(name="upper bound", x=t, y=tuple(upper_bound(sizes(each)).total for each in t)),
            Line(name="measured", x=t, y=tuple(regret.mean(axis=0).tolist())),
            Line(name="lower bound", x=t, y=tuple(max(each.statistical, each.corruption) for each in low)),
        ),
        logarithmic=True,
    )


def check_corruption(seed: int, regret: Array | None = None) -> Checked:
    return check_sweep("C", Game(seed=seed), regret)


def check_delay_budget(seed: int, regret: Array | None = None) -> Checked:
    return check_sweep("Λ", Game(seed=seed), regret)


def check_mean_delay(seed: int, regret: Array | None = None) -> Checked:
    return check_sweep("μ", Game(seed=seed), regret)


def check_dimension(seed: int, regret: Array | None = None) -> Checked:
    return check_sweep("d", Game(seed=seed, corruption_budget=10), regret)


CLAIMS = (
    Claim(
        name="growth-in-T",
        labels=("theorem:upper", "remark:order-wise-optimality"),
        statement="Regret grows no faster than √T.",
        measures="exponent of T between 10⁵ and 10⁶ rounds, one pass; stated ½",
        because="Once the lies are outvoted the leader is usually right, and exploration falls like 1/√t.",
        check=check_horizon,
    ),
    Claim(
        name="growth-in-C",
        labels=("theorem:upper", "remark:order-wise-optimality"),
        statement="Regret grows no faster than C.",
        measures="exponent of C from 20 to 160 lies, α = √d/C; stated 1",
        because="A smaller α also slows the learning from honest votes, which costs less than the lies "
        "would.",
        check=check_corruption,
    ),
    Claim(
        name="growth-in-Λ",
        labels=("theorem:upper", "remark:order-wise-optimality"),
        statement="Regret grows no faster than √Λ.",
        measures="exponent of Λ from 1,600 to 102,400, α = √d/√Λ; stated ½",
        because="Delays cost through α alone once the first votes are in.",
        check=check_delay_budget,
    ),
    Claim(
        name="growth-in-μ",
        labels=("theorem:upper", "remark:order-wise-optimality"),
        statement="Regret grows no faster than μ.",
        measures="exponent of μ from 50 to 400 rounds, α = √d/μ; stated 1",
        because="The first μ rounds are blind, the rest pays through α alone.",
        check=check_mean_delay,
    ),
    Claim(
        name="growth-in-d",
        labels=("theorem:upper",),
        statement="Regret grows no faster than d.",
        measures="exponent of d from 4 to 32; stated 1",
        because="With ‖Θ*‖ and ‖z‖ bounded, arms differ less as d grows, and so does what a wrong choice "
        "costs.",
        check=check_dimension,
    ),
)
