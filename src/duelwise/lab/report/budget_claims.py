"""The paper's claims about delays and lies, judged by the figures' data."""

from __future__ import annotations

from itertools import pairwise

from duelwise.lab.report.results import PlacedCurve, Results, interval
from duelwise.lab.report.verdicts import OURS, STABLE, ClaimVerdict

REGIMES = ("Strategic", "Stochastic")


def judge_budgets(results: Results) -> list[ClaimVerdict]:
    """Claims about what delays and lies do to RCDP-UCB."""
    ours = results.where(method=OURS)
    return [_agnostic(ours), _slower(ours), _worse_with_lies(ours)]


def _agnostic(ours: Results) -> ClaimVerdict:
    """The same task under strategic and stochastic delays costs about the same."""
    means: dict[tuple[str, str], list[float]] = {}
    for line in ours.where(figure=("1", "2", "3", "E.1")):
        task = " ".join(word for word in line.panel.replace(":", " ").split() if word not in REGIMES)
        means.setdefault((line.figure, task), []).append(float(line.curve.final.mean()))
    ratios = [max(pair) / min(pair) for pair in means.values() if len(pair) == len(REGIMES)]
    claim = "RCDP-UCB does not depend on the delay's regime."
    if not ratios:
        return ClaimVerdict(claim=claim, holds=None, evidence="Needs both panels of Figs. 1 to 3 or E.1.")
    steady = sum(ratio <= STABLE for ratio in ratios)
    return ClaimVerdict(
        claim=claim,
        holds=steady == len(ratios),
        evidence=f"Larger over smaller mean final regret of the two regimes at most {STABLE} in {steady} of "
        f"{len(ratios)} tasks (ratios {min(ratios):.2f} to {max(ratios):.2f}).",
    )


def _slower(ours: Results) -> ClaimVerdict:
    sweeps = [
        [line for line in ours.where(figure=figure) if line.panel.startswith(regime)]
        for figure in ("E.11", "E.12", "E.13", "E.14")
        for regime in REGIMES
    ]
    return _growing("RCDP-UCB's regret grows with Λ and with μ.", sweeps, needs="Figs. E.11 to E.14")


def _worse_with_lies(ours: Results) -> ClaimVerdict:
    lines = list(ours.where(figure="E.10"))
    dims = dict.fromkeys(line.panel.split(",")[0] for line in lines)
    sweeps = [[line for line in lines if line.panel.startswith(f"{dim},")] for dim in dims]
    return _growing("RCDP-UCB's regret grows with C.", sweeps, needs="Fig. E.10")


def _growing(claim: str, sweeps: list[list[PlacedCurve]], *, needs: str) -> ClaimVerdict:
    """At every step of a sweep, and from its first to its last by more than chance."""
    judged = [_comparable(sweep) for sweep in sweeps]
    judged = [sweep for sweep in judged if len(sweep) > 1 and len(sweep[0].curve.final) > 1]
    if not judged:
        return ClaimVerdict(claim=claim, holds=None, evidence=f"Needs {needs}.")
    grows = 0
    ratios: list[float] = []
    for sweep in judged:
        finals = [line.curve.final for line in sweep]
        _, low, _ = interval(finals[-1] - finals[0])
        grows += low > 0.0 and all(a.mean() < b.mean() for a, b in pairwise(finals))
        ratios.append(float(finals[-1].mean() / finals[0].mean()))
    return ClaimVerdict(
        claim=claim,
        holds=grows == len(judged),
        evidence=f"It does at every step, and from first to last with 95 % confidence, in {grows} of "
        f"{len(judged)} sweeps (last over first {min(ratios):.2f} to {max(ratios):.2f}).",
    )


def _comparable(sweep: list[PlacedCurve]) -> list[PlacedCurve]:
    """Lines that differ in the swept budget alone: two captions lower C together with a larger Λ."""
    if not sweep or sweep[0].figure == "E.10":
        return sweep
    first = sweep[0].drawn_in.problem.corruption
    return [line for line in sweep if line.drawn_in.problem.corruption == first]
