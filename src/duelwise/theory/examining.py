"""Checking claims one after another."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from duelwise.lab.cells.codec import Plain
from duelwise.theory.claim import Claim, Finding


def examine(claims: Iterable[Claim], *, seed: int) -> Iterator[Finding]:
    """Check each claim with draws of this seed."""
    for claim in claims:
        begun = time.process_time()
        checked = claim.check(seed)
        yield Finding(claim=claim, checked=checked, seconds=time.process_time() - begun)


def as_table(finding: Finding) -> dict[str, Plain]:
    """A finding as plain values."""
    claim, printed, corrected = finding.claim, finding.checked.printed, finding.checked.corrected
    row: dict[str, Plain] = {
        "claim": claim.name, "statement": claim.statement, "verdict": finding.verdict,
        "statistic": printed.value, "low": printed.low, "high": printed.high, "runs": printed.runs,
        "labels": list(claim.labels), "measures": claim.measures, "because": claim.because,
        "seconds": round(finding.seconds, 2),
    }  # fmt: skip
    if corrected is not None:
        row["corrected"] = {"statistic": corrected.value, "low": corrected.low, "high": corrected.high}
    return row
