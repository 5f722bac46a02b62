"""Every claim of the paper that is checked, in the paper's order."""

from __future__ import annotations

from duelwise.errors import unknown_name
from duelwise.theory.claim import Claim
from duelwise.theory.claims import (
    algorithm,
    assumptions,
    concentration,
    delays,
    learnability,
    lower_bounds,
    potential,
    regret_terms,
    scaling,
)

MODULES = (
    assumptions,
    learnability,
    algorithm,
    concentration,
    delays,
    potential,
    regret_terms,
    scaling,
    lower_bounds,
)
CLAIMS: dict[str, Claim] = {claim.name: claim for module in MODULES for claim in module.CLAIMS}


def claims_named(name: str) -> tuple[Claim, ...]:
    """The claim of that name, those of one label of the paper, or all."""
    if name == "all":
        return tuple(CLAIMS.values())
    if name in CLAIMS:
        return (CLAIMS[name],)
    labelled = tuple(claim for claim in CLAIMS.values() if name in claim.labels)
    if not labelled:
        raise unknown_name("claim", name, [*CLAIMS, "all"])
    return labelled
