"""Every equation equals a literal loop over its symbols."""

import inspect
import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from duelwise.learning.core import equations
from duelwise.randomness import generator
from duelwise.types import Array

SIZES = st.tuples(st.integers(0, 10_000), st.integers(2, 6), st.integers(1, 5))  # seed, K, d


def drawn(seed: int, arms: int, dim: int) -> tuple[Array, Array, Array]:
    """z (K, d), Θ (d,), V (d, d) positive definite; half of the draws hold exact ties."""
    random = generator(seed, "equations", 0)
    z, theta = random.standard_normal((arms, dim)), random.standard_normal(dim)
    root = random.standard_normal((dim, dim))
    if seed % 2:
        z, theta = np.round(z), np.round(theta)
        z[-1] = z[0]
    return z, theta, root @ root.T + 0.5 * np.eye(dim)


def inverted(V: Array) -> Array:
    return np.linalg.inv(V).astype(np.float64)


def norm(v: Array, V: Array) -> float:
    """√(vᵀ V⁻¹ v) by solving."""
    solved = np.linalg.solve(V, v)
    return math.sqrt(sum(v[i] * solved[i] for i in range(len(v))))


def inner(a: Array, b: Array) -> float:
    return sum(float(a[i] * b[i]) for i in range(len(a)))


@settings(max_examples=60)
@given(SIZES)
def test_leverage_values_and_gram(sizes: tuple[int, int, int]) -> None:
    z, theta, V = drawn(*sizes)
    inverse = inverted(V)
    K = len(z)
    for k in range(K):
        assert math.isclose(equations.leverage(z[k], inverse), norm(z[k], V), rel_tol=1e-9, abs_tol=1e-9)
    np.testing.assert_allclose(equations.values(z, theta), [inner(z[k], theta) for k in range(K)], atol=1e-12)
    literal = [[inner(z[a], np.linalg.solve(V, z[b])) for b in range(K)] for a in range(K)]
    np.testing.assert_allclose(equations.gram_matrix(z, inverse), literal, rtol=1e-8, atol=1e-8)


@given(st.floats(0, 1e6), st.floats(1e-9, 1e6))
def test_adaptive_weight(length: float, alpha: float) -> None:
    literal = 1.0 if length == 0 else min(1.0, alpha / length)
    assert equations.adaptive_weight(length, alpha) == literal


def test_a_weight_without_clip_is_one() -> None:
    assert equations.adaptive_weight(1e300, math.inf) == 1.0


@settings(max_examples=60)
@given(SIZES, st.floats(0, 10))
def test_moving_a_geometry_is_adding_and_inverting(sizes: tuple[int, int, int], scale: float) -> None:
    z, _, V = drawn(*sizes)
    expected = V.copy()
    for i in range(len(V)):
        for j in range(len(V)):
            expected[i, j] += scale * z[0, i] * z[0, j]
    growth = np.linalg.slogdet(expected)[1] - np.linalg.slogdet(V)[1]
    alone = inverted(V)
    assert math.isclose(equations.move_inverse(alone, z[0], scale), growth, rel_tol=1e-7, abs_tol=1e-8)
    matrix, inverse = V.copy(), inverted(V)
    assert math.isclose(equations.add_duel(matrix, inverse, z[0], scale), growth, rel_tol=1e-7, abs_tol=1e-8)
    np.testing.assert_allclose(matrix, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(inverse, inverted(expected), rtol=1e-7, atol=1e-8)
    np.testing.assert_array_equal(inverse, alone)


@settings(max_examples=40)
@given(SIZES)
def test_widths_and_the_widest_pair(sizes: tuple[int, int, int]) -> None:
    z, _, V = drawn(*sizes)
    inverse = inverted(V)
    centre = z.mean(axis=0)
    np.testing.assert_allclose(
        equations.widths_from(z, inverse, centre), [norm(row - centre, V) for row in z], rtol=1e-7, atol=1e-8
    )
    if len(z) > 1:
        a, b = equations.widest_pair(z, inverse)
        assert a < b
        widest = max(norm(z[i] - z[j], V) for i in range(len(z)) for j in range(i))
        assert math.isclose(norm(z[a] - z[b], V), widest, rel_tol=1e-6, abs_tol=1e-8)


def test_many_candidates_by_matrix_products() -> None:
    """Above a size widths come from a matrix product; the answers are the same."""
    generator = np.random.default_rng(5)
    z, theta = generator.standard_normal((4000, 20)), generator.standard_normal(20)
    inverse = inverted(np.cov(z.T) + np.eye(20))
    first = equations.first_arm(z, theta)
    upper = z @ theta + 0.7 * np.sqrt(np.einsum("kd,de,ke->k", z - z[first], inverse, z - z[first]))
    assert equations.second_arm(z, theta, inverse, first, 0.7, False) == int(np.argmax(upper))
    upper[first] = -np.inf
    assert equations.second_arm(z, theta, inverse, first, 0.7, True) == int(np.argmax(upper))
    a, b = equations.widest_pair(z, inverse)
    found = equations.widths_from(z[a : a + 1], inverse, z[b])[0]
    assert found >= 0.9 * max(equations.widths_from(z, inverse, z[k]).max() for k in range(0, 4000, 40))


def is_argmax(chosen: int, scores: list[float]) -> bool:
    """The chosen position reaches the maximum, up to rounding."""
    return scores[chosen] >= max(scores) - 1e-9 * (1 + abs(max(scores)))


@settings(max_examples=80)
@given(SIZES, st.floats(0, 5), st.booleans())
def test_leader_and_challenger(sizes: tuple[int, int, int], width: float, distinct: bool) -> None:
    z, theta, V = drawn(*sizes)
    K, inverse = len(z), inverted(V)
    first = equations.first_arm(z, theta)
    assert is_argmax(first, [inner(z[k], theta) for k in range(K)])
    second = equations.second_arm(z, theta, inverse, first, width, distinct)
    scores = [inner(z[k], theta) + width * norm(z[k] - z[first], V) for k in range(K)]
    if distinct:
        assert second != first
        scores[first] = -math.inf
    assert is_argmax(second, scores)


def test_ties_go_to_the_lowest_index() -> None:
    z, theta, inverse = np.ones((4, 2)), np.ones(2), np.eye(2)
    assert equations.first_arm(z, theta) == 0
    assert equations.second_arm(z, theta, inverse, 0, 1.0, False) == 0
    assert equations.second_arm(z, theta, inverse, 0, 1.0, True) == 1
    assert equations.joint_pair(z, theta, inverse, 1.0, False) == (0, 0)
    assert equations.joint_pair(z, theta, inverse, 1.0, True) == (0, 1)
    assert equations.perturbed_arm(z, theta, inverse, np.zeros(4)) == 0
    assert equations.informative_arm(z, theta, inverse, 0, 1.0) == 1
    assert equations.informative_pair(z, theta, inverse, 1.0, False) == (0, 1)


@settings(max_examples=80)
@given(SIZES, st.floats(0, 5), st.booleans())
def test_joint_pair(sizes: tuple[int, int, int], width: float, distinct: bool) -> None:
    z, theta, V = drawn(*sizes)
    K = len(z)
    chosen = equations.joint_pair(z, theta, inverted(V), width, distinct)
    pairs = [(a, b) for a in range(K) for b in range(K) if not (distinct and a == b)]
    scores = [inner(z[a] + z[b], theta) + width * norm(z[a] - z[b], V) for a, b in pairs]
    assert scores[pairs.index(chosen)] >= max(scores) - 1e-6 * (1 + abs(max(scores)))


@settings(max_examples=60)
@given(SIZES)
def test_perturbed_arm(sizes: tuple[int, int, int]) -> None:
    z, theta, V = drawn(*sizes)
    noise = generator(sizes[0], "noise", 0).gumbel(size=len(z))
    chosen = equations.perturbed_arm(z, theta, inverted(V), noise)
    assert is_argmax(chosen, [inner(z[k], theta) + noise[k] * norm(z[k], V) for k in range(len(z))])


@settings(max_examples=100)
@given(SIZES, st.floats(0, 3))
def test_informative_arm(sizes: tuple[int, int, int], width: float) -> None:
    z, theta, V = drawn(*sizes)
    first = equations.first_arm(z, theta)
    chosen = equations.informative_arm(z, theta, inverted(V), first, width)
    others = [k for k in range(len(z)) if k != first]
    upper = {k: inner(z[k], theta) + width * norm(z[k], V) for k in others}
    slack = 1e-9  # an arm on the edge of promising may count either way
    surely = [k for k in others if upper[k] > inner(z[first], theta) + slack]
    maybe = [k for k in others if upper[k] > inner(z[first], theta) - slack]
    wide = {k: norm(z[k] - z[first], V) for k in others}
    if surely:
        assert chosen in maybe
        assert wide[chosen] >= max(wide[k] for k in surely) - slack
    elif not maybe:
        assert upper[chosen] >= max(upper.values()) - slack


@settings(max_examples=100)
@given(SIZES, st.floats(0, 3), st.booleans())
def test_informative_pair(sizes: tuple[int, int, int], width: float, distinct: bool) -> None:
    z, theta, V = drawn(*sizes)
    K, slack = len(z), 1e-6
    first, second = equations.informative_pair(z, theta, inverted(V), width, distinct)

    def edge(i: int) -> float:
        return min(inner(z[i] - z[j], theta) + width * norm(z[i] - z[j], V) for j in range(K))

    surely = [i for i in range(K) if edge(i) > slack or math.isclose(edge(i), 0.0, abs_tol=1e-12)]
    maybe = [i for i in range(K) if edge(i) > -slack]
    assert first in maybe
    if len(maybe) > 1:
        widest = max(norm(z[a] - z[b], V) for a in surely for b in surely)
        assert norm(z[first] - z[second], V) >= widest - slack
    else:
        assert (first == second) is not distinct


def test_every_equation_is_tested_here() -> None:
    own = {name: part for name, part in vars(equations).items() if hasattr(part, "py_func")}
    public = {
        name
        for name, part in own.items()
        if part.py_func.__module__ == equations.__name__ and not name.startswith("_")
    }
    source = inspect.getsource(inspect.getmodule(test_every_equation_is_tested_here) or math)
    assert {name for name in public if f"equations.{name}(" not in source} == set()
    assert len(public) == 14
