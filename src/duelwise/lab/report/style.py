"""Names and colours that every picture of the laboratory shares."""

from __future__ import annotations

NAMES = {
    "rcdp-ucb": "RCDP-UCB",
    "rcdb": "RCDB",
    "colstim": "CoLSTIM",
    "max-inp": "MaxInP",
    "max-pair-ucb": "MaxPairUCB",
}
COLOURS = {
    "rcdp-ucb": "#d62728",
    "rcdb": "#1f77b4",
    "colstim": "#2ca02c",
    "max-inp": "#9467bd",
    "max-pair-ucb": "#ff7f0e",
}
