"""Categories and long vectors as numbers."""

from __future__ import annotations

import pytest

from duelwise.errors import InvalidInput, UnknownName
from duelwise.stream.encoding import MOST_LEVELS, Encoder, encoder_of
from duelwise.types import JSON


def encoder(*levels: object) -> Encoder:
    return Encoder({"colour": list(levels)}, 0)  # pyright: ignore[reportArgumentType]


def test_a_category_has_a_number_for_each_level() -> None:
    made = encoder("red", "green", "blue")
    assert made.encode({"colour": "green", "size": 2.0}, "a") == {
        "colour=red": 0.0,
        "colour=green": 1.0,
        "colour=blue": 0.0,
        "size": 2.0,
    }
    plain = {"size": 2.0}
    assert made.encode(plain, "a") is plain
    with pytest.raises(UnknownName, match=r"no level of 'colour' for a called 'gren'.*Did you mean 'green'"):
        made.encode({"colour": "gren"}, "a")


def test_levels_are_a_few_different_words() -> None:
    encoder("a" * 100, "b")
    encoder(*map(str, range(MOST_LEVELS)))
    for levels in (
        ["a"],
        ["a", "a"],
        ["a", ""],
        ["a", "b" * 101],
        ["a", 1],
        [*map(str, range(MOST_LEVELS + 1))],
    ):
        with pytest.raises(InvalidInput, match=f"2 to {MOST_LEVELS} different words"):
            encoder(*levels)


def test_a_vector_is_projected_on_fewer_numbers_the_same_each_time() -> None:
    rule: dict[str, JSON] = {"taste": {"length": 4, "dim": 2}}
    one, again, other = encoder_of(rule, 1), encoder_of(rule, 1), encoder_of(rule, 2)
    assert one is again
    vector = {"taste": [1.0, 0.0, -1.0, 0.5]}
    assert list(one.encode(vector, "a")) == ["taste[0]", "taste[1]"]
    assert one.encode(vector, "a") != other.encode(vector, "a")
    for wrong in ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0, float("nan")], "word", [[1.0], [2.0], [3.0], [4.0]]):
        with pytest.raises(InvalidInput, match="'taste' of a is no vector of 4 finite numbers"):
            one.encode({"taste": wrong}, "a")
