"""How fast φ̂ learns: the rates that the assumption names, and whom it learns from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from duelwise.lab.play.scenario import Scenario
from duelwise.lab.worlds.linear import LinearWorld
from duelwise.lab.worlds.mappings import MAPPINGS
from duelwise.learning.post_serving.fourier import Fourier
from duelwise.learning.post_serving.model import PostServing
from duelwise.learning.post_serving.neighbours import Neighbours
from duelwise.learning.post_serving.ridge import Ridge
from duelwise.learning.recipes import rcdp_ucb
from duelwise.randomness import generator
from duelwise.theory.claim import Checked, Claim
from duelwise.theory.measuring import at_least, at_most, exponents
from duelwise.theory.walking import walk
from duelwise.types import Array

SAMPLES = np.array([256.0, 512.0, 1024.0, 2048.0, 4096.0])
TESTED = 300  # points at which the supremum is looked for
CONFIDENCE = 0.05  # δ
SQRT3 = np.sqrt(3.0)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A map, what learns it from n samples, and the exponent a that the remark states."""

    mapping: str
    context_dim: int
    noise: float  # standard deviation of y around φ(x)
    model: Callable[[int], PostServing]  # of the number of samples
    stated: float


CASES = {
    "linear": Case(mapping="linear", context_dim=4, noise=0.5, model=lambda n: Ridge(), stated=0.5),
    "rkhs": Case(
        mapping="bump", context_dim=2, noise=0.3, stated=0.5,
        model=lambda n: Fourier(features=150, scale=0.7),
    ),
    "hölder": Case(  # β = ½ in two dimensions: a = β/(2β + d_x), with n^{2β/(2β + d_x)} neighbours
        mapping="rough", context_dim=2, noise=0.3, stated=1.0 / 6.0,
        model=lambda n: Neighbours(count=round(n ** (1.0 / 3.0))),
    ),
}  # fmt: skip


def errors(case: Case, *, seed: int, runs: int = 20) -> Array:
    """(R, n) sup‖φ̂ - φ‖ over test points, after each number of independent samples."""
    random, phi = generator(seed, f"learnability {case.mapping}", 0), MAPPINGS[case.mapping]
    dx, dy = case.context_dim, phi.post_dim(case.context_dim)
    test = random.uniform(-np.pi, np.pi, (runs, TESTED, dx))
    found: list[Array] = []
    for n in SAMPLES.astype(int).tolist():
        model = case.model(n).start(runs=range(runs), context_dim=dx, post_dim=dy, seed=seed)
        x = random.uniform(-np.pi, np.pi, (n // 2, runs, 2, dx))
        y = phi(x) + case.noise * random.uniform(-SQRT3, SQRT3, (n // 2, runs, 2, dy))
        model.learn(np.tile(np.arange(runs), n // 2), x.reshape(-1, 2, dx), y.reshape(-1, 2, dy))
        found.append(np.linalg.norm(model.predict(test) - phi(test), axis=2).max(axis=1))
    return np.stack(found, axis=1)


def check_rate(case: Case, seed: int) -> Checked:
    """a of C_0 √d_x t^-a ln(t/δ), the logarithm divided out as the assumption has it."""
    shares = errors(case, seed=seed) / np.log(SAMPLES / CONFIDENCE)
    return Checked(printed=at_least(-exponents(SAMPLES, shares), case.stated)._replace(room=False))


def check_linear(seed: int) -> Checked:
    return check_rate(CASES["linear"], seed)


def check_rkhs(seed: int) -> Checked:
    return check_rate(CASES["rkhs"], seed)


def check_hoelder(seed: int) -> Checked:
    return check_rate(CASES["hölder"], seed)


def served_and_all(seed: int, *, arms: int = 10, runs: int = 40, horizon: int = 300) -> Array:
    """(2, R) mean error of φ̂ on the arms it serves and on all arms, over the second half of a run."""
    world = LinearWorld(runs=runs, seed=seed, context_dim=4, mapping="interaction", arms=arms)
    learner = rcdp_ucb(
        runs=runs, seed=seed, context_dim=4, post_dim=world.post_dim, post_serving="ridge", distinct_pair=True
    )
    total, run = np.zeros((2, runs)), np.arange(runs)
    for _, step, _ in walk(learner, Scenario(world), horizon=horizon):
        if step.round >= horizon // 2:
            error = np.linalg.norm(step.predicted - step.latent, axis=2)
            total += np.stack([error[run[:, None], step.arms].mean(axis=1), error.mean(axis=1)])
    return total / (horizon - horizon // 2)


def check_independent(seed: int, *, arms: int = 10) -> Checked:
    served, every = served_and_all(seed, arms=arms)
    measured = at_most(np.abs(served / every - 1.0), 0.02)
    return Checked(printed=measured, applies=measured.kept)


CLAIMS = (
    Claim(
        name="rate-linear",
        labels=("assum:learnability", "assum:dist_learnability", "rem:justification"),
        statement="A linear map is learned at a = ½ by ridge regression.",
        measures="exponent of sup‖φ̂ - φ‖/ln(t/δ) in the number of samples, d_x = 4; stated ½",
        because="A line has finitely many coefficients, each known to 1/√t.",
        check=check_linear,
    ),
    Claim(
        name="rate-rkhs",
        labels=("assum:learnability", "rem:justification"),
        statement="A map in a Gaussian RKHS is learned at a = ½.",
        measures="exponent of sup‖φ̂ - φ‖/ln(t/δ), random Fourier features, d_x = 2; stated ½",
        because="In a fixed number of features the rate is that of a line, as long as what the features "
        "cannot say is small.",
        check=check_rkhs,
    ),
    Claim(
        name="rate-hölder",
        labels=("assum:learnability", "rem:justification"),
        statement="A β-Hölder map is learned at a = β/(2β + d_x).",
        measures="exponent of sup‖φ̂ - φ‖/ln(t/δ), nearest neighbours, β = ½, d_x = 2; stated 1/6",
        because="With t^{2β/(2β + d_x)} neighbours bias and noise fall alike.",
        check=check_hoelder,
    ),
    Claim(
        name="independent-samples",
        labels=("assum:learnability", "assum:dist_learnability"),
        statement="φ̂_t is learned from independent samples of one distribution.",
        measures="|error on served arms over error on all arms - 1|, a line fitted to x_i x_{i+1}",
        because="The buffer holds the arms that were chosen; where φ̂ cannot be exact its error is "
        "smaller there than elsewhere.",
        check=check_independent,
    ),
)
