"""Commands that answer from a stream's votes: rank, best, raters, items, votes, audit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.console import Console

from duelwise.atomic_files import is_open_elsewhere, write_text, write_whole
from duelwise.cli.app import app
from duelwise.cli.given import given_options, option
from duelwise.cli.log_argument import LogArgument, lived
from duelwise.cli.outputs import HtmlOption, check_outputs, table_of
from duelwise.cli.places import existing
from duelwise.cli.serve import DEFAULT_STORE, StoreOption, StreamArgument, opened
from duelwise.errors import InvalidInput, UnknownItem

if TYPE_CHECKING:
    from duelwise.stream import DecisionStream
    from duelwise.stream.items import Put
    from duelwise.stream.operations import FromCatalogue

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Group = Annotated[str | None, typer.Option(help="Only the items of this group.")]
Ids = Annotated[list[str] | None, typer.Option("--id", help="Only this item; may be given several times.")]


@app.command()
def rank(
    stream: StreamArgument,
    group: Group = None,
    ids: Ids = None,
    adjust: Annotated[list[str] | None, typer.Option(help="A feature to hold equal.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many lines.")] = 20,
    clustered: Annotated[
        bool, typer.Option("--clustered", help="Intervals that allow for sources whose votes are alike.")
    ] = False,
    as_json: AsJson = False,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Rank the items of a stream, with intervals and the chance to be the best."""
    from duelwise.stream import DecisionStream

    with opened(store) as at, DecisionStream.open(at, stream) as target:
        found = target.rank(_chosen(group, ids), adjust=adjust or [], limit=limit, clustered=clustered)
    if as_json:
        bias = None if found.position_bias is None else found.position_bias._asdict()
        _print_json({"items": _plain(found.items), "settled": found.settled._asdict(), "position_bias": bias})
        return
    columns = ("rank", "id", "utility", "low", "high", "rank_low", "rank_high", "probability_best")
    _print_table(columns, [[getattr(item, name) for name in columns] for item in found.items])
    if found.position_bias is not None:
        bias = found.position_bias
        typer.echo(
            f"Being shown on the left adds {bias.estimate:+.3g} ({bias.low:+.3g} to {bias.high:+.3g}) to a "
            "utility; it is taken out."
        )
    verdict = found.settled
    several = len(verdict.leaders) > 1
    leaders = ", ".join(verdict.leaders)
    if verdict.settled:
        best = f"are settled as the {len(verdict.leaders)} best" if several else "is settled as the best"
        typer.echo(f"{leaders} {best} at level {verdict.level:.0%}.")
    elif verdict.votes_needed is None:
        typer.echo("Nothing is settled, and how many votes that takes cannot be foreseen yet.")
    else:
        high = "many" if verdict.votes_high is None else str(verdict.votes_high)
        typer.echo(
            f"{leaders} {'lead and are' if several else 'leads and is'} not settled: about "
            f"{verdict.votes_needed} more votes are needed ({verdict.votes_low} to {high})."
        )


@app.command()
def best(
    stream: StreamArgument,
    group: Group = None,
    ids: Ids = None,
    as_json: AsJson = False,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Name the item to serve when there is to be no duel."""
    from duelwise.stream import DecisionStream

    with opened(store) as at, DecisionStream.open(at, stream) as target:
        found = target.best(_chosen(group, ids))
    if as_json:
        _print_json(found._asdict())
    else:
        typer.echo(f"{found.id}, the best with chance {found.probability_best:.0%}.")


@app.command()
def raters(
    stream: StreamArgument,
    hold: Annotated[str | None, typer.Option(help="Hold this source back: its votes do not count.")] = None,
    release: Annotated[str | None, typer.Option(help="Let the votes of this source count again.")] = None,
    gold: Annotated[
        Path | None,
        typer.Option(help="A .csv or .jsonl of pairs, better and worse, whose votes are counted apart."),
    ] = None,
    as_json: AsJson = False,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Judge every source of votes; hold one back, or take it back."""
    from duelwise.stream import DecisionStream
    from duelwise.stream.gold import read_gold

    known = [] if gold is None else read_gold(existing(gold))

    with opened(store) as at, DecisionStream.open(at, stream) as target:
        if hold is not None:
            target.hold_source(hold)
        if release is not None:
            target.release_source(release)
        target.wait_for_background()
        found = target.raters(gold=known)
    if as_json:
        _print_json({"raters": _plain(found)})
        return
    columns = (
        "source",
        "votes",
        "agreement",
        "reliability",
        "low",
        "high",
        "left_share",
        "flag",
        "held",
        "distrusted",
        *(("gold_votes", "gold_right") if known else ()),
    )
    _print_table(columns, [[getattr(one, name) for name in columns] for one in found])


@app.command()
def items(
    context: typer.Context,
    stream: StreamArgument,
    load: Annotated[
        Path | None, typer.Option(help="Add or change the items of this .csv, .jsonl or .parquet file.")
    ] = None,
    withdraw: Annotated[list[str] | None, typer.Option(help="Offer this item no longer.")] = None,
    group: Group = None,
    limit: Annotated[int, typer.Option(min=1, help="How many lines.")] = 20,
    as_json: AsJson = False,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Show the catalogue of a stream, load items, or withdraw them."""
    from duelwise.stream import DecisionStream

    if load is not None or withdraw:
        _refuse_beside_editing(given_options(context))
    with opened(store) as at, DecisionStream.open(at, stream) as target:
        if load is not None or withdraw:
            _edit(target, load, withdraw or (), as_json=as_json)
            return
        page = target.catalogue.page(group=group, after=None, limit=limit)
        names = target.settings.context_names
        total = len(target.catalogue)
    rows = [{"id": one.id, "group": one.group, "features": one.x.tolist()} for one in page]
    if as_json:
        _print_json({"items": rows, "total": total})
        return
    _print_table(("id", "group", *names), [[one.id, one.group, *one.x.tolist()] for one in page])
    typer.echo(f"{total} items in all.")


def _edit(target: DecisionStream, load: Path | None, withdraw: Sequence[str], *, as_json: bool) -> None:
    from duelwise.stream.catalogue import check_ids

    check_ids(withdraw)  # before anything is loaded
    put = None if load is None else target.put_items(existing(load))
    try:
        withdrawn = target.withdraw_items(withdraw) if withdraw else None
    except UnknownItem as error:
        if put is not None:
            raise UnknownItem(f"{error} The items of {load} were loaded.") from error
        raise
    _tell_edited(put, withdrawn, as_json=as_json)


def _refuse_beside_editing(given: dict[str, object]) -> None:
    for name in ("group", "limit"):
        if name in given:
            raise InvalidInput(
                f"{option(name)} is {given[name]!r:.80}, but it is for showing the catalogue. Expected it "
                "without --load and --withdraw: leave it out; a file says the group of each item itself."
            )


@app.command()
def votes(
    stream: StreamArgument,
    file: Annotated[Path, typer.Argument(help="The file to write.", dir_okay=False)],
    format: Annotated[
        str | None, typer.Option(help="csv, parquet, jsonl or preferences; else by the file's ending.")
    ] = None,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Write every vote that counts as a table, or as preferences (prompt, chosen, rejected)."""
    from duelwise.stream import DecisionStream
    from duelwise.stream.tables import votes_as

    with opened(store) as at, DecisionStream.open(at, stream) as target:
        content = votes_as(target, format or file.suffix.removeprefix("."))
    write_whole(file, lambda partial: partial.write_bytes(content))
    typer.echo(f"The votes of {stream!r} are in {file}.", err=is_open_elsewhere(file))


@app.command()
def audit(
    log: LogArgument,
    html: HtmlOption = None,
    groups: Annotated[
        Path | None, typer.Option(help="A JSON file that gives the group of each source.")
    ] = None,
    as_json: AsJson = False,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Look at every vote: weight, surprise, influence; and whether a group of voters is held back."""
    check_outputs(html=html)
    named = None if groups is None else _groups(existing(groups))
    with lived(log, store) as target:
        name, found = target.name, target.audit(groups=named)
    if html is not None:
        from duelwise.stream.audit_page import audit_page

        write_text(html, audit_page(name, found))
        typer.echo(f"The page is {html}.", err=as_json)
    if as_json:
        _print_json(
            found._asdict() | {"groups": [one._asdict() for one in found.groups], "alarms": found.alarms}
        )
        return
    typer.echo(f"{found.votes} votes; {found.pivotal_votes} of them would change the leader by themselves.")
    columns = ("group", "votes", "held_back", "outvoted", "outvoted_low", "outvoted_high", "leader_without")
    rows = [one._asdict() | one.check._asdict() for one in found.groups]
    _print_table(columns, [[row[name] for name in columns] for row in rows])
    for alarm in found.alarms:
        typer.echo(alarm)


def _tell_edited(put: Put | None, withdrawn: int | None, *, as_json: bool) -> None:
    if as_json:
        done = {} if put is None else put._asdict()
        _print_json(done if withdrawn is None else done | {"withdrawn": withdrawn})
        return
    if put is not None:
        typer.echo(f"{put.added} items were added, {put.changed} changed, {put.same} are the same.")
    if withdrawn is not None:
        typer.echo(f"{withdrawn} items were withdrawn.")


def _chosen(group: str | None, ids: list[str] | None) -> FromCatalogue:
    from duelwise.stream.operations import FromCatalogue

    return FromCatalogue(tuple(ids) if ids else None, group)


def _groups(file: Path) -> dict[str, str]:
    from duelwise.text_files import opened_text

    try:
        with opened_text(file) as text:
            content = json.load(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{file} is no JSON: {error}. Expected an object of sources and groups."
        ) from error
    if not isinstance(content, dict):
        raise InvalidInput(f"{file} is no object; expected the group of each source by its name.")
    for source, group in cast("dict[str, object]", content).items():
        if not isinstance(group, str):
            raise InvalidInput(f"{file} has {group!r:.80} as the group of {source!r:.80}; expected text.")
    return cast("dict[str, str]", content)


def _plain(rows: Sequence[Any]) -> list[dict[str, object]]:
    return [row._asdict() for row in rows]


def _print_json(content: object) -> None:
    typer.echo(json.dumps(content, ensure_ascii=False, default=_asdict))


def _asdict(value: Any) -> object:
    return value._asdict()


def _print_table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    heads = [name.replace("_", " ") for name in columns]
    Console().print(table_of(heads, [[_text(value) for value in row] for row in rows]))


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    return "" if value is None or value is False else "yes" if value is True else str(value)
