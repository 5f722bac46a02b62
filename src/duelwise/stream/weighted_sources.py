"""`sources="weighted"`: now and then a stream judges its sources, and leaves out the votes of the distrusted.

Each judgement is an event, so a replay takes the same; a source whose later votes speak for it comes back.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np

from duelwise.answers.trust import distrusted
from duelwise.stream.events import SourcesWeighed
from duelwise.stream.logs import Log
from duelwise.stream.settings import StreamSettings
from duelwise.stream.stream_state import StreamState
from duelwise.stream.vote_table import VoteTable, read_votes

if TYPE_CHECKING:
    from duelwise.stream.replica import Replica

FIRST = 20  # votes before which nobody is judged
GROWTH = ((500, 1.04), (2000, 1.25))  # the next judgement after so many times the votes, below so many
LATER = 2.0

logger = logging.getLogger("duelwise.stream")


def next_judgement(votes: int) -> int:
    """After how many votes sources are judged again, once they were at `votes`."""
    if votes < FIRST:
        return FIRST
    growth = next((times for below, times in GROWTH if votes < below), LATER)
    return int(votes * growth) + 1


def is_due(folded: StreamState) -> bool:
    """Whether sources are to be judged now."""
    heard = sum(folded.ledger.wins.values())
    return folded.settings.sources == "weighted" and heard >= next_judgement(folded.left_out.weighed_at)


def judged(settings: StreamSettings, log: Log, *, upto: int) -> list[str]:
    """The sources whose votes should not count, by all votes up to an event."""
    return distrusted_in(read_votes(settings, log, upto=upto, distrusted_too=True))


def distrusted_in(votes: VoteTable) -> list[str]:
    """The names of the distrusted among the sources of these votes, in alphabetical order."""
    names, numbers = votes.sources()
    found = distrusted(votes.dz, votes.outcome, numbers, len(names))
    return sorted(names[k] for k in np.flatnonzero(found).tolist())


def weigh_sources(replica: Replica) -> None:
    """Judge the sources off the request path, record it, and fold the log again where something changed."""
    with replica.lock:
        replica.refresh()
        if not is_due(replica.folded) or replica.read_only is not None:
            return  # another process was quicker
        upto, before, generation = replica.folded.seq, replica.folded.left_out, replica.row.generation
        votes = sum(replica.folded.ledger.wins.values())
    found = judged(replica.settings, replica.log, upto=upto)
    with replica.lock, replica.batch() as batch:
        if replica.folded.left_out.weighed_at != before.weighed_at or replica.row.generation != generation:
            return  # another process was quicker, or a name was erased meanwhile
        changed = frozenset(found) != replica.folded.left_out.distrusted
        batch.record(SourcesWeighed(found, votes, changed))
    if changed:
        logger.info("%d sources of the stream are distrusted now", len(found))
        replica.rebuild()
