"""Static figures in the paper's style; each plot takes an axis and returns it."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from duelwise.atomic_files import write_whole
from duelwise.errors import missing_extra
from duelwise.lab.report.results import Contrast, Results
from duelwise.lab.report.style import colour_of, name_of, stroke_of
from duelwise.types import Array, IntArray

try:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
except ModuleNotFoundError as error:
    raise missing_extra(error, extra="lab", purpose="Drawing") from error

COLUMNS = 3
DASHES = {"long": (0, (9, 2))}  # of the strokes that matplotlib has no word for


def plot_regret(results: Results, axis: Axes | None = None) -> Axes:
    """Cumulative regret of every method of one place: the mean over runs, one standard deviation shaded."""
    axis = _axis(axis)
    for line in results:
        draw_band(axis, line.method, line.curve.rounds, line.curve.regret)
    return axis


def draw_band(axis: Axes, method: str, rounds: IntArray, regret: Array) -> None:
    """One method's mean cumulative regret (R, P) at rounds (P,), one standard deviation shaded."""
    mean, spread = regret.mean(axis=0), regret.std(axis=0)
    colour, stroke = colour_of(method), stroke_of(method)
    axis.plot(
        rounds, mean, color=colour, label=name_of(method), linewidth=1.4, linestyle=DASHES.get(stroke, stroke)
    )
    axis.fill_between(rounds, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0)
    axis.set_xlabel("Round")
    axis.set_ylabel("Cumulative regret")
    axis.grid(alpha=0.3)


def plot_finals(results: Results, axis: Axes | None = None) -> Axes:
    """Final regrets of one place as boxes over runs, one for each method."""
    axis = _axis(axis)
    boxes = axis.boxplot([line.curve.final for line in results], patch_artist=True)
    for line, box in zip(results, boxes["boxes"], strict=True):
        box.set_facecolor(colour_of(line.method))
        box.set_alpha(0.6)
    axis.set_xticks(range(1, len(results) + 1), [name_of(line.method) for line in results])
    axis.set_ylabel("Final regret")
    axis.grid(axis="y", alpha=0.3)
    return axis


def plot_contrasts(contrasts: Sequence[Contrast], axis: Axes | None = None) -> Axes:
    """Paired differences with their 95 % intervals; left of zero the first method has the lower regret."""
    axis = _axis(axis)
    places = np.arange(len(contrasts))
    means = np.array([contrast.mean for contrast in contrasts])
    reach = np.array([contrast.high for contrast in contrasts]) - means
    axis.errorbar(means, places, xerr=reach, fmt="o", color="black", capsize=3, markersize=4)
    axis.axvline(0.0, color="grey", linewidth=1)
    axis.set_yticks(places, [f"{contrast.figure} {contrast.panel}" for contrast in contrasts])
    axis.invert_yaxis()
    if contrasts:
        first, second = name_of(contrasts[0].first), name_of(contrasts[0].second)
        axis.set_xlabel(f"Final regret, {first} - {second}")
    return axis


def save_figure(results: Results, stem: Path, *, title: str) -> list[Path]:
    """All panels of one figure, study and variant as PDF and PNG."""
    places = results.places()
    columns = min(COLUMNS, len(places))
    rows = -(-len(places) // columns)
    figure = Figure(figsize=(3.4 * columns, 2.7 * rows + 0.5), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for axis in axes.flat[len(places) :]:
        axis.set_visible(False)
    for place, axis in zip(places, axes.flat, strict=False):
        plot_regret(place, axis).set_title(place.lines[0].panel, fontsize=9)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.suptitle(textwrap.fill(title, 34 * columns), fontsize=10)
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=8, frameon=False)
    paths = [stem.with_name(f"{stem.name}.{ending}") for ending in ("pdf", "png")]
    for path in paths:
        kind = path.suffix[1:]
        write_whole(path, lambda temporary, kind=kind: figure.savefig(temporary, format=kind, dpi=150))
    return paths


def _axis(axis: Axes | None) -> Axes:
    return Figure(figsize=(5.0, 3.5), layout="constrained").subplots() if axis is None else axis
