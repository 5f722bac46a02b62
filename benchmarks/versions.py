"""This version beside another one, in turns: the first start, folding a stored log, playing and deciding.

    python -m benchmarks.versions --today PATH/src [--repeats 3] [--page docs/performance.md]

Everything is processor time, each measurement in a process of its own. A first start is that of a fresh
install: its folder of compiled kernels is empty. Each version folds the log that it has written itself, of
the same asks, contexts and votes (K = 10, 10 features, the version's default recipe). Each plays and decides
by the benchmarks of its own checkout, compiled before; the best of a few times.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.processes import ROOT, SERVE
from benchmarks.timing import write_between_marks

LOGS = ((10_000, 0), (10_000, 2), (40_000, 0), (40_000, 2))  # duels and post_dim of logs that are folded
FIRST_ANSWERS = """
import sys, time, numpy as np
from duelwise.stream import DecisionStream, StreamSettings
settings = StreamSettings(context_dim=10, post_dim=2)
stream = DecisionStream.create("sqlite:///" + sys.argv[1], "first", settings)
duel = stream.ask(np.random.default_rng(0).normal(size=(10, 10)))
stream.observe(duel.ticket, [1.0, 2.0], [3.0, 4.0])
stream.tell(duel.ticket, "left")
print(time.process_time())
"""
FIRST_THOUSAND = """
import sys, time, numpy as np
from duelwise.stream import DecisionStream, StreamSettings
settings = StreamSettings(context_dim=10, post_dim=2)
stream, rng = DecisionStream.create("sqlite:///" + sys.argv[1], "first", settings), np.random.default_rng(0)
for x in rng.normal(size=(1000, 10, 10)):
    duel = stream.ask(x)
    stream.observe(duel.ticket, [1.0, 2.0], [3.0, 4.0])
    stream.tell(duel.ticket, "left")
print(time.process_time())
"""
FIVE_METHODS = f"""
import sys, time
sys.argv[1:] = ["run", "linear", "--runs", "2", "--horizon", "100"]
try:
    {SERVE}
finally:
    print(time.process_time())
"""
WRITE = """
import sys, numpy as np
from duelwise.stream import DecisionStream, StreamSettings
from duelwise.stream.operations import Ask, Observe, Tell
path, post_dim, duels = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
settings = StreamSettings(context_dim=10, post_dim=post_dim)
stream, rng = DecisionStream.create("sqlite:///" + path, "log", settings), np.random.default_rng(0)
for _ in range(duels // 100):
    asked = stream.run([Ask(x) for x in rng.normal(size=(100, 10, 10))])
    y = rng.normal(size=(100, 2, post_dim)).tolist()
    if post_dim:
        stream.run([Observe(duel.ticket, *one) for duel, one in zip(asked, y)])
    stream.run([Tell(duel.ticket, ("left", "right")[int(rng.integers(2))]) for duel in asked])
stream.close()
"""
FOLD = """
import sys, time
from duelwise.storage import open_store
from duelwise.stream import StreamSettings
from duelwise.stream.folding import fold
try:
    from duelwise.stream.logs import StoredLog
except ImportError:
    from duelwise.stream.folding import StoredLog  # in 0.1
store = open_store("sqlite:///" + sys.argv[1])
row = store.stream("log")
settings, log = StreamSettings.from_json(row.settings), StoredLog(store, row.id)
fold(settings, log, upto=300)
begun = time.process_time()
fold(settings, log, upto=row.head)
print(row.head / (time.process_time() - begun))
"""
COMPILED = """
try:
    from duelwise.learning.core.deferred_compilation import patience
    at_once = patience(0.0)
    at_once.__enter__()
except ImportError:
    pass  # 0.1 compiles at once
"""
"""What is timed is compiled, whether or not an earlier process has left its kernels on the disk."""
BEST = """
taken = []
for _ in range(int(sys.argv[1])):
    begun = time.process_time()
    work()
    taken.append(time.process_time() - begun)
print(min(taken))
"""
PLAY = f"""{COMPILED}
import sys, time
from benchmarks.laboratory import ours
settings = dict(word.split("=") for word in sys.argv[2:])
ours(runs=2, horizon=20, **settings)
work = lambda: ours(**settings)
{BEST}"""
DECIDE = f"""{COMPILED}
import sys, time
from benchmarks.live import ours
work = ours()
work()
{BEST}"""
PLAYED = {
    "linear, exact MLE each round": (7, ()),
    "linear, one pass": (7, ("estimate=one-pass",)),
    "abs, spline": (5, ("mapping=abs", "post_serving=spline")),
    "abs, the paper's network": (2, ("mapping=abs", "post_serving=mlp")),
}
"""Rows of the table of limits: how often each is played, and what."""


def measured(program: str, source: Path, *words: str, kernels: str | None = None) -> float:
    """What a program prints last, run with the package of this folder."""
    paths = os.pathsep.join([str(source), str(source.parent)])  # the version's own benchmarks stand there
    places = {"PYTHONPATH": paths} | ({} if kernels is None else {"NUMBA_CACHE_DIR": kernels})
    done = subprocess.run(
        [sys.executable, "-c", program, *words], env={**os.environ, "OMP_NUM_THREADS": "1", **places},
        check=True, capture_output=True, text=True, cwd=tempfile.gettempdir(),
    )  # fmt: skip
    return float(done.stdout.split()[-1]) if done.stdout else 0.0


def first_start(program: str, source: Path) -> float:
    """Seconds from an empty folder of kernels."""
    with tempfile.TemporaryDirectory() as folder:
        return measured(program, source, f"{folder}/first.db", kernels=f"{folder}/kernels")


def lines(today: Path, repeats: int) -> list[str]:
    """A row for each work."""
    versions, found = {"this": ROOT / "src", "other": today}, list[str]()
    for name, program in (
        ("first ask + observe + tell of a fresh install", FIRST_ANSWERS),
        ("a thousand times ask + observe + tell, fresh install", FIRST_THOUSAND),
        ("five methods on the linear task, two runs of 100 rounds, fresh install", FIVE_METHODS),
    ):
        taken = [{key: first_start(program, at) for key, at in versions.items()} for _ in range(repeats)]
        found.append(_line(name, taken, "{:.1f} s", "this"))
    for duels, post_dim in LOGS:
        with tempfile.TemporaryDirectory() as folder:
            for key, at in versions.items():
                measured(WRITE, at, f"{folder}/{key}.db", str(post_dim), str(duels))
            taken = [
                {key: measured(FOLD, at, f"{folder}/{key}.db") for key, at in versions.items()}
                for _ in range(repeats)
            ]
        name = f"folding a log of {duels:,} duels, post_dim = {post_dim}"
        found.append(_line(name, taken, "{:,.0f} events/s", "other"))
    works = [(name, PLAY, (str(times), *words)) for name, (times, words) in PLAYED.items()]
    for name, program, words in [*works, ("3000 live decisions in memory, K = 10, d = 20", DECIDE, ("5",))]:
        taken = [{key: measured(program, at, *words) for key, at in versions.items()} for _ in range(repeats)]
        found.append(_line(name, taken, "{:.3f} s", "this"))
    return found


def _line(name: str, taken: list[dict[str, float]], shown: str, below: str) -> str:
    """The median of both and of their ratio: how many times as fast this version is."""
    above = "other" if below == "this" else "this"
    ratios = [one[above] / one[below] for one in taken]
    this, other = (shown.format(statistics.median(one[key] for one in taken)) for key in ("this", "other"))
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    return f"| {name} | {this} | {other} | {statistics.median(ratios):.2f}× ({spread}) |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--today", type=Path, required=True, help="the src folder of the other version")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--page", type=Path, help="a page to write the table into, between its marks")
    given = parser.parse_args()
    head = "| processor time | this version | the other | as fast |\n|---|---|---|---|"
    text = "\n".join([head, *lines(given.today.resolve(), given.repeats), ""])
    print(text)
    if given.page is not None:
        write_between_marks(given.page, "versions", text)


if __name__ == "__main__":
    main()
