"""Intervals and verdicts against known numbers."""

import numpy as np
import pytest
from scipy.stats import binomtest

from duelwise.theory.claim import Checked
from duelwise.theory.measuring import (
    Measured,
    always,
    at_least,
    at_most,
    equal,
    exponent_of_means,
    exponents,
    rate,
)


@pytest.mark.parametrize("count", [0, 3, 20, 400])
def test_a_rate_has_clopper_and_pearsons_interval(count: int) -> None:
    found = rate(np.arange(400) < count, confidence=0.05)
    exact = binomtest(count, 400).proportion_ci(method="exact")
    assert (found.value, found.low, found.high) == pytest.approx((count / 400, exact.low, exact.high))


@pytest.mark.parametrize(("count", "kept", "room"), [(0, True, True), (15, True, False), (40, False, False)])
def test_a_rate_fails_when_its_lower_limit_exceeds_delta(count: int, kept: bool, room: bool) -> None:
    found = rate(np.arange(400) < count, confidence=0.05)
    assert (found.kept, found.room) == (kept, room)


def test_one_path_breaks_a_claim_about_every_path() -> None:
    shares = np.full(400, 0.2)
    assert always(shares).room
    shares[7] = 0.7
    assert (always(shares).kept, always(shares).room) == (True, False)
    shares[7] = 1.001
    assert not always(shares).kept


def test_means_against_bounds() -> None:
    values = np.random.default_rng(0).normal(1.0, 0.1, 100)
    assert at_most(values, 3.0).room
    assert at_most(values, 1.5)[-2:] == (True, False)
    assert not at_most(values, 0.9).kept
    assert at_least(values, 0.3).room
    assert not at_least(values, 1.2).kept
    assert equal(values, 1.0).kept
    assert not equal(values, 1.1).kept


def test_exponents_of_powers() -> None:
    sizes = np.array([1.0, 2.0, 4.0, 8.0])
    np.testing.assert_allclose(exponents(sizes, 3.0 * sizes[None] ** 0.7), 0.7)
    noisy = np.random.default_rng(1).exponential(1.0, (4000, 4)) * sizes**0.5
    assert exponent_of_means(sizes, noisy).mean() == pytest.approx(0.5, abs=0.05)


def test_verdicts() -> None:
    def measured(kept: bool, room: bool = False) -> Measured:
        return Measured(1.0, 0.9, 1.1, 400, kept, room)

    assert Checked(printed=measured(True)).verdict == "holds"
    assert Checked(printed=measured(True, True)).verdict == "holds with room"
    assert Checked(printed=measured(False)).verdict == "fails"
    assert Checked(printed=measured(False), corrected=measured(False)).verdict == "fails"
    assert (
        Checked(printed=measured(False), corrected=measured(True)).verdict
        == "fails as printed, holds corrected"
    )
    assert Checked(printed=measured(True), applies=False).verdict == "does not apply as stated"
