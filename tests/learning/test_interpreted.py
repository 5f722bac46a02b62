"""A kernel run as text makes what compiled code makes, to the last bit, and is compiled when that pays."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from duelwise.answers import belief
from duelwise.learning.core import batch, deferred_compilation
from duelwise.learning.core.deferred_compilation import DeferredKernel, patience
from duelwise.learning.core.equations import widest_pair
from duelwise.learning.core.interpreted import NoText, functions_in, text_of
from duelwise.learning.core.intrinsics import fused, fused_by_fractions, product, row_sums
from duelwise.learning.core.jit import compiled, compiled_when_it_pays
from duelwise.learning.core.links import LINKS, mean, slope
from duelwise.learning.core.state_pointer import handle
from duelwise.learning.post_serving import none
from duelwise.learning.recipes import RECIPES
from duelwise.randomness import generator
from duelwise.testing.life import Life, live
from duelwise.types import Array, Snapshot

ANY = st.floats(width=64)


def same(one: Any, other: Any) -> bool:
    """Equal bit for bit, the sign of a zero included; all that is not a number is alike."""
    one, other = np.asarray(one, float), np.asarray(other, float)
    both_nan = np.isnan(one) & np.isnan(other)
    return bool(np.all(both_nan | (one.view(np.int64) == other.view(np.int64))))


@given(ANY, ANY, ANY)
def test_one_rounding(a: float, b: float, c: float) -> None:
    assert same(text_of(fused)(a, b, c), fused(a, b, c))
    assert same(fused_by_fractions(a, b, c), fused(a, b, c))


@pytest.mark.parametrize(
    ("a", "b", "c"),
    [
        (1e200, 1e200, -math.inf),
        (1e308, 10.0, -1e308),
        (-1e308, 10.0, 1e308),
        (1e308, 2.0, -1.5e308),
        (math.inf, 0.0, 1.0),
        (5e-324, 0.5, 0.0),
        (-5e-324, 0.5, 0.0),
        (-0.0, 1.0, 0.0),
        (-0.0, 1.0, -0.0),
        (1.0 + 2.0**-30, 1.0 + 2.0**-30, -1.0 - 2.0**-29),
    ],
)
def test_one_rounding_at_the_ends(a: float, b: float, c: float) -> None:
    assert same(text_of(fused)(a, b, c), fused(a, b, c))
    assert same(fused_by_fractions(a, b, c), fused(a, b, c))


@given(seed=st.integers(0, 999), n=st.integers(0, 40), rows=st.integers(1, 12))
@settings(max_examples=40)
def test_sums_in_lanes(seed: int, n: int, rows: int) -> None:
    rng = generator(seed, "lanes", 0)
    z, r = rng.standard_normal((rows, 40)), rng.standard_normal(40)
    ours, theirs = np.empty(rows), np.empty(rows)
    text_of(row_sums)(z, r, n, ours)
    row_sums(z, r, n, theirs)
    assert same(ours, theirs)


@pytest.mark.parametrize("shape", [(37, 19), (19,)])
def test_products_by_the_same_library(shape: tuple[int, ...]) -> None:
    rng = generator(0, "products", 0)
    a, b = rng.standard_normal((23, shape[0])), rng.standard_normal(shape)
    ours, theirs = np.zeros((23, *shape[1:])), np.zeros((23, *shape[1:]))
    text_of(product)(a, 17, b, ours)
    product(a, 17, b, theirs)
    assert same(ours, theirs)


def test_many_candidates() -> None:
    rng = generator(0, "many", 0)
    z, inverse = rng.standard_normal((200, 3)), np.diag([1.0, 0.5, 0.1])
    assert text_of(widest_pair)(z, inverse) == widest_pair(z, inverse)


@pytest.mark.parametrize("link", LINKS.values())
@pytest.mark.parametrize("margin", [0.0, -0.3, 1e-300, 37.0, -745.0, 1e6, -1e6, math.inf])
def test_links(link: int, margin: float) -> None:
    for function in (mean, slope):
        assert same(text_of(function)(link, margin), function(link, margin))


@pytest.mark.parametrize("vote", [(0.0, 0.0), (800.0, 1.0), (-800.0, 1.0), (3.0, 0.5), (0.0, 1.0)])
def test_a_posterior_of_the_boldest_votes(vote: tuple[float, float]) -> None:
    """Where the exponential leaves the floats, Python's own would raise."""
    scale, outcome = vote
    dz = scale * generator(1, "bold", 0).standard_normal((6, 3))

    def learned(seconds: float) -> tuple[Any, Snapshot]:
        held = belief.belief(runs=1, dim=3)
        with patience(seconds):
            kernel = DeferredKernel(belief._learn.py_func)  # pyright: ignore[reportAttributeAccessIssue, reportFunctionMemberAccess]
            foreseen = kernel(held, np.zeros(6, np.int64), dz, np.full(6, outcome), np.ones(6))
        assert bool(kernel.overloads) is (seconds == 0.0)
        return foreseen, belief.snapshot(held)

    (read, one), (made, other) = learned(math.inf), learned(0.0)
    assert same(read, made)
    assert all(same(one[name], other[name]) for name in one)


def lived(name: str, **options: Any) -> Snapshot:
    """What forty busy rounds leave of two runs."""
    learner = RECIPES[name](runs=[0, 1], context_dim=3, post_dim=2, **options)
    live(learner, Life([0, 1], candidates=5, context_dim=3, post_dim=2), rounds=40)
    return learner.snapshot()


def assert_alike(monkeypatch: pytest.MonkeyPatch, name: str, **options: Any) -> None:
    """Kernels new to this process, so that neither has been found worth compiling before."""
    left: list[Snapshot] = []
    # The first is nowhere on disk.
    for made, seconds in ((DeferredKernel, math.inf), (compiled_when_it_pays, 0.0)):
        for kernel in ("choose", "serve", "observe", "hear", "learn", "tell"):
            monkeypatch.setattr(batch, kernel, made(getattr(batch, kernel).py_func))
        with patience(seconds):
            left.append(lived(name, **options))
    assert left[0].keys() == left[1].keys()
    assert [key for key in left[0] if not same(left[0][key], left[1][key])] == []


def test_a_life(monkeypatch: pytest.MonkeyPatch) -> None:
    assert_alike(monkeypatch, "live", post_serving="spline")


@pytest.mark.long
@pytest.mark.parametrize("name", RECIPES)
def test_every_life(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    assert_alike(monkeypatch, name, post_serving="ridge")


@pytest.mark.long
@pytest.mark.parametrize(
    "options",
    [
        {"link": "probit", "exploration_width": "data"},
        {"link": "clipped-linear", "exploration_width": "theory"},
        {"post_serving": "fourier", "estimate": "full-mle"},
    ],
)
def test_every_kind_of_life(monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]) -> None:
    assert_alike(monkeypatch, "rcdp-ucb", **{"post_serving": "spline"} | options)


FIRST = """
import numpy as np
from duelwise.learning.core.compile_time import compile_time
from duelwise.learning.core.deferred_compilation import patience
from duelwise.stream import DecisionStream, StreamSettings
settings = StreamSettings(context_dim=4, post_dim=2)
with compile_time() as spent, DecisionStream.create("sqlite:///a.db", "a", settings) as stream:
    duel = stream.ask(np.random.default_rng(0).normal(size=(6, 4)))
    stream.observe(duel.ticket, [0.1, 0.2], [0.3, 0.4])
    stream.tell(duel.ticket, "left")
    print(spent.seconds == 0.0)
    with patience(0.0):
        stream.tell(stream.ask(np.zeros((2, 4))).ticket, "right")
    print(spent.seconds == 0.0)
"""


def test_the_first_answers_of_a_fresh_install_wait_for_no_compiler(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kernels")}
    done = subprocess.run(
        [sys.executable, "-c", FIRST],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["True", "False"]


def multiplies(a: Any) -> Any:
    return a @ a


def squares(a: float) -> float:
    return a**2


def adds_up(a: Any) -> Any:
    return a.sum()


def calls(a: Any) -> Any:
    return [squares(one) for one in a]


def remembers() -> Any:
    kept = 1.0
    return lambda: kept


@pytest.mark.parametrize("function", [multiplies, squares, adds_up, calls, remembers()])
def test_what_python_would_do_otherwise_has_no_text(monkeypatch: pytest.MonkeyPatch, function: Any) -> None:
    for one in (function, squares):
        monkeypatch.setattr(one, "__module__", none.__name__)
    for _ in range(2):
        with pytest.raises(NoText):
            text_of(function)


def test_a_kernel_of_somebodys_own_has_no_text() -> None:
    with pytest.raises(NoText):
        text_of(compiled(lambda: 1.0))


class Sums(NamedTuple):
    values: Array


class Products(NamedTuple):
    values: Array


class TestPatient:
    """A kernel that adds to its array, then does what it is told to."""

    def made(self, monkeypatch: pytest.MonkeyPatch, then: Any) -> Any:
        def add(values: Any, more: float) -> float:
            for i in range(values.shape[0]):
                values[i] += more
            return values[0]

        def read(*args: Any) -> Any:
            made = add(*args)
            then()
            return made

        monkeypatch.setattr(deferred_compilation, "text_of", lambda _: read)
        return DeferredKernel(add)

    def test_a_text_that_fails_was_never_tried(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail() -> None:
            raise ZeroDivisionError

        kernel, values = self.made(monkeypatch, fail), np.zeros(2)
        assert kernel(values, 1.0) == 1.0
        assert values.tolist() == [1.0, 1.0]
        assert kernel.overloads

    def test_an_interrupted_text_has_changed_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupt() -> None:
            raise KeyboardInterrupt

        kernel, values = self.made(monkeypatch, interrupt), np.zeros(2)
        with pytest.raises(KeyboardInterrupt):
            kernel(values, 1.0)
        assert values.tolist() == [0.0, 0.0]
        assert not kernel.overloads

    def test_numbers_come_as_from_compiled_code(self, monkeypatch: pytest.MonkeyPatch) -> None:
        kernel = self.made(monkeypatch, lambda: None)
        assert type(kernel(np.zeros(2), 1.0)) is float
        assert not kernel.overloads

    def test_it_is_compiled_when_reading_has_taken_long_enough(self, monkeypatch: pytest.MonkeyPatch) -> None:
        kernel = self.made(monkeypatch, lambda: None)
        for _ in range(3):
            kernel(np.zeros(2), 1.0)
        assert not kernel.overloads
        with patience(1e-9):
            kernel(np.zeros(2), 1.0)
        assert kernel.overloads

    def test_what_is_compiled_is_called_without_a_look(self, monkeypatch: pytest.MonkeyPatch) -> None:
        kernel, values = self.made(monkeypatch, lambda: None), np.zeros(2)
        with patience(0.0):
            kernel(values, 1.0)
        monkeypatch.setattr(DeferredKernel, "_compile_for_args", lambda *_: pytest.fail("there was a look"))
        assert kernel(values, 1.0) == 2.0

    def test_one_of_few_functions_is_read_less(self, monkeypatch: pytest.MonkeyPatch) -> None:
        kernel = self.made(monkeypatch, lambda: time.sleep(deferred_compilation.A_FUNCTION / 2))
        kernel(np.zeros(2), 1.0)
        assert not kernel.overloads
        kernel(np.zeros(2), 1.0)
        assert kernel.overloads
        assert functions_in(text_of(batch.look)) < functions_in(text_of(batch.observe))

    def test_large_arrays_are_not_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        kernel = self.made(monkeypatch, lambda: None)
        kernel(np.zeros(deferred_compilation.SMALL_INPUT + 1), 1.0)
        assert kernel.overloads

    def test_what_compiles_quickly_is_read_less(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The text takes as long as compiling the first type of state did: the second is read once only."""
        monkeypatch.setattr(
            deferred_compilation, "text_of", lambda kernel: lambda state: time.sleep(compiling)
        )
        kernel: Any = DeferredKernel(lambda state: state.values[0])
        with patience(0.0):
            began = time.perf_counter()
            kernel(handle(Sums(np.zeros(2))))
            compiling = time.perf_counter() - began
        for types in (1, 2):
            kernel(handle(Products(np.zeros(2))))
            assert len(kernel.overloads) == types

    def test_what_was_taken_from_disk_tells_nothing_of_that(self, monkeypatch: pytest.MonkeyPatch) -> None:
        kernel = self.made(monkeypatch, lambda: None)
        monkeypatch.setattr(
            deferred_compilation.Kernel, "compile", lambda self, sig: kernel.stats.cache_hits.update("x")
        )
        kernel.compile(None)
        for _ in range(3):
            kernel(np.zeros(2), 1.0)
        assert not kernel.overloads
