"""The settings of a stream, defined once: what HTTP, a client and a command line show and read.

This needs none of the packages that a stream needs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple, get_origin, get_type_hints

from duelwise.types import JSON

ONE_DAY = 24 * 3600.0
THIRTY_DAYS = 30 * ONE_DAY
EDITION = 2  # of the rules that new streams live by; 0.1 made edition 1

REQUIRED = dataclasses.MISSING


def _setting(default: Any = REQUIRED, *, help: str) -> Any:
    return field(default=default, metadata={"help": help})


class SettingField(NamedTuple):
    """One setting, for whoever shows or reads settings: HTTP, a client, a command line."""

    name: str
    type: type  # int, float, bool, str, tuple or Mapping
    default: object
    help: str

    @property
    def required(self) -> bool:
        return self.default is REQUIRED


@cache
def setting_fields() -> tuple[SettingField, ...]:
    """Every setting of a stream, in order."""
    hints = get_type_hints(StreamFields)
    return tuple(
        SettingField(
            one.name,
            get_origin(hints[one.name]) or hints[one.name],
            {} if one.default_factory is not REQUIRED else one.default,
            one.metadata["help"],
        )
        for one in dataclasses.fields(StreamFields)
    )


@dataclass(frozen=True, kw_only=True)
class StreamFields:
    """Every setting with its default and what it is for."""

    context_dim: int = _setting(help="Features known before serving.")
    post_dim: int = _setting(0, help="Features known after serving.")
    recipe: str = _setting("live", help="The method that chooses.")
    options: Mapping[str, JSON] = field(
        default_factory=dict[str, JSON],
        metadata={"help": 'The recipe\'s own, as {"exploration_width": 0.3}.'},
    )
    feature_names: tuple[str, ...] = _setting((), help="Of x, then of y; made up where not given.")
    votes_wanted: int = _setting(1, help="Votes, each from another source, that a duel waits for.")
    context_ttl_seconds: float = _setting(
        ONE_DAY, help="How long a vote waits for its context before φ̂ stands in; 0: as long as the ticket."
    )
    vote_ttl_seconds: float = _setting(THIRTY_DAYS, help="How long a vote and its context are waited for.")
    seed: int = _setting(0, help="Of the order on screen and of random pairs.")
    random_share: float = _setting(0.0, help="ε: the share of duels whose pair is drawn at random.")
    keep_candidates: bool = _setting(False, help="Record the whole candidate set of every duel.")
    goal: str = _setting("serve", help="serve: little regret. settle: find the best with few votes.")
    top: int = _setting(1, help="How many of the best a stream that settles looks for.")
    sources: str = _setting(
        "equal", help="equal: all count alike. weighted: votes of sources found unreliable do not count."
    )
    position_bias: bool = _setting(
        False, help="Estimate what being shown on the left is worth, and take it out of all answers."
    )
    encodings: Mapping[str, JSON] = field(
        default_factory=dict[str, JSON],
        metadata={"help": 'Features that are no numbers, as {"model": ["a", "b"]}: indicators, projections.'},
    )
    ranges: Mapping[str, JSON] = field(
        default_factory=dict[str, JSON],
        metadata={"help": 'Of features by name, as {"price": [0, 100]}; learned where not given.'},
    )
    edition: int = _setting(
        EDITION, help="The rules a stream lives by: a new one by the newest, one of 0.1 by edition 1."
    )
