"""Options that no learner can be made of are refused where a stream is created, not where it is asked."""

import pytest
from living import Clock

from duelwise.errors import InvalidInput
from duelwise.storage import JSON, Store
from duelwise.stream import DecisionStream, StreamSettings


@pytest.mark.parametrize(
    "options",
    [
        {"curvature": 1e308}, {"curvature": 1e-200}, {"regularisation": 5e-324}, {"distrust_votes": 1e308},
        {"horizon": float("inf")}, {"clip": float("nan")},
        {"post_serving": {"name": "spline", "knots": 1_000_000_000}},
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_is_refused_and_leaves_no_stream(
    store: Store, clock: Clock, options: dict[str, JSON]
) -> None:
    with pytest.raises(InvalidInput):
        DecisionStream.create(
            store,
            "far",
            StreamSettings(context_dim=2, post_dim=1, recipe="steady", options=options),
            clock=clock,
        )
    assert store.count() == 0
