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
from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Literal
from urllib.parse import urlsplit

from duelwise.errors import Forbidden, InvalidInput, Unauthorised, check_known
from duelwise.service.rate_limit import RateLimit
from duelwise.storage import KeyRow, Store

Role = Literal["read", "write", "admin"]
RANK: dict[str, int] = {"read": 0, "write": 1, "admin": 2}
"""read looks; write also asks, observes, tells and retracts; admin also creates and closes."""

TOKEN_BYTES = 32  # 256 bits: a plain hash cannot be searched
SLOWED_SECONDS = 0.1  # between two answers to wrong keys from one address,
SLOWED_MOST = 5.0  # and the longest that one of them waits
ADDRESSES_KEPT = 10_000  # with wrong keys; then all are forgiven

Headers = Mapping[bytes, bytes]


def add_key(store: Store, *, name: str, role: str, stream: str | None, at: float) -> str:
    """Store the hash of a fresh token and return the token, which is shown this once."""
    check_known("role", role, RANK)
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
        self, store: Store, *, refresh_seconds: float, rate_limit: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._store, self._refresh_seconds, self._clock = store, refresh_seconds, clock
        self._rate_limit = RateLimit(rate_limit, clock)
        self._keys: list[KeyRow] = []
        self._looked_at = -math.inf
        self._lock = asyncio.Lock()
        self._wrong: dict[str, float] = {}  # when an address may get its next refusal

    async def check(
        self, address: str, headers: Headers, role: Role, stream: str | None, *, filtered: bool = False
    ) -> KeyRow | None:
        """The key of a request, if it allows the role on the stream (None: on all of them).

        `filtered`: the answer will hold only what the key may see. None where no keys are in use
        and the caller is on this machine.
        """
        if not self.is_fresh:
            await self._look()
        try:
            return self.check_known(address, headers, role, stream, filtered=filtered)
        except Unauthorised:
            await self._slow_down(address)
            raise

    @property
    def is_fresh(self) -> bool:
        """Whether the keys were read not long ago."""
        return self._clock() - self._looked_at <= self._refresh_seconds

    def check_known(
        self, address: str, headers: Headers, role: Role, stream: str | None, *, filtered: bool = False
    ) -> KeyRow | None:
        """The same by the keys as they were read last. Whoever shows a wrong one must be made to wait."""
        key = self._key_of(address, headers)
        self._rate_limit.count(_who(address, key))
        if key is None:
            return None
        if RANK[key.role] < RANK[role]:
            raise Forbidden(f"The key {key.name!r} has the role {key.role}; this needs {role}.")
        if key.stream is not None and stream != key.stream and not filtered:
            raise Forbidden(f"The key {key.name!r} is for the stream {key.stream!r} alone.")
        return key

    def will_be_checked_again(self, address: str, key: KeyRow | None) -> None:
        """A request that passed goes another way, on which it is counted too."""
        self._rate_limit.take_back(_who(address, key))

    def _key_of(self, address: str, headers: Headers) -> KeyRow | None:
        if not self._keys:
            _check_local(address, headers.get(b"host", b""))
            return None
        return self._find(_token(headers))

    async def _slow_down(self, address: str) -> None:
        """Wrong keys from one address are answered one after another, however many come at once."""
        if len(self._wrong) >= ADDRESSES_KEPT:
            self._wrong.clear()
        now = self._clock()
        turn = max(now, self._wrong.get(address, 0.0))
        self._wrong[address] = turn + SLOWED_SECONDS
        if turn > now:
            await asyncio.sleep(min(turn - now, SLOWED_MOST))

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


def _who(address: str, key: KeyRow | None) -> str:
    """Whose requests are counted."""
    return address if key is None else f"key {key.name}"


def _token(headers: Headers) -> str:
    """The token of a bearer header; browsers send it as the password of a basic one."""
    scheme, _, value = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    if scheme.lower() == "bearer" and value:
        return value.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2]
        except (binascii.Error, ValueError):
            pass
    raise Unauthorised("There is no token; this service has keys and expects one with each request.")


@lru_cache(maxsize=1024)
def _is_local(address: str, host: bytes) -> bool:
    return is_loopback(address) and is_loopback(_name_of(host))


def _check_local(address: str, host: bytes) -> None:
    """Without keys only this machine is served, under a name of this machine.

    The name matters: a web page whose own name was made to point here could otherwise read along.
    """
    if _is_local(address, host):
        return
    who = address if not is_loopback(address) else f"the name {_name_of(host)[:100]!r}"
    raise Forbidden(
        f"This service has no keys and answers this machine alone, as localhost, not {who}. "
        "`duelwise keys add` makes a key."
    )


def _name_of(host: bytes) -> str:
    """The host header without its port."""
    try:
        return urlsplit(f"//{host.decode('latin-1')}").hostname or ""
    except ValueError:
        return ""
