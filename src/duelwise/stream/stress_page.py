"""What an attack did, as rows of a table, as plain data, and as one page with plots."""

from __future__ import annotations

from html import escape

from duelwise.stream.plain_page import document, table
from duelwise.stream.plots import Trace, chart, script
from duelwise.stream.stressing import Stressed
from duelwise.types import JSON

COLUMNS = (
    "recipe",
    "lies",
    "turned",
    "leader",
    "changed",
    "lead kept",
    "rank correlation",
    "cosine of Θ̂",
    "change of Θ̂",
)


def rows_of(found: Stressed) -> list[tuple[str, ...]]:
    """One row for each recipe and share of lies."""
    return [
        (
            line.name, f"{100 * line.lies:g} %", str(line.turned), line.leader,
            "yes" if line.leader_changed else "no",
            "" if line.lead_kept is None else f"{100 * line.lead_kept:.0f} %",
            "" if line.rank_correlation is None else f"{line.rank_correlation:.3f}",
            f"{line.cosine:.3f}", f"{100 * line.relative_change:.1f} %",
        )
        for line in found.lines
    ]  # fmt: skip


def plain(found: Stressed) -> dict[str, JSON]:
    """Everything, as JSON knows it."""
    lines: list[JSON] = [dict(line._asdict()) for line in found.lines]
    return {
        "votes": found.votes, "items": found.items, "attack": found.attack, "late": found.late, "lines": lines
    }  # fmt: skip


def sentence(found: Stressed) -> str:
    """What was tried."""
    late = "" if found.late == 0 else f", votes {found.late} duels late in the mean"
    return (
        f"{found.votes} votes, {found.items} items ranked; attack: {found.attack}{late}. Compared with the "
        "log as it was."
    )


def curves(found: Stressed) -> dict[str, tuple[list[float], list[float | None], list[float]]]:
    """By recipe: shares of lies, rank correlations, relative changes of Θ̂."""
    made: dict[str, tuple[list[float], list[float | None], list[float]]] = {}
    for line in found.lines:
        shares, ranks, changes = made.setdefault(line.name, ([], [], []))
        shares.append(line.lies)
        ranks.append(line.rank_correlation)
        changes.append(line.relative_change)
    return made


def stress_page(name: str, found: Stressed) -> str:
    """HTML that stands by itself; names are escaped."""

    def traces(of: int) -> list[Trace]:
        return [
            {"type": "scatter", "mode": "lines+markers", "name": recipe, "x": [*each[0]], "y": [*each[of]]}
            for recipe, each in curves(found).items()
        ]

    charts = chart(
        "ranks", traces(1), title="Rank correlation with the log as it was", x="share of lies", y="Spearman"
    ) + chart("changes", traces(2), title="Relative change of Θ̂", x="share of lies", y="‖Θ̂' - Θ̂‖ / ‖Θ̂‖")
    return document(
        f"{name} under attack",
        f"<p>{escape(sentence(found))}</p>{table(COLUMNS, rows_of(found))}{script()}{charts}",
    )
