"""What the answers of a stream are worth, measured where the truth is known.

    python -m benchmarks.answers [PART ...] [--runs N] [--seed N] [--json FILE] [--page docs/answers.md]

Lines are added to the JSON file as they come; `--page` writes the tables of that file into a page: those of
`clusters`, `weighted` and `costs` between marks of their own.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.answers import clusters, costs, coverage, raters, settling, weighted
from benchmarks.answers.costs import costs_table
from benchmarks.answers.page import Line, clusters_table, page_of, weighted_table
from benchmarks.timing import write_between_marks

PARTS: dict[str, tuple[Callable[[int, int], Iterator[Line]], int]] = {
    "coverage": (coverage.rows, 2000),
    "settling": (settling.rows, 400),
    "raters": (raters.rows, 20),
    "clusters": (clusters.rows, 400),
    "weighted": (weighted.rows, 40),
    "costs": (costs.rows, 9),
}
"""What measures, and over how many runs."""

OWN_MARKS = {
    "clusters": ("clusters sources", clusters_table),
    "weighted": ("weighted sources", weighted_table),
    "costs": ("costs", costs_table),
}
"""Parts whose table stands between marks of its own in the page."""


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
        for row in measure(options.runs or runs, options.seed):
            line = json.dumps({"part": name, **row})
            print(line, flush=True)
            with options.json.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
    if options.page is not None:
        lines = [json.loads(line) for line in options.json.read_text("utf-8").splitlines()]
        if any(line["part"] not in OWN_MARKS for line in lines):
            write_between_marks(options.page, "answers", page_of(lines))
        for name, (mark, table) in OWN_MARKS.items():
            own = [line for line in lines if line["part"] == name]
            if own:
                write_between_marks(options.page, mark, table(own))


if __name__ == "__main__":
    main()
