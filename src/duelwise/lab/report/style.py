"""Names, colours and strokes that every picture of the laboratory shares.

Colours are Okabe and Ito's, told apart with every common colour blindness; strokes tell lines apart
where there is no colour, as in print.
"""

from __future__ import annotations

NAMES = {
    "rcdp-ucb": "RCDP-UCB",
    "rcdb": "RCDB",
    "colstim": "CoLSTIM",
    "max-inp": "MaxInP",
    "max-pair-ucb": "MaxPairUCB",
}
COLOURS = {
    "rcdp-ucb": "#d55e00",
    "rcdb": "#0072b2",
    "colstim": "#009e73",
    "max-inp": "#cc79a7",
    "max-pair-ucb": "#e69f00",
}
STROKES = {"rcdb": "dashed", "colstim": "dashdot", "max-inp": "dotted", "max-pair-ucb": "long"}
OTHERS = ("#56b4e9", "#8c8c8c", "#5c3a9e", "#a0522d")
"""For methods the paper does not have."""
COLUMN_INCHES = 3.25  # the width of a column of a two-column paper
SCREEN_INCHES = 6.4


def name_of(method: str) -> str:
    """As the paper writes it, or as it is registered."""
    return NAMES.get(method, method)


def colour_of(method: str) -> str:
    """One colour for one method in every picture."""
    return COLOURS.get(method) or OTHERS[sum(method.encode()) % len(OTHERS)]


def stroke_of(method: str) -> str:
    """The name of the line's stroke."""
    return STROKES.get(method, "solid")
