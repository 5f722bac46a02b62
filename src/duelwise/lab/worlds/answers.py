"""The world of recorded human votes between two LLM answers, from a copy of dustalov/llmfao.

Candidates are answers to one prompt. Known before serving: the prompt and the model (its
kind, size and organisation). Known after: how long the answer took and what it looks like.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from duelwise.errors import InvalidInput
from duelwise.lab.play.checks import check_whole
from duelwise.lab.worlds.datasets import digest, existing, standardised
from duelwise.lab.worlds.items import Items
from duelwise.lab.worlds.recorded import RecordedWorld, StrengthFit, VoteRecord
from duelwise.text_files import opened_text
from duelwise.types import Array

FILES = ("crowd-comparisons.csv", "models.jsonl", "prompts.jsonl", "results.jsonl")
SOURCE = "https://github.com/dustalov/llmfao (CC BY 4.0)"
OUTCOMES = {"left": 1.0, "right": 0.0, "tie": 0.5}
COMMON = 2  # an organisation with fewer models than this shares one column with the other rare ones


class _Answer(TypedDict):
    model: int
    prompt: int
    result: str
    duration: float
    rate: float
    name: str
    type: str
    org: str


class _Prompt(TypedDict):
    id: int
    text: str
    type: str


@dataclass(frozen=True, kw_only=True)
class Answers:
    """People choose between answers; `folder` holds the four files of the collection."""

    folder: str
    arms: int = 10

    def __post_init__(self) -> None:
        check_whole("arms", self.arms, least=2)

    def start(self, *, runs: Sequence[int], seed: int) -> RecordedWorld:
        items, record = _load(self.folder, self.data_digest())
        return RecordedWorld(items, record, runs=tuple(runs), seed=seed, arms=self.arms)

    def data_digest(self) -> str:
        return digest(*_paths(self.folder))


def _paths(folder: str) -> list[Path]:
    root = existing(folder, what="The collection of answers and votes", source=SOURCE)
    return [existing(str(root / name), what=f"The collection's file {name}", source=SOURCE) for name in FILES]


@lru_cache(maxsize=1)
def _load(folder: str, content: str) -> tuple[Items, VoteRecord]:
    """Answers to prompts that were voted on, in the order of the file, and all votes.

    They are read anew when the digest of the files is another.
    """
    votes_file, _, prompts_file, answers_file = _paths(folder)
    with opened_text(votes_file) as lines:
        votes = list(csv.DictReader(lines))
    voted = {int(vote["prompt"]) for vote in votes}
    answers: list[_Answer] = [answer for answer in _rows(answers_file) if answer["prompt"] in voted]
    prompts: dict[int, _Prompt] = {prompt["id"]: prompt for prompt in _rows(prompts_file)}
    number = {(answer["prompt"], answer["model"]): i for i, answer in enumerate(answers)}
    record = VoteRecord(
        np.array([_number(number, vote, "model_x") for vote in votes]),
        np.array([_number(number, vote, "model_y") for vote in votes]),
        np.array([OUTCOMES[vote["winner"]] for vote in votes]),
    )
    before, after = _before(answers, prompts), _after(answers)
    utility = StrengthFit().strengths(np.concatenate([before, after], axis=1), record)
    prompt = np.array([answer["prompt"] for answer in answers])
    groups = tuple(np.flatnonzero(prompt == which) for which in sorted(voted))
    return Items(before, after, utility, groups), record


def _rows(file: Path) -> list[Any]:
    with opened_text(file) as lines:
        return [json.loads(line) for line in lines if line.strip()]


def _number(number: dict[tuple[int, int], int], vote: dict[str, str], side: str) -> int:
    key = int(vote["prompt"]), int(vote[side])
    if key not in number:
        raise InvalidInput(
            f"A vote speaks of model {key[1]} on prompt {key[0]}, but results.jsonl has no such answer. "
            f"Expected the files of one collection: get them together from {SOURCE}."
        )
    return number[key]


def _before(answers: list[_Answer], prompts: dict[int, _Prompt]) -> Array:
    """(N, dx) model kind, size and organisation; prompt kind and length."""
    models = {answer["model"]: answer["org"] for answer in answers}
    common = sorted(org for org, count in Counter(models.values()).items() if count >= COMMON)
    kinds = sorted({prompt["type"] for prompt in prompts.values()})
    rows: list[list[float]] = []
    for answer in answers:
        prompt = prompts[answer["prompt"]]
        size = re.search(r"([\d.]+)\s*B\b", answer["name"])
        rows.append(
            [
                math.log(float(size[1])) if size else 0.0,
                float(size is not None),
                float(answer["type"] == "code"),
                *[float(answer["org"] == org) for org in common],
                *[float(prompt["type"] == kind) for kind in kinds],
                math.log1p(len(prompt["text"])),
            ]
        )
    return standardised(np.array(rows))


def _after(answers: list[_Answer]) -> Array:
    """(N, dy) duration, rate, length, words, lines, and whether it is empty, holds code, ends a sentence."""
    rows: list[list[float]] = []
    for answer in answers:
        text = answer["result"].strip()
        rows.append(
            [
                math.log1p(answer["duration"]),
                math.log1p(answer["rate"]),
                math.log1p(len(text)),
                math.log1p(len(text.split())),
                math.log1p(text.count("\n")),
                float(not text),
                float("```" in text or "<svg" in text),
                float(text.endswith((".", "!", "?", "```", "</svg>"))),
            ]
        )
    return standardised(np.array(rows))
