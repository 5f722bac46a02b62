"""Pages and tables of evaluations, attacks and audits: the numbers they show are those that were found."""

from __future__ import annotations

import json
from typing import Any

import pytest

from duelwise.answers.foresight import CalibrationBin
from duelwise.answers.influence import Minority
from duelwise.answers.scoring import MeanWithError, Score
from duelwise.stream import evaluation_page, stress_page
from duelwise.stream.audit_page import SHOWN, audit_page
from duelwise.stream.auditing import Audit, GroupCheck
from duelwise.stream.evaluating import Evaluation, EvaluationLine
from duelwise.stream.plain_page import cell, table
from duelwise.stream.plots import chart
from duelwise.stream.stressing import Moved, Stressed

SCORE = Score(
    votes=40, log_loss=MeanWithError(0.5, 0.02), winners=30, accuracy=0.8125,
    calibration=(CalibrationBin(0.25, 0.5, 10), CalibrationBin(0.75, 0.7, 30)), calibrated=False,
)  # fmt: skip
HELD_OUT = SCORE._replace(log_loss=MeanWithError(0.6, 0.03), accuracy=None, calibrated=True)
FOUND = Evaluation(
    votes=40,
    sources=3,
    folds="2 folds",
    lines=(
        EvaluationLine(
            "live", "recipe", SCORE, HELD_OUT, MeanWithError(0.01, 0.005), MeanWithError(0.75, 0.1)
        ),
        EvaluationLine("offline <fit>", "offline", None, HELD_OUT, None, None),
    ),
    policy_value="Nobody can tell.",
)


def drawn(page: str, name: str) -> list[dict[str, Any]]:
    """The traces of one chart."""
    begin = page.index(f'Plotly.newPlot("{name}", ') + len(f'Plotly.newPlot("{name}", ')
    return json.JSONDecoder().raw_decode(page[begin:])[0]


def test_an_evaluation_in_rows() -> None:
    assert evaluation_page.rows_of(FOUND) == [
        (
            "live", "0.5000 ± 0.0200", "81.2 %", "no", "0.6000 ± 0.0300", "", "+0.0100 ± 0.0050",
            "0.7500 ± 0.1000",
        ),
        ("offline <fit>", "", "", "", "0.6000 ± 0.0300", "", "", ""),
    ]  # fmt: skip


def test_an_evaluation_in_words_and_as_data() -> None:
    assert evaluation_page.sentence(FOUND) == (
        "40 votes from 3 sources; a coin's log-loss is 0.6931. Each vote was foreseen before it was learned "
        "from; held out: 2 folds."
    )
    assert "held out" not in evaluation_page.sentence(FOUND._replace(folds=None))
    told = evaluation_page.plain(FOUND)
    assert told["log_loss_of_a_coin"] == pytest.approx(0.693147, abs=1e-6)
    first, second = json.loads(json.dumps(told["lines"]))
    assert first["beyond_offline"] == {"mean": 0.01, "standard_error": 0.005}
    assert first["prequential"] == {
        "votes": 40, "log_loss": 0.5, "standard_error": 0.02, "winners": 30, "accuracy": 0.8125,
        "calibrated": False,
        "calibration": [{"chance": 0.25, "won": 0.5, "votes": 10}, {"chance": 0.75, "won": 0.7, "votes": 30}],
    }  # fmt: skip
    assert (second["prequential"], second["favourite_wins"]) == (None, None)


def test_the_charts_of_an_evaluation() -> None:
    """Losses with intervals of 95 %: those before each vote where there are such, else of the folds."""
    page = evaluation_page.evaluation_page("<meals>", FOUND)
    (bars,) = drawn(page, "losses")
    assert (bars["x"], bars["y"]) == (["live", "offline <fit>"], [0.5, 0.6])
    assert bars["error_y"]["array"] == pytest.approx([1.96 * 0.02, 1.96 * 0.03])
    ideal, own, _ = drawn(page, "calibration")
    assert (ideal["x"], ideal["y"]) == ([0, 1], [0, 1])
    assert (own["x"], own["y"]) == ([0.25, 0.75], [0.5, 0.7])
    assert "Evaluation of &lt;meals&gt;" in page


LINES = (
    Moved("live", 0.0, 0, "tea", False, None, None, 1.0, 0.0),
    Moved("live", 0.125, 5, "milk", True, 0.25, 0.5, 0.75, 0.0625),
)
STRESSED = Stressed(votes=40, items=3, attack="random", late=2, lines=LINES)


def test_an_attack_in_rows_words_and_charts() -> None:
    assert stress_page.rows_of(STRESSED) == [
        ("live", "0 %", "0", "tea", "no", "", "", "1.000", "0.0 %"),
        ("live", "12.5 %", "5", "milk", "yes", "25 %", "0.500", "0.750", "6.2 %"),
    ]
    assert stress_page.sentence(STRESSED) == (
        "40 votes, 3 items ranked; attack: random, votes 2 duels late in the mean. Compared with the log as "
        "it was."
    )
    assert "late" not in stress_page.sentence(STRESSED._replace(late=0))
    page = stress_page.stress_page("meals", STRESSED)
    ((ranks,), (changes,)) = drawn(page, "ranks"), drawn(page, "changes")
    assert (ranks["x"], ranks["y"]) == ([0.0, 0.125], [None, 0.5])
    assert (changes["x"], changes["y"]) == ([0.0, 0.125], [0.0, 0.0625])


CALM = Minority(
    votes=20, mean_weight=0.5, mean_weight_of_others=0.6, held_back=0.1, held_back_low=0.0,
    held_back_high=0.2, outvoted=-0.05, outvoted_low=0.0, outvoted_high=0.25,
)  # fmt: skip


def audited(*groups: GroupCheck, leader: str | None = "tea") -> Audit:
    """Of sixty votes, the last of which had most influence."""
    ledger: dict[str, list[Any]] = {"ticket": [f"t{k}" for k in range(60)]}
    ledger |= {name: [k / 64 for k in range(60)] for name in ("weight", "surprise", "influence")}
    return Audit(60, leader, ledger, 4, (1.0, 0.5), False, groups)


@pytest.mark.parametrize(
    ("check", "alarms"),
    [
        (GroupCheck("few", CALM, None), ()),
        (GroupCheck("few", CALM, "tea"), ()),
        (GroupCheck("few", CALM, "milk"), ("Without 'few' the leader would be 'milk'.",)),
        (
            GroupCheck("few", CALM._replace(held_back_low=0.01), None),
            ("Votes of 'few' count less than those of others.",),
        ),
        (
            GroupCheck("few", CALM._replace(outvoted_low=0.01), None),
            ("'few' sees items otherwise than the model, more than chance explains.",),
        ),
    ],
)
def test_an_alarm_needs_an_interval_above_nothing(check: GroupCheck, alarms: tuple[str, ...]) -> None:
    assert audited(check).alarms == alarms


def test_an_audit_shows_groups_and_the_votes_of_most_influence() -> None:
    page = audit_page("meals", audited(GroupCheck("few", CALM, "tea")))
    assert "60 votes, leader tea; 4 of them would change the leader by themselves." in page
    assert "Nothing to report." in page
    assert "Groups of voters" not in audit_page("meals", audited())
    cells = "<td>few</td><td>20</td><td>0.500</td><td>-0.050 [+0.000, +0.250]</td><td>tea</td>"
    assert cells in page
    shown = [k for k in range(60) if f"<td>t{k}</td>" in page]
    assert shown == list(range(60 - SHOWN, 60))
    assert page.index("<td>t59</td>") < page.index("<td>t58</td>")
    assert "<td>0.922</td>" in page
    assert drawn(page, "of-influence")[0]["x"][-1] == 59 / 64


def test_a_chart_is_laid_out_so() -> None:
    """Room for the title and the axes, a legend where there are several lines, no colour of its own."""
    page = chart("it", [{"y": [1]}, {"y": [2]}], title='<b> & "c"', x="hours", y="votes")
    assert 'aria-label="&lt;b> &amp; &quot;c&quot;"' in page
    traces = drawn(page, "it")
    after = page.index("[", page.index('"it", ')) + len(json.dumps(traces)) + 2
    layout, end = json.JSONDecoder().raw_decode(page[after:])
    axis = {"gridcolor": "#8883", "zerolinecolor": "#8886", "automargin": True}
    assert layout == {
        "title": {"text": '<b> & "c"', "font": {"size": 14}},
        "height": 300,
        "margin": {"l": 50, "r": 10, "t": 40, "b": 45},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": "#808894"},
        "showlegend": True,
        "legend": {"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom"},
        "xaxis": {**axis, "title": {"text": "hours"}},
        "yaxis": {**axis, "title": {"text": "votes"}},
    }
    assert page[after + end :].startswith(', {"responsive": true, "displayModeBar": false}))')
    assert '"showlegend": false' in chart("it", [{"y": [1]}], title="")


def test_a_table_shows_the_columns_that_say_something() -> None:
    assert [cell(value) for value in (True, False, None, 0, 0.25)] == ["yes", "", "", "0", "0.25"]
    shown = table(("a", "b", "c_d"), [("1", "", "x"), ("2", "", "")])
    assert "<th>a</th><th>c d</th>" in shown
    assert "<td>2</td><td></td>" in shown
