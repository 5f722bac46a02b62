"""The readings of RCDP-UCB that the paper itself offers: published runs, Listing 1, main text, appendix."""

from __future__ import annotations

import math
from typing import Literal

from duelwise.learning import radii
from duelwise.learning.recipes import Tuning

PresetName = Literal["paper", "listing-1", "theory", "appendix"]


def preset_options(
    name: PresetName, *, dim: int, corruption_budget: float, delay: float, norm_bound: float,
    feature_bound: float = 1.0,
) -> Tuning:  # fmt: skip
    """What a preset puts in the place of the recipe's own settings."""
    if name == "paper":
        return {}
    if name == "listing-1":
        return {
            "exploration_width": 0.5, "clip": 1.0, "curvature": 0.1, "estimate": "one-step",
            "features": "predicted",
        }  # fmt: skip
    tail = math.exp(-norm_bound * feature_bound)
    return {
        "exploration_width": "theory",
        "clip": radii.clip(dim, corruption_budget + delay),
        "curvature": tail / (1.0 + tail) ** 2,  # ġ(ML), the least slope while ‖Δz‖ ≤ L
        "corruption_budget": corruption_budget,
        "delay": 3.0 * delay if name == "appendix" else delay,  # the appendix has 3αD
        "norm_bound": norm_bound,
        "feature_bound": feature_bound,
    }
