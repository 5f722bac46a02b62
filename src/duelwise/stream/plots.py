"""Charts for pages: plain figures for plotly's JavaScript, which comes from the Python package."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache

from duelwise.errors import require
from duelwise.types import JSON

Trace = Mapping[str, JSON]
INK = "#808894"  # readable on light and on dark


@cache
def script() -> str:
    """plotly's JavaScript, once for a page: no network is needed."""
    require("plotly", extra="lab", purpose="A page with charts")
    from plotly.offline import get_plotlyjs

    return f"<script>{get_plotlyjs()}</script>"


def chart(
    name: str, traces: Sequence[Trace], *, title: str, x: str = "", y: str = "", height: int = 300
) -> str:
    """A figure that follows the width of the page; `name` is its place in the page."""
    axis: dict[str, JSON] = {"gridcolor": "#8883", "zerolinecolor": "#8886", "automargin": True}
    layout: dict[str, JSON] = {
        "title": {"text": title, "font": {"size": 14}},
        "height": height,
        "margin": {"l": 50, "r": 10, "t": 40, "b": 45},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": INK},
        "showlegend": len(traces) > 1,
        # Below the title of the axis, which a legend at the usual place lies upon on a narrow page.
        "legend": {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom"},
        "xaxis": {**axis, "title": {"text": x}},
        "yaxis": {**axis, "title": {"text": y}},
    }
    figure = ", ".join(_safe(part) for part in ([dict(trace) for trace in traces], layout))
    options = _safe({"responsive": True, "displayModeBar": False})
    return (
        f'<div id="{name}" class="chart" role="img" aria-label="{_attribute(title)}"></div>'
        # Drawn when the page is laid out: before its neighbours are there a chart would be too wide.
        f'<script>addEventListener("DOMContentLoaded", () => Plotly.newPlot("{name}", {figure}, {options}))'
        "</script>"
    )


def _safe(content: object) -> str:
    """JSON that cannot end the script it stands in."""
    return json.dumps(content).replace("<", "\\u003c").replace("\u2028", "\\u2028")


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
