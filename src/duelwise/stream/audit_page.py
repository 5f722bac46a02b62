"""An audit as one page: what was found in words, plots, and the votes of most influence. No network."""

from __future__ import annotations

from html import escape

from duelwise.stream.auditing import Audit
from duelwise.stream.plain_page import cell, document, table
from duelwise.stream.plots import chart, script

SHOWN = 50  # votes of most influence


def audit_page(name: str, found: Audit) -> str:
    """HTML that stands by itself; names are escaped."""
    alarms = "".join(f"<li>{escape(alarm)}</li>" for alarm in found.alarms) or "<li>Nothing to report.</li>"
    leader = "no items" if found.leader is None else f"leader {escape(found.leader)}"
    return document(
        f"Audit of {name}",
        f"<p>{found.votes} votes, {leader}; {found.pivotal_votes} of them would change the leader by "
        f"themselves.</p><ul>{alarms}</ul>{_plots(found)}{_groups(found)}"
        f"<h2>Votes of most influence</h2>{_ledger(found)}",
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
    if not found.groups:
        return ""
    rows = [
        (
            one.group, str(one.check.votes), f"{one.check.mean_weight:.3f}",
            f"{one.check.outvoted:+.3f} [{one.check.outvoted_low:+.3f}, {one.check.outvoted_high:+.3f}]",
            one.leader_without or "",
        )
        for one in found.groups
    ]  # fmt: skip
    columns = ("group", "votes", "mean weight", "against the others, more than foreseen", "leads without it")
    return f"<h2>Groups of voters</h2>{table(columns, rows)}"


def _ledger(found: Audit) -> str:
    columns = list(found.ledger)
    rows = sorted(
        zip(*found.ledger.values(), strict=True), key=lambda row: -float(str(row[columns.index("influence")]))
    )[:SHOWN]
    return table(columns, [[cell(value) for value in row] for row in rows]) if columns else ""
