"""Draw the pictures of the pages by running the code beside them: python -m tools.page_pictures."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ("paper.md", "gallery.md")


def draw(page: str, folder: Path) -> list[str]:
    """Run every block of a page in one go, in a folder; gives the names of the pictures it shows."""
    text = (DOCS / page).read_text()
    before, known = Path.cwd(), {"__name__": page}
    os.chdir(folder)
    try:
        for block in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
            exec(compile(block, page, "exec"), known)
    finally:
        os.chdir(before)
    return re.findall(r"\]\(images/([^)]+)\)", text)


if __name__ == "__main__":
    for name in sys.argv[1:] or PAGES:
        print(name, *draw(name, DOCS / "images"))
