"""Put the numbers of a folder of results into docs/reproduction.md.

    python tools/reproduction_page.py results

Everything between the page's two markers is replaced by what `duelwise report` writes as summary.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

from duelwise.lab.report.results import Results
from duelwise.lab.report.summary import markdown

PAGE = Path(__file__).parent.parent / "docs" / "reproduction.md"
BEGIN, END = "<!-- numbers: begin -->\n", "<!-- numbers: end -->"

if __name__ == "__main__":
    before, rest = PAGE.read_text().split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{markdown(Results.load(sys.argv[1]))}\n{END}{after}")
