"""Commands about the streams of a store: create, look, change, move, repair."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import MofNCompleteColumn, Progress

from duelwise.atomic_files import is_open_elsewhere
from duelwise.cli.app import app
from duelwise.cli.outputs import JsonOption, check_outputs, console, table_of, write_json
from duelwise.cli.places import existing
from duelwise.cli.serve import DEFAULT_STORE, StoreOption, StreamArgument, opened
from duelwise.cli.setting_options import with_settings
from duelwise.types import JSON

Source = Annotated[str, typer.Argument(help="The source, as the votes name it.")]
File = Annotated[Path, typer.Argument(help="The file.", dir_okay=False)]


@app.command()
@with_settings
def create(stream: StreamArgument, *, settings: dict[str, JSON], store: StoreOption = DEFAULT_STORE) -> None:
    """Create a stream; the same again changes nothing."""
    with opened(store, new=True) as at:
        from duelwise.stream import DecisionStream, StreamSettings

        DecisionStream.create(at, stream, StreamSettings.from_dict(settings)).close()
    typer.echo(f"The stream {stream!r} is in {store}.")


@app.command()
def streams(store: StoreOption = DEFAULT_STORE, json_file: JsonOption = None) -> None:
    """List the streams of a store."""
    check_outputs(json=json_file)
    with opened(store) as at:
        rows = at.streams()
    write_json(
        json_file,
        lambda: [
            {"stream": row.name, "duels": row.rounds, "events": row.head, "damaged": row.damaged}
            for row in rows
        ],
    )
    told = [
        (row.name, str(row.rounds), str(row.head),
         "open" if row.damaged is None else f"read-only: event {row.damaged} is damaged")
        for row in rows
    ]  # fmt: skip
    console(quiet=False, json=json_file).print(table_of(("stream", "duels", "events", "state"), told))


@app.command("import")
def import_(stream: StreamArgument, file: File, store: StoreOption = DEFAULT_STORE) -> None:
    """Learn from past duels in a .csv or .jsonl file; a file that is wrong anywhere changes nothing."""
    from duelwise.stream import DecisionStream
    from duelwise.stream.importing import import_duels

    with (
        opened(store) as at,
        DecisionStream.open(at, stream) as target,
        Progress(*Progress.get_default_columns(), MofNCompleteColumn(), transient=True) as bar,
    ):
        task = bar.add_task(f"{escape(file.name)} into {escape(stream)}", total=None)
        new = import_duels(
            target,
            existing(file),
            on_progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
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
    typer.echo(f"{stream!r} is backed up in {file}.", err=is_open_elsewhere(file))


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
@with_settings
def derive(
    file: File,
    name: Annotated[str, typer.Argument(help="The name of the new stream.")],
    columns: Annotated[
        str, typer.Option(help="Features to keep, as price,rating=stars: a new name before the old one.")
    ] = "",
    *,
    settings: dict[str, JSON],
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Make a new stream from a backup: some of its features, under other names, and other settings."""
    from duelwise.stream.transfer import derive_columns, read_backup

    exported = read_backup(file)
    kept = [column.rpartition("=") for column in columns.split(",") if column]
    chosen = {new or old: old for new, _, old in kept} or {
        one: one for one in exported.settings.feature_names
    }
    with opened(store) as at:
        derive_columns(at, name, exported, chosen, settings)
    typer.echo(f"{name!r} has lived through {exported.log.head} events of {exported.name!r}.")


@app.command("stream-report")
def stream_report(
    stream: StreamArgument,
    clustered: Annotated[
        bool, typer.Option("--clustered", help="Intervals that allow for sources whose votes are alike.")
    ] = False,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Write what a stream has learned, from whom, and how sure it is, as JSON."""
    from duelwise.stream import DecisionStream

    with opened(store) as at, DecisionStream.open(at, stream) as target:
        typer.echo(json.dumps(target.report(clustered=clustered).to_dict(), indent=2))


@app.command()
def retract(
    stream: StreamArgument,
    tickets: Annotated[list[str], typer.Argument(help="Tickets whose votes shall not count.")],
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Take back votes; what was learned from them is unlearned."""
    from duelwise.stream import DecisionStream

    with opened(store) as at, DecisionStream.open(at, stream) as target:
        changed = sum(target.retract(ticket).changed for ticket in tickets)
    typer.echo(f"{changed} votes of {stream!r} were retracted.")


@app.command("retract-source")
def retract_source(stream: StreamArgument, source: Source, store: StoreOption = DEFAULT_STORE) -> None:
    """Take back every vote of a source."""
    from duelwise.stream import DecisionStream

    with opened(store) as at, DecisionStream.open(at, stream) as target:
        changed = target.retract_source(source)
    typer.echo(f"{changed} votes of {source!r} were retracted from {stream!r}.")


@app.command("erase-source")
def erase_source(stream: StreamArgument, source: Source, store: StoreOption = DEFAULT_STORE) -> None:
    """Put a pseudonym in the place of a source's name; votes stay, and so does what was learned."""
    from duelwise.stream.erasing import erase_source as erase

    with opened(store) as at:
        pseudonym = erase(at, stream, source)
    typer.echo(f"The source is called {pseudonym!r} now. Backups made before still hold its name.")


@app.command()
def expire(
    stream: StreamArgument,
    older_than: Annotated[
        float | None, typer.Option(min=0, help="Seconds; the stream's own limit where not given.")
    ] = None,
    confirm_clock: Annotated[
        bool, typer.Option(help="This machine's clock is right, however far it is ahead of the log.")
    ] = False,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Close the duels that have waited too long."""
    from duelwise.stream import DecisionStream

    with opened(store) as at, DecisionStream.open(at, stream) as target:
        closed = target.expire(older_than, confirm_clock=confirm_clock)
        jump = target.report().clock_jump_seconds
    typer.echo(f"{closed} duels of {stream!r} were closed.")
    if jump:
        typer.echo(
            f"The clock is {jump / 86400:.1f} days ahead of the stream's last events, and is not "
            "believed yet. If it is right, say --confirm-clock."
        )


@app.command()
def verify(stream: StreamArgument, store: StoreOption = DEFAULT_STORE, json_file: JsonOption = None) -> None:
    """Check the database and replay a stream's log; a damaged stream becomes read-only."""
    from duelwise.stream.repair import verify as look

    check_outputs(json=json_file)
    with opened(store) as at:
        findings = look(at, stream)
    write_json(json_file, lambda: {"stream": stream, "findings": [finding.says for finding in findings]})
    say = console(quiet=False, json=json_file)
    for finding in findings:
        say.print(finding.says, soft_wrap=True)
    if findings:
        say.print(
            f"`duelwise repair {stream}` sets right what follows from the log, and keeps what it cuts.",
            soft_wrap=True,
        )  # fmt: skip
        raise typer.Exit(1)
    say.print("Every event is as it was recorded, and everything else follows from the log.", soft_wrap=True)


@app.command()
def repair(stream: StreamArgument, store: StoreOption = DEFAULT_STORE) -> None:
    """Set damaged events aside, write anew what follows from the log, and open the stream again."""
    from duelwise.stream.repair import KEPT_IN
    from duelwise.stream.repair import repair as mend

    with opened(store) as at:
        done = mend(at, stream)
    if not done.changed:
        typer.echo("Nothing is damaged; nothing was changed.")
        return
    if done.damaged:
        typer.echo(f"Set aside: {', '.join(map(str, done.damaged))} (damaged or missing).")
    if done.unsupported:
        typer.echo(f"Set aside, since they cannot have happened: {', '.join(map(str, done.unsupported))}.")
    if done.damaged or done.unsupported:
        typer.echo(f"What was set aside is kept in the table {KEPT_IN}.")
    if done.recounted:
        typer.echo("Events and duels were counted again.")
    typer.echo(
        f"{done.kept} events are kept, {done.tickets} tickets were written anew, "
        f"{done.snapshots} damaged snapshots dropped."
    )
