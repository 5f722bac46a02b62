"""Intervals that allow for sources whose votes are alike."""

from __future__ import annotations

import numpy as np
from benchmarks.answers import clusters

from duelwise.answers.belief import Posterior
from duelwise.answers.clustering import clustered


def test_raters_who_differ_are_allowed_for_and_others_cost_little() -> None:
    alike, apart = (clusters._measure(5, 30, how, range(40)) for how in (0.0, 1.0))
    assert apart["plain"] < 0.9 < apart["clustered"]
    assert abs(alike["clustered"] - alike["plain"]) < 0.03


def posterior() -> Posterior:
    return Posterior(np.zeros(2), np.diag([0.01, 0.02]), np.ones(2), 100)


def test_a_literal_sum_gives_the_same() -> None:
    rng = np.random.default_rng(0)
    dz, source = rng.normal(size=(100, 2)), rng.integers(10, size=100)
    outcome = (rng.random(100) < np.where(source < 5, 0.9, 0.1)).astype(float)
    held = posterior()
    found = clustered(held, dz, outcome, source, 10).covariance
    root, middle = np.sqrt(np.diag([0.01, 0.02])), np.zeros((2, 2))
    for s in range(10):
        score = sum((outcome[i] - 0.5) * dz[i] for i in np.flatnonzero(source == s))
        middle += np.outer(score, score)
        for i in np.flatnonzero(source == s):
            middle -= 0.25 * np.outer(dz[i], dz[i])
    values, vectors = np.linalg.eigh(root @ (10 / 9 * middle) @ root)
    expected = root @ (np.eye(2) + (vectors * np.maximum(values, 0)) @ vectors.T) @ root
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    assert (np.linalg.eigvalsh(found - held.covariance) > -1e-12).all()  # never narrower


def test_without_sources_nothing_changes() -> None:
    dz, outcome = np.ones((20, 2)), np.ones(20)
    for source, sources in ((np.full(20, -1), 0), (np.arange(20) % 3, 3)):
        np.testing.assert_array_equal(
            clustered(posterior(), dz, outcome, source, sources).covariance, posterior().covariance
        )
