"""`duelwise serve` and `duelwise keys`: streams over HTTP, and who may use them."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from duelwise.cli.app import app
from duelwise.cli.outputs import JsonOption, check_outputs, console, table_of, write_json
from duelwise.cli.places import refuse_absent, refuse_taken
from duelwise.errors import require

if TYPE_CHECKING:
    from duelwise.service import ServiceSettings
    from duelwise.storage import Store

DEFAULT_STORE = "sqlite:///duels.db"
StoreOption = Annotated[
    str,
    typer.Option(
        "--store", envvar="DUELWISE_STORE", help="sqlite:///file.db or postgresql://user@host/name."
    ),
]
StreamArgument = Annotated[str, typer.Argument(help="The name of the stream.")]
Limit = int | None

keys = typer.Typer(no_args_is_help=True, help="Keys of the service: bearer tokens, stored as hashes.")
app.add_typer(keys, name="keys")


@contextmanager
def opened(address: str, *, new: bool = False) -> Generator[Store]:
    """The store at an address, for the time of a command; only where `new` may one be made."""
    from duelwise.storage import open_store

    if not new:
        refuse_absent(address)
    store = open_store(address)
    try:
        yield store
    finally:
        store.close()


@app.command()
def serve(
    store: StoreOption = DEFAULT_STORE,
    host: Annotated[
        str, typer.Option(help="Address to listen on; other than loopback needs a key.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, help="Processes that share the store and the port.")] = 1,
    body_limit: Annotated[Limit, typer.Option(help="Bytes of a request.")] = None,
    candidate_limit: Annotated[Limit, typer.Option(help="Candidates of an ask.")] = None,
    feature_limit: Annotated[
        Limit, typer.Option(help="context_dim and post_dim of a new stream together.")
    ] = None,
    batch_limit: Annotated[Limit, typer.Option(help="Items of a batch.")] = None,
    queue_limit: Annotated[Limit, typer.Option(help="Operations that may wait for one stream.")] = None,
) -> None:
    """Serve streams over HTTP until interrupted. Limits may also be set as DUELWISE_BODY_LIMIT and so on."""
    require("uvicorn", extra="service", purpose="The HTTP service")
    from duelwise.service import ServiceSettings
    from duelwise.service.serving import check_reach
    from duelwise.service.serving import serve as run

    settings = _with(
        ServiceSettings.from_environment(),
        body_limit=body_limit,
        candidate_limit=candidate_limit,
        feature_limit=feature_limit,
        batch_limit=batch_limit,
        queue_limit=queue_limit,
    )
    check_reach(store, host)
    refuse_taken(host, port)
    shown = f"[{host}]" if ":" in host else host
    typer.echo(f"Serving on http://{shown}:{port} (streams at /, interface at /docs). Ctrl-C ends it.")
    run(store, settings, host=host, port=port, workers=workers)


@app.command("warm")
def warm_up(
    store: Annotated[
        str | None, typer.Option("--store", help="Also compile what the streams of this store use.")
    ] = None,
) -> None:
    """Compile the learner ahead, while an image is built or before a service is started."""
    from duelwise.stream import StreamSettings
    from duelwise.stream.warming import kinds, warm

    texts: list[str] = []
    if store is not None:
        with opened(store) as at:
            texts = [row.settings for row in at.streams()]
    for number, text in enumerate(found := kinds(texts), start=1):
        settings = StreamSettings.from_json(text)
        typer.echo(f"Compiling {number} of {len(found)}: {settings.recipe}, post_dim {settings.post_dim} …")
        began = time.perf_counter()
        warm(settings)
        typer.echo(f"  done in {time.perf_counter() - began:.1f} s")


def _with(settings: ServiceSettings, **limits: Limit) -> ServiceSettings:
    """The settings with the limits that were given."""
    return replace(settings, **{name: limit for name, limit in limits.items() if limit is not None})


@keys.command("add")
def add(
    name: Annotated[str, typer.Argument(help="What you will call the key.")],
    role: Annotated[str, typer.Option(help="read, write or admin; each may do what those before it may.")],
    stream: Annotated[str | None, typer.Option(help="Allow this stream alone.")] = None,
    store: StoreOption = DEFAULT_STORE,
) -> None:
    """Make a key and show its token, this once."""
    from duelwise.service.auth import add_key

    with opened(store, new=True) as at:
        token = add_key(at, name=name, role=role, stream=stream, at=time.time())
    typer.echo(token)
    typer.echo(
        "Keep the token now: only its hash is stored. Send it as Authorization: Bearer <token>.", err=True
    )


@keys.command("list")
def list_keys(store: StoreOption = DEFAULT_STORE, json_file: JsonOption = None) -> None:
    """Show all keys, revoked ones too."""
    check_outputs(json=json_file)
    with opened(store) as at:
        found = at.keys.all()
    write_json(
        json_file,
        lambda: [
            {"name": key.name, "role": key.role, "stream": key.stream, "made": key.created_at,
             "revoked": key.revoked_at}
            for key in found
        ],
    )  # fmt: skip
    told = [
        (key.name, key.role, key.stream or "all", _day(key.created_at), _day(key.revoked_at)) for key in found
    ]
    console(quiet=False, json=json_file).print(table_of(("name", "role", "stream", "made", "revoked"), told))


@keys.command()
def revoke(
    name: Annotated[str, typer.Argument(help="The name of the key.")], store: StoreOption = DEFAULT_STORE
) -> None:
    """Stop accepting a key; running services follow within seconds."""
    with opened(store) as at:
        at.keys.revoke(name, at=time.time())
    typer.echo(f"The key {name!r} is revoked.")


def _day(at: float | None) -> str:
    return "" if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")
