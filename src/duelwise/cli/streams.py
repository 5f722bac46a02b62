"""Commands about the streams of a store: create, look, import, export, back up, restore, repair."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from duelwise.cli.app import app
from duelwise.cli.places import existing
from duelwise.cli.serve import DEFAULT_STORE, StoreOption, StreamArgument, opened
from duelwise.errors import InvalidInput

File = Annotated[Path, typer.Argument(help="The file.", dir_okay=False)]


@app.command()
def create(
    stream: StreamArgument,
    context_dim: Annotated[int, typer.Option(help="Features known before serving.")],
    post_dim: Annotated[int, typer.Option(help="Features known after serving.")] = 0,
    recipe: Annotated[str, typer.Option(help="The method that chooses.")] = "rcdp-ucb",
    options: Annotated[str, typer.Option(help='JSON, such as {"exploration_width": 0.3}.')] = "{}",
    feature_names: Annotated[
        str, typer.Option(help="Separated by commas; those known after serving last.")
    ] = "",
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Create a stream; the same again changes nothing."""
    from duelwise.stream import DecisionStream, StreamSettings

    try:
        chosen = json.loads(options)
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"--options is {options!r}, which is no JSON: {error}. Expected such as '{{\"clip\": 0.3}}'."
        ) from error
    settings = StreamSettings(
        context_dim=context_dim,
        post_dim=post_dim,
        recipe=recipe,
        options=chosen,
        feature_names=tuple(name for name in feature_names.split(",") if name),
    )
    with opened(store, new=True) as at:
        DecisionStream.create(at, stream, settings).close()
    typer.echo(f"The stream {stream!r} is in {store}.")


@app.command()
def streams(store: StoreOption = DEFAULT_STORE) -> None:
    """List the streams of a store."""
    table = Table("stream", "duels", "events", "state")
    with opened(store) as at:
        for row in at.streams():
            state = "open" if row.damaged is None else f"read-only: event {row.damaged} is damaged"
            table.add_row(row.name, str(row.rounds), str(row.head), state)
    Console().print(table)


@app.command("import")
def import_(stream: StreamArgument, file: File, store: StoreOption = DEFAULT_STORE) -> None:
    """Learn from past duels in a .csv or .jsonl file; a file that is wrong anywhere changes nothing."""
    from duelwise.stream import DecisionStream
    from duelwise.stream.importing import import_duels

    with opened(store) as at, DecisionStream.open(at, stream) as target:
        new = import_duels(target, existing(file))
    typer.echo(f"{new} duels were imported into {stream!r}.")


@app.command()
def export(stream: StreamArgument, store: StoreOption = DEFAULT_STORE) -> None:
    """Write the log of a stream to the terminal, one JSON object a line."""
    from duelwise.stream.transfer import export_lines

    with opened(store) as at:
        for line in export_lines(at, stream):
            typer.echo(line)


@app.command()
def backup(stream: StreamArgument, file: File, store: StoreOption = DEFAULT_STORE) -> None:
    """Write the log of a stream to a file: whole, or not at all."""
    from duelwise.stream.transfer import backup as write

    with opened(store) as at:
        write(at, stream, file)
    typer.echo(f"{stream!r} is backed up in {file}.")


@app.command()
def restore(
    file: File,
    name: Annotated[str | None, typer.Option(help="Another name for the restored stream.")] = None,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Put a backed-up stream into a store, tickets and all."""
    from duelwise.stream.transfer import read_backup
    from duelwise.stream.transfer import restore as fill

    exported = read_backup(existing(file))
    with opened(store, new=True) as at:
        fill(at, exported, name=name)
    typer.echo(f"{name or exported.name!r} is restored in {store}.")


@app.command()
def verify(stream: StreamArgument, store: StoreOption = DEFAULT_STORE) -> None:
    """Check every event of a stream against its checksum; a damaged stream becomes read-only."""
    from duelwise.stream.repair import verify as look

    with opened(store) as at:
        damaged = look(at, stream)
    if damaged:
        typer.echo(
            f"Damaged or missing: {', '.join(map(str, damaged))}. `duelwise repair {stream}` sets them aside."
        )
        raise typer.Exit(1)
    typer.echo("Every event is as it was recorded.")


@app.command()
def repair(stream: StreamArgument, store: StoreOption = DEFAULT_STORE) -> None:
    """Set damaged events aside, keep them in a side table, and open the stream again."""
    from duelwise.stream.repair import repair as mend

    with opened(store) as at:
        done = mend(at, stream)
    if not done.damaged:
        typer.echo("Nothing is damaged; nothing was changed.")
        return
    typer.echo(f"Set aside: {', '.join(map(str, done.damaged))} (damaged).")
    if done.unsupported:
        typer.echo(f"And, since they make no sense without those: {', '.join(map(str, done.unsupported))}.")
    typer.echo(f"{done.kept} events are kept.")
