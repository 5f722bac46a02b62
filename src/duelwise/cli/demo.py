"""`duelwise demo`: the paper's headline comparison, small and honest."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from duelwise.atomic_files import write_text
from duelwise.cli.app import app
from duelwise.cli.interrupting import interruptible
from duelwise.cli.outputs import QuietOption, check_outputs, console, write_json
from duelwise.cli.standings import HEAD, as_plain, describe, draw, hold, rows, table
from duelwise.lab.paper.asked import asked
from duelwise.lab.play.delays import StrategicDelay


@app.command()
def demo(
    folder: Annotated[Path, typer.Option(help="Where the figure, the table and the numbers go.")] = Path(
        "demo"
    ),
    quiet: QuietOption = False,
) -> None:
    """Five methods, late and lying votes, y unknown until served: a figure and a table in about a minute."""
    picture, numbers, ranking = folder / "regret.png", folder / "regret.json", folder / "table.md"
    check_outputs(plot=picture, json=numbers)
    study = asked("post-serving", mapping="abs", delay=StrategicDelay(budget=10_000))
    out = console(quiet=quiet)
    out.print(
        "Ten candidates a round, utility in (x, |x|), |x| seen only after serving. An adversary flips the "
        "first 25 right votes and holds others back 100 rounds each. All methods learn φ by an additive "
        "spline; settings are the published ones. The first run also compiles, which takes half the time."
    )
    with interruptible("Nothing was written; compiled code is kept, so the next start is quicker."):
        standings = hold(study, quiet=quiet)
    out.print(table(standings))
    out.print(describe(study))
    title = "Cumulative regret: published settings, spline φ̂"
    draw(standings, {}, title=title, plot=picture, html=None)
    write_json(numbers, lambda: as_plain(study, standings, {}))
    lines = (HEAD, ("---",) * len(HEAD), *rows(standings))
    written = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    write_text(ranking, f"{title}\n\n{written}\n\n{describe(study)}\n")
    for path in (picture, ranking, numbers):
        out.print(f"Wrote {path}", soft_wrap=True)
    out.print(
        "Published settings favour RCDP-UCB: its baselines take one online step on predicted features. "
        "Under one treatment for all, the order changes: duelwise run post-serving --protocol fair"
    )
