"""Where a command's numbers go besides the terminal: JSON, a picture, a page. Checked before any work."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from duelwise.atomic_files import write_text
from duelwise.errors import InvalidInput, require
from duelwise.lab.cells.codec import Plain

PICTURES = (".png", ".pdf", ".svg")
PAGES = (".html", ".htm")

JsonOption = Annotated[
    Path | None, typer.Option("--json", metavar="FILE", help="Write everything to this file; - prints it.")
]
PlotOption = Annotated[
    Path | None, typer.Option("--plot", metavar="FILE", help="Draw to this PNG, PDF or SVG.")
]
HtmlOption = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Draw to this page, interactive, no network.")
]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


def check_outputs(*, json: Path | None = None, plot: Path | None = None, html: Path | None = None) -> None:
    """Refuse, before anything is played, what could not be written afterwards."""
    if plot is not None:
        _check_ending(plot, PICTURES, "--plot")
        require("matplotlib", extra="lab", purpose="Drawing")
        check_writable(plot.parent)
    if html is not None:
        _check_ending(html, PAGES, "--html")
        require("plotly", extra="lab", purpose="An interactive page")
        check_writable(html.parent)
    if json is not None and str(json) != "-":
        check_writable(json.parent)


def check_writable(folder: Path) -> None:
    """Refuse a folder that is none, or in which nothing can be written."""
    nearest = folder.absolute()
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise InvalidInput(
            f"The folder {folder} cannot be written: {nearest} is "
            f"{'read-only for you' if nearest.is_dir() else 'no folder'}. "
            "Expected one that may be written: choose another."
        )


def table_of(columns: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "") -> Table:
    """Text in columns, as it is: no word of it is a style, and a name that does not fit is folded, not cut.

    A column that is empty in every row is left out.
    """
    shown = [k for k in range(len(columns)) if not rows or any(row[k] for row in rows)]
    table = Table(title=Text(title) if title else None)
    for k in shown:
        table.add_column(Text(columns[k]), overflow="fold")
    for row in rows:
        table.add_row(*(Text(row[k]) for k in shown))
    return table


def write_json(path: Path | None, content: Callable[[], Plain]) -> None:
    """The content as JSON, to a file or, for -, to the terminal."""
    if path is None:
        return
    text = json.dumps(_finite(content()), ensure_ascii=False, allow_nan=False)
    if str(path) == "-":
        typer.echo(text)
    else:
        write_text(path, text)


def _finite(value: Plain) -> Plain:
    """The same with null for numbers that JSON has no word for: what cannot be told, or has no bound."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_finite(one) for one in value]
    return value


def console(*, quiet: bool, json: Path | None = None) -> Console:
    """The terminal; silent when asked, or when a program reads JSON from it. Brackets are no style."""
    return Console(quiet=quiet or str(json) == "-", markup=False)


def _check_ending(path: Path, endings: tuple[str, ...], option: str) -> None:
    if path.suffix.lower() not in endings:
        raise InvalidInput(
            f"{option} is {str(path)!r}. Expected a file that ends in {', '.join(endings)}: rename it."
        )
