"""Streams over HTTP: `create_app(store)` is an ASGI application, `duelwise serve` runs it."""

from duelwise.errors import missing_extra

try:
    from duelwise.service.app import create_app
    from duelwise.service.settings import ServiceSettings
except ModuleNotFoundError as error:
    raise missing_extra(error, extra="service", purpose="The HTTP service") from error

__all__ = ["ServiceSettings", "create_app"]
