"""What a service allows: flags of `duelwise serve`, or environment variables."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass

from duelwise.errors import InvalidInput

PREFIX = "DUELWISE_"
LEAST = {"candidate_limit": 2, "feature_limit": 2, "rate_limit": 0}  # of the others 1


@dataclass(frozen=True, kw_only=True)
class ServiceSettings:
    """Limits of a service; each has an environment variable, such as DUELWISE_BODY_LIMIT."""

    body_limit: int = 1_000_000  # bytes of a request
    candidate_limit: int = 1_000  # candidates of an ask
    feature_limit: int = 200  # context_dim + post_dim of a new stream; memory grows with the square
    batch_limit: int = 1_000  # items of a batch
    queue_limit: int = 2_000  # operations that may wait for one stream before a request is turned away
    memory_limit: int = 1_000_000_000  # bytes of open streams; idle ones are closed for room
    stream_limit: int = 10_000  # streams of the store
    rate_limit: int = 0  # requests a second of one key, or of one address where there are no keys; 0: any
    statement_seconds: int = 10  # the longest that one statement of the database may take
    key_refresh_seconds: int = 2  # how long a revoked key may still be accepted
    expire_seconds: int = 60  # how often overdue duels are closed

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value: object = getattr(self, field.name)
            least = LEAST.get(field.name, 1)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise InvalidInput(f"{field.name} is {value!r}; expected a whole number, at least {least}.")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> ServiceSettings:
        """The defaults with what the environment says in their place."""
        given: dict[str, int] = {}
        for field in dataclasses.fields(cls):
            variable = variable_of(field.name)
            text = environment.get(variable)
            if text is None:
                continue
            try:
                given[field.name] = int(text)
            except ValueError as error:
                raise InvalidInput(f"{variable} is {text!r}; expected a whole number.") from error
        return cls(**given)


def variable_of(setting: str) -> str:
    return PREFIX + setting.upper()
