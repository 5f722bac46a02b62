"""What a stream believes of Θ, folded vote by vote beside the learner that chooses."""

from __future__ import annotations

from duelwise.answers import belief, foresight
from duelwise.answers.belief import Posterior
from duelwise.answers.best_item_search import settling_pairs
from duelwise.answers.foresight import Foreseen
from duelwise.learning.core.state import under
from duelwise.learning.core.state_pointer import handle
from duelwise.types import Array, IntArray, Snapshot


class StreamBelief:
    """The posterior of a stream, and how well it foresaw the votes. Every vote counts alike, unclipped."""

    def __init__(self, dim: int) -> None:
        self._belief = belief.belief(runs=1, dim=dim)
        self._foresight = foresight.foresight()
        self._handles = handle(self._belief), handle(self._foresight)

    def take(self, dz: Array, outcome: Array) -> None:
        """Votes that the learner has learned from just now, in order: dz (n, d), outcome (n,)."""
        foresight.learn_and_judge(*self._handles, dz, outcome)

    def posterior(self) -> Posterior:
        """Θ as it is now: copies, free of any lock."""
        return belief.posterior(self._belief, 0)

    def foreseen(self) -> Foreseen | None:
        return foresight.foreseen(self._foresight)

    def settling_pair(self, z: Array, out: Array, *, top: int) -> IntArray:
        """(2,) the pair that helps most to settle who is best among z (K, d); Δẑ out (m, d) are asked."""
        return settling_pairs(self._belief, z[None], out[None], top=top)[0]

    def snapshot(self) -> Snapshot:
        return {f"belief.{k}": v for k, v in belief.snapshot(self._belief).items()} | {
            f"foresight.{k}": v for k, v in foresight.snapshot(self._foresight).items()
        }

    def restore(self, state: Snapshot) -> None:
        belief.restore(self._belief, under(state, "belief."))
        foresight.restore(self._foresight, under(state, "foresight."))
