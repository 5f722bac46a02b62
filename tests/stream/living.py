"""A stream's life for tests: asks, contexts and votes in a random order."""

import numpy as np

from duelwise.stream import DecisionStream, StreamSettings, Winner
from duelwise.stream.events import Recorded, Told
from duelwise.types import JSON

DECLARED: dict[str, JSON] = {"price": [-1, 1], "stars": [-1, 1], "way": [-1, 1], "y0": [-3, 3], "y1": [-3, 3]}
"""With every range declared a log holds only what the test does."""

SETTINGS = StreamSettings(
    context_dim=3,
    post_dim=2,
    options={"post_serving": "ridge"},
    feature_names=("price", "stars", "way"),
    seed=4,
    ranges=DECLARED,
)


class Clock:
    """Time that moves when told to."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now

    def pass_slowly(self, stream: DecisionStream, seconds: float) -> None:
        """As with a stream in use: somebody asks now and then, and takes it back."""
        end = self.now + seconds
        while self.now < end:
            self.now = min(end, self.now + 80_000)
            nothing = np.zeros((2, stream.settings.context_dim))
            stream.retract(stream.ask(nothing).ticket)


def candidates(rng: np.random.Generator, count: int = 4, dim: int = 3) -> list[dict[str, object]]:
    return [{"id": f"c{i}", "features": rng.uniform(-1, 1, dim).tolist()} for i in range(count)]


def live(stream: DecisionStream, rng: np.random.Generator, steps: int) -> list[str]:
    """Random legal requests; returns every ticket given out."""
    settings = stream.settings
    given: list[str] = []
    no_context: list[str] = []
    no_vote: list[str] = []
    for _ in range(steps):
        what = rng.choice(["ask", "observe", "tell"], p=[0.4, 0.3, 0.3])
        if what == "ask" or (what == "observe" and not no_context) or (what == "tell" and not no_vote):
            duel = stream.ask(candidates(rng, dim=settings.context_dim))
            given.append(duel.ticket)
            no_vote.append(duel.ticket)
            if settings.post_dim:
                no_context.append(duel.ticket)
        elif what == "observe":
            ticket = no_context.pop(rng.integers(len(no_context)))
            left, right = rng.normal(size=(2, settings.post_dim)).tolist()
            stream.observe(ticket, left, right)
        else:
            ticket = no_vote.pop(rng.integers(len(no_vote)))
            winner: Winner = rng.choice(["left", "right", "tie", "skip"], p=[0.4, 0.4, 0.1, 0.1]).item()
            stream.tell(ticket, winner, source=f"user {rng.integers(3)}")
            if winner == "skip" and ticket in no_context:
                no_context.remove(ticket)
    return given


def vote(
    stream: DecisionStream, rng: np.random.Generator, winner: Winner = "left", source: str | None = None
) -> str:
    """One duel from question to vote; returns its ticket."""
    duel = stream.ask(candidates(rng, dim=stream.settings.context_dim))
    left, right = rng.normal(size=(2, stream.settings.post_dim)).tolist()
    stream.observe(duel.ticket, left, right)
    stream.tell(duel.ticket, winner, source=source)
    return duel.ticket


def outcome_in(recorded: Recorded) -> float:
    """How a vote in the log went."""
    assert isinstance(recorded.event, Told)
    return recorded.event.outcome
