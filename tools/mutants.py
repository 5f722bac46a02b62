"""Do the tests notice? Small changes to the code, one at a time, each against the tests that cover it.

    python -m tools.mutants --count 100 --seed 0 [--out mutants.jsonl]

Works in a copy of the checkout. Every verdict is appended to the file as it comes, so that an interrupted run
goes on where it stopped. Ends with code 1 when more than a tenth survive. A survivor that changes nothing
that can be seen is explained in tools/mutants_explained.txt: its line as printed, then a reason.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from tools.mutations import Mutation, draw

ROOT = Path(__file__).parents[1]
MUTATED = ("learning", "lab", "stream", "service")
EXPLAINED = Path(__file__).with_name("mutants_explained.txt")
MOST_SURVIVORS = 0.10
TIMEOUT = 900  # seconds; a change that makes a loop endless is noticed by that
NOT_COPIED = (".git", ".venv", "__pycache__", "_build", "build", "dist", "results", "demo", ".*_cache")


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant."""

    mutation: Mutation
    killed: bool
    by: str  # the test that failed first, or how it ended
    seconds: float


def covering(file: str, tests: Path) -> list[str]:
    """Tests of a source file, nearest first: those named after it, then its package's, then who uses that."""
    parts = Path(file).relative_to("src/duelwise").with_suffix("").parts
    stem, package = parts[-1], parts[0]
    named = sorted(path for path in tests.rglob(f"test_*{stem}*.py"))
    users = {
        "learning": ["learning", "lab"],
        "lab": ["lab", "cli"],
        "stream": ["stream", "service"],
        "service": ["service", "doors"],
    }
    folders = [tests / name for name in users.get(package, [package]) if (tests / name).is_dir()]
    return [str(path) for path in dict.fromkeys([*named, *folders])] or [str(tests)]


def judge(mutation: Mutation, copy: Path) -> Verdict:
    """Make the change in a copy, run its tests until one fails, and take the change back."""
    file = copy / mutation.file
    original = file.read_text(encoding="utf-8")
    file.write_text(mutation.applied(original), encoding="utf-8")
    begun = time.monotonic()
    try:
        killed, by = _tested(mutation, copy)
    finally:
        file.write_text(original, encoding="utf-8")
    return Verdict(mutation, killed, by, time.monotonic() - begun)


def _tested(mutation: Mutation, copy: Path) -> tuple[bool, str]:
    words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=no"]
    paths = os.pathsep.join([str(copy / "src"), str(copy)])
    try:
        done = subprocess.run(
            [*words, *covering(mutation.file, copy / "tests")], cwd=copy, capture_output=True, text=True,
            timeout=TIMEOUT, env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return True, "ran out of time"
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return done.returncode != 0, failed[0].split(" - ")[0] if failed else f"code {done.returncode}"


def run(chosen: Iterable[Mutation], out: Path, root: Path) -> list[Verdict]:
    """Judge those that the file does not hold yet."""
    known = {verdict.mutation: verdict for verdict in read(out)} if out.exists() else {}
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(root, copy, ignore=shutil.ignore_patterns(*NOT_COPIED))
        for mutation in chosen:
            if mutation not in known:
                known[mutation] = verdict = judge(mutation, copy)
                with out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(verdict), ensure_ascii=False) + "\n")
            said = "killed " if known[mutation].killed else "SURVIVED"
            print(f"{said} {mutation} ({known[mutation].by}, {known[mutation].seconds:.0f} s)", flush=True)
    return [known[mutation] for mutation in chosen]


def read(out: Path) -> list[Verdict]:
    """Verdicts that were written before."""
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    return [Verdict(Mutation(**row["mutation"]), row["killed"], row["by"], row["seconds"]) for row in rows]


def report(verdicts: list[Verdict], explained: str) -> tuple[str, float]:
    """A few lines, and the share that survived without an explanation."""
    lines: list[str] = []
    for operator in dict.fromkeys(verdict.mutation.operator for verdict in verdicts):
        of = [verdict for verdict in verdicts if verdict.mutation.operator == operator]
        lines.append(f"{operator}: {sum(verdict.killed for verdict in of)} of {len(of)} noticed")
    survivors = [verdict for verdict in verdicts if not verdict.killed]
    open_ones = [one for one in survivors if str(one.mutation) not in explained]
    lines += [f"survived{'' if one in open_ones else ', explained'}: {one.mutation}" for one in survivors]
    share = len(open_ones) / len(verdicts) if verdicts else 0.0
    lines.append(f"{len(survivors)} of {len(verdicts)} survived, {len(open_ones)} of them unexplained")
    return "\n".join(lines), share


def main() -> int:
    parser = argparse.ArgumentParser(description="Do the tests notice small changes to the code?")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="a part of the path of the files to change")
    parser.add_argument("--out", type=Path, default=Path("mutants.jsonl"))
    asked = parser.parse_args()
    files = [file for name in MUTATED for file in (ROOT / "src" / "duelwise" / name).rglob("*.py")]
    chosen = draw(
        ROOT, [file for file in files if asked.only in file.as_posix()], count=asked.count, seed=asked.seed
    )
    verdicts = run(chosen, asked.out, ROOT)
    text, share = report(verdicts, EXPLAINED.read_text() if EXPLAINED.exists() else "")
    print(text)
    return 1 if share > MOST_SURVIVORS else 0


if __name__ == "__main__":
    sys.exit(main())
