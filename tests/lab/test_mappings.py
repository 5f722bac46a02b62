import math

import numpy as np
import pytest

from duelwise.errors import InvalidInput, UnknownName
from duelwise.lab.worlds.mappings import MAPPINGS, Mapping, bound_of, mapping_named

X = np.array([-2.0, 0.25, 3.0])
WRITTEN_OUT = {
    "none": [],
    "polynomial": [4.0, 0.0625, 9.0, math.sqrt(2), 0.5, math.sqrt(3)],
    "sinusoidal": [math.cos(v) for v in X] + [math.sin(v) for v in X],
    "abs": [2.0, 0.25, 3.0],
    "cosine": [math.cos(v) for v in X],
    "piecewise": [-1.0, 0.25, 3.0],
    "interaction": [-0.5, 0.75, -6.0],
    "linear": [-0.875, 1.625, 0.5],
    "bump": [math.exp(-(a * a + b * b) / 2) for a, b in ((-2.0, 0.25), (0.25, 3.0), (3.0, -2.0))],
    "rough": [sum(math.cos(2**j * v) / math.sqrt(2) ** j for j in range(14)) for v in X],
}


def test_every_mapping_is_written_out_here() -> None:
    assert WRITTEN_OUT.keys() == MAPPINGS.keys()


@pytest.mark.parametrize("name", MAPPINGS)
def test_values_shapes_and_bounds(name: str) -> None:
    mapping = MAPPINGS[name]
    np.testing.assert_allclose(mapping(X), WRITTEN_OUT[name], atol=1e-15)
    assert mapping.post_dim(3) == len(WRITTEN_OUT[name])
    x = np.random.default_rng(0).uniform(-math.pi, math.pi, (4, 5, 7))
    y = mapping(x)
    assert y.shape == (4, 5, mapping.post_dim(7))
    np.testing.assert_array_equal(y[2, 3], mapping(x[2, 3]))
    assert np.abs(y).max(initial=0.0) <= bound_of(mapping)


def test_names_and_bounds_are_checked() -> None:
    own = Mapping(name="cube", function=lambda x: x**3)
    assert mapping_named(own) is own
    with pytest.raises(UnknownName, match="Did you mean 'sinusoidal'"):
        mapping_named("sinusoid")
    with pytest.raises(InvalidInput, match="largest"):
        bound_of(own)
