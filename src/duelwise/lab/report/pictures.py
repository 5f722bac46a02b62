"""One comparison or one list of measurements as a picture or a page: what --plot and --html write."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from duelwise.atomic_files import write_text, write_whole
from duelwise.lab.cells.codec import Plain
from duelwise.lab.report.document import document, place_chart
from duelwise.lab.report.interactive_charts import band_traces, layout_of
from duelwise.lab.report.static_charts import draw_band
from duelwise.lab.report.style import COLOURS, COLUMN_INCHES, SCREEN_INCHES
from duelwise.lab.report.tables import Table
from duelwise.types import Array, IntArray

LETTERS_AN_INCH = 13  # of a title, at its size


class Band(NamedTuple):
    """A method's cumulative regret."""

    method: str
    rounds: IntArray  # (P,)
    regret: Array  # (R, P)


class Bar(NamedTuple):
    """One measurement."""

    label: str
    value: float


def save_picture(path: Path, bands: Sequence[Band], *, title: str) -> None:
    """Mean cumulative regret, one standard deviation shaded; PDF and SVG at the width of a column."""
    figure, axis = _sheet(path)
    for band in bands:
        draw_band(axis, band.method, band.rounds, band.regret)
    axis.legend(frameon=False, fontsize=7)
    _save(figure, axis, path, title)


def save_bars(path: Path, bars: Sequence[Bar], *, title: str, unit: str) -> None:
    """Measurements as bars from zero."""
    figure, axis = _sheet(path)
    places = list(range(len(bars)))
    axis.barh(places, [bar.value for bar in bars], color=COLOURS["rcdb"])
    axis.set_yticks(places, [bar.label for bar in bars])
    axis.invert_yaxis()
    axis.set_xlabel(unit)
    axis.grid(axis="x", alpha=0.3)
    _save(figure, axis, path, title)


def save_page(path: Path, bands: Sequence[Band], *, title: str, tables: Sequence[Table]) -> None:
    """The same as a page, with the numbers below."""
    traces: list[Plain] = []
    for band in bands:
        traces += band_traces(band.method, band.rounds, band.regret, number=0)
    drawn: Plain = {"data": traces, "layout": layout_of([""])}
    _write(path, title, drawn, *tables)


def save_bars_page(path: Path, bars: Sequence[Bar], *, title: str, unit: str, head: Sequence[str]) -> None:
    """Measurements as a page."""
    drawn: Plain = {
        "data": [
            {
                "type": "bar", "orientation": "h", "x": [bar.value for bar in bars],
                "y": [bar.label for bar in bars], "marker": {"color": COLOURS["rcdb"]},
            }
        ],
        "layout": {
            "height": 30 * len(bars) + 120, "template": "none",
            "margin": {"l": 240, "r": 15, "t": 20, "b": 50},
            "xaxis": {"title": {"text": unit}, "gridcolor": "#8886"}, "yaxis": {"autorange": "reversed"},
        },
    }  # fmt: skip
    rows = tuple((bar.label, f"{bar.value:,.1f}") for bar in bars)
    _write(path, title, drawn, Table(title=unit, head=tuple(head), rows=rows))


def _write(path: Path, title: str, drawn: Plain, *tables: Table) -> None:
    numbers = "".join(table.to_html() for table in tables)
    body = f"<h1>{html.escape(title)}</h1>{place_chart('chart', drawn)}{numbers}"
    write_text(path, document(title, body))


def _sheet(path: Path) -> tuple[Figure, Axes]:
    """For print where the file is for print, else for a screen."""
    width = SCREEN_INCHES if path.suffix.lower() == ".png" else COLUMN_INCHES
    figure = Figure(figsize=(width, 0.66 * width + 0.5), layout="constrained")
    return figure, figure.subplots()


def _save(figure: Figure, axis: Axes, path: Path, title: str) -> None:
    width = SCREEN_INCHES if path.suffix.lower() == ".png" else COLUMN_INCHES
    axis.set_title(textwrap.fill(title, int(LETTERS_AN_INCH * width)), fontsize=8)
    kind = path.suffix[1:].lower()
    write_whole(path, lambda temporary: figure.savefig(temporary, format=kind, dpi=150))
