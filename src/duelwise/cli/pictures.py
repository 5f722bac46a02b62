"""Pictures of what a log was asked: PNG, PDF or SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from duelwise.answers.scoring import Score
from duelwise.atomic_files import write_whole
from duelwise.lab.report.style import COLOURS, OTHERS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from duelwise.stream.evaluating import Evaluation
    from duelwise.stream.stressing import Stressed


def colour(place: int) -> str:
    """Of the line at this place; the same again after the last."""
    known = (*COLOURS.values(), *OTHERS)
    return known[place % len(known)]


def draw_evaluation(path: Path, found: Evaluation) -> None:
    """Log-losses with their intervals, and calibration."""
    from matplotlib.figure import Figure

    from duelwise.stream.evaluation_page import best_score

    scores = {line.name: one for line in found.lines if (one := best_score(line)) is not None}
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    axes = figure.subplots(1, 2, squeeze=False)
    _draw_losses(axes[0, 0], scores, found.log_loss_of_a_coin)
    _draw_calibration(axes[0, 1], scores)
    save(figure, path)


def _draw_losses(axis: Axes, scores: Mapping[str, Score], coin: float) -> None:
    for place, one in enumerate(scores.values()):
        reach = 1.96 * one.log_loss.standard_error
        axis.errorbar(
            one.log_loss.mean, place, xerr=reach, fmt="o", color=colour(place), capsize=3, markersize=5
        )
    axis.axvline(coin, color="grey", linewidth=1, linestyle="dotted")
    axis.set_yticks(range(len(scores)), list(scores))
    axis.invert_yaxis()
    axis.set_xlabel("Log-loss, 95 % interval (dotted: a coin)")


def _draw_calibration(axis: Axes, scores: Mapping[str, Score]) -> None:
    for place, (name, one) in enumerate(scores.items()):
        chance, won = [bin.chance for bin in one.calibration], [bin.won for bin in one.calibration]
        axis.plot(chance, won, marker="o", color=colour(place), label=name, markersize=3)
    axis.plot([0, 1], [0, 1], color="grey", linewidth=1, linestyle="dotted")
    axis.set_xlabel("Chance given")
    axis.set_ylabel("Share won")
    axis.legend(fontsize=7, frameon=False)


def draw_stress(path: Path, found: Stressed) -> None:
    """Rank correlation and change of Θ̂ over the share of lies, a line for each recipe."""
    from matplotlib.figure import Figure

    from duelwise.stream.stress_page import curves

    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    axes = figure.subplots(1, 2, squeeze=False)
    for place, (name, (shares, ranks, changes)) in enumerate(curves(found).items()):
        drawn = [(share, rank) for share, rank in zip(shares, ranks, strict=True) if rank is not None]
        _draw_line(axes[0, 0], [one for one, _ in drawn], [one for _, one in drawn], name, place)
        _draw_line(axes[0, 1], shares, changes, name, place)
    for axis, label in ((axes[0, 0], "Rank correlation"), (axes[0, 1], "Relative change of Θ̂")):
        axis.set_xlabel("Share of lies")
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    axes[0, 0].legend(fontsize=7, frameon=False)
    save(figure, path)


def _draw_line(axis: Axes, x: Sequence[float], y: Sequence[float], name: str, place: int) -> None:
    axis.plot(x, y, marker="o", color=colour(place), label=name, markersize=3)


def save(figure: Figure, path: Path) -> None:
    """Whole, or not at all."""
    kind = path.suffix[1:].lower()
    write_whole(path, lambda temporary: figure.savefig(temporary, format=kind, dpi=150))
