"""The learner: parts named together, Algorithm 1 when the parts are RCDP-UCB's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, NoReturn, Protocol, get_args

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.learning import checking, receiving
from duelwise.learning.estimation import Arrivals, Estimator
from duelwise.learning.geometry import Geometry
from duelwise.learning.links import link_code
from duelwise.learning.pending import DONE, FREE, Pending
from duelwise.learning.post_serving.model import PostServing
from duelwise.learning.selection import Noise, Selection, View
from duelwise.learning.weighting import Weighting, per_run
from duelwise.learning.widths import Known, Width
from duelwise.types import Array, Contexts, Duel, IntArray, Served, Snapshot, Votes

GeometryName = Literal["served", "arrived"]
FeaturesName = Literal["observed", "predicted"]


class Learned(NamedTuple):
    """Votes that were learned from now, and how much each counted: a line of the ledger each."""

    run: IntArray  # (n,)
    round: IntArray  # (n,)
    weight: Array  # (n,)


NOTHING = Learned(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0))


class Learner(Protocol):
    """What the laboratory and a stream ask of a learner. ask = choose + serve."""

    @property
    def runs(self) -> int: ...
    @property
    def context_dim(self) -> int: ...
    @property
    def post_dim(self) -> int: ...
    @property
    def round(self) -> int: ...

    def choose(self, x: Array) -> Duel: ...
    def serve(self, duel: Duel) -> None: ...
    def observe(self, contexts: Contexts) -> Learned: ...
    def tell(self, votes: Votes) -> Learned: ...
    def forget(self, run: int, round: int) -> None: ...
    def served(self, round: int) -> Served: ...
    def snapshot(self) -> Snapshot: ...
    def restore(self, state: Snapshot) -> None: ...


class Parts(NamedTuple):
    """The frozen half of a learner: its parts and, for each run, its constants."""

    select: Selection
    width: Width
    geometry: GeometryName
    observed: bool  # Δz from the observed y, else from the predicted
    distinct: bool
    link: int
    regularisation: Array  # (R,) λ
    curvature: Array  # (R,) κ
    clip: Array  # (R,) α of a weight fixed at serving
    clip_on_arrival: Array  # (R,) α of a weight fixed on arrival
    noise: Noise


class DuelingLearner:
    """One learner for every algorithm: which pair, what weight, which estimate, which φ̂.

    `geometry` is where it explores: V of all served duels or W of the arrived ones.
    `features` says whether Δz is built from the observed y or from what φ̂ predicted.
    """

    def __init__(
        self, *, runs: int | Sequence[int], context_dim: int, post_dim: int,
        select: Selection, weigh: Weighting, estimate: Estimator, post_serving: PostServing, width: Width,
        geometry: GeometryName = "served", features: FeaturesName = "observed", link: str = "logistic",
        regularisation: float | Array = 1.0, curvature: float | Array = 0.25,
        distinct_pair: bool = False, seed: int = 0,
    ) -> None:  # fmt: skip
        numbers = tuple(range(runs)) if isinstance(runs, int) else tuple(runs)
        if not numbers or context_dim < 1 or post_dim < 0:
            raise InvalidInput(
                f"runs is {runs}, context_dim {context_dim}, post_dim {post_dim}; "
                "expected at least one run, context_dim ≥ 1 and post_dim ≥ 0."
            )
        checking.parts(select=select, weigh=weigh, estimate=estimate, post_serving=post_serving, width=width)
        checking.check_name("geometry", geometry, get_args(GeometryName))
        checking.check_name("kind of features", features, get_args(FeaturesName))
        self.runs, self.context_dim = len(numbers), context_dim
        dim = context_dim + post_dim
        clip, clip_on_arrival = weigh.clips(self.runs)
        self.parts = parts = Parts(
            select=select, width=width, geometry=geometry, observed=features == "observed",
            distinct=distinct_pair, link=link_code(link),
            regularisation=per_run("regularisation", regularisation, self.runs),
            curvature=per_run("curvature", curvature, self.runs),
            clip=clip, clip_on_arrival=clip_on_arrival, noise=Noise(seed, numbers),
        )  # fmt: skip
        self.post_serving = post_serving.start(
            runs=numbers, context_dim=context_dim, post_dim=post_dim, seed=seed
        )
        self.post_dim = post_dim
        self.estimate = estimate.start(
            runs=self.runs, dim=dim, link=parts.link,
            regularisation=parts.regularisation, curvature=parts.curvature,
        )  # fmt: skip
        self.served_geometry = Geometry(runs=self.runs, dim=dim, regularisation=parts.regularisation)
        self.arrived_geometry = Geometry(runs=self.runs, dim=dim, regularisation=parts.regularisation)
        self.pending = Pending(runs=self.runs, context_dim=context_dim, post_dim=post_dim)
        self.votes = np.zeros(self.runs, dtype=np.int64)  # (R,) learned so far
        self.prediction_error = np.zeros(self.runs)  # (R,) Σ‖y - ŷ‖² over contexts seen
        self.context_spread = np.zeros(self.runs)  # (R,) Σ‖y - mean y‖²
        self.context_mean = np.zeros((self.runs, post_dim))
        self.contexts_seen = np.zeros(self.runs, dtype=np.int64)  # (R,) two a duel

    @property
    def theta(self) -> Array:
        """(R, d) Θ̂."""
        return self.estimate.theta

    @property
    def round(self) -> int:
        """The round that the next duel will have."""
        return self.pending.next_round

    def choose(self, x: Array) -> Duel:
        """Algorithm 1, steps 1 and 2: predict y, then pick a pair. Changes nothing: x (R, K, dx)."""
        x = checking.candidates(x, runs=self.runs, context_dim=self.context_dim)
        predicted = self.post_serving.predict(x)
        features = np.concatenate((x, predicted), 2) if self.post_dim else x
        parts = self.parts
        explored = self.served_geometry if parts.geometry == "served" else self.arrived_geometry
        known = Known(self.round, self.served_geometry, self.pending, parts.regularisation, parts.curvature)
        view = View(
            self.round, features, self.theta, explored.inverse,
            parts.width.at(known), parts.distinct, parts.noise,
        )  # fmt: skip
        arms = checking.arms(
            parts.select.pairs(view), runs=self.runs, candidates=x.shape[1], distinct=parts.distinct
        )
        return Duel(self.round, arms, *receiving.pair_features(x, predicted, arms))

    def serve(self, duel: Duel) -> None:
        """Register a duel that was chosen, recorded or imported."""
        checking.duel(
            duel, round=self.round, runs=self.runs, context_dim=self.context_dim, post_dim=self.post_dim
        )
        self.pending.add(duel)

    def observe(self, contexts: Contexts) -> Learned:
        """Algorithm 1, step 3: y of some duels is known; ω is fixed, V moves, φ̂ learns."""
        p, V = self.pending, self.served_geometry
        run, round, y = checking.contexts(contexts, post_dim=self.post_dim)
        slots = np.empty(run.shape[0], dtype=np.int64)
        verdict, at = receiving.check_contexts(run, round, y, p.index, p.base, p.next_round, p.state, slots)
        if verdict != receiving.FINE:
            self._refuse("context", verdict, int(run[at]), int(round[at]))
        had_vote = receiving.observe(
            run, slots, y, self.parts.observed, self.parts.clip, self.parts.curvature,
            p.state, p.outcome, p.x, p.predicted, p.dz, p.weight, p.leverage,
            V.matrix, V.inverse, V.log_det, V.moves,
            self.prediction_error, self.context_spread, self.context_mean, self.contexts_seen,
        )  # fmt: skip
        V.settle()
        if self.post_dim:
            self.post_serving.learn(run, receiving.gather_pairs(p.x, slots, run), y)
        return self._learn_ready(run, slots) if had_vote else NOTHING

    def tell(self, votes: Votes) -> Learned:
        """Algorithm 1, steps 3 and 4: outcomes arrive; W and Θ̂ move. A vote before its y waits for it."""
        p = self.pending
        run, round, vote = checking.votes(votes)
        slots = np.empty(run.shape[0], dtype=np.int64)
        verdict, at = receiving.take_votes(
            run, round, vote, p.index, p.base, p.next_round, p.state, p.outcome, p.out, slots
        )
        if verdict != receiving.FINE:
            self._refuse("vote", verdict, int(run[at]), int(round[at]), float(vote[at]))
        return self._learn_ready(run, slots)

    def forget(self, run: int, round: int) -> None:
        """The duel waits for its vote no longer: skipped, expired or retracted. V keeps it."""
        p = self.pending
        slot = p.slot(round)
        if not 0 <= run < self.runs or slot == FREE or p.state[slot, run] == DONE:
            verdict = receiving.FINISHED if 0 <= round < p.next_round else receiving.NEVER_SERVED
            self._refuse("vote", verdict if 0 <= run < self.runs else receiving.NO_SUCH_RUN, run, round)
        if np.isnan(p.outcome[slot, run]):
            p.out[run] -= 1
        p.state[slot, run] = DONE
        p.release(np.array([slot]))

    def served(self, round: int) -> Served:
        """What is known of a duel that still waits for its vote."""
        p = self.pending
        slot = p.slot(round)
        if slot == FREE:
            verdict = receiving.FINISHED if 0 <= round < p.next_round else receiving.NEVER_SERVED
            self._refuse("vote", verdict, 0, round)
        return Served(round, p.arms[slot], p.dz[slot], p.weight[slot], p.leverage[slot], p.out)

    def snapshot(self) -> Snapshot:
        """The whole state as copies of named arrays."""
        parts = self._state_parts()
        state = {
            f"{part}.{name}": value for part, held in parts.items() for name, value in held.snapshot().items()
        }
        state |= {f"learner.{name}": getattr(self, name) for name in self._OWN}
        return {name: np.array(value) for name, value in state.items()}

    def restore(self, state: Snapshot) -> None:
        """Take over a snapshot of a learner with the same settings."""
        checking.state(state, self.snapshot())
        for part, held in self._state_parts().items():
            prefix = f"{part}."
            held.restore({k.removeprefix(prefix): v for k, v in state.items() if k.startswith(prefix)})
        for name in self._OWN:
            getattr(self, name)[...] = state[f"learner.{name}"]

    _OWN = ("votes", "prediction_error", "context_spread", "context_mean", "contexts_seen")

    def _state_parts(self) -> dict[str, _Stateful]:
        return {
            "served": self.served_geometry, "arrived": self.arrived_geometry, "pending": self.pending,
            "estimate": self.estimate, "post_serving": self.post_serving,
        }  # fmt: skip

    def _learn_ready(self, run: IntArray, slots: IntArray) -> Learned:
        """Learn from those of these duels that now have both context and vote."""
        p, W = self.pending, self.arrived_geometry
        start, run, slots, dz, weight, vote = receiving.take_ready(
            run, slots, self.runs, p.round, p.state, p.outcome, p.dz, p.weight
        )
        learned = Learned(run, p.round[slots], weight)
        if slots.shape[0]:
            self.estimate.learn(Arrivals(start, dz, weight, vote, self.parts.clip_on_arrival), W)
            W.settle()
            self.votes += start[1:] - start[:-1]
            p.release(slots)
        return learned

    def _refuse(self, what: str, verdict: int, run: int, round: int, value: float = np.nan) -> NoReturn:
        checking.refuse(what, verdict, run, round, runs=self.runs, next_round=self.round, value=value)


class _Stateful(Protocol):
    def snapshot(self) -> Snapshot: ...
    def restore(self, state: Snapshot) -> None: ...
