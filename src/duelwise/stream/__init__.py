"""DecisionStream: one durable live learner, a fold over its event log."""

from duelwise.receipts import Receipt, Side
from duelwise.stream.decision_stream import DecisionStream, register
from duelwise.stream.lifecycle import Winner
from duelwise.stream.operations import (
    Answer,
    Ask,
    Decision,
    FromCatalogue,
    Import,
    Observe,
    Operation,
    Retract,
    Tell,
    Ticket,
)
from duelwise.stream.registry import StreamEntry, StreamRegistry
from duelwise.stream.report import Report
from duelwise.stream.settings import StreamSettings
from duelwise.stream_fields import SettingField, setting_fields

__all__ = [
    "Answer",
    "Ask",
    "Decision",
    "DecisionStream",
    "FromCatalogue",
    "Import",
    "Observe",
    "Operation",
    "Receipt",
    "Report",
    "Retract",
    "SettingField",
    "Side",
    "StreamEntry",
    "StreamRegistry",
    "StreamSettings",
    "Tell",
    "Ticket",
    "Winner",
    "register",
    "setting_fields",
]
