from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from duelwise.learning.core.cholesky import invert


@given(dim=st.integers(1, 12), seed=st.integers(0, 10**6), ridge=st.sampled_from([1e-6, 1.0, 1e4]))
def test_inverts_symmetric_positive_definite_matrices(dim: int, seed: int, ridge: float) -> None:
    root = np.random.default_rng(seed).normal(size=(dim, dim + 2))
    matrix, out = root @ root.T + ridge * np.eye(dim), np.empty((dim, dim))
    invert(matrix, out)
    np.testing.assert_allclose(out @ matrix, np.eye(dim), atol=1e-7)
    np.testing.assert_array_equal(out, out.T)
