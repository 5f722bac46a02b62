"""Interactive figures: data and layout for plotly.js, as plain tables that JSON can say."""

from __future__ import annotations

from duelwise.lab.cells.codec import Plain
from duelwise.lab.report.results import Results
from duelwise.lab.report.style import colour_of, name_of, stroke_of
from duelwise.types import Array, IntArray

COLUMNS = 3
GRID = "#8886"  # grey enough for a light and a dark page
EVERY = 2  # of the stored points: a hundred are enough to look at
POINTS = 100
DASHES = {"solid": "solid", "dashed": "dash", "dashdot": "dashdot", "dotted": "dot", "long": "longdash"}
DIGITS = 4  # significant digits: a screen shows no more


def chart(results: Results) -> dict[str, Plain]:
    """All panels of one figure, study and variant: mean regret and a band of one deviation."""
    places = results.places()
    traces: list[Plain] = []
    for number, place in enumerate(places):
        for line in place:
            traces += band_traces(line.method, line.curve.rounds, line.curve.regret, number=number)
    return {"data": traces, "layout": layout_of([place.lines[0].panel for place in places])}


def band_traces(method: str, rounds_drawn: IntArray, regret: Array, *, number: int) -> list[Plain]:
    """The mean, and the band around it as one closed outline; the last round is always shown."""
    step = max(EVERY, len(rounds_drawn) // POINTS)
    keep = slice((len(rounds_drawn) - 1) % step, None, step)
    rounds = rounds_drawn[keep].tolist()
    mean, spread = regret.mean(axis=0)[keep], regret.std(axis=0)[keep]
    colour, name = colour_of(method), name_of(method)
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
        "x": rounds, "y": _short(mean), "mode": "lines", "name": name,
        "line": {"color": colour, "width": 2, "dash": DASHES[stroke_of(method)]},
        "showlegend": number == 0, **axes,
    }  # fmt: skip
    return [band, middle]


def layout_of(titles: list[str]) -> dict[str, Plain]:
    """Panels in rows of three; rounds below the last of each column, regret left of each row."""
    columns = min(COLUMNS, len(titles))
    rows = -(-len(titles) // columns)
    layout: dict[str, Plain] = {
        "height": 260 * rows + 90,
        "margin": {"l": 60, "r": 15, "t": 45, "b": 40},
        "legend": {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom"},
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
        below = number + columns >= len(titles)
        layout[f"xaxis{_suffix(number)}"] = {
            "domain": across, "anchor": y, "gridcolor": GRID, "title": {"text": "Round" if below else ""},
        }  # fmt: skip
        layout[f"yaxis{_suffix(number)}"] = {
            "domain": up, "anchor": x, "rangemode": "tozero", "gridcolor": GRID, "automargin": True,
            "title": {"text": "Cumulative regret" if column == 0 else "", "standoff": 6},
        }  # fmt: skip
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
