"""Who may do what: bearer tokens with a role and, if wanted, a stream; loopback alone without keys."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import ipaddress
import math
import secrets
import time
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from typing import Literal
from urllib.parse import urlsplit

from starlette.requests import Request

from duelwise.errors import Forbidden, InvalidInput, Unauthorised, unknown_name
from duelwise.storage import KeyRow, Store

Role = Literal["read", "write", "admin"]
RANK: dict[str, int] = {"read": 0, "write": 1, "admin": 2}
"""read looks; write also asks, observes, tells and retracts; admin also creates and closes."""

TOKEN_BYTES = 32  # 256 bits: a plain hash cannot be searched


def add_key(store: Store, *, name: str, role: str, stream: str | None, at: float) -> str:
    """Store the hash of a fresh token and return the token, which is shown this once."""
    if role not in RANK:
        raise unknown_name("role", role, RANK)
    if not name or not name.isprintable() or len(name) > 100:
        raise InvalidInput(f"The key's name is {name!r}; expected 1 to 100 printable characters.")
    if stream is not None:
        store.stream(stream)
    token = "dw_" + secrets.token_urlsafe(TOKEN_BYTES)
    store.keys.add(KeyRow(name, role, stream, hash_of(token), at, None))
    return token


def hash_of(token: str) -> str:
    return sha256(token.encode()).hexdigest()


@lru_cache(maxsize=1024)
def is_loopback(host: str) -> bool:
    """Whether a name or address means this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Guard:
    """Knows the keys, and looks again every few seconds, so that a revoked one stops working."""

    def __init__(
        self, store: Store, *, refresh_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store, self._refresh_seconds, self._clock = store, refresh_seconds, clock
        self._keys: list[KeyRow] = []
        self._looked_at = -math.inf
        self._lock = asyncio.Lock()

    async def check(self, request: Request, role: Role, stream: str | None = None) -> None:
        """Refuse a request whose key does not allow the role on the stream (None: on all of them)."""
        key = await self.key_of(request)
        if key is None:
            return
        if RANK[key.role] < RANK[role]:
            raise Forbidden(f"The key {key.name!r} has the role {key.role}; this needs {role}.")
        if key.stream is not None and stream != key.stream:
            raise Forbidden(f"The key {key.name!r} is for the stream {key.stream!r} alone.")

    async def key_of(self, request: Request) -> KeyRow | None:
        """The key of this request; None where no keys are in use and the caller is on this machine."""
        if self._clock() - self._looked_at > self._refresh_seconds:
            await self._look()
        if self._keys:
            return self._find(_token(request))
        _check_local(request)
        return None

    def look_again(self) -> None:
        """Read the keys anew with the next request."""
        self._looked_at = -math.inf

    async def _look(self) -> None:
        async with self._lock:
            if self._clock() - self._looked_at > self._refresh_seconds:
                self._keys = await asyncio.to_thread(self._store.keys.all)
                self._looked_at = self._clock()

    def _find(self, token: str) -> KeyRow:
        wanted = hash_of(token)
        found: KeyRow | None = None
        for key in self._keys:  # all of them, so that the time says nothing
            if hmac.compare_digest(key.hash, wanted) and key.revoked_at is None:
                found = key
        if found is None:
            raise Unauthorised("The token is not known here, or was revoked.")
        return found


def _token(request: Request) -> str:
    """The token of a bearer header; browsers send it as the password of a basic one."""
    scheme, _, value = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and value:
        return value.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
        except (binascii.Error, ValueError):
            pass
    raise Unauthorised("There is no token; this service has keys and expects one with each request.")


def _check_local(request: Request) -> None:
    """Without keys only this machine is served, under a name of this machine.

    The name matters: a web page whose own name was made to point here could otherwise read along.
    """
    caller = request.client.host if request.client else ""
    if not is_loopback(caller):
        raise Forbidden(
            f"This service has no keys and answers this machine alone, not {caller}. "
            "`duelwise keys add` makes a key."
        )
    host = _name_of(request.headers.get("host", ""))
    if not is_loopback(host):
        raise Forbidden(
            f"This service has no keys and answers only as localhost, not as {host[:100]!r}. "
            "`duelwise keys add` makes a key."
        )


@lru_cache(maxsize=1024)
def _name_of(host: str) -> str:
    """The host header without its port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""
