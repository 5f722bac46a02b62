"""The page of one stream: the board, votes over time, weights, delays, calibration, raters, coefficients."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from duelwise.storage import JSON
from duelwise.stream import DecisionStream
from duelwise.stream.answering import Ranking
from duelwise.stream.plots import Trace, chart, script
from duelwise.stream.report import Report
from duelwise.stream.source_ratings import Rater
from duelwise.stream.vote_delays import DELAY_BINS_PER_DOUBLING, DELAY_FLOOR
from duelwise.stream.vote_table import VoteTable

SHOWN = 50  # lines of the board and of the raters
UNITS = (("days", 86400), ("h", 3600), ("min", 60), ("s", 1))  # of time, with their seconds


class Shown(NamedTuple):
    """What the page is made of."""

    report: Report
    board: Ranking | None  # None while the catalogue has fewer than two items
    adjusted: Ranking | None  # all but the levels of one category held equal
    raters: Sequence[Rater]
    has_charts: bool  # whether plotly is installed
    script: str
    charts: Sequence[str]


def gather(stream: DecisionStream, adjust: Sequence[str]) -> Shown:
    """Everything the page shows, read from the stream at one time."""
    report, votes = stream.report(), stream.votes()
    several = len(stream.catalogue) > 1
    board = stream.rank(limit=SHOWN) if several else None
    drawn = importlib.util.find_spec("plotly") is not None
    return Shown(
        report=report,
        board=board,
        adjusted=stream.rank(adjust=adjust, limit=SHOWN) if several and adjust else None,
        raters=stream.raters()[:SHOWN],
        has_charts=drawn,
        script=script() if drawn else "",
        charts=_charts(stream, report, board, votes) if drawn else (),
    )


def _charts(stream: DecisionStream, report: Report, board: Ranking | None, votes: VoteTable) -> list[str]:
    made: list[str] = []
    if board is not None:
        made.append(_board(board))
    if len(votes):
        made.append(_votes_over_time(votes))
    made.append(_coefficients(report))
    made.append(_weights(report))
    made.append(_delays(stream))
    if report.foresight is not None:
        made.append(_calibration(report))
    return made


def _board(board: Ranking) -> str:
    items = board.items[:20][::-1]
    trace: Trace = {
        "type": "scatter", "mode": "markers", "orientation": "h", "marker": {"size": 9},
        "x": [one.utility for one in items], "y": [_label(one.id) for one in items],
        "error_x": {"type": "data", "array": [one.high - one.utility for one in items]},
    }  # fmt: skip
    return chart(
        "board", [trace], title="Utility with 95 % interval", x="above the mean", height=120 + 22 * len(items)
    )


def unit_of(seconds: float) -> tuple[str, int]:
    """The unit of time that a person would choose, and how many seconds it has."""
    return next((unit for unit in UNITS if seconds >= unit[1]), UNITS[-1])


def _votes_over_time(votes: VoteTable) -> str:
    order = np.argsort(votes.at)
    at = votes.at[order]
    kept = np.unique(np.linspace(0, len(at) - 1, min(len(at), 500)).astype(np.int64))
    asked = np.sort(votes.at - votes.delay)
    pending = np.searchsorted(asked, at, side="right") - np.arange(1, len(at) + 1)
    unit, seconds = unit_of(float(at[-1] - at[0]))
    since = ((at - at[0]) / seconds)[kept]
    lines: list[Trace] = [
        {"type": "scatter", "mode": "lines", "name": "votes", "x": since.tolist(), "y": (kept + 1).tolist()},
        {"type": "scatter", "mode": "lines", "name": "pending", "x": since.tolist(),
         "y": np.maximum(pending[kept], 0).tolist()},
    ]  # fmt: skip
    return chart("votes", lines, title="Votes and pending over time", x=f"{unit} since the first vote")


def _coefficients(report: Report) -> str:
    shown = sorted(report.coefficients, key=lambda one: -abs(one.estimate))[:20][::-1]
    trace: Trace = {
        "type": "scatter", "mode": "markers", "marker": {"size": 8},
        "x": [one.estimate for one in shown], "y": [_label(one.feature) for one in shown],
        "error_x": {"type": "data", "array": [one.high - one.estimate for one in shown]},
    }  # fmt: skip
    return chart(
        "coefficients", [trace], title="Coefficients with 95 % interval", height=120 + 20 * len(shown)
    )


def _weights(report: Report) -> str:
    edges = report.weight_edges
    middle: list[JSON] = [(low + high) / 2 for low, high in pairwise(edges)]
    bars: Trace = {"type": "bar", "x": middle, "y": list(report.weight_histogram)}
    return chart("weights", [bars], title="Weights of votes", x="weight", y="votes")


def _delays(stream: DecisionStream) -> str:
    counts = stream.delays()
    bins = np.flatnonzero(counts)
    seconds = DELAY_FLOOR * 2.0 ** ((bins + 0.5) / DELAY_BINS_PER_DOUBLING)
    bars: Trace = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": seconds.tolist(),
        "y": counts[bins].tolist(),
    }
    return chart("delays", [bars], title="Seconds from asking to voting", x="seconds", y="votes")


def _calibration(report: Report) -> str:
    bins = () if report.foresight is None else report.foresight.calibration
    lines: list[Trace] = [
        {"type": "scatter", "mode": "lines", "name": "ideal", "x": [0, 1], "y": [0, 1],
         "line": {"dash": "dot"}},
        {"type": "scatter", "mode": "markers", "name": "seen", "x": [one.chance for one in bins],
         "y": [one.won for one in bins], "text": [f"{one.votes} votes" for one in bins],
         "marker": {"size": 9}},
    ]  # fmt: skip
    return chart("calibration", lines, title="Calibration", x="chance foreseen", y="share that won")


def _label(text: str) -> str:
    """Plotly reads some HTML in labels: a name must stay a name."""
    short = text if len(text) <= 24 else text[:23] + "…"
    return short.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
