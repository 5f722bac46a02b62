"""An audit as one page: what was found in words, plots, and the votes of most influence. No network."""

from __future__ import annotations

from html import escape
from typing import Any

from duelwise.stream.auditing import Audit
from duelwise.stream.plots import chart, script

SHOWN = 50  # votes of most influence
STYLE = (
    ":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;"
    "padding:0 1rem}table{border-collapse:collapse;width:100%}th,td{text-align:right;padding:.3rem .6rem;"
    "border-bottom:1px solid #8884}th:first-child,td:first-child{text-align:left}.wide{overflow-x:auto}"
)


def audit_page(name: str, found: Audit) -> str:
    """HTML that stands by itself; names are escaped."""
    alarms = "".join(f"<li>{escape(alarm)}</li>" for alarm in found.alarms) or "<li>Nothing to report.</li>"
    leader = "no items" if found.leader is None else f"leader {escape(found.leader)}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Audit of {escape(name)}</title><style>{STYLE}</style></head><body>"
        f"<h1>Audit of {escape(name)}</h1><p>{found.votes} votes, {leader}; without any one of "
        f"{found.pivotal_votes} votes another item would lead.</p><ul>{alarms}</ul>"
        f"{_plots(found)}<h2>Groups of voters</h2>{_groups(found)}"
        f"<h2>Votes of most influence</h2>{_ledger(found)}</body></html>"
    )


def _plots(found: Audit) -> str:
    if not found.votes:
        return ""
    charts = [
        chart(
            f"of-{name}",
            [{"type": "histogram", "x": found.ledger[name], "nbinsx": 40}],
            title=f"{name} of votes",
            y="votes",
        )
        for name in ("weight", "surprise", "influence")
    ]
    return script() + "".join(charts)


def _groups(found: Audit) -> str:
    rows = [
        (
            one.group, str(one.check.votes), f"{one.check.mean_weight:.3f}",
            f"{one.check.outvoted:+.3f} [{one.check.outvoted_low:+.3f}, {one.check.outvoted_high:+.3f}]",
            one.leader_without or "",
        )
        for one in found.groups
    ]  # fmt: skip
    return _table(
        ("group", "votes", "mean weight", "against the others, more than foreseen", "leads without it"), rows
    )


def _ledger(found: Audit) -> str:
    columns = list(found.ledger)
    rows = sorted(
        zip(*found.ledger.values(), strict=True), key=lambda row: -float(str(row[columns.index("influence")]))
    )[:SHOWN]
    return _table(columns, [[_cell(value) for value in row] for row in rows]) if columns else ""


def _cell(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else "" if value is None else str(value)


def _table(columns: Any, rows: Any) -> str:
    head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(value)}</td>" for value in row) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
