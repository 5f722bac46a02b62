"""The bare endpoint: the same server and framework, a body that is read as JSON, and an answer."""

from __future__ import annotations

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


async def ask(request: Request) -> Response:
    offered = msgspec.json.decode(await request.body())["candidates"]
    sides = [{"id": offered[i]["id"], "index": i} for i in range(2)]
    answer = {"ticket": "1-x", "left": sides[0], "right": sides[1], "model_version": 0, "probability": None}
    return Response(msgspec.json.encode(answer), 201, media_type="application/json")


async def tell(request: Request) -> Response:
    msgspec.json.decode(await request.body())
    answer = {"ticket": "1-x", "state": "told", "changed": True}
    return Response(msgspec.json.encode(answer), 200, media_type="application/json")


app = Starlette(
    routes=[
        Route("/v1/streams/{name}/ask", ask, methods=["POST"]),
        Route("/v1/streams/{name}/tickets/{ticket}/tell", tell, methods=["POST"]),
    ]
)
