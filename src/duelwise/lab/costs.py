"""How long a cell will take, roughly: what an honest time left needs."""

from __future__ import annotations

from duelwise.lab.experiment import Cell
from duelwise.lab.problem import sizes

KNOTS = 13  # of the spline, per coordinate


def cost(cell: Cell) -> float:
    """Seconds of one thread, from times measured on one machine; only ratios matter."""
    context_dim, post_dim, arms = sizes(cell.problem.world)
    learns = cell.method.post_serving != "none" and post_dim > 0
    dim = context_dim + (post_dim if learns else 0)
    per_round = 30.0 + 0.3 * arms + 0.02 * dim**2  # µs for each run
    if learns:
        per_round += 0.5e-3 * (KNOTS * context_dim) ** 2
    horizon = cell.problem.horizon
    if cell.method.post_serving == "mlp":
        per_round += 1.2 * horizon  # every step goes over all rows so far
    if cell.method.post_serving == "mlp-replay":
        per_round += 400.0
    return 1e-6 * per_round * horizon * len(cell.runs)
