"""The paper's claims, judged by the numbers at hand and by nothing else."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from duelwise.lab.paper.figures import FIGURES
from duelwise.lab.report.budget_claims import judge_budgets
from duelwise.lab.report.results import Results, interval
from duelwise.lab.report.style import NAMES
from duelwise.lab.report.verdicts import NEGLIGIBLE, OURS, RIVAL, STABLE, ClaimVerdict
from duelwise.types import Array, IntArray

PANELS = sum(len(figure.panels) for figure in FIGURES.values())
COMPARED = sum(len(panel.methods) > 1 for figure in FIGURES.values() for panel in figure.panels)
"""Panels of the paper, and those of them that compare methods."""


def judge(results: Results) -> list[ClaimVerdict]:
    """Every claim on the lines of one study and variant."""
    return [
        _lowest(results),
        _beats_rival(results),
        _widening(results),
        _stable_in_arms(results),
        _stable_in_variance(results),
        _sublinear(results),
        *judge_budgets(results),
    ]


def lowest_by_figure(results: Results) -> list[tuple[str, int, int]]:
    """Figure, panels where RCDP-UCB's mean is the lowest, panels."""
    counts: dict[str, list[bool]] = {}
    for place in _compared(results):
        counts.setdefault(place.lines[0].figure, []).append(_winner(place) == OURS)
    return [(figure, sum(won), len(won)) for figure, won in counts.items()]


def network_cost(neural: Results, other: Results) -> ClaimVerdict:
    """The share of an RCDP-UCB run's time that its network takes, from runs with and without it."""
    claim = "The network's cost is negligible."
    with_network = {line.panel: line for line in neural.where(figure="2", method=OURS)}
    without = {line.panel: line for line in other.where(figure="2", method=OURS)}
    shared = [title for title in with_network if title in without]
    if not shared:
        return ClaimVerdict(claim=claim, holds=None, evidence="Needs Fig. 2 played with mlp and with spline.")
    slow = [with_network[t].curve.seconds / len(with_network[t].curve.cell.runs) for t in shared]
    fast = [without[t].curve.seconds / len(without[t].curve.cell.runs) for t in shared]
    share = 1.0 - float(np.sum(fast) / np.sum(slow))
    return ClaimVerdict(
        claim=claim,
        holds=share <= NEGLIGIBLE,
        evidence=f"{np.mean(slow):.1f} s a run with the network, {np.mean(fast):.2f} s with a spline in its "
        f"place: about {share:.0%} of the time is the network's (negligible here: at most {NEGLIGIBLE:.0%}).",
    )


def _everywhere(borne_out: int, seen: int, *, needed: int) -> bool | None:
    """One that fails refutes a claim about all; only all of them bear it out."""
    if borne_out < seen:
        return False
    return True if seen >= needed else None


def _of(seen: int, needed: int) -> str:
    return "" if seen >= needed else f" (the paper draws {needed})"


def _compared(results: Results) -> list[Results]:
    return [place for place in results.places() if len(place.methods()) > 1]


def _winner(place: Results) -> str:
    return min(place, key=lambda line: float(line.curve.final.mean())).method


def _lowest(results: Results) -> ClaimVerdict:
    places = _compared(results)
    won = [place for place in places if _winner(place) == OURS]
    sure = sum(
        all(place.contrast(OURS, name)[0].high < 0 for name in place.methods() if name != OURS)
        for place in won
    )
    return ClaimVerdict(
        claim="RCDP-UCB has the lowest regret everywhere.",
        holds=_everywhere(len(won), len(places), needed=COMPARED),
        evidence=f"Lowest mean in {len(won)} of {len(places)} panels{_of(len(places), COMPARED)}; in {sure} "
        "of them every paired 95 % interval against the others excludes zero.",
    )


def _beats_rival(results: Results) -> ClaimVerdict:
    contrasts = results.contrast(OURS, RIVAL)
    lower = sum(contrast.high < 0 for contrast in contrasts)
    higher = sum(contrast.low > 0 for contrast in contrasts)
    return ClaimVerdict(
        claim=f"RCDP-UCB consistently outperforms {NAMES[RIVAL]}.",
        holds=_everywhere(lower, len(contrasts), needed=COMPARED),
        evidence=f"Paired 95 % intervals over {len(contrasts)} panels{_of(len(contrasts), COMPARED)}: "
        f"RCDP-UCB lower in {lower}, higher in "
        f"{higher}, no difference shown in {len(contrasts) - lower - higher}.",
    )


def _widening(results: Results) -> ClaimVerdict:
    """Larger at each d, and from the smallest d to the largest by more than chance."""
    texts: list[str] = []
    widens: list[bool] = []
    for regime in ("Strategic", "Stochastic"):
        gaps = _gaps(results.where(figure="E.2"), regime)
        if len(gaps) < 2 or min(map(len, gaps.values())) < 2:
            continue  # no growth, or no interval for it
        means, ends = [float(gap.mean()) for gap in gaps.values()], list(gaps.values())
        growth, low, high = interval(ends[-1] - ends[0])
        widens.append(low > 0.0 and all(small < large for small, large in pairwise(means)))
        texts.append(
            f"{regime.lower()}, d = {', '.join(gaps)}: {', '.join(f'{mean:,.0f}' for mean in means)} "
            f"(from first to last {growth:+,.0f}, 95 % interval {low:,.0f} to {high:,.0f})"
        )
    return ClaimVerdict(
        claim="In the linear task the gap to RCDB widens as d grows.",
        holds=_everywhere(sum(widens), len(widens), needed=2),
        evidence=f"RCDB - RCDP-UCB: {'; '.join(texts)}." if texts else "Needs Fig. E.2.",
    )


def _gaps(results: Results, regime: str) -> dict[str, Array]:
    """RIVAL - OURS run by run, (R,), for each d of a regime in which both were played."""
    gaps: dict[str, Array] = {}
    for place in results.places():
        finals = {line.method: line.curve.final for line in place}
        title = place.lines[0].panel
        if title.startswith(regime) and {OURS, RIVAL} <= finals.keys():
            gaps[title.split("d = ")[1]] = finals[RIVAL] - finals[OURS]
    return gaps


def _stable_in_arms(results: Results) -> ClaimVerdict:
    ratios: list[float] = []
    for figure in ("E.6", "E.7", "E.8", "E.9"):
        for regime in ("Strategic", "Stochastic"):
            chosen = results.where(figure=figure, method=OURS)
            means = [float(line.curve.final.mean()) for line in chosen if line.panel.startswith(regime)]
            if len(means) > 1:
                ratios.append(max(means) / min(means))
    return _stability(
        "RCDP-UCB is stable as the number of arms K grows.", ratios, needs="Figs. E.6 to E.9", of=8
    )


def _stable_in_variance(results: Results) -> ClaimVerdict:
    lines = [line for line in results.where(figure="E.15", method=OURS) if "code" not in line.panel]
    means = [float(line.curve.final.mean()) for line in lines]
    ratios = [max(means) / min(means)] if len(means) > 1 else []
    return _stability("RCDP-UCB is stable as the delay's variance grows.", ratios, needs="Fig. E.15", of=1)


def _stability(claim: str, ratios: list[float], *, needs: str, of: int) -> ClaimVerdict:
    if not ratios:
        return ClaimVerdict(claim=claim, holds=None, evidence=f"Needs {needs}.")
    steady = sum(ratio <= STABLE for ratio in ratios)
    return ClaimVerdict(
        claim=claim,
        holds=_everywhere(steady, len(ratios), needed=of),
        evidence=f"Largest over smallest mean final regret at most {STABLE} in {steady} of {len(ratios)} "
        f"sweeps (ratios {min(ratios):.2f} to {max(ratios):.2f}).",
    )


def _sublinear(results: Results) -> ClaimVerdict:
    slopes = [growth(line.curve.rounds, line.curve.regret) for line in results.where(method=OURS)]
    below = sum(high < 1.0 for _, _, high in slopes)
    means = [mean for mean, _, _ in slopes]
    return ClaimVerdict(
        claim="RCDP-UCB's regret is sublinear.",
        holds=_everywhere(below, len(slopes), needed=PANELS),
        evidence=f"The exponent of growth over the second half of the horizon is below 1 with 95 % "
        f"confidence in {below} of {len(slopes)} panels{_of(len(slopes), PANELS)} "
        f"(means {min(means):.2f} to {max(means):.2f})."
        if slopes
        else "Needs any figure.",
    )


def growth(rounds: IntArray, regret: Array) -> tuple[float, float, float]:
    """The slope of log regret on log t over the second half, each run by itself: mean and 95 % interval."""
    late = rounds >= rounds[-1] / 2
    t = np.log(rounds[late])
    t = t - t.mean()
    values = np.log(np.maximum(regret[:, late], 1e-12))
    return interval(values @ t / (t @ t))
