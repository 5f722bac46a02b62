"""Which φ̂ a stream starts with, by the name in its settings."""

import pytest

from duelwise.learning.post_serving import Fourier, Ridge, Spline
from duelwise.stream import StreamSettings
from duelwise.types import JSON


def _map(value: JSON, *, edition: int = 2) -> object:
    settings = StreamSettings(context_dim=2, post_dim=1, options={"post_serving": value}, edition=edition)
    return settings.start().parts.post_serving


def test_a_map_is_what_its_name_says() -> None:
    assert isinstance(_map("ridge"), Ridge)
    assert isinstance(_map("fourier"), Fourier)
    assert isinstance(_map("spline"), Spline)


@pytest.mark.parametrize(("edition", "span"), [(2, (-1.0, 1.0)), (1, (Spline().low, Spline().high))])
def test_a_splines_grid_spans_the_range_of_scaled_features(edition: int, span: tuple[float, float]) -> None:
    spline = _map("spline", edition=edition)
    assert isinstance(spline, Spline)
    assert (spline.low, spline.high) == span
    assert span == (-1.0, 1.0) or edition == 1


def test_a_maps_own_settings_reach_it() -> None:
    spline = _map({"name": "spline", "low": -5.0, "knots": 7})
    assert isinstance(spline, Spline)
    assert (spline.low, spline.high, spline.knots) == (-5.0, 1.0, 7)
