"""Which of 59 models, judged by 124 people: a stream's answers on real votes, as a page.

    python -m benchmarks.llmfao FOLDER [--page docs/llmfao.md]

FOLDER holds crowd-comparisons.csv and results.jsonl of https://github.com/dustalov/llmfao (CC BY 4.0).
It takes about five minutes.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.llmfao.page import page
from benchmarks.llmfao.playing import bradley_terry, play, settings
from benchmarks.llmfao.reading import read
from duelwise.storage import open_store

RECIPES = ["live", "rcdp-ucb"]


def made(folder: Path) -> str:
    """The page of a collection."""
    data = read(folder)
    with tempfile.TemporaryDirectory() as place:
        store = open_store(f"sqlite:///{place}/llmfao.db")
        plain = play(store, "plain", data, settings(data.models, features=False), RECIPES)
        rich = play(store, "rich", data, settings(data.models, features=True), RECIPES)
        chosen = settings(data.models, features=False, sources="weighted")
        weighted = play(store, "weighted", data, chosen, RECIPES[:1])
        store.close()
    return page(data, plain, rich, weighted, bradley_terry(data))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--page", type=Path, default=None)
    options = parser.parse_args()
    text = made(options.folder)
    if options.page is None:
        print(text)
    else:
        options.page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
