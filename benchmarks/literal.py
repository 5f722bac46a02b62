"""Algorithm 1 as it is written, one run at a time: what the library is measured and tested against.

Vectorised NumPy on one thread. At each arriving vote the weighted MLE is solved again
from the last Θ by Newton's method with exact Hessians over the whole history; φ̂ is
torch's own layers and Adam, two full-batch steps over the whole buffer after each round.

    python benchmarks/literal.py [--mapping abs] [--horizon 2000] [--delay stochastic]
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, replace

import numpy as np
import torch

from duelwise.lab.play.corruptions import StrategicCorruption
from duelwise.lab.play.delays import GaussianDelay, StrategicDelay
from duelwise.lab.play.scenario import Scenario
from duelwise.lab.play.world import World
from duelwise.lab.worlds.linear import LinearWorld
from duelwise.types import Array, IntArray, Served, Votes

TOLERANCE = 1e-7  # on the gradient of the weighted loss


class TorchNetwork:
    """The paper's φ̂: dx → 64 → 64 → dy with ReLU."""

    def __init__(self, context_dim: int, post_dim: int, *, seed: int) -> None:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self._network = torch.nn.Sequential(
                torch.nn.Linear(context_dim, 64),
                torch.nn.ReLU(),
                torch.nn.Linear(64, 64),
                torch.nn.ReLU(),
                torch.nn.Linear(64, post_dim),
            )
        self._optimiser = torch.optim.Adam(self._network.parameters(), lr=1e-3)
        self._x, self._y = torch.empty(0, context_dim), torch.empty(0, post_dim)

    def predict(self, x: Array) -> Array:  # (K, dx) → (K, dy)
        with torch.no_grad():
            return self._network(torch.from_numpy(x).float()).double().numpy()

    def learn(self, x: Array, y: Array) -> None:  # (2, dx), (2, dy)
        self._x = torch.cat([self._x, torch.from_numpy(x).float()])
        self._y = torch.cat([self._y, torch.from_numpy(y).float()])
        for _ in range(2):
            self._optimiser.zero_grad()
            torch.nn.functional.mse_loss(self._network(self._x), self._y).backward()
            self._optimiser.step()


class NoNetwork:
    """There is no y."""

    def predict(self, x: Array) -> Array:
        return np.empty((len(x), 0))

    def learn(self, x: Array, y: Array) -> None:
        """Nothing follows."""


@dataclass(frozen=True)
class Settings:
    """The published settings of RCDP-UCB; α = √d/(C + D)."""

    width: float = 0.1  # c
    curvature: float = 0.25  # κ
    regularisation: float = 1.0  # λ
    error_budget: float = 125.0  # C + D


PUBLISHED = Settings()


@dataclass(frozen=True)
class Record:
    """One run of T rounds, with all that is needed to play it again."""

    regret: Array  # (T,)
    arms: IntArray  # (T, 2)
    x: Array  # (T, K, dx) all candidates
    predicted: Array  # (T, K, dy)
    y: Array  # (T, 2, dy) of the served pair
    theta: Array  # (T, d) after the round's votes
    told: list[Votes]  # per round, the votes that arrived
    seconds: float = 0.0

    @classmethod
    def empty(cls, horizon: int, world: World) -> Record:
        """A record to be filled."""
        x, y = world.context_dim, world.post_dim
        return cls(
            regret=np.empty(horizon),
            arms=np.empty((horizon, 2), dtype=np.int64),
            x=np.empty((horizon, world.arms, x)),
            predicted=np.empty((horizon, world.arms, y)),
            y=np.empty((horizon, 2, y)),
            theta=np.empty((horizon, x + y)),
            told=[],
        )


def newton(theta: Array, dz: Array, weight: Array, outcome: Array, regularisation: float) -> Array:
    """Solve λΘ + Σ ω(g(Θᵀ Δz) - o)Δz = 0 from a first guess: dz (n, d), weight and outcome (n,)."""

    def gradient(theta: Array) -> tuple[Array, Array]:
        mean = 1.0 / (1.0 + np.exp(-(dz @ theta)))
        return regularisation * theta + dz.T @ (weight * (mean - outcome)), mean

    slope, mean = gradient(theta)
    while np.linalg.norm(slope) > TOLERANCE:
        hessian = (dz.T * (weight * mean * (1.0 - mean))) @ dz + regularisation * np.eye(len(theta))
        step = np.linalg.solve(hessian, slope)
        size = 1.0
        ahead = gradient(theta - step)
        while np.linalg.norm(ahead[0]) >= np.linalg.norm(slope) and size > 1e-8:  # undamped, it diverges
            size /= 2.0
            ahead = gradient(theta - size * step)
        if size <= 1e-8:
            return theta  # the gradient is at the limit of the arithmetic
        theta, (slope, mean) = theta - size * step, ahead
    return theta


class History:
    """The votes that arrived, in order of arrival; arrays with room for the whole horizon."""

    def __init__(self, horizon: int, dim: int) -> None:
        self._dz, self._weight, self._outcome = np.empty((horizon, dim)), np.empty(horizon), np.empty(horizon)
        self._count = 0

    def add(self, dz: Array, weight: float, outcome: float) -> tuple[Array, Array, Array]:
        """All votes with this one: (n, d), (n,), (n,)."""
        n = self._count
        self._dz[n], self._weight[n], self._outcome[n] = dz, weight, outcome
        self._count = n = n + 1
        return self._dz[:n], self._weight[:n], self._outcome[:n]


def choose(z: Array, theta: Array, V: Array, width: float) -> tuple[int, int]:
    """The greedy arm and its challenger: z (K, d)."""
    utility = z @ theta
    a = int(np.argmax(utility))
    dz = z - z[a]
    spread = np.sqrt(np.sum((dz @ np.linalg.inv(V)) * dz, axis=1))
    return a, int(np.argmax(utility + width * spread))


def literal(scenario: Scenario, *, horizon: int, settings: Settings = PUBLISHED, seed: int = 0) -> Record:
    """Play Algorithm 1 in a world of one run."""
    world, channel = scenario.world, scenario.channel()
    assert world.runs == 1, "the literal algorithm plays one run at a time"
    dim = world.context_dim + world.post_dim
    alpha = np.sqrt(dim) / settings.error_budget
    V, theta = settings.regularisation * np.eye(dim), np.zeros(dim)
    network = TorchNetwork(world.context_dim, world.post_dim, seed=seed) if world.post_dim else NoNetwork()
    history, pending = History(horizon, dim), dict[int, tuple[Array, float]]()
    record = Record.empty(horizon, world)
    start = time.perf_counter()
    for t in range(horizon):
        x = world.contexts(t)
        predicted = network.predict(x[0])
        arms = np.array(choose(np.hstack([x[0], predicted]), theta, V, settings.width))
        truth = world.reveal(t, x)
        y = truth.y[0, arms]
        dz = np.subtract(*np.hstack([x[0, arms], y]))

        leverage = float(np.sqrt(dz @ np.linalg.solve(V, dz)))
        weight = min(1.0, alpha / leverage) if leverage > 0 else 1.0
        V = V + settings.curvature * weight * np.outer(dz, dz)
        pending[t] = dz, weight
        outcome = world.vote(t, truth, arms[None])
        counts = np.array([weight]), np.array([leverage]), np.array([len(pending)])
        channel.send(t, Served(t, arms[None], dz[None], *counts), outcome, truth.utility)
        arrived = channel.arrivals(t)
        for served, vote in zip(arrived.round.tolist(), arrived.outcome.tolist(), strict=True):
            theta = newton(theta, *history.add(*pending.pop(served), vote), settings.regularisation)
        network.learn(x[0, arms], y)

        record.regret[t] = truth.expected[0].max() - truth.expected[0, arms].mean()
        record.arms[t], record.x[t], record.predicted[t] = arms, x[0], predicted
        record.y[t], record.theta[t] = y, theta
        record.told.append(arrived)
    return replace(record, seconds=time.perf_counter() - start)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mapping", default="none")
    parser.add_argument("--horizon", type=int, default=2000)
    parser.add_argument("--delay", choices=["stochastic", "strategic"], default="stochastic")
    parser.add_argument("--runs", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(1)
    delay = (
        GaussianDelay(mean=100, std=100) if options.delay == "stochastic" else StrategicDelay(budget=10_000)
    )
    for run in range(options.runs):
        world = LinearWorld(runs=[run], mapping=options.mapping)
        scenario = world.with_delay(delay).with_corruption(StrategicCorruption(budget=25))
        record = literal(scenario, horizon=options.horizon, seed=run)
        print(f"run {run}: regret {record.regret.sum():.1f}, {record.seconds:.2f} s")


if __name__ == "__main__":
    main()
