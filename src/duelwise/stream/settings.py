"""What a stream is set to when it is created, and the learner that follows from it."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from duelwise.errors import InvalidInput, check_known, unknown_name
from duelwise.learning.core.links import LINKS
from duelwise.learning.estimation import ESTIMATORS
from duelwise.learning.learner import DuelingLearner
from duelwise.learning.post_serving import POST_SERVING, PostServing, Spline
from duelwise.learning.recipes import RECIPES, STREAM_RECIPES, Options, recipe
from duelwise.learning.scaling import ScaledLearner, declared, unlimited
from duelwise.storage import JSON
from duelwise.stream.candidates import LARGEST, LONGEST_NAME
from duelwise.stream.encoding import Encoder, encoder_of
from duelwise.stream.sides import NoSides, Sides, WithSides
from duelwise.stream_fields import EDITION, StreamFields, setting_fields

LEFT_OUT: dict[int, dict[str, JSON]] = {
    1: {"edition": 1, "recipe": "rcdp-ucb", "votes_wanted": 1, "context_ttl_seconds": 0.0}
}
"""What a setting that is left out meant, by edition, where it is not what it means now."""

LEAST_OPTION = 1e-12  # and the largest is one over it: numbers that a learner can be made of
MOST_KNOTS = 5_000  # of a spline with more for a feature than it has by default: its matrix has their square

_NUMBERS = (
    "exploration_width", "clip", "curvature", "regularisation",
    "corruption_budget", "delay", "norm_bound", "confidence", "feature_bound",
    "horizon", "ramp_votes", "ramp_power", "distrust_votes",
)  # fmt: skip
_WORDS: dict[str, tuple[str, ...]] = {
    "estimate": tuple(ESTIMATORS),
    "features": ("observed", "predicted"),
    "geometry": ("served", "arrived", "requested"),
    "link": tuple(LINKS),
    "preset": ("paper",),
    "exploration_width": ("theory", "data"),
    "corruption_budget": ("unknown",),
    "delay": ("unknown",),
}


GOALS = ("serve", "settle")
"""Little regret on the way, or the best found with few votes."""

SOURCES = ("equal", "weighted")
"""Every source counts alike, or only those that are not found unreliable."""

_ACCEPTED: dict[type, tuple[type, ...]] = {float: (int, float), tuple: (list, tuple)}


@dataclass(frozen=True, kw_only=True)
class StreamSettings(StreamFields):
    """Settings that a stream keeps for life; another set of them is another stream.

    `options` are a recipe's own: numbers, words, and `post_serving`, a name or
    `{"name": "spline", "low": 0, "high": 1}`. A stream keeps no history of votes unless
    `estimate` says otherwise: with "full-mle" the cost of a vote grows with the votes
    learned before it, about 2d + 20 flops for each, and so do memory and snapshots.
    """

    def __post_init__(self) -> None:
        _check_size("context_dim", self.context_dim, least=1)
        _check_size("post_dim", self.post_dim, least=0)
        _check_size("seed", self.seed, least=0)
        _check_size("edition", self.edition, least=1)
        if self.edition > EDITION:
            raise InvalidInput(
                f"The stream was made by edition {self.edition}, and this version knows editions up to "
                f"{EDITION}. Open it with the version of Duelwise that made it, or a later one."
            )
        if not 0 < self.vote_ttl_seconds < math.inf:
            raise InvalidInput(f"vote_ttl_seconds is {self.vote_ttl_seconds}; expected a positive number.")
        if not 0 <= self.context_ttl_seconds < math.inf:
            raise InvalidInput(
                f"context_ttl_seconds is {self.context_ttl_seconds}; expected seconds, or 0 for no limit."
            )
        _check_size("votes_wanted", self.votes_wanted, least=1)
        if not 0 <= self.random_share <= 1:
            raise InvalidInput(f"random_share is {self.random_share}; expected a probability.")
        _check_size("top", self.top, least=1)
        check_known("goal", self.goal, GOALS)
        check_known("setting of sources", self.sources, SOURCES)
        object.__setattr__(self, "feature_names", self._names())
        for name in (
            "vote_ttl_seconds",
            "context_ttl_seconds",
            "random_share",
        ):  # 60 and 60.0 are one setting
            object.__setattr__(self, name, float(getattr(self, name)))
        for name, value in self.options.items():
            _check_option(name, value)
        self._limits()

    @property
    def context_names(self) -> tuple[str, ...]:
        return self.feature_names[: self.context_dim]

    @property
    def encoder(self) -> Encoder:
        """What turns raw features into numbers, before any projection is fitted to items."""
        return encoder_of(self.encodings, self.seed)

    @property
    def post_names(self) -> tuple[str, ...]:
        return self.feature_names[self.context_dim :]

    @property
    def sides(self) -> Sides:
        """The column for the side that the model has, or none."""
        return WithSides() if self.position_bias else NoSides()

    @property
    def model_dim(self) -> int:
        """How many coefficients the model has: the side's, if it has one, and those of the features."""
        return self.sides.columns + self.context_dim + self.post_dim

    @property
    def scales(self) -> bool:
        """Whether features are in units of their range; in streams of 0.1 they are as they came."""
        return self.edition >= 2

    def start_scaled(self) -> ScaledLearner:
        """A fresh learner behind the ranges of its features."""
        dim, columns = self.model_dim, self.sides.columns
        if not self.scales:
            return ScaledLearner(
                self.start, unlimited(runs=1, dim=dim), learned=np.zeros(dim, dtype=np.bool_)
            )
        limits = {columns + feature: limits for feature, limits in self._limits().items()}
        limits |= dict.fromkeys(range(columns), (-1.0, 1.0))
        learned = np.array([feature not in limits for feature in range(dim)])
        return ScaledLearner(self.start, declared(limits, runs=1, dim=dim), learned=learned)

    def start(self) -> DuelingLearner:
        """A fresh learner for one run that always serves two different candidates."""
        if self.recipe in RECIPES and self.recipe not in STREAM_RECIPES:
            raise InvalidInput(
                f"{self.recipe!r} is for the laboratory: it keeps more with every round. A stream may have "
                f"{', '.join(STREAM_RECIPES)}."
            )
        in_one_pass = {} if self.recipe == "live" else {"estimate": "one-pass"}
        options: dict[str, object] = {**in_one_pass, **self.options}
        for name in ("horizon", "distrust_votes"):
            if name in options:
                options[name] = int(cast("float", options[name]))
        if self.edition == 1:
            options["provisional"] = False  # a vote waited for its context
        if "post_serving" in self.options or (self.scales and self.post_dim):
            named = self.options.get("post_serving", "spline")
            model = options["post_serving"] = _post_serving(named, scaled=self.scales)
            _check_knots(model, self.context_dim)
        place = {
            "runs": 1, "context_dim": self.sides.columns + self.context_dim, "post_dim": self.post_dim,
            "seed": self.seed, "distinct_pair": True, "side_columns": self.sides.columns,
        }  # fmt: skip
        try:
            learner = recipe(self.recipe)(**cast("Options", options | place))
        except (ArithmeticError, MemoryError, np.linalg.LinAlgError) as error:
            raise InvalidInput(
                f"No learner can be made of the options {dict(self.options)}: {error}. "
                "Expected numbers nearer to 1."
            ) from error
        if self.scales:
            learner.watch()
        return learner

    def to_dict(self) -> dict[str, JSON]:
        """Every setting by name, as JSON knows it."""
        values: dict[str, JSON] = {one.name: getattr(self, one.name) for one in setting_fields()}
        values["options"], values["feature_names"] = dict(self.options), list(self.feature_names)
        values["encodings"] = dict(self.encodings)
        values["ranges"] = dict(self.ranges)
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> StreamSettings:
        """Settings from some of their values; what is left out has its default."""
        fields = {one.name: one for one in setting_fields()}
        for name in values:
            check_known("setting", name, fields)
        missing = [name for name, one in fields.items() if one.required and name not in values]
        if missing:
            raise InvalidInput(f"The setting {missing[0]!r} is missing; a stream cannot do without.")
        for name, value in values.items():
            kind = fields[name].type
            if not isinstance(value, _ACCEPTED.get(kind, kind)):
                raise InvalidInput(f"The setting {name} is {value!r:.80}; expected {kind.__name__}.")
        return cls(**cast("dict[str, Any]", values))

    def to_json(self) -> str:
        """Equal settings give equal text."""
        return json.dumps(self.to_dict(), sort_keys=True, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> StreamSettings:
        """Stored settings, which mean what they meant when they were written."""
        try:
            values = json.loads(text)
            edition = values.get("edition", 1)
        except (ValueError, AttributeError) as error:
            raise InvalidInput(f"The settings are no JSON object: {error}: {text:.80}.") from error
        return cls.from_dict(LEFT_OUT.get(edition, {}) | values)

    def finds(self, stored: StreamSettings) -> bool:
        """Whether asking for these settings finds a stream with those stored.

        Equal ones do; and a setting left to its default finds what was its default at that time.
        """
        then = LEFT_OUT.get(stored.edition, {})
        for one in setting_fields():
            asked, kept = getattr(self, one.name), getattr(stored, one.name)
            if asked != kept and not (asked == one.default and kept == then.get(one.name, one.default)):
                return False
        return True

    def _limits(self) -> dict[int, tuple[float, float]]:
        """Declared ranges by the feature's position."""
        if self.ranges and not self.scales:
            raise InvalidInput(
                "ranges are given, and edition is 1: streams of 0.1 take features as they come. "
                "Leave one of the two out."
            )
        limits: dict[int, tuple[float, float]] = {}
        for name, value in self.ranges.items():
            check_known("feature", name, self.feature_names)
            match value:
                case [int() | float() as low, int() | float() as high] if (
                    -LARGEST <= low < high <= LARGEST and (high - low) / 2 > 0
                ):
                    limits[self.feature_names.index(name)] = (float(low), float(high))
                case _:
                    raise InvalidInput(
                        f"The range of {name!r} is {value!r:.80}; expected two numbers within ±{LARGEST:g}, "
                        "the smaller first, as [0, 100]."
                    )
        return limits

    def _names(self) -> tuple[str, ...]:
        encoded = self.encoder.names
        plain = self.context_dim - len(encoded)
        if plain < 0:
            raise InvalidInput(
                f"The encodings make {len(encoded)} features, and context_dim is {self.context_dim}; "
                "it counts them too."
            )
        made_up = [*(f"x{i}" for i in range(plain)), *encoded, *(f"y{i}" for i in range(self.post_dim))]
        given = tuple(self.feature_names)
        for name in cast("tuple[object, ...]", given):
            if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= LONGEST_NAME:
                raise InvalidInput(
                    f"A feature name is {name!r:.80}; expected 1 to {LONGEST_NAME} characters."
                )
        if len(given) not in (0, self.context_dim, len(made_up)):
            raise InvalidInput(
                f"There are {len(given)} feature_names; expected {self.context_dim} (the features of a "
                f"candidate) or {len(made_up)} (with those known after serving)."
            )
        names = (*given, *made_up[len(given) :])
        missing = [name for name in encoded if name not in names[: self.context_dim]]
        if missing:
            raise InvalidInput(
                f"The encodings make a feature {missing[0]!r}, which feature_names leave out. Name it, or "
                "leave feature_names away: then plain features come first and encoded ones after them."
            )
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
        if value != 0 and not LEAST_OPTION <= value <= 1 / LEAST_OPTION:
            raise InvalidInput(
                f"The option {name} is {value:g}; expected 0, or a number from {LEAST_OPTION:g} to "
                f"{1 / LEAST_OPTION:g}."
            )
    elif name in _WORDS and isinstance(value, str):
        check_known(name.replace("_", " "), value, _WORDS[name])
    elif name in _NUMBERS or name in _WORDS:
        kind = "a number" if name in _NUMBERS else f"one of {', '.join(_WORDS[name])}"
        raise InvalidInput(f"The option {name} is {value!r}; expected {kind}.")
    else:
        raise unknown_name("option", name, {*_NUMBERS, *_WORDS, "post_serving"})


def _check_knots(model: PostServing, context_dim: int) -> None:
    if not isinstance(model, Spline) or model.knots <= Spline().knots:
        return
    if model.knots * context_dim > MOST_KNOTS:
        raise InvalidInput(
            f"A spline with {model.knots} knots for each of {context_dim} features needs more than "
            f"{MOST_KNOTS} in all, and memory for their square. Take fewer, or 'ridge'."
        )


def _post_serving(value: JSON, *, scaled: bool = False) -> PostServing:
    """φ̂ by name, or by name with its own settings; a spline's grid spans the range of scaled features."""
    given: dict[str, JSON] = (
        {"name": value} if isinstance(value, str) else value if isinstance(value, dict) else {}
    )
    name = given.get("name")
    if not isinstance(name, str):
        raise InvalidInput(
            f"The option post_serving is {value!r}; expected a name such as 'spline', or "
            "{'name': 'spline', 'low': 0, 'high': 1}."
        )
    check_known("post-serving model", name, POST_SERVING)
    settings = {key: setting for key, setting in given.items() if key != "name"}
    config = Spline(low=-1.0, high=1.0) if scaled and name == "spline" else POST_SERVING[name]
    assert dataclasses.is_dataclass(config)
    assert not isinstance(config, type)
    try:
        return dataclasses.replace(config, **settings)
    except TypeError as error:
        raise InvalidInput(f"The post-serving model {name!r} does not take {settings}: {error}.") from error
