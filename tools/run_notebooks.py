"""Execute notebooks and keep their outputs: python -m tools.run_notebooks [notebooks/1-...py].

The sources are Python files that Jupytext reads as notebooks; the .ipynb beside each is made here.
"""

from __future__ import annotations

import sys
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "notebooks"
TIMEOUT = 600  # seconds of one cell, compiling included


def executed(source: Path) -> nbformat.NotebookNode:
    """The notebook of a source, run from its first cell to its last in a fresh kernel."""
    notebook = jupytext.read(source)
    NotebookClient(notebook, timeout=TIMEOUT, kernel_name="python3", resources={}).execute()
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{number}"  # the same each time, so that only outputs can differ
        cell.metadata.pop("execution", None)
    notebook.metadata.pop("language_info", None)
    return notebook


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:] or sorted(map(str, FOLDER.glob("*.py")))):
        nbformat.write(executed(path), path.with_suffix(".ipynb"))
        print("ran", path)
