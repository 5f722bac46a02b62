"""Let one event happen to a learner: what streams, the laboratory and replays all fold with."""

from __future__ import annotations

from duelwise.learning.learner_protocol import NOTHING, Learned, Learner
from duelwise.types import Contexts, Duel, Event, Taught, Votes


def apply(learner: Learner, event: Event) -> Learned:
    """Serve, observe, tell, teach or forget; a duel is served as it was, never chosen again."""
    if isinstance(event, Duel):
        learner.serve(event)
        return NOTHING
    if isinstance(event, Contexts):
        return learner.observe(event)
    if isinstance(event, Votes):
        return learner.tell(event)
    if isinstance(event, Taught):
        learner.teach(event.run, event.x, event.y)
        return NOTHING
    learner.forget(event.run, event.round)
    return NOTHING
