"""The oldest versions that pyproject.toml allows, as constraints: python -m tools.oldest > oldest.txt.

`make oldest` installs them in an environment of their own and runs the quick tests there.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

EXTRAS = ("lab", "service", "postgres", "cluster", "sklearn")


def oldest(pyproject: Path) -> list[str]:
    """NAME==VERSION for every lower bound of the core and of the extras that users install."""
    with pyproject.open("rb") as file:
        project = tomllib.load(file)["project"]
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *(need for name in EXTRAS for need in extras.get(name, ()))]
    found = [re.match(r"([\w.-]+)(?:\[[^\]]*\])?>=([\d.]+)", need) for need in asked]
    return sorted(f"{one[1]}=={one[2]}" for one in found if one is not None)


if __name__ == "__main__":
    print("\n".join(oldest(Path(__file__).parents[1] / "pyproject.toml")))
