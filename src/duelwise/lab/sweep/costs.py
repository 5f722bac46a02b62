"""How long a cell will take, roughly: what an honest time left needs."""

from __future__ import annotations

from duelwise.lab.cells.experiment import Cell
from duelwise.lab.cells.problem import sizes

KNOTS = 13  # of the spline, for each coordinate


def cost(cell: Cell) -> float:
    """Seconds of one thread, fitted to the times of the paper's own cells; only ratios matter.

    Choosing costs K d a round, the geometry d², the exact estimate about d, a spline its
    coefficients squared, the network the rows it has seen.
    """
    context_dim, post_dim, arms = sizes(cell.problem.world)
    method, horizon = cell.method, cell.problem.horizon
    learns = method.post_serving != "none" and post_dim > 0
    dim = context_dim + (post_dim if learns else 0)
    per_round = 3.0 + 0.045 * arms * dim + 0.008 * dim**2  # µs for each run
    if method.estimate == "full-mle" or (method.estimate is None and method.name == "rcdp-ucb"):
        per_round += 0.25e-3 * dim * horizon
    if learns and method.post_serving == "mlp":
        per_round += 1.2 * horizon
    elif learns and method.post_serving == "mlp-replay":
        per_round += 400.0
    elif learns:
        per_round += 1.2e-3 * (KNOTS * context_dim) ** 2
    return 1e-6 * per_round * horizon * len(cell.runs)
