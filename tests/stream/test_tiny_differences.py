"""Features that hardly differ: no square of a difference may leave the floats."""

import numpy as np
import pytest
from living import Clock

from duelwise.storage import Store
from duelwise.stream import DecisionStream, StreamSettings
from duelwise.stream.evaluating import Folds, evaluate
from duelwise.stream.stressing import stress


@pytest.mark.parametrize("goal", ["serve", "settle"])
@pytest.mark.parametrize("tiny", [5e-324, 1e-310, 1e-200, 1e-160, 1e-150, 1e-140, 2e-140, 1e-100])
def test_a_difference_near_nothing_breaks_no_answer(
    store: Store, clock: Clock, goal: str, tiny: float
) -> None:
    settings = StreamSettings(context_dim=1, goal=goal)
    with DecisionStream.create(store, "small", settings, clock=clock) as stream:
        for _ in range(6):
            duel = stream.ask([[0.0], [tiny], [tiny / 2]])
            assert not duel.fallback
            stream.tell(duel.ticket, "left")
        ranked = stream.rank([[0.5], [3.0]])
        numbers = [(one.utility, one.standard_error, one.probability_best) for one in ranked.items]
        assert np.isfinite(numbers).all()
        for _ in range(4):  # features of the usual size are learned from as ever
            duel = stream.ask([[0.5], [3.0]])
            stream.tell(duel.ticket, "left" if duel.left.index == 1 else "right")
        assert stream.best([[0.5], [3.0]]).id == "1"


@pytest.mark.parametrize("tiny", [5e-324, 1e-200, 1e-160, 1e-139])
def test_a_difference_near_nothing_breaks_nothing_that_looks_at_all_votes(
    store: Store, clock: Clock, tiny: float
) -> None:
    settings = StreamSettings(context_dim=2, sources="weighted")
    with DecisionStream.create(store, "small", settings, clock=clock) as stream:
        for n in range(30):
            duel = stream.ask([[0.0, 0.0], [1.0, tiny]])
            stream.tell(duel.ticket, "left" if duel.left.index else "right", source=f"rater {n % 3}")
        stream.wait_for_background()
        assert stream.report().problem is None
        log, upto = stream.replica.log, stream.replica.folded.seq
        assert stress(settings, log, upto=upto, attack="strategic").votes == 30
        found = evaluate(settings, log, upto=upto, folds=Folds(count=2)).lines[-1].held_out
        assert found is not None
        assert found.accuracy == 1


@pytest.mark.parametrize("tiny", [0.1 + 0.2 - 0.3, 1e-11, 1e-9])
def test_a_feature_that_differed_by_rounding_alone_may_differ_later(
    store: Store, clock: Clock, tiny: float
) -> None:
    """All dishes cost the same, up to how the price was summed; then some cost more."""
    rng = np.random.default_rng(3)
    settings = StreamSettings(context_dim=3, feature_names=("price", "tax", "stars"))
    with DecisionStream.create(store, "small", settings, clock=clock) as stream:
        for n in range(120):
            x = rng.uniform(0, 1, size=(3, 3))
            if n < 20:
                x[:, :2] = 0.3 + tiny * rng.integers(2, size=(3, 2))
            duel = stream.ask(x)
            apart = (x[duel.right.index] - x[duel.left.index]) @ [4.0, 0.0, 0.0]
            stream.tell(duel.ticket, "left" if rng.random() < 1 / (1 + np.exp(-apart)) else "right")
        ranked = stream.rank([[0.1, 0.3, 0.5], [0.9, 0.3, 0.5]])
        assert ranked.items[0].id == "0"
        assert 0 < ranked.items[0].low < 1.6 < ranked.items[0].high < 5  # half of 4 · 0.8
        assert np.isfinite([one.estimate for one in stream.report().coefficients]).all()
