"""Compiling what a stream will run before anybody waits for it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from duelwise.learning.core.deferred_compilation import patience
from duelwise.stream.candidates import CandidateSet
from duelwise.stream.choosing import Chooser
from duelwise.stream.events import Asked, Observed, Recorded, Told
from duelwise.stream.settings import StreamSettings
from duelwise.stream.stream_state import StreamState

_known: set[str] = set()  # kinds that this process has compiled


def warm_once(settings: StreamSettings) -> None:
    """Compile what a stream of these settings runs, unless one of its kind was compiled here before."""
    kind = kind_of(settings.to_json())
    if kind not in _known:
        # To a compiler sizes are alike, and small ones are quick.
        post_dim = min(settings.post_dim, 1)
        warm(replace(settings, context_dim=2, post_dim=post_dim, feature_names=(), ranges={}, encodings={}))
        _known.add(kind)


def warm(settings: StreamSettings) -> None:
    """Some duels in memory, so that every kernel of these parts is compiled, or loaded from disk."""
    with patience(0.0):
        _play_some(settings)


def _play_some(settings: StreamSettings) -> None:
    folded, chooser = StreamState(settings), Chooser(settings)
    rng = np.random.default_rng(0)
    x, seq = rng.uniform(size=(3, settings.context_dim)), 0
    for round in range(2):
        choice = chooser.choose(folded, CandidateSet(x, None), round)
        asked = Asked(
            round=round, tag="", arms=choice.arms, x=x[choice.arms], predicted=choice.predicted,
            swapped=choice.swapped, model_version=seq,
        )  # fmt: skip
        y = rng.uniform(size=(2, settings.post_dim))
        for event in (asked, Observed(round, y), Told(round, 1.0)):
            seq += 1
            folded.apply(Recorded(seq, 0.0, event))
    folded.snapshot()
    if folded.inputs.learner.asks_at_once:
        folded.choose_and_serve([x, x], [False, True], [1, 1])


def kinds(texts: Iterable[str]) -> list[str]:
    """Of streams' settings (as JSON) one of each kind, after the defaults: to a compiler sizes are alike."""
    found = {"": StreamSettings(context_dim=2, post_dim=1).to_json()}
    for text in texts:
        found.setdefault(kind_of(text), text)
    return list(found.values())


def kind_of(text: str) -> str:
    """What of a stream's settings (as JSON) decides which kernels it runs."""
    made = json.loads(text)
    return json.dumps([made.get("recipe"), made.get("options"), made.get("post_dim", 0) > 0])
