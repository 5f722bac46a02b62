"""What a stream is not told or asked: refused by name, and nothing changes."""

from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
from living import SETTINGS, candidates
from numpy.random import Generator

from duelwise.errors import Conflict, InvalidInput, UnknownName, UnknownStream, UnknownTicket
from duelwise.storage import Store
from duelwise.stream import DecisionStream, Observe, Retract, Tell, Winner
from duelwise.stream.candidates import read_partial

GOOD = {"id": "a", "features": [1, 2, 3]}


def b(features: object) -> list[object]:
    """Two candidates, of which only the first is certainly right."""
    return [GOOD, {"id": "b", "features": features}]


@pytest.mark.parametrize(
    ("offered", "says"),
    [
        ([], "0 candidates"),
        ([GOOD], "1 candidates"),
        ([GOOD, {"id": "a", "features": [1, 2, 4]}], "share the id 'a'"),
        (b([1, float("nan"), 3]), "'stars' of candidate 'b'"),
        (b([1, 2, float("inf")]), "'way' of candidate 'b'"),
        (b([1, 2]), "candidate 'b' are 2 numbers"),
        (b([1, "two", 3]), "'stars' of candidate 'b' is 'two'"),
        (b([1, 2, 1e7]), "Scale large features"),
        (b([1, 2, 10**400]), "Scale large features"),
        (b(None), "features of candidate 'b' are None"),
        (b("abc"), "features of candidate 'b' are 'abc'"),
        ([GOOD, {"id": "b"}], "features of candidate 'b' are None"),
        ([GOOD, {"id": 5, "features": [1, 2, 3]}], "Candidate 1 has the id 5"),
        ([GOOD, {"id": "ü\ud800", "features": [1, 2, 3]}], "Candidate 1 has the id"),
        ([GOOD, [1, 2, 3]], "Candidate 1 is no record"),
        (b({"price": 1, "stars": 2}), "'way' of candidate 'b' is missing"),
        (b({"price": 1, "stars": 2, "weigh": 3}), "'weigh'"),
        (np.ones((2, 4)), "candidate 0 are 4 numbers"),
        (np.array([[1, 2, 3], [1, 2, np.nan]]), "'way' of candidate 1"),
    ],
)
def test_bad_candidates_are_named_and_change_nothing(stream: DecisionStream, offered: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        stream.ask(offered)
    assert stream.model_version == 0


def test_of_many_features_the_first_eight_are_named() -> None:
    names = [f"f{k}" for k in range(12)]
    with pytest.raises(InvalidInput, match=r"expected 12 numbers.* f0, f1, f2, f3, f4, f5, f6, f7\.$"):
        read_partial([1.0], names, "the left")


def test_bad_contexts_winners_and_names_change_nothing(stream: DecisionStream, rng: Generator) -> None:
    ticket = stream.ask(candidates(rng)).ticket
    before = stream.snapshot_state()
    for left, says in (
        ([1.0], "expected 2 numbers, null where one is not known"),
        ([1.0, float("inf")], "'y1' of the left"),
        ([1, "x"], "'x'"),
    ):
        with pytest.raises(InvalidInput, match=says):
            stream.observe(ticket, left, [1.0, 2.0])
    with pytest.raises(InvalidInput, match="'both'; expected one of left, right, tie, skip"):
        stream.tell(ticket, cast("Winner", "both"))
    for name in ("", "a\0b", "x" * 201, "line\nbreak", "ünïcode"):
        with pytest.raises(InvalidInput, match="source"):
            stream.tell(ticket, "left", source=name)
        with pytest.raises(InvalidInput, match="event_id"):
            stream.ask(candidates(rng), event_id=name)
    assert stream.snapshot_state() == before


def test_unknown_tickets_are_refused(stream: DecisionStream, rng: Generator) -> None:
    ticket = stream.ask(candidates(rng)).ticket
    number, tag = ticket.split("-")
    for wrong in ("", "0", "-1", f"{number}-{tag}0", f"1-{tag}", "9" * 40 + "-x", "٣-x", "a\0b"):
        for request in (Tell(wrong, "left"), Observe(wrong, [1, 2], [3, 4]), Retract(wrong)):
            [answer] = stream.run([request])
            assert isinstance(answer, UnknownTicket)
        with pytest.raises(UnknownTicket):
            stream.ticket(wrong)


def test_settings_are_for_life(store: Store) -> None:
    first = DecisionStream.create(store, "meals", SETTINGS)
    again = DecisionStream.create(store, "meals", SETTINGS)
    with pytest.raises(Conflict, match="other settings"):
        DecisionStream.create(store, "meals", replace(SETTINGS, seed=5))
    with pytest.raises(UnknownStream, match="Did you mean 'meals'"):
        DecisionStream.open(store, "meels")
    first.close()
    again.close()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"context_dim": 0}, "context_dim is 0"),
        ({"post_dim": -1}, "post_dim is -1"),
        ({"seed": 1.5}, "seed is 1.5"),
        ({"vote_ttl_seconds": 0}, "vote_ttl_seconds"),
        ({"random_share": 1.1}, "random_share"),
        ({"feature_names": ("a", "b")}, "There are 2 feature_names"),
        ({"feature_names": ("a", "b", "b")}, "'b' stands for two"),
        ({"recipe": "rcdp-ucv"}, "Did you mean 'rcdp-ucb'"),
        ({"options": {"clipp": 1}}, "Did you mean 'clip'"),
        ({"options": {"clip": "much"}}, "expected a number"),
        ({"options": {"clip": -1}}, "expected 0, or a number"),
        ({"options": {"estimate": "one-pas"}}, "Did you mean 'one-pass'"),
        ({"options": {"post_serving": "splin"}}, "Did you mean 'spline'"),
        ({"options": {"post_serving": 3}}, "expected a name"),
        ({"options": {"post_serving": {"name": "spline", "knotz": 3}}}, "knotz"),
    ],
)
def test_bad_settings_say_what_is_wrong(store: Store, wrong: dict[str, Any], says: str) -> None:
    with pytest.raises((InvalidInput, UnknownName), match=says):
        DecisionStream.create(store, "meals", replace(SETTINGS, **wrong) if wrong else SETTINGS)
    assert store.streams() == []
