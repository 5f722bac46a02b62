"""A problem: a world with its adversaries, a horizon and a seed, written down as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, NamedTuple, Protocol

from duelwise.lab.cells.codec import Frozen, Plain, Table, decode_kind, encode_kind, table_at
from duelwise.lab.play.checks import check_whole
from duelwise.lab.play.contexts import ContextModel, ContextsAtOnce, ContextsAtWork, LateContexts
from duelwise.lab.play.corruptions import (
    CorruptionModel,
    LateCorruption,
    LeverageCorruption,
    LyingRaters,
    NoCorruption,
    RandomCorruption,
    StrategicCorruption,
)
from duelwise.lab.play.delays import (
    BlindPhase,
    ConstantDelay,
    DelayModel,
    GaussianDelay,
    GeometricDelay,
    NoDelay,
    ParetoDelay,
    StrategicDelay,
    TogetherDelay,
)
from duelwise.lab.play.scenario import Scenario
from duelwise.lab.play.world import World
from duelwise.lab.worlds.answers import Answers
from duelwise.lab.worlds.hard import BasisArms, Hypercube, UnitBall
from duelwise.lab.worlds.labelled import Labelled, Spreadsheet
from duelwise.lab.worlds.linear import LinearWorld, Parameters, Scaling, check_linear
from duelwise.lab.worlds.mappings import mapping_named
from duelwise.lab.worlds.trains import TrainChoices


class WorldSettings(Frozen, Protocol):
    """The settings of a world, and what data it stands on."""

    def start(self, *, runs: Sequence[int], seed: int) -> World:
        """The world of these run numbers."""
        ...

    def data_digest(self) -> str:
        """sha256 of the data the world reads; empty where it reads none."""
        ...


class DelaySettings(Frozen, DelayModel, Protocol):
    """A delay model that can be written down."""


class CorruptionSettings(Frozen, CorruptionModel, Protocol):
    """A corruption that can be written down."""


@dataclass(frozen=True, kw_only=True)
class Synthetic:
    """The linear-logistic world of the paper; see `LinearWorld`."""

    mapping: str = "none"
    context_dim: int = 10
    arms: int = 10
    scaling: Scaling = "published"
    parameters: Parameters = "drawn"
    noise: float = 0.0
    link: str = "logistic"
    norm_bound: float = 1.0

    def __post_init__(self) -> None:
        mapping_named(self.mapping)
        check_linear(
            context_dim=self.context_dim, arms=self.arms, noise=self.noise,
            link=self.link, scaling=self.scaling, parameters=self.parameters,
        )  # fmt: skip

    def start(self, *, runs: Sequence[int], seed: int) -> World:
        return LinearWorld(
            runs=runs, seed=seed, mapping=self.mapping, context_dim=self.context_dim, arms=self.arms,
            scaling=self.scaling, parameters=self.parameters, noise=self.noise, link=self.link,
            norm_bound=self.norm_bound,
        )  # fmt: skip

    def data_digest(self) -> str:
        return ""


WORLDS: dict[str, type[WorldSettings]] = {
    "synthetic": Synthetic,
    "labelled": Labelled,
    "spreadsheet": Spreadsheet,
    "answers": Answers,
    "train-choices": TrainChoices,
    "hypercube": Hypercube,
    "unit-ball": UnitBall,
    "basis": BasisArms,
}
DELAYS: dict[str, type[DelaySettings]] = {
    "none": NoDelay,
    "constant": ConstantDelay,
    "stochastic": GaussianDelay,
    "geometric": GeometricDelay,
    "pareto": ParetoDelay,
    "strategic": StrategicDelay,
    "blind-phase": BlindPhase,
    "together": TogetherDelay,
}
CORRUPTIONS: dict[str, type[CorruptionSettings]] = {
    "none": NoCorruption,
    "strategic": StrategicCorruption,
    "late": LateCorruption,
    "leverage": LeverageCorruption,
    "random": RandomCorruption,
    "lying-raters": LyingRaters,
}


LAWS: dict[str, tuple[str, ...]] = {"no": (), "normal": ("mean", "std"), "geometric": ("mean",)}
"""How late contexts may be, and what each law is told."""


@dataclass(frozen=True, kw_only=True)
class LateTable:
    """`LateContexts` in one flat table: `late` names how late y is, by its mean and deviation in rounds."""

    late: Literal["no", "normal", "geometric"] = "no"
    mean: float = 0.0
    std: float = 0.0
    missing_sides: float = 0.0
    missing_values: float = 0.0
    deadline: int = 50  # 0: none

    def __post_init__(self) -> None:
        self._model()

    def _model(self) -> LateContexts:
        delays: dict[str, DelayModel] = {
            "no": NoDelay(),
            "normal": GaussianDelay(mean=self.mean, std=self.std),
            "geometric": GeometricDelay(mean=self.mean),
        }
        return LateContexts(
            delay=delays[self.late], missing_sides=self.missing_sides,
            missing_values=self.missing_values, deadline=self.deadline or None,
        )  # fmt: skip

    def start(self, *, runs: Sequence[int], seed: int, context_dim: int, post_dim: int) -> ContextsAtWork:
        return self._model().start(runs=runs, seed=seed, context_dim=context_dim, post_dim=post_dim)


class ContextSettings(Frozen, ContextModel, Protocol):
    """A way for contexts to come that can be written down."""


CONTEXTS: dict[str, type[ContextSettings]] = {"at-once": ContextsAtOnce, "late": LateTable}


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What is to be learned, without saying by whom."""

    world: WorldSettings
    delay: DelaySettings = field(default_factory=NoDelay)
    corruption: CorruptionSettings = field(default_factory=NoCorruption)
    contexts: ContextSettings = field(default_factory=ContextsAtOnce)
    horizon: int = 2000
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole("horizon", self.horizon, least=1)
        check_whole("seed", self.seed, least=0)

    def scenario(self, runs: Sequence[int]) -> Scenario:
        """A fresh scenario for these run numbers."""
        world = self.world.start(runs=runs, seed=self.seed)
        return Scenario(world, delay=self.delay, corruption=self.corruption, contexts=self.contexts)

    def encode(self) -> dict[str, Plain]:
        """As plain tables; what the world reads is named by its content."""
        return {
            "world": encode_kind(self.world, WORLDS),
            "delay": encode_kind(self.delay, DELAYS),
            "corruption": encode_kind(self.corruption, CORRUPTIONS),
            "contexts": encode_kind(self.contexts, CONTEXTS),
            "horizon": self.horizon,
            "seed": self.seed,
        }


def decode_problem(table: Table, *, horizon: int, seed: int) -> Problem:
    """The problem that the entries `world`, `delay`, `corruption` and `contexts` of a table describe."""
    silent: Table = {"kind": "none"}
    at_once: Table = {"kind": "at-once"}
    return Problem(
        world=decode_kind(table_at(table.get("world"), "world"), WORLDS, where="world"),
        delay=decode_kind(table.get("delay", silent), DELAYS, where="delay"),
        corruption=decode_kind(table.get("corruption", silent), CORRUPTIONS, where="corruption"),
        contexts=decode_kind(table.get("contexts", at_once), CONTEXTS, where="contexts"),
        horizon=horizon,
        seed=seed,
    )


class WorldSizes(NamedTuple):
    """How large a world is."""

    context_dim: int
    post_dim: int
    arms: int


@lru_cache(maxsize=256)
def sizes(settings: WorldSettings) -> WorldSizes:
    """The sizes of the world these settings describe; a synthetic one may be too large to be started."""
    if isinstance(settings, Synthetic):
        post_dim = mapping_named(settings.mapping).post_dim(settings.context_dim)
        return WorldSizes(settings.context_dim, post_dim, settings.arms)
    world = settings.start(runs=(0,), seed=0)
    return WorldSizes(world.context_dim, world.post_dim, world.arms)
