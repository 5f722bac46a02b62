"""Commands that live through a log again: evaluate, stress."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from duelwise.atomic_files import write_text
from duelwise.cli.app import app
from duelwise.cli.log_argument import LogArgument, log_of
from duelwise.cli.outputs import (
    HtmlOption,
    JsonOption,
    PlotOption,
    QuietOption,
    check_outputs,
    console,
    table_of,
    write_json,
)
from duelwise.cli.serve import DEFAULT_STORE, StoreOption
from duelwise.errors import InvalidInput

RecipesOption = Annotated[
    str, typer.Option(help="Recipes to compare, as live,rcdp-ucb; the stream's own where not given.")
]


@app.command()
def evaluate(
    log: LogArgument,
    recipes: RecipesOption = "",
    folds: Annotated[
        int, typer.Option(min=0, help="Folds that votes are held out by; 0 leaves that part away.")
    ] = 5,
    seed: Annotated[int, typer.Option(min=0, help="Of the folds.")] = 0,
    json_file: JsonOption = None,
    plot_file: PlotOption = None,
    html_file: HtmlOption = None,
    quiet: QuietOption = False,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Show how well recipes foresee the votes of a log, beside an offline fit to all of them."""
    from duelwise.stream.evaluating import Folds
    from duelwise.stream.evaluating import evaluate as look
    from duelwise.stream.evaluation_page import COLUMNS, evaluation_page, plain, rows_of, sentence

    if folds == 1:
        raise InvalidInput("--folds is 1; expected at least 2, or 0 to leave that part away.")
    check_outputs(json=json_file, plot=plot_file, html=html_file)
    lived = log_of(log, store)
    found = look(
        lived.settings, lived.log, upto=lived.log.head,
        recipes=named(recipes), folds=Folds(folds, seed) if folds else None,
    )  # fmt: skip
    if plot_file is not None:
        from duelwise.cli.pictures import draw_evaluation

        draw_evaluation(plot_file, found)
    write_json(json_file, lambda: plain(found))
    _write_page(html_file, lambda: evaluation_page(lived.name, found))
    out = console(quiet=quiet, json=json_file)
    _tell(out, sentence(found), table_of(COLUMNS, rows_of(found)))
    out.print(found.policy_value, highlight=False)


@app.command()
def stress(
    log: LogArgument,
    lies: Annotated[
        str, typer.Option(help="The share of votes that are turned round; several as 0.01,0.05,0.1.")
    ] = "0.05",
    attack: Annotated[
        str,
        typer.Option(
            help="Who lies: strategic, where it moves the leader most; random; source: whole sources."
        ),
    ] = "strategic",
    late: Annotated[int, typer.Option(min=0, help="Duels that votes come late, in the mean.")] = 0,
    recipes: RecipesOption = "",
    seed: Annotated[int, typer.Option(min=0, help="Of random and source.")] = 0,
    json_file: JsonOption = None,
    plot_file: PlotOption = None,
    html_file: HtmlOption = None,
    quiet: QuietOption = False,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Show how the ranking would have changed, had some votes of a log been lies or late."""
    from duelwise.stream.stress_page import COLUMNS, plain, rows_of, sentence, stress_page
    from duelwise.stream.stressing import stress as strain

    check_outputs(json=json_file, plot=plot_file, html=html_file)
    shares = [_share(text) for text in named(lies)]
    if not shares:
        raise InvalidInput(f"--lies is {lies!r}; expected at least one share from 0 to 1, as 0.05,0.1.")
    lived = log_of(log, store)
    found = strain(
        lived.settings, lived.log, upto=lived.log.head, attack=attack, lies=shares, late=late,
        recipes=named(recipes), seed=seed,
    )  # fmt: skip
    if plot_file is not None:
        from duelwise.cli.pictures import draw_stress

        draw_stress(plot_file, found)
    write_json(json_file, lambda: plain(found))
    _write_page(html_file, lambda: stress_page(lived.name, found))
    _tell(console(quiet=quiet, json=json_file), sentence(found), table_of(COLUMNS, rows_of(found)))


def _write_page(file: Path | None, made: Callable[[], str]) -> None:
    if file is not None:
        write_text(file, made())


def _tell(out: Console, sentence: str, table: Table) -> None:
    out.print(sentence, highlight=False)
    out.print(table)


def _share(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise InvalidInput(f"--lies holds {text!r}; expected shares from 0 to 1, as 0.05,0.1.") from error


def named(recipes: str) -> list[str]:
    """Names between commas."""
    return [name.strip() for name in recipes.split(",") if name.strip()]
