"""What a claim about the figures is judged to be, and what its words are taken to mean."""

from __future__ import annotations

from dataclasses import dataclass

OURS, RIVAL = "rcdp-ucb", "rcdb"
STABLE = 1.25
"""`stable` is no number in the paper; here: the largest mean is at most this times the smallest."""
NEGLIGIBLE = 0.10
"""Nor is `negligible`; here: at most this share of the time of a run."""


@dataclass(frozen=True, kw_only=True)
class ClaimVerdict:
    """A claim, whether the data bear it out, and the count or number that says so.

    A claim about every panel is refuted by one panel, and borne out only by all of them: on a few
    that agree it is not judged.
    """

    claim: str
    holds: bool | None  # None: the data at hand cannot say
    evidence: str
