"""What the theory advises for given budgets: α, c, the regret to expect, which assumption does not fit."""

from __future__ import annotations

from dataclasses import dataclass, replace

from duelwise.theory.bounds import LowerBound, Sizes, UpperBound, lower_bound, upper_bound
from duelwise.theory.links import least_slope


@dataclass(frozen=True, kw_only=True)
class Advice:
    """Settings that follow from budgets, and what they promise."""

    alpha: float  # clip
    radius: float  # β_T, corrected
    width: float  # c_T = 2β_T
    upper: UpperBound
    lower: LowerBound
    one_more_lie: float  # what C + 1 adds to the upper bound
    longer_delay: float  # what a tenth more Λ or μ adds to it
    broken: tuple[str, ...]  # assumptions that do not fit, each with what to do


def advise(sizes: Sizes, *, feature_bound: float = 1.0) -> Advice:
    """The advice for these sizes; feature_bound L is the longest ‖Δz‖ that is met."""
    bound = upper_bound(sizes)
    return Advice(
        alpha=sizes.alpha,
        radius=sizes.radius,
        width=2.0 * sizes.radius,
        upper=bound,
        lower=lower_bound(sizes),
        one_more_lie=upper_bound(replace(sizes, corruption_budget=sizes.corruption_budget + 1)).total
        - bound.total,
        longer_delay=upper_bound(
            replace(sizes, delay_budget=1.1 * sizes.delay_budget, mean_delay=1.1 * sizes.mean_delay)
        ).total
        - bound.total,
        broken=broken_assumptions(sizes, feature_bound=feature_bound),
    )


def broken_assumptions(sizes: Sizes, *, feature_bound: float = 1.0) -> tuple[str, ...]:
    """Which assumptions of the theorems these sizes do not meet."""
    slope = least_slope(sizes.norm_bound, feature_bound)
    trivial = sizes.norm_bound * feature_bound * sizes.horizon
    bound = upper_bound(sizes).total
    tests = {
        f"‖Δz‖ ≤ 1 fails: features differ by up to {feature_bound:.3g}. Divide all features by that; "
        "in a stream, declare ranges so many times as wide.": (feature_bound > 1.0),
        f"ġ ≥ κ fails: κ is {sizes.curvature:.3g}, but ġ(ML) = {slope:.3g}. "
        + (f"Take κ = {slope:.3g}." if slope > 0.0 else "No κ is above 0 there: take a smaller M or L."): (
            sizes.curvature > slope * (1.0 + 1e-9)
        ),
        "Exactly one delay regime is assumed, and both Λ and μ are given. The larger of √Λ and μ is used.": (
            sizes.delay_budget > 0.0 and sizes.mean_delay > 0.0
        ),
        "The lower bound needs Λ ≤ T² and μ < T: votes that late never teach within the horizon.": (
            sizes.delay_budget > sizes.horizon**2 or sizes.mean_delay >= sizes.horizon
        ),
        "The lower bound needs T ≥ max(4d²/25, dC): the horizon is too short to outvote the lies.": (
            sizes.horizon < max(4.0 * sizes.dim**2 / 25.0, sizes.dim * sizes.corruption_budget)
        ),
        "φ̂'s error enters the bound, and C_0 is 0: the term for learning φ is left out.": (
            sizes.post_dim > 0 and sizes.learning_constant == 0.0
        ),
        f"The bound says nothing at this horizon: {bound:,.0f} is above ML·T = {trivial:,.0f}, "
        "which no choices exceed. Its rates may still be used to compare settings.": bound > trivial,
    }
    return tuple(text for text, applies in tests.items() if applies)
