"""The reference pages of the site, made from the code: Python, HTTP and the event log.

    python -m tools.reference_pages docs/reference

A public name without a docstring is an error, here and in the tests.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
import inspect
import pkgutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

PAGES: dict[str, tuple[str, ...]] = {
    "learning": ("duelwise.learning",),
    "laboratory": ("duelwise.lab.play", "duelwise.lab.worlds", "duelwise.lab.cells"),
    "results": ("duelwise.lab.report",),
    "streams": (
        "duelwise.stream!",
        "duelwise.stream.transfer!",
        "duelwise.stream.importing!",
        "duelwise.stream.repair!",
        "duelwise.client",
        "duelwise.service!",
    ),
    "theory": (  # a claim says itself what its check does
        "duelwise.theory.advice",
        "duelwise.theory.bounds",
        "duelwise.theory.claim",
        "duelwise.theory.examining",
        "duelwise.theory.lemma_terms",
        "duelwise.theory.links",
        "duelwise.theory.measuring",
        "duelwise.theory.monitoring",
        "duelwise.theory.page",
        "duelwise.theory.self_normalised",
        "duelwise.theory.setting",
        "duelwise.theory.stream_log",
        "duelwise.theory.walking",
    ),
    "testing": ("duelwise.testing",),
    "types": ("duelwise.types", "duelwise.errors", "duelwise.randomness"),
}
"""What each page of the Python reference shows; a ! means that module alone, not those below it."""


class Undocumented(Exception):
    """Public names that say nothing about themselves."""


def modules(name: str) -> Iterator[ModuleType]:
    """The module and, unless told otherwise, all below it; none where it does not exist."""
    path = name.removesuffix("!")
    if importlib.util.find_spec(path) is None:
        return
    module = importlib.import_module(path)
    yield module
    if not name.endswith("!") and hasattr(module, "__path__"):
        for found in pkgutil.walk_packages(module.__path__, f"{path}."):
            yield importlib.import_module(found.name)


def public(module: ModuleType) -> dict[str, Any]:
    """Classes and functions a module offers: those it lists, else those it defines."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        found = {name: getattr(module, name) for name in listed}
    else:
        found = {
            name: part
            for name, part in vars(module).items()
            if not name.startswith("_") and getattr(part, "__module__", None) == module.__name__
        }
    return {name: part for name, part in found.items() if inspect.isclass(part) or inspect.isroutine(part)}


def undocumented() -> list[str]:
    """Every public name without a docstring of its own."""
    missing: list[str] = []
    for names in PAGES.values():
        for name in names:
            for module in modules(name):
                parts = public(module)
                if parts and not module.__doc__:
                    missing.append(module.__name__)
                missing += [f"{module.__name__}.{label}" for label, part in parts.items() if not _own(part)]
    return missing


def _own(part: Any) -> str:
    """Its docstring, not one inherited or made up."""
    said = vars(part).get("__doc__") if inspect.isclass(part) else part.__doc__
    made_up = inspect.isclass(part) and (said or "").startswith(f"{part.__name__}(")
    return "" if made_up else inspect.cleandoc(said or "")


def python_page(title: str, names: tuple[str, ...]) -> str:
    """One page of the Python reference; empty where none of its modules exists."""
    parts: list[str] = []
    for name in names:
        for module in modules(name):
            if public(module):
                parts += [f"## `{module.__name__}`", _prose(inspect.cleandoc(module.__doc__ or ""))]
                parts += [_part(label, part) for label, part in sorted(public(module).items())]
    return f"# Python: {title}\n\n" + "\n\n".join(parts) + "\n" if parts else ""


def _part(label: str, part: Any) -> str:
    kind = "class" if inspect.isclass(part) else "def"
    lines = [f"### `{label}`", f"```python\n{kind} {label}{_signature(part)}\n```", _prose(_own(part))]
    if inspect.isclass(part):
        methods = {n: m for n, m in vars(part).items() if not n.startswith("_") and inspect.isfunction(m)}
        lines += [
            f"`{n}{_signature(m)}`: {_prose(inspect.cleandoc(m.__doc__))}"
            for n, m in methods.items()
            if m.__doc__
        ]
    return "\n\n".join(lines)


def _signature(part: Any) -> str:
    try:
        return str(inspect.signature(part)).replace("'", "")
    except (TypeError, ValueError):
        return ""


def _prose(text: str) -> str:
    """A docstring as Markdown: nothing in it is HTML."""
    return text.replace("<", "&lt;").replace("[^", "\\[^")


def event_page() -> str:
    """The event log, as `export` and `backup` write it."""
    from duelwise.stream.events import KINDS

    parts = [
        "# The event log",
        "`duelwise export`, `duelwise backup` and `GET /v1/streams/{name}/export` write a stream as JSON "
        "lines. The first says `format`, `name`, `uid`, `created_at` and `settings`; the last, `end`, how "
        "many events there are, and the `checksum` (CRC-32) of all lines before it. Every other line is one "
        "event: `seq` counts from 1 without gaps, `at` is seconds since 1970, `kind` is one of those below, "
        "`event_id` is there where one was given. Floats have every digit they have. Replaying the lines in "
        "order gives the learner float for float.",
    ]
    for kind, made in KINDS.items():
        fields = ", ".join(f"`{name}`" for name in inspect.signature(made).parameters)
        parts.append(f"## `{kind}`\n\n{_prose(_own(made))}\n\nFields: {fields}.")
    return "\n\n".join(parts) + "\n"


def http_page() -> str:
    """Every path of the service, from its OpenAPI document."""
    document = _openapi()
    parts = [
        "# HTTP",
        "Made from the document that a running service gives at `/openapi.json`, and shows at `/docs`. "
        "[Streams over HTTP](../service.md) tells it as a story.",
    ]
    for path, methods in document["paths"].items():
        for method, about in methods.items():
            answers = ", ".join(
                f"{code} {_flat(one['description'])}" for code, one in about["responses"].items()
            )
            body = (
                about.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            )
            parts.append(f"## `{method.upper()} {path}`\n\n{_prose(about.get('summary', ''))}")
            if about.get("description"):
                parts.append(_prose(about["description"]))
            if body:
                parts.append(f"Body: {_schema(body)}.")
            parts.append(f"Answers: {answers}.")
    parts.append("## Schemas")
    for name, schema in document.get("components", {}).get("schemas", {}).items():
        fields = [
            f"| `{field}` | {_schema(one)} | {'needed' if field in schema.get('required', ()) else ''} "
            f"| {_flat(one.get('description', ''))} |"
            for field, one in schema.get("properties", {}).items()
        ]
        parts.append(f"### {name}\n\n{_prose(schema.get('description', ''))}")
        if fields:
            parts.append("\n".join(["| field | type | | |", "|---|---|---|---|", *fields]))
    return "\n\n".join(parts) + "\n"


def _openapi() -> dict[str, Any]:
    """Asked of the application itself, without a socket."""
    import httpx

    from duelwise.service import create_app

    async def ask(store: str) -> dict[str, Any]:
        transport = httpx.ASGITransport(create_app(store), client=("127.0.0.1", 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return (await client.get("/openapi.json")).raise_for_status().json()

    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(ask(f"sqlite:///{folder}/duels.db"))


def _schema(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2]
    if "anyOf" in schema or "oneOf" in schema:
        return " or ".join(_schema(one) for one in schema.get("anyOf") or schema["oneOf"])
    if schema.get("type") == "array":
        return f"list of {_schema(schema.get('items', {}))}"
    if "enum" in schema or "const" in schema:
        return ", ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    return str(schema.get("type", "any"))


def _flat(text: str) -> str:
    return _prose(" ".join(text.split())).replace("|", "\\|")


def write_pages(folder: Path) -> None:
    """All pages of the reference, and nothing left of earlier ones."""
    missing = undocumented()
    if missing:
        raise Undocumented(f"Public names without a docstring: {', '.join(missing)}")
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.md"):
        old.unlink()
    pages = {f"python-{title}": python_page(title, names) for title, names in PAGES.items()}
    for name, text in (pages | {"http": http_page(), "event-log": event_page()}).items():
        if text:
            (folder / f"{name}.md").write_text(text)


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
