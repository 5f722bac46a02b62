"""How the site is built: `make docs`. Reference pages and tutorials are made from the code each time."""

from __future__ import annotations

import sys
from importlib.metadata import version as installed
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from sphinx.application import Sphinx  # noqa: E402
from tools.reference_pages import write_pages  # noqa: E402
from tools.tutorial_pages import write_tutorials  # noqa: E402

write_pages(HERE / "reference")
write_tutorials(HERE.parent / "notebooks", HERE / "tutorials")

project = "Duelwise"
author = "The Duelwise authors"
copyright = author
version = release = installed("duelwise")
extensions = ["myst_parser"]
myst_enable_extensions = ["attrs_inline", "colon_fence"]
myst_heading_anchors = 4
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "Duelwise"
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_show_sourcelink = False
html_copy_source = False
OPTIONAL = ("theory", "upgrading")  # pages that are taken in where they are


def setup(app: Sphinx) -> None:
    """Registers what the build does to a page before it is read."""
    app.connect("source-read", _leave_out_absent)


def _leave_out_absent(_app: Sphinx, page: str, source: list[str]) -> None:
    if page == "index":
        absent = [name for name in OPTIONAL if not (HERE / f"{name}.md").exists()]
        source[0] = "".join(line for line in source[0].splitlines(True) if line.strip() not in absent)
