"""What the answers of a stream are worth, measured where the truth is known.

    python -m benchmarks.answers [PART ...] [--runs N] [--seed N] [--json FILE] [--page docs/answers.md]

Lines are added to the JSON file as they come. What the file has already of a part, with the same seed and as
many runs, is not measured again: a study that was stopped goes on where it was. `--page` writes the tables
of the file into a page, each between marks of its own.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from benchmarks.answers import clusters, costs, coverage, lying, raters, settling, weighted
from benchmarks.answers.costs import costs_table
from benchmarks.answers.page import (
    clusters_table,
    coverage_table,
    lying_table,
    raters_table,
    settling_table,
    weighted_table,
)  # fmt: skip
from benchmarks.answers.resuming import Measured, lines_of, measured_in
from benchmarks.timing import write_between_marks
from duelwise.learning.core.deferred_compilation import patience

PARTS: dict[str, tuple[Callable[[int, int, Measured], Iterator[Mapping[str, object]]], int]] = {
    "coverage": (coverage.rows, 2000),
    "settling": (settling.rows, 400),
    "raters": (raters.rows, 20),
    "clusters": (clusters.rows, 400),
    "lying": (lying.rows, 400),
    "weighted": (weighted.rows, 40),
    "costs": (costs.rows, 9),
}
"""What measures, and over how many runs."""

TABLES = {
    "coverage": ("coverage", coverage_table),
    "settling": ("settling", settling_table),
    "raters": ("planted raters", raters_table),
    "clusters": ("clusters sources", clusters_table),
    "lying": ("lying sources", lying_table),
    "weighted": ("weighted sources", weighted_table),
    "costs": ("costs", costs_table),
}
"""The marks of each part in the page, and what stands between them."""


@patience(0.0)  # what is timed is compiled
def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--runs", type=int, default=None, help="instead of the full number")
    parser.add_argument("--seed", type=int, default=0, help="of the worlds")
    parser.add_argument("--json", type=Path, default=Path("answers.jsonl"))
    parser.add_argument("--page", type=Path, default=None)
    options = parser.parse_args()
    for name in options.parts:
        measure, runs = PARTS[name]
        measured = measured_in(options.json, name, options.seed)
        for row in measure(options.runs or runs, options.seed, measured):
            line = json.dumps({"part": name, "seed": options.seed, **row})
            print(line, flush=True)
            with options.json.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
    if options.page is not None:
        lines = lines_of(options.json)
        for name, (mark, table) in TABLES.items():
            own = [line for line in lines if line["part"] == name]
            if own:
                write_between_marks(options.page, mark, table(own))


if __name__ == "__main__":
    main()
