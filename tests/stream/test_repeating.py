"""A request that comes again is known by what it asked."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from duelwise.errors import Conflict
from duelwise.receipts import Side
from duelwise.stream.candidates import CandidateSet
from duelwise.stream.events import Asked
from duelwise.stream.repeating import check_repeated, decision_of, digest_of
from duelwise.types import Array

X = np.arange(6.0).reshape(3, 2)
ASKED = Asked(4, "tag", np.array([2, 0]), X[[2, 0]], np.empty((2, 0)), True, 3, ids=("c", "a"))


def offering(x: Array) -> CandidateSet:
    return cast("CandidateSet", SimpleNamespace(x=x))


def test_names_that_run_together_are_told_apart() -> None:
    assert digest_of("ab", "c") == digest_of("ab", "c")
    assert len({digest_of("ab", "c"), digest_of("a", "bc"), digest_of("abc"), digest_of("c", "ab")}) == 4
    assert digest_of(X) != digest_of(X + 1)


def test_a_duel_is_answered_as_it_was_shown() -> None:
    duel = decision_of(ASKED, repeated=True, clamped=("price",))
    assert (duel.left, duel.right) == (Side("a", 0), Side("c", 2))
    assert decision_of(ASKED._replace(swapped=False, ids=None), repeated=False).left == Side(None, 2)
    assert (duel.ticket, duel.model_version, duel.repeated, duel.clamped) == ("4-tag", 3, True, ("price",))


def test_the_same_name_for_another_request_is_a_conflict() -> None:
    known = ASKED._replace(offered="digest")
    check_repeated(known, "digest", offering(X), "mine")
    with pytest.raises(Conflict, match="'mine' was used before"):
        check_repeated(known, "other", offering(X), "mine")


def test_a_log_of_0_1_is_held_against_the_pair_alone() -> None:
    check_repeated(ASKED, None, offering(X), "mine")
    for other in (X[:2], X + 1):
        with pytest.raises(Conflict):
            check_repeated(ASKED, None, offering(other), "mine")
    with pytest.raises(Conflict):
        check_repeated(ASKED, "of items", None, "mine")
