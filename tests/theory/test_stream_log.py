"""What a stream's own log says of the sizes that the theory asks for."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from duelwise.cli import app
from duelwise.stream import DecisionStream, StreamSettings
from duelwise.stream.events import Asked, Observed, Ranged, Recorded, Told
from duelwise.theory.stream_log import read_log


def asked(round: int, first: float, second: float) -> Asked:
    x, predicted = np.array([[first], [second]]), np.zeros((2, 1))
    return Asked(round, "tag", np.array([0, 1]), x, predicted, False, 0)


LOG = [
    asked(0, 0.0, 3.0), Observed(0, np.array([[0.0], [4.0]])), asked(1, 1.0, 1.0), asked(2, 0.0, 1.0),
    Told(0, 1.0), Told(2, 0.0), asked(3, 0.0, 0.5), Told(1, 1.0), Told(1, 1.0),
]  # fmt: skip


def test_delays_are_counted_in_duels() -> None:
    events = [Recorded(seq, 0.0, event) for seq, event in enumerate(LOG, start=1)]
    found = read_log(events, context_dim=1, post_dim=1)
    assert (found.duels, found.votes) == (4, 3)
    assert found.total_delay == 2 + 0 + 2
    assert found.mean_delay == pytest.approx(4 / 3)
    assert found.most_pending == 3
    assert found.feature_bound == pytest.approx(5.0)  # (0, 0) against (3, 4)
    sizes = found.sizes(corruption_budget=2.0, norm_bound=1.0)
    assert (sizes.horizon, sizes.mean_delay, sizes.corruption_budget) == (4, found.mean_delay, 2.0)


def test_differences_are_in_the_units_of_the_last_ranges() -> None:
    """Those of the features stand behind that of the side, where a stream has one."""
    ranged = [
        Ranged(np.array([9.0, 0.0, 2.0]), np.array([9.0, half, 4.0]), np.ones(3), True) for half in (1.0, 6.0)
    ]
    events = [Recorded(seq, 0.0, event) for seq, event in enumerate([ranged[0], *LOG, ranged[1]], start=1)]
    found = read_log(events, context_dim=1, post_dim=1)
    assert found.feature_bound == pytest.approx(np.hypot(3.0 / 6.0, 4.0 / 4.0))


def test_a_context_in_parts_is_counted_when_it_is_whole() -> None:
    parts = [Observed(0, np.array([[0.0], [np.nan]])), Observed(0, np.array([[0.0], [4.0]]))]
    events = [
        Recorded(seq, 0.0, event) for seq, event in enumerate([asked(0, 0.0, 3.0), *parts] * 200, start=1)
    ]
    found = read_log(events, context_dim=1, post_dim=1)
    assert found.feature_bound == pytest.approx(5.0)
    assert found.learning_rate == pytest.approx(0.0)


def test_advice_on_a_stream_does_not_depend_on_its_units(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/duels.db"
    told: list[str] = []
    for name, unit in (("small", 1.0), ("large", 1024.0)):
        with DecisionStream.create(store, name, StreamSettings(context_dim=2)) as stream:
            for k in range(8):
                duel = stream.ask(unit * np.array([[0.0, k], [k, 1.0], [2.0, 3.0]]))
                stream.tell(duel.ticket, "left")
        result = CliRunner().invoke(app, ["advise", "--stream", name, "--store", store])
        assert result.exit_code == 0, result.output
        told.append(result.output.replace(name, ""))
    assert told[0] == told[1]


def test_advise_reads_a_stream(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/duels.db"
    runner = CliRunner()
    made = runner.invoke(app, ["create", "soup", "--context-dim", "2", "--store", store])
    assert made.exit_code == 0, made.output
    with DecisionStream.open(store, "soup") as stream:
        for _ in range(3):
            duel = stream.ask(np.array([[0.0, 1.0], [1.0, 0.0]]))
            stream.tell(duel.ticket, "left")
    result = runner.invoke(app, ["advise", "--stream", "soup", "--lies", "2", "--store", store])
    assert result.exit_code == 0, result.output
    assert "3 duels, 3 votes" in result.output
    assert "‖Δz‖ ≤ 1 fails" in result.output
