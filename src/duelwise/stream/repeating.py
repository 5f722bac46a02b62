"""A request that carries an event_id is answered once: the same again gets the same duel."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from duelwise.errors import Conflict
from duelwise.receipts import Side
from duelwise.stream import tickets
from duelwise.stream.candidates import CandidateSet
from duelwise.stream.events import Asked
from duelwise.stream.operations import Decision
from duelwise.types import Array


def decision_of(asked: Asked, *, repeated: bool, clamped: tuple[str, ...] = ()) -> Decision:
    """The answer that an `asked` event stands for."""
    ids, (one, other) = asked.ids or (None, None), asked.arms.tolist()
    first, second = Side(ids[0], one), Side(ids[1], other)
    left, right = (second, first) if asked.swapped else (first, second)
    ticket = tickets.write(asked.round, asked.tag)
    return Decision(
        ticket, left, right, asked.model_version, asked.probability, repeated, asked.fallback, clamped
    )  # fmt: skip


def digest_of(*parts: Array | str) -> str:
    """Tells what was asked from what else could have been."""
    digest = blake2b(digest_size=8)
    for part in parts:
        digest.update(part.encode() + b"\0" if isinstance(part, str) else part.tobytes())
    return digest.hexdigest()


def check_repeated(asked: Asked, digest: str | None, offered: CandidateSet | None, event_id: str) -> None:
    """The same event_id is the same request: other candidates under it are a conflict."""
    if asked.offered is None:  # 0.1 kept only the pair
        arms = asked.arms
        x = np.empty((0, 0)) if offered is None else offered.x
        same = int(arms.max()) < len(x) and np.array_equal(x[arms], asked.x)
    else:
        same = asked.offered == digest
    if not same:
        raise Conflict(
            f"The event_id {event_id!r} was used before for other candidates. Nothing was changed; "
            "give every request its own event_id, and a repeated one the same body."
        )
