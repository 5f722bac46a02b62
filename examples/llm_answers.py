"""Choosing between answers of language models, with people's recorded votes.

    python examples/llm_answers.py FOLDER [answers.db]

FOLDER holds crowd-comparisons.csv and results.jsonl of https://github.com/dustalov/llmfao
(CC BY 4.0). Known before an answer exists: the model's size and kind. Known after: how
long it took, how fast and how long it is. Each recorded vote is one duel of a stream,
with the voter as its source. Before each of the last votes is told, the stream's estimate
says who should win, and the example counts how often the person agrees.
"""

from __future__ import annotations

import csv
import json
import math
import re
import sys
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from duelwise.randomness import generator
from duelwise.stream import DecisionStream, Report, StreamSettings, Winner

BEFORE = ("billions", "size stated", "chat")
AFTER = ("seconds", "tokens per second", "characters", "lines")
HELD_OUT = 0.2  # of the votes: predicted before they are told


class Answer(NamedTuple):
    name: str
    before: list[float]
    after: list[float]


class Comparison(NamedTuple):
    left: Answer
    right: Answer
    winner: Winner
    voter: str


def read_answers(folder: Path) -> dict[tuple[int, int], Answer]:
    """Every answer by (prompt, model)."""
    answers: dict[tuple[int, int], Answer] = {}
    with (folder / "results.jsonl").open(encoding="utf-8") as file:
        for record in map(json.loads, file):
            size = re.search(r"([\d.]+)B", record["name"])
            before = [math.log2(float(size[1])) / 4 if size else 0.0, float(size is not None),
                      float(record["type"] == "chat")]  # fmt: skip
            text = record["result"]
            after = [math.log1p(record["duration"] / 1000), math.log1p(record["rate"]),
                     math.log1p(len(text)), math.log1p(text.count("\n"))]  # fmt: skip
            answers[record["prompt"], record["model"]] = Answer(record["name"], before, after)
    return answers


def read_comparisons(folder: Path) -> list[Comparison]:
    """The recorded votes between two answers that are both there."""
    answers = read_answers(folder)
    found: list[Comparison] = []
    with (folder / "crowd-comparisons.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            prompt, first, second = int(row["prompt"]), int(row["model_x"]), int(row["model_y"])
            if (prompt, first) in answers and (prompt, second) in answers:
                pair = answers[prompt, first], answers[prompt, second]
                found.append(Comparison(*pair, cast("Winner", row["winner"]), row["worker"]))
    return found


def play(stream: DecisionStream, one: Comparison, *, ask_first: bool) -> bool | None:
    """One duel from asking to telling; with `ask_first`, whether the estimate foresaw the winner."""
    answers = (one.left, one.right)
    duel = stream.ask([{"id": str(i), "features": answer.before} for i, answer in enumerate(answers)])
    left, right = answers[duel.left.index], answers[duel.right.index]
    stream.observe(duel.ticket, left.after, right.after)
    foreseen: bool | None = None
    shown: Winner = one.winner
    if one.winner != "tie":
        won = 0 if one.winner == "left" else 1
        shown = "left" if duel.left.index == won else "right"
        if ask_first:
            worth = np.array([item.estimate for item in stream.report().coefficients])
            lead = worth @ (np.array(left.before + left.after) - np.array(right.before + right.after))
            foreseen = bool(lead > 0) == (shown == "left")
    stream.tell(duel.ticket, shown, source=f"voter {one.voter}")
    return foreseen


def main(folder: str, path: str = "answers.db") -> tuple[Report, list[bool]]:
    """Learn from all votes; foresee the last of them."""
    comparisons = read_comparisons(Path(folder))
    order = generator(0, "order of votes", 0).permutation(len(comparisons))  # the file is sorted by pair
    begin = round(len(comparisons) * (1 - HELD_OUT))
    settings = StreamSettings(context_dim=len(BEFORE), post_dim=len(AFTER), feature_names=BEFORE + AFTER)
    with DecisionStream.create(f"sqlite:///{path}", "answers", settings) as stream:
        foreseen = [play(stream, comparisons[i], ask_first=n >= begin) for n, i in enumerate(order)]
        report = stream.report()
    judged = [one for one in foreseen if one is not None]
    print(f"{report.counts['told']} votes learned; of the last {len(judged)} without ties "
          f"{sum(judged)} were foreseen")  # fmt: skip
    for item in report.coefficients:
        print(f"{item.feature:>18} {item.estimate:+.2f} ± {item.standard_error:.2f}")
    for source in report.down_weighted_sources[:5]:
        print(f"{source.source:>18} {source.votes} votes, mean weight {source.mean_weight:.2f}")
    return report, judged


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
