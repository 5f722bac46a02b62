"""DecisionStream: one durable live learner, a fold over its event log."""

from duelwise.stream.decision_stream import DecisionStream, register
from duelwise.stream.operations import (
    Answer,
    Ask,
    Duel,
    Import,
    Observe,
    Operation,
    Receipt,
    Retract,
    Side,
    Tell,
    Ticket,
)
from duelwise.stream.report import Report
from duelwise.stream.settings import StreamSettings

__all__ = [
    "Answer",
    "Ask",
    "DecisionStream",
    "Duel",
    "Import",
    "Observe",
    "Operation",
    "Receipt",
    "Report",
    "Retract",
    "Side",
    "StreamSettings",
    "Tell",
    "Ticket",
    "register",
]
