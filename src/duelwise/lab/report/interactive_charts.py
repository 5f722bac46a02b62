"""Interactive figures: data and layout for plotly.js, as plain tables that JSON can say."""

from __future__ import annotations

from duelwise.lab.cells.codec import Plain
from duelwise.lab.report.results import Line, Results
from duelwise.lab.report.style import COLOURS, NAMES
from duelwise.types import Array

COLUMNS = 3
EVERY = 2  # of the stored points: a hundred are enough to look at
DIGITS = 4  # significant digits: a screen shows no more


def chart(results: Results) -> dict[str, Plain]:
    """All panels of one figure, study and variant: mean regret and a band of one deviation."""
    places = results.places()
    traces: list[Plain] = []
    for number, place in enumerate(places):
        for line in place:
            traces += _traces(line, number)
    return {"data": traces, "layout": _layout([place.lines[0].panel for place in places])}


def _traces(line: Line, number: int) -> list[Plain]:
    """The mean, and the band around it as one closed outline; the last stored round is always shown."""
    curve = line.curve
    keep = slice((len(curve.rounds) - 1) % EVERY, None, EVERY)
    rounds = curve.rounds[keep].tolist()
    mean, spread = curve.regret.mean(axis=0)[keep], curve.regret.std(axis=0)[keep]
    colour, name = COLOURS[line.method], NAMES[line.method]
    axes: dict[str, Plain] = {
        "xaxis": f"x{_suffix(number)}",
        "yaxis": f"y{_suffix(number)}",
        "legendgroup": name,
    }
    band: dict[str, Plain] = {
        "x": rounds + rounds[::-1], "y": _short(mean + spread) + _short(mean - spread)[::-1],
        "fill": "toself", "mode": "lines", "line": {"width": 0}, "fillcolor": colour, "opacity": 0.15,
        "hoverinfo": "skip",
        "showlegend": False, **axes,
    }  # fmt: skip
    middle: dict[str, Plain] = {
        "x": rounds, "y": _short(mean), "mode": "lines", "name": name, "line": {"color": colour, "width": 2},
        "showlegend": number == 0, **axes,
    }  # fmt: skip
    return [band, middle]


def _layout(titles: list[str]) -> dict[str, Plain]:
    columns = min(COLUMNS, len(titles))
    rows = -(-len(titles) // columns)
    layout: dict[str, Plain] = {
        "height": 260 * rows + 90,
        "margin": {"l": 60, "r": 15, "t": 45, "b": 40},
        "legend": {"orientation": "h", "y": 1.0 + 0.12 / rows, "yanchor": "bottom"},
        "hovermode": "x unified",
        "template": "none",
    }
    notes: list[Plain] = []
    for number, title in enumerate(titles):
        row, column = divmod(number, columns)
        left, bottom = column / columns, 1.0 - (row + 1) / rows
        across = [left + 0.03, left + 1.0 / columns - 0.02]
        up = [bottom + 0.14 / rows, bottom + 0.88 / rows]
        x, y = f"x{_suffix(number)}", f"y{_suffix(number)}"
        layout[f"xaxis{_suffix(number)}"] = {"domain": across, "anchor": y}
        layout[f"yaxis{_suffix(number)}"] = {"domain": up, "anchor": x, "rangemode": "tozero"}
        notes.append(
            {
                "text": title, "x": sum(across) / 2, "y": up[1], "xref": "paper", "yref": "paper",
                "xanchor": "center", "yanchor": "bottom", "showarrow": False, "font": {"size": 13},
            }
        )  # fmt: skip
    layout["annotations"] = notes
    return layout


def _suffix(number: int) -> str:
    return "" if number == 0 else str(number + 1)


def _short(values: Array) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in values.tolist()]
