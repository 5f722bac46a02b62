"""A task of the paper at any size, as the study of one panel: what `duelwise run` plays."""

from __future__ import annotations

from duelwise.lab.cells.problem import DelaySettings, Problem, Synthetic
from duelwise.lab.paper.figures import CORRUPTION, HORIZON, METHODS, Figure, Panel
from duelwise.lab.paper.protocols import PAPER, Protocol
from duelwise.lab.paper.study import Study
from duelwise.lab.play.corruptions import StrategicCorruption

TASKS = {
    "linear": "no post-serving context",
    "post-serving": "all methods learn φ",
    "pre-serving": "only RCDP-UCB learns φ; the others see what is known before serving",
}
ASKED = "asked"


def asked(
    task: str, *, mapping: str, delay: DelaySettings, corruption_budget: int = CORRUPTION,
    context_dim: int = 10, arms: int = 10, horizon: int = HORIZON, runs: int = 10, seed: int = 0,
    methods: tuple[str, ...] = METHODS, post_serving: str = "spline", protocol: Protocol = PAPER,
    link: str = "logistic",
) -> Study:  # fmt: skip
    """These methods on a task. Of a protocol's variants the first, in which self-duels are allowed."""
    world = Synthetic(
        mapping="none" if task == "linear" else mapping, context_dim=context_dim, arms=arms,
        parameters="published", link=link,
    )  # fmt: skip
    problem = Problem(
        world=world, delay=delay, corruption=StrategicCorruption(budget=corruption_budget),
        horizon=horizon, seed=seed,
    )  # fmt: skip
    panel = Panel(
        title=task, task=task, regime=ASKED, base=problem, problem=problem, methods=methods,
        learners={"linear": (), "post-serving": methods, "pre-serving": ("rcdp-ucb",)}[task],
    )  # fmt: skip
    return Study(
        figures=(Figure(number=ASKED, label="", caption="", panels=(panel,)),),
        protocol=protocol, variants=protocol.variants[:1], post_serving=post_serving, runs=runs,
        link=None if link == "logistic" else link,
    )  # fmt: skip
