"""How long a cell will take and how much memory, roughly: for an honest time left, and to refuse in time."""

from __future__ import annotations

from duelwise.lab.cells.experiment import Cell, Method
from duelwise.lab.cells.problem import Problem, sizes
from duelwise.learning.recipes import STREAM_RECIPES
from duelwise.randomness import BLOCK

KNOTS = 13  # of the spline, for each coordinate
NUMBER = 8  # bytes of a float
IN_PYTHON = 400.0  # µs that a round of a peer without kernels takes more
IN_FLIGHT = 1024  # votes of a run that wait at once; what the queue has room for, roughly


def cost(cell: Cell) -> float:
    """Seconds of one thread that a cell takes."""
    return seconds(cell.problem, cell.method, len(cell.runs))


def seconds(problem: Problem, method: Method, runs: int) -> float:
    """Seconds of one thread, fitted to the times of the paper's own cells.

    Choosing costs K d a round, the geometry d², the exact estimate about d, a spline its
    coefficients squared, the network the rows it has seen.
    """
    context_dim, dim, arms, horizon, learns = _shape(problem, method)
    per_round = 3.0 + 0.045 * arms * dim + 0.008 * dim**2  # µs for each run
    if method.name not in STREAM_RECIPES:
        per_round += IN_PYTHON
    if _exact(method):
        per_round += 0.25e-3 * dim * horizon
    if learns and method.post_serving == "mlp":
        per_round += 1.2 * horizon
    elif learns and method.post_serving == "mlp-replay":
        per_round += 400.0
    elif learns:
        per_round += 1.2e-3 * (KNOTS * context_dim) ** 2
    return 1e-6 * per_round * horizon * runs


def memory(problem: Problem, method: Method, runs: int) -> float:
    """Bytes at the peak.

    Two blocks of rounds with their temporaries, a trajectory, matrices and inverses of two
    geometries, votes on their way, the history of the exact estimate, and what φ̂ keeps.
    """
    context_dim, dim, arms, horizon, learns = _shape(problem, method)
    post_dim = sizes(problem.world).post_dim
    block = 4 * BLOCK * arms * (context_dim + post_dim + 3)
    trajectory = 5 * horizon
    geometry = 5 * dim**2
    votes = 2 * min(horizon + BLOCK, IN_FLIGHT) * (dim + 3)
    history = 2 * horizon * (dim + 2) + dim**2 if _exact(method) else 0
    model = 0
    if learns and method.post_serving.startswith("mlp"):
        model = 6 * horizon * (context_dim + post_dim + 128)  # two rows a round, hidden layers of 64
    elif learns:
        features = KNOTS * context_dim
        model = 2 * features**2 + features * post_dim
    return float(NUMBER * runs * (block + trajectory + geometry + votes + history + model))


def _exact(method: Method) -> bool:
    return method.estimate == "full-mle" or (method.estimate is None and method.name == "rcdp-ucb")


def _shape(problem: Problem, method: Method) -> tuple[int, int, int, int, bool]:
    """d_x, d of this method, K, T, and whether it learns φ̂."""
    context_dim, post_dim, arms = sizes(problem.world)
    learns = method.post_serving != "none" and post_dim > 0
    return context_dim, context_dim + (post_dim if learns else 0), arms, problem.horizon, learns
