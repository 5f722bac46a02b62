"""Streams over HTTP: `create_app(store)` is an ASGI application, `duelwise serve` runs it."""

from duelwise.service.app import create_app
from duelwise.service.settings import ServiceSettings

__all__ = ["ServiceSettings", "create_app"]
