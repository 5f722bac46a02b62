"""Measured lines as the tables of a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

Line = Mapping[str, object]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in [head, ["---"] * len(head), *rows])


def _share(value: object) -> str:
    return "–" if value is None else f"{100 * float(str(value)):.1f}"


def coverage_table(lines: Sequence[Line]) -> str:
    """What intervals cover, setting by setting."""
    text = (
        "### Coverage\nShare (in %) of coefficients / utility differences whose 95 % interval holds the "
        "truth, pairs chosen by the stream itself; ten candidates, utilities of standard deviation "
        "`scale`. Beside it what a sandwich around the λ = 1 estimate covers (200 runs).\n\n"
    )
    rows = [
        [
            str(x["goal"]),
            str(x["candidates"]),
            str(x["d"]),
            str(x["scale"]),
            str(x["votes"]),
            str(x["runs"]),
            f"{_share(x['coefficients'])} / {_share(x['differences'])}",
            f"{_share(x['sandwich_coefficients'])} / {_share(x['sandwich_differences'])}",
        ]
        for x in lines
    ]
    head = ("goal", "candidates", "d", "scale", "votes", "runs", "interval", "sandwich")
    return text + _table(head, rows)


def settling_table(lines: Sequence[Line]) -> str:
    """Votes until settled, errors, forecasts."""
    text = (
        "### Settling\nTen items; looks after every vote to 100, then every 2 %; level 95 %. Votes until "
        "settled (median), runs settled within 4,000 votes (random pairs: 10,000), runs settled on a wrong "
        "item; the forecast of votes needed, read at a quarter of the way.\n\n"
    )
    random = {(x["world"], x["case"]): x["median"] for x in lines if x["goal"] == "random"}
    rows = [
        [
            str(x["world"]),
            str(x["case"]),
            str(x["goal"]),
            str(x["runs"]),
            "never" if x["median"] is None else f"{float(str(x['median'])):,.0f}",
            _ratio(x, random),
            _share(x["settled"]),
            _share(x["wrong"]),
            _share(x["within_two"]),
            _share(x["within_three"]),
            _share(x["range_covers"]),
        ]
        for x in lines
    ]
    head = (
        "world", "case", "pairs", "runs", "median votes", "× random", "settled %", "wrong %",
        "forecast within 2 ×, %", "within 3 ×, %", "80 % range covers, %",
    )  # fmt: skip
    return text + _table(head, rows)


def raters_table(lines: Sequence[Line]) -> str:
    """Bad raters found, good ones accused."""
    text = (
        "### Raters\nA hundred sources of which ten are bad, in the published worlds, on served pairs; "
        "honest raters of the world `abs` slip 4 % of the time. Shares in %.\n\n"
    )
    rows = [
        [*(str(x[name]) for name in ("world", "votes", "bad", "seeds")),
         *(_share(x[name]) for name in ("found", "accused", "undecidable", "flagged"))]
        for x in lines
    ]  # fmt: skip
    head = ("world", "votes", "bad raters lie", "seeds", "found", "honest accused", "undecidable", "flagged")
    return text + _table(head, rows)


def clusters_table(lines: Sequence[Line]) -> str:
    """What intervals cover where raters differ in taste."""
    text = (
        "### Raters who differ in taste\nTwenty votes a rater on random pairs of ten items; tastes of "
        "standard deviation `apart`, where the mean taste has 1. Share (in %) of utility differences whose "
        "95 % interval holds the crowd's taste: as it comes, and with `clustered`.\n\n"
    )
    rows = [
        [*(str(x[name]) for name in ("d", "raters", "apart", "votes", "runs")),
         _share(x["plain"]), _share(x["clustered"])]
        for x in lines
    ]  # fmt: skip
    return text + _table(("d", "raters", "apart", "votes", "runs", "interval", "clustered"), rows)


def lying_table(lines: Sequence[Line]) -> str:
    """What intervals cover where some raters lie."""
    text = (
        "### Raters who lie\n2,000 votes on random pairs of ten items by a hundred raters of whom ten always "
        "lie; utilities of standard deviation `scale`. Share (in %) of utility differences whose 95 % "
        'interval holds the truth: as it comes, and without the votes of those that `sources="weighted"` '
        "distrusts.\n\n"
    )
    rows = [
        [*(str(x[name]) for name in ("d", "scale", "votes", "runs")),
         *(_share(x[name]) for name in ("plain", "without", "found", "accused"))]
        for x in lines
    ]  # fmt: skip
    heads = ("d", "scale", "votes", "runs", "interval", "without them", "liars found", "honest accused")
    return text + _table(heads, rows)


def weighted_table(lines: Sequence[Line]) -> str:
    """What weighted sources save, and cost."""
    text = (
        "### Weighted sources\nRegret against the best two, distinct pairs, 2,000 votes by a hundred raters "
        'of whom `liars` always lie; recipe `live`. `sources="weighted"` over the same without it (± '
        "standard error): over all votes, and over votes 501 to 2,000. Raters left out in the end, in %.\n\n"
    )
    rows = [
        [
            *(str(x[name]) for name in ("world", "liars", "seeds")),
            f"{float(str(x['regret'])):,.0f}", f"{float(str(x['weighted'])):,.0f}",
            _plus_minus(x["ratio"]), _plus_minus(x["late"]), _share(x["liars_out"]), _share(x["honest_out"]),
        ]
        for x in lines
    ]  # fmt: skip
    head = (
        "world", "liars", "seeds", "regret, equal", "weighted", "ratio", "votes 501-2,000",
        "liars left out", "honest left out",
    )  # fmt: skip
    return text + _table(head, rows)


def _plus_minus(pair: object) -> str:
    value, error = cast("Sequence[float]", pair)
    return f"{value:.2f} ± {error:.2f}"


def _ratio(line: Line, random: dict[tuple[object, object], object]) -> str:
    against = random.get((line["world"], line["case"])) or random.get((line["world"], "honest"))
    if line["goal"] == "random" or line["median"] is None or against is None or "gap" in str(line["case"]):
        return "–"
    return f"{float(str(line['median'])) / float(str(against)):.2f}"
