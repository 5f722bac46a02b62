"""The learner: parts named together, Algorithm 1 when the parts are RCDP-UCB's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, NoReturn, cast, get_args

import numpy as np

from duelwise.errors import InvalidInput, check_known
from duelwise.learning import validation, without_kernels
from duelwise.learning.ask_batch import AskBatch
from duelwise.learning.core import batch
from duelwise.learning.core import pending as waiting_duels
from duelwise.learning.core.dispatch import in_python, offers_kernel
from duelwise.learning.core.geometry import Geometry, geometry
from duelwise.learning.core.group import choose_and_serve
from duelwise.learning.core.links import link_code
from duelwise.learning.core.monitors import Monitors, monitors
from duelwise.learning.core.pending import Pending
from duelwise.learning.core.roles import keeps_votes
from duelwise.learning.core.sequence import happen
from duelwise.learning.core.state import (
    EXPLORES_ARRIVED,
    EXPLORES_REQUESTED,
    EXPLORES_SERVED,
    Core,
    Fit,
    NoKernel,
    Rules,
    Scores,
    scores,
)
from duelwise.learning.core.state_pointer import handle
from duelwise.learning.core.units import Units
from duelwise.learning.estimation import Estimate, Estimator, Remembers
from duelwise.learning.event_batch import EventBatch
from duelwise.learning.learner_protocol import NOTHING, Learned, joined
from duelwise.learning.learner_snapshot import filled, snapshot_of
from duelwise.learning.post_serving.kernel_model import KernelModel, PrecomputedPredictions
from duelwise.learning.post_serving.model import PostServing, PostServingModel
from duelwise.learning.selection.distrust import distrusted
from duelwise.learning.selection.rule import Noise, Selection, View, draws_noise, noise_of
from duelwise.learning.weighting import Weighting, per_run
from duelwise.learning.widths import Width
from duelwise.types import Array, BoolArray, Contexts, Duel, IntArray, Served, Snapshot, Votes

GeometryName = Literal["served", "arrived", "requested"]
GEOMETRIES = {"served": EXPLORES_SERVED, "arrived": EXPLORES_ARRIVED, "requested": EXPLORES_REQUESTED}
FeaturesName = Literal["observed", "predicted"]


class Parts(NamedTuple):
    """What a learner was made of."""

    select: Selection
    width: Width
    weigh: Weighting
    estimate: Estimator
    post_serving: PostServing


class DuelingLearner:
    """One learner for every algorithm: which pair, what weight, which estimate, which φ̂.

    `geometry` is where it explores: V of all served duels, W of those whose vote arrived, or S of all that
    were requested, each counted fully from the moment it is served.
    `features` says whether Δz is built from the observed y or from what φ̂ predicted. `provisional` lets a
    vote teach before its y is known, if the estimate keeps its votes; it is put right when y comes. The first
    `side_columns` of x say on which side something is shown: a pair shown the other way is the same pair.
    What a round does is written in core/round.py; here input is checked and handed over.
    """

    def __init__(
        self, *, runs: int | Sequence[int], context_dim: int, post_dim: int,
        select: Selection, weigh: Weighting, estimate: Estimator, post_serving: PostServing, width: Width,
        geometry: GeometryName = "served", features: FeaturesName = "observed", link: str = "logistic",
        regularisation: float | Array = 1.0, curvature: float | Array = 0.25,
        distinct_pair: bool = False, provisional: bool = True, seed: int = 0, side_columns: int = 0,
    ) -> None:  # fmt: skip
        made_with = {name: given for name, given in locals().items() if name != "self"}
        numbers = validation.run_numbers(runs)
        self._made_with: dict[str, Any] = {**made_with, "runs": numbers}
        validation.check_whole("context_dim", context_dim, least=1)
        validation.check_whole("post_dim", post_dim, least=0)
        validation.check_whole("seed", seed, least=0)
        validation.check_whole("side_columns", side_columns, least=0, most=int(context_dim))
        context_dim, post_dim, side_columns = int(context_dim), int(post_dim), int(side_columns)
        validation.parts(
            select=select, weigh=weigh, estimate=estimate, post_serving=post_serving, width=width
        )
        check_known("geometry", geometry, get_args(GeometryName))
        check_known("kind of features", features, get_args(FeaturesName))
        self.runs, self.context_dim, self.post_dim = len(numbers), context_dim, post_dim
        self.parts = Parts(select, width, weigh, estimate, post_serving)
        self.noise = Noise(seed, numbers)
        self.rules = Rules(
            geometry=GEOMETRIES[geometry], observed=features == "observed",
            provisional=bool(provisional), distinct=bool(distinct_pair), side_columns=side_columns,
            link=link_code(link),
            regularisation=per_run("regularisation", regularisation, self.runs),
            curvature=per_run("curvature", curvature, self.runs),
        )  # fmt: skip
        self.estimate, self.post_serving = self._start_parts()
        self._estimate_is_compiled = offers_kernel(self.estimate)
        self._remembers = hasattr(self.estimate, "offered")
        self._keeps_votes = False
        if self._estimate_is_compiled:
            state = cast(Any, self.estimate).compiled(0)
            self._keeps_votes = in_python(keeps_votes, state)(state)
        self._nothing_foreseen = handle(PrecomputedPredictions(np.empty((self.runs, 0, post_dim))))
        self._ready, self._room_held = handle(batch.room_for(1, runs=self.runs)), 1
        self._silence = None if draws_noise(select) else np.zeros((self.runs, 0))
        self._set(self._fresh_core())

    def _start_parts(self) -> tuple[Estimate, PostServingModel]:
        """Those that keep a memory of their own, empty."""
        estimate = self.parts.estimate.start(
            runs=self.runs, dim=self.context_dim + self.post_dim, link=self.rules.link,
            regularisation=self.rules.regularisation, curvature=self.rules.curvature,
        )  # fmt: skip
        model = self.parts.post_serving.start(
            runs=self.noise.numbers,
            context_dim=self.context_dim,
            post_dim=self.post_dim,
            seed=self.noise.seed,
        )
        return estimate, model

    def _fresh_core(self) -> Core:
        dim, ridge = self.context_dim + self.post_dim, self.rules.regularisation
        select, width = self.parts.select, self.parts.width
        fit = Fit(
            rules=self.rules,
            arrived=geometry(runs=self.runs, dim=dim, regularisation=ridge),
            theta=self.estimate.theta,
            votes=np.zeros(self.runs, dtype=np.int64),
            admitted=np.zeros(self.runs, dtype=np.int64),
            weigh=self.parts.weigh.start(self.runs),
        )
        explored = self.runs if self.rules.geometry == EXPLORES_REQUESTED else 0
        return Core(
            fit=fit,
            served=geometry(runs=self.runs, dim=dim, regularisation=ridge),
            requested=geometry(runs=explored, dim=dim, regularisation=ridge[:explored]),
            pending=waiting_duels.pending(
                runs=self.runs, context_dim=self.context_dim, post_dim=self.post_dim
            ),
            scores=scores(runs=self.runs, post_dim=self.post_dim),
            monitors=monitors(runs=0),
            select=distrusted(cast(Any, select)) if offers_kernel(select) else NoKernel(),
            width=cast(Any, width).compiled(self.runs) if offers_kernel(width) else NoKernel(),
        )

    def _set(self, core: Core) -> None:
        self.core: Core = core
        self._handle = handle(core)
        self._chooses_in_python = isinstance(core.select, NoKernel) or isinstance(core.width, NoKernel)
        self._estimate_state: Any = None
        self._estimate_handle: Any = None

    @property
    def theta(self) -> Array:
        """(R, d) Θ̂."""
        return self.core.fit.theta

    @property
    def served_geometry(self) -> Geometry:
        """V."""
        return self.core.served

    @property
    def requested_geometry(self) -> Geometry:
        """S; of no run where the learner does not explore in it."""
        return self.core.requested

    @property
    def arrived_geometry(self) -> Geometry:
        """W."""
        return self.core.fit.arrived

    @property
    def pending(self) -> Pending:
        """Duels that wait for their context or their vote."""
        return self.core.pending

    @property
    def votes(self) -> IntArray:
        """(R,) learned so far."""
        return self.core.fit.votes

    @property
    def scores(self) -> Scores:
        """How well φ̂ foresaw what came."""
        return self.core.scores

    @property
    def monitors(self) -> Monitors:
        """What was seen of the theory's assumptions, since `watch`."""
        return self.core.monitors

    def watch(self) -> None:
        """Turn the monitors on, from the next duel whose context becomes known."""
        self._set(self.core._replace(monitors=monitors(runs=self.runs)))

    @property
    def round(self) -> int:
        """The round that the next duel will have."""
        return int(self.core.pending.next_round[0])

    def choose(self, x: Array) -> Duel:
        """Algorithm 1, steps 1 and 2: predict y, then pick a pair. Changes nothing: x (R, K, dx)."""
        x = validation.candidates(x, runs=self.runs, context_dim=self.context_dim)
        round = self.round
        if self._chooses_in_python:
            validation.finite(x)
            predicted = self.post_serving.predict(x)
            arms = without_kernels.choose(self.parts.select, self._view(x, predicted), self.core, x)
            at = np.arange(self.runs)[:, None]
            remembered = np.concatenate((x, predicted), 2) if self._remembers else None
            return Duel(round, arms, x[at, arms], predicted[at, arms], candidates=remembered)
        noise = self._noise(round, x.shape[1])
        verdict, arms, pair_x, pair_predicted = batch.choose(self._handle, self._model(x), x, noise)
        if verdict == batch.NOT_FINITE:
            validation.finite(x)
        if verdict == batch.NO_PAIR:
            validation.arms(arms, runs=self.runs, candidates=x.shape[1], distinct=self.rules.distinct)
        return Duel(round, arms, pair_x, pair_predicted)

    @property
    def is_sound(self) -> bool:
        """Whether the state is made of numbers: values beyond all bounds can leave it without."""
        return batch.is_sound(self._handle)

    def _noise(self, round: int, arms: int) -> Array:
        """(R, K) what the rule has drawn for this round."""
        if self._silence is None:
            return noise_of(self.parts.select, self.noise, (round,), arms)[0]
        if self._silence.shape[1] != arms:
            self._silence = np.zeros((self.runs, arms))
        return self._silence

    def _model(self, x: Array | None = None) -> Any:
        """φ̂ as kernels take it; one without kernels is asked beforehand what it expects of x (R, K, dx)."""
        if type(self.post_serving) is KernelModel:
            return self.post_serving.held
        if x is None:
            return self._nothing_foreseen
        return handle(PrecomputedPredictions(np.ascontiguousarray(self.post_serving.predict(x))))

    def _view(self, x: Array, predicted: Array) -> View:
        """What a rule may look at."""
        core, fit = self.core, self.core.fit
        explored = (core.served, fit.arrived, core.requested)[fit.rules.geometry]
        return View(
            self.round, np.concatenate((x, predicted), 2), fit.theta, explored.inverse,
            self.parts.width.at(core), fit.rules.distinct, self.noise, fit.votes, core.pending.out,
            self.estimate,
        )  # fmt: skip

    def serve(self, duel: Duel) -> None:
        """Register a duel that was chosen, recorded or imported."""
        validation.duel(
            duel, round=self.round, runs=self.runs, context_dim=self.context_dim, post_dim=self.post_dim
        )
        verdict = batch.serve(self._handle, duel.arms, duel.x, duel.predicted, duel.wanted)
        if verdict == batch.NO_ROOM:
            self.make_room(1)
            verdict = batch.serve(self._handle, duel.arms, duel.x, duel.predicted, duel.wanted)
        if verdict == batch.NOT_FINITE:
            raise InvalidInput("The duel's features hold NaN or infinity; every value must be finite.")
        if self._remembers:
            cast(Remembers, self.estimate).offered(duel.candidates, duel.arms)

    def make_room(self, rounds: int) -> None:
        """Places for this many more rounds to wait in every run."""
        held = waiting_duels.with_room(self.core.pending, rounds)
        if held is not self.core.pending:
            self._set(self.core._replace(pending=held))

    def observe(self, contexts: Contexts) -> Learned:
        """Algorithm 1, step 3: y of some duels is known, or a part of it; once it all is, ω is fixed and V
        moves. φ̂ learns what was seen."""
        run, round, y = validation.contexts(contexts, post_dim=self.post_dim)
        seen, has_kernel = self.post_dim > 0 and not contexts.imputed, type(self.post_serving) is KernelModel
        if seen and has_kernel:
            cast(KernelModel, self.post_serving).prepare_for(y)
        ready = self._room(len(run))
        verdict, at = batch.observe(
            self._handle, self._model(), ready, run, round, y, contexts.imputed, self._keeps_votes
        )
        if verdict != batch.FINE:
            self._refuse("context", verdict, int(run[at]), int(round[at]))
        if seen and not has_kernel:
            self.teach(run, self.core.pending.x[run, ready.slots[: len(run)]], y)
        return self._learn(ready) if at else NOTHING

    def teach(self, run: IntArray, x: Array, y: Array) -> None:
        """φ̂ alone learns from pairs x (n, 2, dx), y (n, 2, dy), NaN where y is not known."""
        if np.isnan(y).any() and not getattr(self.post_serving, "learns_parts", False):
            y = np.where(np.isnan(y), self._expected(run, x), y)
        self.post_serving.learn(run, x, y)

    def waits(self, run: int, round: int) -> bool:
        """Whether this duel waits for a vote or a context."""
        return waiting_duels.find(self.core.pending, run, round) != waiting_duels.FREE

    def known_context(self, run: int, round: int) -> BoolArray:
        """(2, dy) what is known of y of a duel that waits."""
        return ~np.isnan(self.core.pending.y[run, waiting_duels.find(self.core.pending, run, round)])

    def waits_for_context(self, run: int, round: int) -> bool:
        """Whether some of y of this duel is still to come."""
        slot = waiting_duels.find(self.core.pending, run, round)
        return slot != waiting_duels.FREE and self.core.pending.state[run, slot] == waiting_duels.SERVED

    def expected_context(self, run: int, round: int) -> Array:
        """(2, dy) what φ̂ now expects where y of a waiting duel is not known, NaN where it is: to impute."""
        slot = waiting_duels.find(self.core.pending, run, round)
        if slot == waiting_duels.FREE:
            self._refuse("context", batch.FINISHED, run, round)
        x, y = self.core.pending.x[run, slot], self.core.pending.y[run, slot]
        return np.where(np.isnan(y), self._expected(np.array([run]), x[None])[0], np.nan)

    def _expected(self, run: IntArray, x: Array) -> Array:
        """φ̂ of pairs of some runs: x (n, 2, dx) → (n, 2, dy)."""
        out = np.empty((*x.shape[:2], self.post_dim))
        for i in range(len(run)):
            out[i] = self.post_serving.predict(np.repeat(x[i : i + 1], self.runs, axis=0))[run[i]]
        return out

    def tell(self, votes: Votes) -> Learned:
        """Algorithm 1, steps 3 and 4: outcomes arrive; W and Θ̂ move. A vote before its y waits for it,
        or teaches provisionally."""
        run, round, vote = validation.votes(votes)
        ready = self._room(len(vote))
        if self._estimate_is_compiled:
            estimate = self._estimate_with_room(len(vote))
            verdict, at, told, of, weight = batch.tell(self._handle, estimate, ready, run, round, vote)
            if verdict == batch.FINE:
                return Learned(told, of, weight)
            self._refuse("vote", verdict, int(run[at]), int(round[at]), float(vote[at]))
        verdict, at = batch.hear(self._handle, ready, run, round, vote, False)
        if verdict != batch.FINE:
            self._refuse("vote", verdict, int(run[at]), int(round[at]), float(vote[at]))
        return self._learn(ready) if at else NOTHING

    def _room(self, n: int) -> batch.Ready:
        """For a call about this many duels, as kernels take it."""
        if n > self._room_held:
            self._ready, self._room_held = handle(batch.room_for(2 * n, runs=self.runs)), 2 * n
        return self._ready

    def _estimate_with_room(self, more: int) -> Any:
        """The estimate as kernels take it, with room for this many votes more in every run."""
        state: Any = cast(Any, self.estimate).compiled(more)
        if state is not self._estimate_state:
            self._estimate_state, self._estimate_handle = state, handle(state)
        return self._estimate_handle

    def _learn(self, ready: batch.Ready) -> Learned:
        """Learn from the duels that are ready."""
        if not self._estimate_is_compiled:
            return without_kernels.learn(self._handle, self.core, self.estimate, ready)
        estimate = self._estimate_with_room(len(ready.ordered))
        return Learned(*batch.learn(self._handle, estimate, ready))

    @property
    def folds_at_once(self) -> bool:
        """Whether `fold` can take a sequence of events: one run, and an estimate that is compiled."""
        return self.runs == 1 and self._estimate_is_compiled and not self._remembers

    def fold(self, gathered: EventBatch, units: Units, clamped: IntArray) -> Learned:
        """Let events happen one after another, as serve, observe and tell would: the same floats, one call.

        Their features come as they are and are seen in these units; `clamped` (1, d) counts those beyond.
        """
        events, begin, each = gathered.close(), 0, NOTHING
        while True:
            estimate = self._estimate_with_room(int(events.counts[3]) + self.core.pending.round.shape[1])
            verdict, at, round, weight = happen(
                self._handle, estimate, gathered.handle, units, clamped, begin, self._keeps_votes
            )
            if len(round):
                learned = Learned(np.zeros(len(round), dtype=np.int64), round, weight)
                each = learned if each is NOTHING else joined((each, learned))
            if verdict != batch.NO_ROOM:
                break
            self.make_room(int(events.counts[1]))
            begin = at
        if verdict != batch.FINE:
            what = ("duel", "context", "vote")[int(events.kind[at])]
            self._refuse(what, verdict, 0, int(events.round[at]))
        contexts = int(events.counts[2])
        if self.post_dim and contexts:
            rows = slice(0, contexts)
            self._teach_in_order(events.seen_x[rows], events.seen_y[rows], events.imputed[rows])
        return each

    @property
    def asks_at_once(self) -> bool:
        """Whether `choose_and_serve` can take several offers: one run, all parts compiled, nothing drawn."""
        foresees = self.post_dim == 0 or type(self.post_serving) is KernelModel
        return self.folds_at_once and foresees and not self._chooses_in_python and self._silence is not None

    def choose_and_serve(
        self, offers: AskBatch, gathered: EventBatch, units: Units, clamped: IntArray
    ) -> int:
        """Choose a pair of each offer and serve it, one after another, as `choose` and `fold` would.

        Returns how many were served, up to the first that has no pair; they are what was gathered.
        """
        model = self._model() if self.post_dim else self._nothing_foreseen
        verdict, served = batch.NO_ROOM, 0
        while verdict == batch.NO_ROOM:
            verdict, served = choose_and_serve(
                self._handle, model, offers.handle, gathered.handle, units, clamped, served, len(offers)
            )
            if verdict == batch.NO_ROOM:
                self.make_room(len(offers) - served)
        gathered.filled(served)
        return served

    def _teach_in_order(self, x: Array, y: Array, imputed: IntArray) -> None:
        """φ̂ learns from pairs x (n, 2, dx), y (n, 2, dy), in order, but for what it imputed itself."""
        seen = np.flatnonzero(imputed == 0)
        together = getattr(self.post_serving, "learns_in_order", False) and not np.isnan(y).any()
        for rows in seen[None] if together else seen[:, None]:
            self.teach(np.zeros(len(rows), dtype=np.int64), x[rows], y[rows])

    def forget(self, run: int, round: int) -> None:
        """The duel waits for its vote no longer: skipped, expired or retracted. V keeps it."""
        verdict = batch.forget(self._handle, run, round)
        if verdict != batch.FINE:
            self._refuse("vote", verdict, run, round)

    def served(self, round: int) -> Served:
        """What is known of a duel that still waits for its vote."""
        verdict, at, arms, dz, weight, leverage = batch.look(self._handle, round)
        if verdict != batch.FINE:
            self._refuse("vote", verdict, at, round)
        return Served(round, arms, dz, weight, leverage, self.core.pending.out)

    def snapshot(self) -> Snapshot:
        """The whole state as copies of named arrays."""
        return snapshot_of(self.core, self.estimate, self.post_serving)

    def restore(self, state: Snapshot) -> None:
        """Take over a snapshot of a learner with the same settings; one that does not fit changes nothing."""
        own = self.snapshot()
        validation.state(state, own, self._fresh_shapes())
        try:
            self._take_over(state)
        except Exception as error:  # a part of one's own may say in any way that it cannot
            self._take_over(own)
            raise InvalidInput(
                f"The snapshot does not fit this learner's parts: {error}. Restore into a learner with the "
                "settings of the one that made it. Nothing was changed."
            ) from error

    def _fresh_shapes(self) -> dict[str, tuple[int, ...]]:
        """What the package's own parts remember before they have learned; others may grow as they like."""
        fresh: dict[str, tuple[int, ...]] = {}
        for group, part in zip(validation.PARTS_MEMORY, self._start_parts(), strict=True):
            if type(part).__module__.startswith("duelwise."):
                fresh |= {f"{group}{name}": held.shape for name, held in part.snapshot().items()}
        return fresh

    def _take_over(self, state: Snapshot) -> None:
        self._set(filled(self.core, self.estimate, self.post_serving, state))

    def __getstate__(self) -> dict[str, Any]:
        """To copy or pickle a learner: what it was made with, and its snapshot.

        A subclass that holds more adds it to both of these.
        """
        watched = self.core.monitors.duels.size > 0
        return {"made_with": self._made_with, "watched": watched, "snapshot": self.snapshot()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        DuelingLearner.__init__(self, **state["made_with"])
        if state["watched"]:
            self.watch()
        self.restore(state["snapshot"])

    def _refuse(self, what: str, verdict: int, run: int, round: int, value: float = np.nan) -> NoReturn:
        validation.refuse(what, verdict, run, round, runs=self.runs, next_round=self.round, value=value)
