"""A page that stands by itself: one style, tables, names escaped. No network."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

STYLE = (
    ":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;"
    "padding:0 1rem}table{border-collapse:collapse;width:100%}th,td{text-align:right;padding:.3rem .6rem;"
    "border-bottom:1px solid #8884}th:first-child,td:first-child{text-align:left}.wide{overflow-x:auto}"
)


def document(title: str, body: str) -> str:
    """The whole page; the title is escaped, the body is HTML."""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>"
        f"<h1>{escape(title)}</h1>{body}</body></html>"
    )


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Plain text in, escaped; a column that is empty in every row is left out."""
    shown = [k for k in range(len(columns)) if any(row[k] for row in rows)]
    head = "".join(f"<th>{escape(columns[k].replace('_', ' '))}</th>" for k in shown)
    body = "".join("<tr>" + "".join(f"<td>{escape(row[k])}</td>" for k in shown) + "</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def cell(value: object) -> str:
    """A value as a table shows it."""
    if isinstance(value, float):
        return f"{value:.3g}"
    return "" if value is None or value is False else "yes" if value is True else str(value)
