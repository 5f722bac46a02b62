"""An evaluation as rows of a table, as plain data, and as one page with plots."""

from __future__ import annotations

from html import escape

from duelwise.answers.scoring import MeanWithError, Score
from duelwise.stream.evaluating import COIN, Evaluation, EvaluationLine
from duelwise.stream.plain_page import document, table
from duelwise.stream.plots import Trace, chart, script
from duelwise.types import JSON

COLUMNS = (
    "foreseen by", "log-loss", "winners foreseen", "calibrated",
    "held-out log-loss", "held-out winners", "beyond the offline fit", "favourite wins",
)  # fmt: skip


def rows_of(found: Evaluation) -> list[tuple[str, ...]]:
    """One row for each way to foresee votes."""
    return [
        (
            line.name, _loss(line.prequential), _accuracy(line.prequential), _calibrated(line.prequential),
            _loss(line.held_out), _accuracy(line.held_out), _plus_minus(line.beyond_offline, signed=True),
            _plus_minus(line.favourite_wins),
        )
        for line in found.lines
    ]  # fmt: skip


def plain(found: Evaluation) -> dict[str, JSON]:
    """Everything, as JSON knows it."""
    return {
        "votes": found.votes,
        "sources": found.sources,
        "folds": found.folds,
        "log_loss_of_a_coin": COIN,
        "policy_value": found.policy_value,
        "lines": [
            {
                "name": line.name,
                "kind": line.kind,
                "prequential": _score(line.prequential),
                "held_out": _score(line.held_out),
                "beyond_offline": _estimate(line.beyond_offline),
                "favourite_wins": _estimate(line.favourite_wins),
            }
            for line in found.lines
        ],
    }


def sentence(found: Evaluation) -> str:
    """What was looked at, and on which folds."""
    folds = "" if found.folds is None else f"; held out: {found.folds}"
    return (
        f"{found.votes} votes from {found.sources} sources; a coin's log-loss is {COIN:.4f}. Each vote was "
        f"foreseen before it was learned from{folds}."
    )


def evaluation_page(name: str, found: Evaluation) -> str:
    """HTML that stands by itself; names are escaped."""
    return document(
        f"Evaluation of {name}",
        f"<p>{escape(sentence(found))}</p>{table(COLUMNS, rows_of(found))}"
        f"<p>{escape(found.policy_value)}</p>{script()}{_losses(found)}{_calibration(found)}",
    )


def best_score(line: EvaluationLine) -> Score | None:
    """The prequential score where there is one, else that of the folds."""
    return line.prequential or line.held_out


def _losses(found: Evaluation) -> str:
    scores = [(line.name, one) for line in found.lines if (one := best_score(line)) is not None]
    bars: Trace = {
        "type": "bar",
        "x": [name for name, _ in scores],
        "y": [one.log_loss.mean for _, one in scores],
        "error_y": {"type": "data", "array": [1.96 * one.log_loss.standard_error for _, one in scores]},
    }
    return chart("losses", [bars], title=f"Log-loss, 95 % interval (a coin: {COIN:.3f})", y="log-loss")


def _calibration(found: Evaluation) -> str:
    ideal: Trace = {
        "type": "scatter", "mode": "lines", "x": [0, 1], "y": [0, 1], "name": "ideal",
        "line": {"dash": "dot", "color": "#808894"},
    }  # fmt: skip
    traces: list[Trace] = [
        {
            "type": "scatter", "mode": "lines+markers", "name": line.name,
            "x": [bin.chance for bin in one.calibration], "y": [bin.won for bin in one.calibration],
        }
        for line in found.lines if (one := best_score(line)) is not None
    ]  # fmt: skip
    return chart(
        "calibration", [ideal, *traces], title="Calibration", x="chance given", y="share won", height=420
    )


def _loss(score: Score | None) -> str:
    return "" if score is None else _plus_minus(score.log_loss)


def _accuracy(score: Score | None) -> str:
    return "" if score is None or score.accuracy is None else f"{100 * score.accuracy:.1f} %"


def _calibrated(score: Score | None) -> str:
    return "" if score is None else "yes" if score.calibrated else "no"


def _plus_minus(value: MeanWithError | None, *, signed: bool = False) -> str:
    if value is None:
        return ""
    return f"{value.mean:{'+' if signed else ''}.4f} ± {value.standard_error:.4f}"


def _estimate(value: MeanWithError | None) -> JSON:
    return None if value is None else {"mean": value.mean, "standard_error": value.standard_error}


def _score(score: Score | None) -> JSON:
    if score is None:
        return None
    return {
        "votes": score.votes,
        "log_loss": score.log_loss.mean,
        "standard_error": score.log_loss.standard_error,
        "winners": score.winners,
        "accuracy": score.accuracy,
        "calibrated": score.calibrated,
        "calibration": [
            {"chance": bin.chance, "won": bin.won, "votes": bin.votes} for bin in score.calibration
        ],
    }
