"""`duelwise list`: what can be named."""

from __future__ import annotations

from collections.abc import Collection

from rich.table import Table

from duelwise.cli.app import app
from duelwise.cli.outputs import JsonOption, check_outputs, console, write_json
from duelwise.lab.cells.problem import CORRUPTIONS, DELAYS, WORLDS
from duelwise.lab.paper.asked import TASKS
from duelwise.lab.paper.figures import FIGURES
from duelwise.lab.paper.protocols import PROTOCOLS
from duelwise.lab.worlds.mappings import MAPPINGS
from duelwise.learning.core.links import LINKS
from duelwise.learning.estimation import ESTIMATORS
from duelwise.learning.post_serving import POST_SERVING
from duelwise.learning.recipes import RECIPES


@app.command("list")
def list_names(json_file: JsonOption = None) -> None:
    """List every task, method, model, world, adversary and figure by its name."""
    names: dict[str, Collection[str]] = {
        "tasks": TASKS,
        "methods": RECIPES,
        "estimators": ESTIMATORS,
        "links": LINKS,
        "post-serving models": POST_SERVING,
        "mappings": MAPPINGS,
        "worlds": WORLDS,
        "delays": DELAYS,
        "corruptions": CORRUPTIONS,
        "protocols": PROTOCOLS,
        "figures of the paper": FIGURES,
    }
    check_outputs(json=json_file)
    write_json(json_file, lambda: {what: list(known) for what, known in names.items()})
    table = Table("what", "names", show_lines=True)
    for what, known in names.items():
        table.add_row(what, ", ".join(known))
    console(quiet=False, json=json_file).print(table)
