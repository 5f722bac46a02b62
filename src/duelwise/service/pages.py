"""Pages for people: the state of every stream, one stream, and the interface. No network.

A page is a template and a function that gathers what it shows from the streams' own
reports; `create_app` mounts whatever `PAGES` lists.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from duelwise.errors import Unauthorised
from duelwise.service.schemas import BrokenStream, StreamAnswer
from duelwise.service.service import Service
from duelwise.service.stream_page import gather, unit_of

Content = Callable[[Service, Request], Awaitable[dict[str, object]]]

templates = jinja2.Environment(
    loader=jinja2.PackageLoader("duelwise.service"), autoescape=True, undefined=jinja2.StrictUndefined
)


async def status(service: Service, request: Request) -> dict[str, object]:
    """Every stream that the key may see, with what is pending."""
    address = request.client.host if request.client else ""
    headers = dict(request.scope["headers"])
    key = await service.guard.check(address, headers, "read", None, filtered=True)
    entries = await service.every_stream(key)
    return {
        "streams": [entry for entry in entries if isinstance(entry, StreamAnswer)],
        "broken": [entry for entry in entries if isinstance(entry, BrokenStream)],
        "duration": duration,
    }


async def one_stream(service: Service, request: Request) -> dict[str, object]:
    """The answers of one stream: board, charts, raters; `?adjust=` holds features equal."""
    name: str = request.path_params["name"]
    address = request.client.host if request.client else ""
    await service.guard.check(address, dict(request.scope["headers"]), "read", name, filtered=False)
    adjust = [feature for feature in request.query_params.getlist("adjust") if feature]
    queue = await service.streams.queue(name)
    shown = await service.streams.run(lambda: gather(queue.stream, adjust))
    return {"shown": shown, "adjust": adjust}


async def interface(_service: Service, request: Request) -> dict[str, object]:
    """The OpenAPI document in words."""
    document: dict[str, Any] = request.app.openapi()
    return {"document": document}


PAGES: dict[str, tuple[str, Content]] = {
    "/": ("status.html", status),
    "/streams/{name}": ("stream.html", one_stream),
    "/docs": ("docs.html", interface),
}


def page_routes(service: Service) -> list[Route]:
    return [Route(path, _page(service, template, content)) for path, (template, content) in PAGES.items()]


def _page(service: Service, template: str, content: Content) -> Callable[[Request], Awaitable[Response]]:
    async def page(request: Request) -> Response:
        try:
            shown = await content(service, request)
        except Unauthorised as error:
            # A browser asks for a name and a password; the password is the token.
            challenge = {"WWW-Authenticate": 'Basic realm="duelwise: any name, token as password"'}
            return HTMLResponse(f"<p>{error}</p>", 401, challenge)
        return HTMLResponse(templates.get_template(template).render(shown))

    return page


def duration(seconds: float | None) -> str:
    """In the unit a person would choose."""
    if seconds is None:
        return "–"
    unit, size = unit_of(seconds)
    return f"{seconds / size:.{0 if size == 1 else 1}f} {unit}"
