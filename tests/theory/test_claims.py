"""Every label of the paper has its row, and the rows are well formed."""

from importlib.resources import files

import pytest

from duelwise.errors import UnknownName
from duelwise.theory.claims import CLAIMS, MODULES, claims_named

LABELS = files("duelwise.theory").joinpath("labels.txt").read_text().split()


def test_every_lemma_theorem_remark_and_numbered_inequality_has_its_row() -> None:
    covered = {label for claim in CLAIMS.values() for label in claim.labels}
    assert len(LABELS) == len(set(LABELS)) == 62
    assert [label for label in LABELS if label not in covered] == []
    assert covered - set(LABELS) == set()


def test_no_claim_hides_another() -> None:
    assert sum(len(module.CLAIMS) for module in MODULES) == len(CLAIMS)


def test_claims_are_found_by_name_by_label_and_all_at_once() -> None:
    assert [claim.name for claim in claims_named("coverage")] == ["coverage"]
    assert {claim.name for claim in claims_named("eq:st1")} == {"lies-apart", "arrived-terms"}
    assert len(claims_named("all")) == len(CLAIMS)
    with pytest.raises(UnknownName, match="coverage"):
        claims_named("coverag")


def test_statements_are_sentences() -> None:
    for claim in CLAIMS.values():
        assert claim.statement.endswith(".")
        assert claim.because.endswith(".")
        assert "\n" not in claim.statement + claim.because + claim.measures
