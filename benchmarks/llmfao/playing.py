"""The recorded votes, taken in by default streams: by the model alone, and by what its answers were like."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from benchmarks.llmfao.reading import AFTER, Collection
from duelwise.answers.offline import offline_fit
from duelwise.errors import DuelwiseError
from duelwise.storage import Store
from duelwise.stream import DecisionStream, StreamSettings
from duelwise.stream.answering import Ranking
from duelwise.stream.evaluating import Evaluation, Folds, evaluate
from duelwise.stream.operations import Import
from duelwise.stream.source_ratings import Rater
from duelwise.types import Array

AT_ONCE = 500
LOW_WEIGHT = 0.1


class Played(NamedTuple):
    """What a stream made of the votes."""

    evaluation: Evaluation
    low_weight: float  # the share of votes that count less than LOW_WEIGHT
    raters: tuple[Rater, ...]
    ranking: Ranking
    adjusted: Ranking | None  # with what is known of answers held equal


def settings(models: list[str], *, features: bool, sources: str = "equal") -> StreamSettings:
    """A stream as it comes, with an indicator for each model."""
    names = [f"model={name}" for name in models]
    return StreamSettings(
        context_dim=len(models), post_dim=len(AFTER) if features else 0, sources=sources,
        encodings={"model": list(models)}, feature_names=(*names, *(AFTER if features else ())),
    )  # fmt: skip


def play(store: Store, name: str, data: Collection, chosen: StreamSettings, recipes: list[str]) -> Played:
    """All votes in order, then every answer of the stream."""
    features = chosen.post_dim > 0
    duels = [
        Import(
            left={"model": vote.left}, right={"model": vote.right}, winner=vote.winner, source=vote.worker,
            left_context=data.after[vote.prompt, vote.left] if features else (),
            right_context=data.after[vote.prompt, vote.right] if features else (),
        )
        for vote in data.votes
    ]  # fmt: skip
    with DecisionStream.create(store, name, chosen) as stream:
        for start in range(0, len(duels), AT_ONCE):
            for answer in stream.run(duels[start : start + AT_ONCE]):
                if isinstance(answer, DuelwiseError):
                    raise answer
            stream.wait_for_background()  # sources are judged there
        stream.put_items(
            [
                {
                    "id": model,
                    "features": {"model": model},
                    **({"post": data.usual(model)} if features else {}),
                }
                for model in data.models
            ]
        )
        replica = stream.replica
        found = evaluate(
            chosen, replica.log, upto=replica.folded.seq, recipes=recipes, folds=Folds(count=5, seed=0)
        )
        return Played(
            evaluation=found,
            low_weight=float((stream.votes().weight < LOW_WEIGHT).mean()),
            raters=stream.raters(),
            ranking=stream.rank(),
            adjusted=stream.rank(adjust=AFTER) if features else None,
        )


def bradley_terry(data: Collection) -> dict[str, float]:
    """The strength of each model by the plain model of all votes."""
    at = {name: k for k, name in enumerate(data.models)}
    dz: Array = np.zeros((len(data.votes), len(at)))
    for row, vote in enumerate(data.votes):
        dz[row, at[vote.left]], dz[row, at[vote.right]] = 1.0, -1.0
    outcome = np.array([{"left": 1.0, "right": 0.0, "tie": 0.5}[vote.winner] for vote in data.votes])
    return dict(zip(data.models, offline_fit(dz, outcome).tolist(), strict=True))
