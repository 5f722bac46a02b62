"""What a stream is set to when it is created, and the learner that follows from it."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from duelwise.errors import InvalidInput, unknown_name
from duelwise.learning.core.links import LINKS
from duelwise.learning.estimation import ESTIMATORS
from duelwise.learning.learner import DuelingLearner
from duelwise.learning.post_serving import POST_SERVING, PostServing
from duelwise.learning.recipes import Options, recipe
from duelwise.storage import JSON

THIRTY_DAYS = 30 * 24 * 3600.0

_NUMBERS = (
    "exploration_width", "clip", "curvature", "regularisation",
    "corruption_budget", "delay", "norm_bound", "confidence",
)  # fmt: skip
_WORDS: dict[str, tuple[str, ...]] = {
    "estimate": tuple(ESTIMATORS),
    "features": ("observed", "predicted"),
    "geometry": ("served", "arrived"),
    "link": tuple(LINKS),
    "preset": ("paper",),
    "exploration_width": ("theory", "data"),
}


@dataclass(frozen=True, kw_only=True)
class StreamSettings:
    """Settings that a stream keeps for life; another set of them is another stream.

    `options` are a recipe's own: numbers, words, and `post_serving`, a name or
    `{"name": "spline", "low": 0, "high": 1}`. A stream estimates in one pass unless
    `estimate` says otherwise: with "full-mle" the cost of a vote grows with the votes
    learned before it, about 2d + 20 flops for each, and so do memory and snapshots.
    """

    context_dim: int
    post_dim: int = 0
    recipe: str = "rcdp-ucb"
    options: Mapping[str, JSON] = field(default_factory=dict[str, JSON])
    feature_names: tuple[str, ...] = ()  # of x, then of y; made up where not given
    vote_ttl_seconds: float = THIRTY_DAYS
    seed: int = 0
    random_share: float = 0.0  # ε: the share of duels whose pair is drawn at random
    keep_candidates: bool = False  # record the whole candidate set of every duel

    def __post_init__(self) -> None:
        _check_size("context_dim", self.context_dim, least=1)
        _check_size("post_dim", self.post_dim, least=0)
        _check_size("seed", self.seed, least=0)
        if not 0 < self.vote_ttl_seconds < math.inf:
            raise InvalidInput(f"vote_ttl_seconds is {self.vote_ttl_seconds}; expected a positive number.")
        if not 0 <= self.random_share <= 1:
            raise InvalidInput(f"random_share is {self.random_share}; expected a probability.")
        object.__setattr__(self, "feature_names", self._names())
        for name in ("vote_ttl_seconds", "random_share"):  # 60 and 60.0 are one setting
            object.__setattr__(self, name, float(getattr(self, name)))
        for name, value in self.options.items():
            _check_option(name, value)

    @property
    def context_names(self) -> tuple[str, ...]:
        return self.feature_names[: self.context_dim]

    @property
    def post_names(self) -> tuple[str, ...]:
        return self.feature_names[self.context_dim :]

    def start(self) -> DuelingLearner:
        """A fresh learner for one run that always serves two different candidates."""
        options: dict[str, object] = {"estimate": "one-pass", **self.options}
        if "post_serving" in self.options:
            options["post_serving"] = _post_serving(self.options["post_serving"])
        place = {
            "runs": 1, "context_dim": self.context_dim, "post_dim": self.post_dim,
            "seed": self.seed, "distinct_pair": True,
        }  # fmt: skip
        return recipe(self.recipe)(**cast("Options", options | place))

    def to_json(self) -> str:
        """Equal settings give equal text."""
        values = {item.name: getattr(self, item.name) for item in dataclasses.fields(self)}
        return json.dumps(values, sort_keys=True, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> StreamSettings:
        values = json.loads(text)
        values["feature_names"] = tuple(values["feature_names"])
        return cls(**values)

    def _names(self) -> tuple[str, ...]:
        made_up = [f"x{i}" for i in range(self.context_dim)] + [f"y{i}" for i in range(self.post_dim)]
        given = tuple(self.feature_names)
        if len(given) not in (0, self.context_dim, len(made_up)):
            raise InvalidInput(
                f"There are {len(given)} feature_names; expected {self.context_dim} (the features of a "
                f"candidate) or {len(made_up)} (with those known after serving)."
            )
        names = (*given, *made_up[len(given) :])
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InvalidInput(f"The feature name {twice!r} stands for two features; names must differ.")
        return names


def _check_size(name: str, value: object, *, least: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise InvalidInput(f"{name} is {value!r}; expected a whole number, at least {least}.")


def _check_option(name: str, value: JSON) -> None:
    if name == "post_serving":
        _post_serving(value)
    elif name in _NUMBERS and isinstance(value, int | float) and not isinstance(value, bool):
        if not 0 <= value < math.inf:
            raise InvalidInput(f"The option {name} is {value}; expected a number that is not negative.")
    elif name in _WORDS and isinstance(value, str):
        if value not in _WORDS[name]:
            raise unknown_name(name.replace("_", " "), value, _WORDS[name])
    elif name in _NUMBERS or name in _WORDS:
        kind = "a number" if name in _NUMBERS else f"one of {', '.join(_WORDS[name])}"
        raise InvalidInput(f"The option {name} is {value!r}; expected {kind}.")
    else:
        raise unknown_name("option", name, {*_NUMBERS, *_WORDS, "post_serving"})


def _post_serving(value: JSON) -> PostServing:
    """φ̂ by name, or by name with its own settings."""
    given: dict[str, JSON] = (
        {"name": value} if isinstance(value, str) else value if isinstance(value, dict) else {}
    )
    name = given.get("name")
    if not isinstance(name, str):
        raise InvalidInput(
            f"The option post_serving is {value!r}; expected a name such as 'spline', or "
            "{'name': 'spline', 'low': 0, 'high': 1}."
        )
    if name not in POST_SERVING:
        raise unknown_name("post-serving model", name, POST_SERVING)
    settings = {key: setting for key, setting in given.items() if key != "name"}
    config = POST_SERVING[name]
    assert dataclasses.is_dataclass(config)
    assert not isinstance(config, type)
    try:
        return dataclasses.replace(config, **settings)
    except TypeError as error:
        raise InvalidInput(f"The post-serving model {name!r} does not take {settings}: {error}.") from error
