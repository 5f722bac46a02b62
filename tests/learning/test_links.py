"""The links against their textbook forms."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, ndtr

from duelwise.errors import UnknownName
from duelwise.learning.core import links

TEXTBOOK = {
    links.LOGISTIC: expit,
    links.PROBIT: ndtr,
    links.LINEAR: lambda m: np.clip(m + 0.5, 0.0, 1.0),
}


@pytest.mark.parametrize("link", TEXTBOOK)
@given(m=st.floats(-1000, 1000))
def test_the_mean_is_the_textbook_one(link: int, m: float) -> None:
    assert links.mean(link, m) == pytest.approx(float(TEXTBOOK[link](m)), rel=1e-11, abs=1e-300)


@pytest.mark.parametrize("link", TEXTBOOK)
def test_many_margins_at_once_give_the_same_floats(link: int) -> None:
    margins = np.linspace(-40, 40, 1001)
    out = np.empty_like(margins)
    links.means(link, margins, out)
    np.testing.assert_array_equal(out, [links.mean(link, m) for m in margins])
    links.means(link, out, out)  # in place, as the solver does
    np.testing.assert_allclose(out, TEXTBOOK[link](TEXTBOOK[link](margins)), rtol=1e-13)


@pytest.mark.parametrize("link", TEXTBOOK)
@given(m=st.floats(-8, 8).filter(lambda m: abs(abs(m) - 0.5) > 1e-4))
def test_the_slope_is_the_derivative_of_the_mean(link: int, m: float) -> None:
    step = 1e-5
    rise = (links.mean(link, m + step) - links.mean(link, m - step)) / (2 * step)
    assert links.slope(link, m) == pytest.approx(rise, abs=1e-8)


@pytest.mark.parametrize("link", TEXTBOOK)
@given(m=st.floats(-30, 30))
def test_swapping_the_pair_swaps_the_probability(link: int, m: float) -> None:
    assert links.mean(link, m) + links.mean(link, -m) == pytest.approx(1.0, abs=1e-15)


@given(m=st.floats(-700, 700))
def test_the_kernels_own_forms_are_the_mean(m: float) -> None:
    assert links.logistic(m) == links.mean(links.LOGISTIC, m)
    assert links.probit(m) == links.mean(links.PROBIT, m)
    assert links.clipped_linear(m) == links.mean(links.LINEAR, m)


def test_the_ends_are_exact() -> None:
    assert links.mean(links.LOGISTIC, 1e9) == 1.0
    assert 0.0 < links.mean(links.LOGISTIC, -1e9) < 1e-300
    assert links.slope(links.LOGISTIC, 1e9) == 0.0
    assert links.mean(links.PROBIT, -math.inf) == 0.0


def test_an_unknown_link_suggests_the_nearest() -> None:
    assert links.link_code("clipped-linear") == links.LINEAR
    with pytest.raises(UnknownName, match=r"'logistc'.*Did you mean 'logistic'"):
        links.link_code("logistc")
