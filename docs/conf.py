"""How the site is built: `make docs`. Reference pages and tutorials are made from the code each time."""

from __future__ import annotations

import sys
from importlib.metadata import version as installed
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

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
# Pages that others have yet to write are taken in when they are there.
suppress_warnings = ["toc.empty_glob"]
html_theme = "furo"
html_title = "Duelwise"
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_show_sourcelink = False
html_copy_source = False
