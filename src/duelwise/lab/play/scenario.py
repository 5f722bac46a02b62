"""A world with its adversaries: everything a learner is simulated against."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from duelwise.lab.play.channel import Channel
from duelwise.lab.play.contexts import ContextModel, ContextsAtOnce, ContextsAtWork
from duelwise.lab.play.corruptions import CorruptionModel, Corruptions, NoCorruption
from duelwise.lab.play.delays import DelayModel, Delays, NoDelay

if TYPE_CHECKING:
    from duelwise.lab.play.world import World


@runtime_checkable
class Numbered(Protocol):
    """A world that knows its seed and which run numbers it plays."""

    @property
    def seed(self) -> int: ...
    @property
    def run_numbers(self) -> tuple[int, ...]: ...


@dataclass(frozen=True)
class Scenario:
    """A world, how late its votes are, which of them are lies, and when what follows serving is known.

    The channel draws by the world's own seed and run numbers where the world knows
    them (LinearWorld does), else by seed 0 and runs 0 … R-1.
    """

    world: World
    delay: DelayModel = field(default_factory=NoDelay)
    corruption: CorruptionModel = field(default_factory=NoCorruption)
    contexts: ContextModel = field(default_factory=ContextsAtOnce)

    def with_delay(self, delay: DelayModel) -> Scenario:
        """The same, with other delays."""
        return replace(self, delay=delay)

    def with_corruption(self, corruption: CorruptionModel) -> Scenario:
        """The same, with other lies."""
        return replace(self, corruption=corruption)

    def with_contexts(self, contexts: ContextModel) -> Scenario:
        """The same, with post-serving contexts that come otherwise."""
        return replace(self, contexts=contexts)

    def adversaries(self) -> tuple[Delays, Corruptions]:
        """Both adversaries at work, with nothing spent."""
        seed, runs = self._numbers()
        return self.delay.start(runs=runs, seed=seed), self.corruption.start(runs=runs, seed=seed)

    def contexts_at_work(self, post_dim: int) -> ContextsAtWork:
        """No context on its way, for learners that see this many coordinates of y."""
        seed, runs = self._numbers()
        return self.contexts.start(
            runs=runs, seed=seed, context_dim=self.world.context_dim, post_dim=post_dim
        )

    def _numbers(self) -> tuple[int, tuple[int, ...]]:
        world = self.world
        known = isinstance(world, Numbered)
        return (world.seed, world.run_numbers) if known else (0, tuple(range(world.runs)))

    def channel(self) -> Channel:
        """A fresh channel: nothing on its way, nothing spent."""
        delays, corruptions = self.adversaries()
        return Channel(
            runs=self.world.runs,
            corruptions=corruptions,
            corruption_budget=self.corruption.budget,
            delays=delays,
            delay_budget=self.delay.budget,
        )


def as_scenario(what: Scenario | World) -> Scenario:
    """A scenario as it is; a world alone, with votes that are neither late nor lies."""
    return what if isinstance(what, Scenario) else Scenario(what)


class Chainable:
    """Lets a world be written as `world.with_delay(...).with_corruption(...)`."""

    def with_delay(self: World, delay: DelayModel) -> Scenario:
        """This world with these delays."""
        return Scenario(self, delay=delay)

    def with_corruption(self: World, corruption: CorruptionModel) -> Scenario:
        """This world with these lies."""
        return Scenario(self, corruption=corruption)

    def with_contexts(self: World, contexts: ContextModel) -> Scenario:
        """This world with post-serving contexts that come so."""
        return Scenario(self, contexts=contexts)
