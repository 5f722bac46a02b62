"""The recorded votes of dustalov/llmfao (CC BY 4.0), from a folder that the user names."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.randomness import generator

AFTER = ("log seconds", "log tokens per second", "log characters", "log lines", "empty")
"""What is known of an answer once it was given."""

SOURCE = "https://github.com/dustalov/llmfao"


class Vote(NamedTuple):
    """Who of two models answered a prompt better, says one person."""

    prompt: int
    left: str
    right: str
    winner: str
    worker: str


class Collection(NamedTuple):
    """Votes in a fixed random order, since the file is sorted by pair, and what the answers look like."""

    votes: list[Vote]
    models: list[str]
    after: dict[tuple[int, str], list[float]]  # by prompt and model, as AFTER names it

    def usual(self, model: str) -> list[float]:
        """The mean of a model's answers to the prompts that were voted on."""
        prompts = {vote.prompt for vote in self.votes}
        rows = [row for (prompt, name), row in self.after.items() if name == model and prompt in prompts]
        return np.mean(rows, axis=0).tolist()


def read(folder: Path) -> Collection:
    """All votes between two answers that are there."""
    for name in ("crowd-comparisons.csv", "results.jsonl"):
        if not (folder / name).is_file():
            raise InvalidInput(
                f"There is no file {folder / name}. Expected a copy of {SOURCE}: get one, and name it."
            )
    named: dict[int, str] = {}
    after: dict[tuple[int, str], list[float]] = {}
    for line in (folder / "results.jsonl").read_text("utf-8").splitlines():
        if line:
            answer = json.loads(line)
            named[answer["model"]] = answer["name"]
            after[answer["prompt"], answer["name"]] = _after(answer)
    with (folder / "crowd-comparisons.csv").open(encoding="utf-8", newline="") as file:
        votes = [
            Vote(int(row["prompt"]), named[int(row["model_x"])], named[int(row["model_y"])], row["winner"],
                 row["worker"])
            for row in csv.DictReader(file)
        ]  # fmt: skip
    order = generator(0, "order of votes", 0).permutation(len(votes))
    models = sorted({name for vote in votes for name in (vote.left, vote.right)})
    return Collection([votes[i] for i in order.tolist()], models, after)


def _after(answer: dict[str, object]) -> list[float]:
    text = str(answer["result"]).strip()
    return [
        math.log1p(float(str(answer["duration"])) / 1000), math.log1p(float(str(answer["rate"]))),
        math.log1p(len(text)), math.log1p(text.count("\n")), float(not text),
    ]  # fmt: skip
