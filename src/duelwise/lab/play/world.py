"""What a world is: where contexts, post-serving contexts and votes come from.

What a world says of round t depends on t alone, never on what a learner did, so
all methods see the same contexts and the same vote noise.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

from duelwise.types import Array, IntArray


class Truth(NamedTuple):
    """What really holds in one round."""

    y: Array  # (R, K, dy) post-serving context of every arm, noise included
    utility: Array  # (R, K) ⟨Θ*, (x, y)⟩: what votes are drawn from
    expected: Array  # (R, K) ⟨Θ*, (x, φ(x))⟩: what regret is counted in; the same array without noise


class World(Protocol):
    """R runs of a world with K arms per round."""

    @property
    def runs(self) -> int: ...
    @property
    def context_dim(self) -> int: ...
    @property
    def post_dim(self) -> int: ...
    @property
    def arms(self) -> int: ...

    def contexts(self, t: int) -> Array:
        """(R, K, dx) what is known of the arms before serving."""
        ...

    def reveal(self, t: int, x: Array) -> Truth:
        """The truth about the arms whose contexts are x."""
        ...

    def vote(self, t: int, truth: Truth, arms: IntArray) -> Array:
        """(R,) honest outcomes of the pairs (R, 2): 1 for the first, 0 for the second, ½ for a tie."""
        ...


class WorldBlock(NamedTuple):
    """BLOCK rounds of the distinct runs at once: per-round work is then a copy of one slice."""

    x: Array  # (BLOCK, U, K, dx)
    y: Array  # (BLOCK, U, K, dy)
    utility: Array  # (BLOCK, U, K)
    expected: Array  # (BLOCK, U, K)
    hurdle: Array  # (BLOCK, U) g⁻¹ of the vote's uniform


@runtime_checkable
class BlockWorld(Protocol):
    """A world that has BLOCK rounds ready at once and votes by a hurdle: a wins if u_a - u_b clears it."""

    @property
    def entry(self) -> IntArray: ...  # (R,) which of the U different runs each run is

    def block(self, number: int) -> WorldBlock: ...
