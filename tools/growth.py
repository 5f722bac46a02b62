"""The steps in which the learner, the laboratory and the streams grew, from the history of their files.

    python -m tools.growth --since 0.1's-commit [--at-least 250] [--page docs/decisions/a-compiled-loop.md]

A step is a commit; lines are those of Python files, as `wc -l` counts them.
"""

from __future__ import annotations

import argparse
import subprocess
from pathlib import Path

from benchmarks.timing import write_between_marks

ROOT = Path(__file__).parents[1]
PLACES = ("src/duelwise/learning", "src/duelwise/lab", "src/duelwise/stream")
STEP = "commit "


def told(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout


def lines_at(commit: str) -> int:
    names = told("ls-tree", "-r", "--name-only", commit, "--", *PLACES).splitlines()
    return sum(told("show", f"{commit}:{name}").count("\n") for name in names if name.endswith(".py"))


def steps(since: str) -> list[tuple[str, int]]:
    """Each commit's subject, and how many more lines there were after it."""
    log = told(
        "log", "--reverse", "--no-renames", "--numstat", f"--format={STEP}%s", f"{since}..HEAD", "--", *PLACES
    )
    found: list[tuple[str, int]] = []
    for line in filter(None, log.splitlines()):
        if line.startswith(STEP):
            found.append((line.removeprefix(STEP), 0))
        else:
            added, removed, name = line.split("\t")
            if name.endswith(".py"):
                subject, more = found[-1]
                found[-1] = (subject, more + int(added) - int(removed))
    return found


def table(since: str, at_least: int) -> str:
    before, made = lines_at(since), steps(since)
    large = [(subject, more) for subject, more in made if abs(more) >= at_least]
    rest = sum(more for _, more in made) - sum(more for _, more in large)
    rows = [f"| {subject} | {more:+,} |" for subject, more in large]
    return "\n".join(
        [
            "| step | lines |",
            "|---|---|",
            f"| version 0.1 | {before:,} |",
            *rows,
            f"| {len(made) - len(large)} smaller steps | {rest:+,} |",
            f"| now | {lines_at('HEAD'):,} |",
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--since", required=True, help="the commit of the version to begin with")
    parser.add_argument("--at-least", type=int, default=250, help="lines that make a step a row of its own")
    parser.add_argument("--page", type=Path, help="a page to write the table into, between its marks")
    given = parser.parse_args()
    text = table(given.since, given.at_least)
    print(text)
    if given.page is not None:
        write_between_marks(given.page, "growth", text)


if __name__ == "__main__":
    main()
