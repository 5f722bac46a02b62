"""Voters and items whose truth is known, many runs at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from duelwise.types import Array, IntArray

ITEMS = 10


class World(NamedTuple):
    """Items of R runs, and the taste of their voters."""

    items: Array  # (R, K, d)
    theta: Array  # (R, d)

    @property
    def utility(self) -> Array:
        """(R, K)."""
        return np.einsum("rkd,rd->rk", self.items, self.theta)


def linear(rng: np.random.Generator, *, runs: int, dim: int, scale: float = 1.0) -> World:
    """Standard normal features and taste: utilities spread by √d times the scale."""
    return World(rng.normal(size=(runs, ITEMS, dim)), scale * rng.normal(size=(runs, dim)))


def one_effect_each(rng: np.random.Generator, *, runs: int) -> World:
    """No features but the item itself: standard normal utilities."""
    return World(np.repeat(np.eye(ITEMS)[None], runs, axis=0), rng.normal(size=(runs, ITEMS)))


def near_tie(world: World, gap: float) -> World:
    """The same world with the second best moved to within `gap` of the best."""
    run, order = np.arange(len(world.items)), np.argsort(-world.utility, axis=1)
    best, second = order[:, 0], order[:, 1]
    missing = world.utility[run, best] - gap - world.utility[run, second]
    items, theta = world.items.copy(), world.theta.copy()
    if items.shape[2] == ITEMS and np.array_equal(items[0], np.eye(ITEMS)):
        theta[run, second] += missing
    else:
        items[run, second] += missing[:, None] * theta / (theta**2).sum(axis=1, keepdims=True)
    return World(items, theta)


def votes(rng: np.random.Generator, dz: Array, theta: Array, *, lies: float = 0.0) -> Array:
    """(R,) a vote on each pair; a share of `lies` is turned round."""
    honest = rng.random(len(dz)) < 1.0 / (1.0 + np.exp(-(dz * theta).sum(axis=1)))
    return np.where(rng.random(len(dz)) < lies, ~honest, honest).astype(np.float64)


def random_pairs(rng: np.random.Generator, runs: int) -> IntArray:
    """(R, 2) two different items each."""
    first = rng.integers(ITEMS, size=runs)
    return np.stack([first, (first + 1 + rng.integers(ITEMS - 1, size=runs)) % ITEMS], axis=1)
