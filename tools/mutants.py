"""Do the tests notice? Small changes to the code, one at a time, each against the tests that cover it.

    python -m tools.mutants --count 100 --seed 0 [--out mutants.jsonl]

Works in copies of the checkout. First the tests run without a change, to see which of them run which
function; then each change meets the tests that run it, the nearest first, until one fails. Every verdict is
appended to the file as it comes, so that an interrupted run goes on where it stopped. Ends with code 1 when
more than a tenth survive. A survivor that changes nothing that can be seen is explained in
tools/mutants_explained.txt: its line as printed, then a reason.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from queue import Queue

from tools.mutant_copies import Copies, touches_kernels
from tools.mutant_tests import Seen, files_of_tests, outdated
from tools.mutations import Mutation, draw

ROOT = Path(__file__).parents[1]
MUTATED = ("learning", "lab", "stream", "service")
EXPLAINED = Path(__file__).with_name("mutants_explained.txt")
MOST_SURVIVORS = 0.10
TIMEOUT = 900  # seconds; a change that makes a loop endless is noticed by that


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant."""

    mutation: Mutation
    killed: bool
    by: str  # the test that failed first, or how it ended
    seconds: float

    def __str__(self) -> str:
        said = "killed  " if self.killed else "SURVIVED"
        return f"{said} {self.mutation} ({self.by}, {self.seconds:.0f} s)"


def judge(mutation: Mutation, copies: Copies, seen: Seen) -> Verdict:
    """Make the change in a copy, run its tests until one fails, and take the change back."""
    tests = seen.covering(copies.warm, mutation.file, mutation.line)
    begun = time.monotonic()
    with copies.changed(mutation) as copy:
        killed, by = _tested(copy, tests)
    return Verdict(mutation, killed, by, time.monotonic() - begun)


def _tested(copy: Path, tests: list[str]) -> tuple[bool, str]:
    words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=no"]
    with subprocess.Popen(
        [*words, *tests], cwd=copy, env=_environment(copy), text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as running:  # fmt: skip
        try:
            said, _ = running.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            return True, "ran out of time"
    failed = [line for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return running.returncode != 0, failed[0].split(" - ")[0] if failed else f"code {running.returncode}"


def _environment(copy: Path) -> dict[str, str]:
    paths = os.pathsep.join([str(copy / "src"), str(copy)])
    return {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}


def rehearse(root: Path, out: Path, packages: Iterable[str]) -> Seen:
    """Run the tests on unchanged code: their kernels are compiled, and who runs what is written down.

    Files of tests that the record holds already, over the same sources, are not run again. A test that
    fails here judges nothing.
    """
    missing = outdated(root, out, files_of_tests(root, packages))
    if missing:
        environment = _environment(root)
        environment["PYTHONPATH"] += os.pathsep + str(ROOT)  # for this tool
        subprocess.run(
            [sys.executable, "-m", "tools.mutant_tests", str(out), *missing], cwd=root, env=environment
        )
    return Seen.read(out)


def run(chosen: list[Mutation], out: Path, root: Path, *, workers: int = 1) -> list[Verdict]:
    """Judge those that the file does not hold yet; those that need no compiling first."""
    known = {verdict.mutation: verdict for verdict in read(out)} if out.exists() else {}
    todo = [mutation for mutation in chosen if mutation not in known]
    if todo:
        todo.sort(key=lambda one: touches_kernels(one, (root / one.file).read_text(encoding="utf-8")))
        for verdict in _judged(todo, out.resolve(), root, workers):
            known[verdict.mutation] = verdict
            with out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(verdict), ensure_ascii=False) + "\n")
            print(verdict, flush=True)
    return [known[mutation] for mutation in chosen]


def _judged(todo: list[Mutation], out: Path, root: Path, workers: int) -> Iterator[Verdict]:
    """Verdicts as they come; every worker has copies of its own."""
    packages = dict.fromkeys(Path(mutation.file).parts[2] for mutation in todo)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        seen = rehearse(root, out.with_suffix(".seen.jsonl"), packages)
        free: Queue[Copies] = Queue()
        for number in range(workers):
            free.put(Copies(root, Path(folder) / str(number)))

        def judged(mutation: Mutation) -> Verdict:
            copies = free.get()
            try:
                return judge(mutation, copies, seen)
            finally:
                free.put(copies)

        with ThreadPoolExecutor(workers) as pool:
            for done in as_completed([pool.submit(judged, mutation) for mutation in todo]):
                yield done.result()


def read(out: Path) -> list[Verdict]:
    """Verdicts that were written before."""
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    return [Verdict(Mutation(**row["mutation"]), row["killed"], row["by"], row["seconds"]) for row in rows]


def forget_survivors(out: Path) -> None:
    """Those that a test noticed stay in the file."""
    lines = out.read_text(encoding="utf-8").splitlines(keepends=True)
    out.write_text("".join(line for line in lines if json.loads(line)["killed"]), encoding="utf-8")


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
    parser.add_argument("--workers", type=int, default=1, help="changes tried side by side, one core each")
    parser.add_argument("--again", action="store_true", help="try those again that survived")
    asked = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background a shell has it ignored
    files = [file for name in MUTATED for file in (ROOT / "src" / "duelwise" / name).rglob("*.py")]
    chosen = draw(
        ROOT, [file for file in files if asked.only in file.as_posix()], count=asked.count, seed=asked.seed
    )
    if asked.again:
        forget_survivors(asked.out)
    verdicts = run(chosen, asked.out, ROOT, workers=asked.workers)
    text, share = report(verdicts, EXPLAINED.read_text() if EXPLAINED.exists() else "")
    print(text)
    return 1 if share > MOST_SURVIVORS else 0


if __name__ == "__main__":
    sys.exit(main())
