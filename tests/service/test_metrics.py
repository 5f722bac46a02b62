"""What the service counts: histograms, sums over processes, and the page that Prometheus reads."""

from __future__ import annotations

import logging

import pytest

from duelwise.service import request_middleware
from duelwise.service.metrics import Counts, Metrics, Spread, text
from duelwise.service.request_middleware import READY, Watch
from duelwise.storage import StreamRow


def test_a_value_at_a_bound_is_counted_below_it() -> None:
    spread = Spread([0, 0, 0])
    for value in (0.5, 1.0, 1.5, 2.0, 7.0):
        spread.add(value, (1.0, 2.0))
    assert (spread.counts, spread.total) == ([2, 2, 1], 12.0)
    assert spread.buckets((1.0, 2.0)) == [("1.0", 2.0), ("2.0", 4.0), ("+Inf", 5.0)]
    assert spread.plus(Spread([1, 0, 2], 3.0)) == Spread([3, 2, 3], 15.0)


def counted(status: int, times: int, *, waiting: int = 0) -> Counts:
    metrics = Metrics()
    for _ in range(times):
        metrics.answered("/ask", status, 0.02)
        metrics.grouped(3)
    metrics.clamped("meals", ["price", "stars"], "till")
    metrics.counts.waiting["meals"] = waiting
    return metrics.counts


def test_processes_are_added_up() -> None:
    both = counted(200, 2, waiting=3).plus(counted(200, 1, waiting=4)).plus(counted(404, 1))
    assert both.requests == {"/ask": {200: 3, 404: 1}}
    assert sum(both.seconds["/ask"].counts) == 4
    assert both.seconds["/ask"].total == pytest.approx(0.08)
    assert both.groups.total == 12
    assert both.waiting == {"meals": 7}
    assert both.clamped == {"meals": {"price": {"till": 3}, "stars": {"till": 3}}}


MEALS = StreamRow(
    id=7, name="meals", uid="u", settings="{}", created_at=0.0, head=12, rounds=4, generation=0, damaged=None
)


def test_the_page_in_numbers() -> None:
    counts = counted(200, 2, waiting=5)
    counts.broken.append("sick")
    streams = [MEALS, MEALS._replace(id=8, name="sick", damaged=3)]
    lines = text(counts, streams, {7: (4, 90.0)}, at=100.0).decode().splitlines()
    for line in [
        'duelwise_events{stream="meals"} 12.0',
        'duelwise_pending_votes{stream="meals"} 4.0',
        'duelwise_oldest_pending_seconds{stream="meals"} 10.0',
        'duelwise_waiting_operations{stream="meals"} 5.0',
        'duelwise_read_only{stream="meals"} 0.0',
        'duelwise_broken{stream="meals"} 0.0',
        'duelwise_pending_votes{stream="sick"} 0.0',
        'duelwise_oldest_pending_seconds{stream="sick"} 0.0',
        'duelwise_read_only{stream="sick"} 1.0',
        'duelwise_broken{stream="sick"} 1.0',
        'duelwise_requests_total{route="/ask",status="200"} 2.0',
        'duelwise_request_seconds_bucket{le="0.01",route="/ask"} 0.0',
        'duelwise_request_seconds_bucket{le="0.025",route="/ask"} 2.0',
        'duelwise_request_seconds_bucket{le="+Inf",route="/ask"} 2.0',
        'duelwise_request_seconds_sum{route="/ask"} 0.04',
        'duelwise_group_operations_bucket{le="2.0"} 0.0',
        'duelwise_group_operations_bucket{le="4.0"} 2.0',
        "duelwise_group_operations_sum 6.0",
        'duelwise_clamped_asks_total{feature="stars",key="till",stream="meals"} 1.0',
    ]:
        assert line in lines


def test_a_clock_that_went_back_makes_nothing_wait() -> None:
    page = text(Counts(), [MEALS], {7: (1, 101.0)}, at=100.0).decode()
    assert 'duelwise_oldest_pending_seconds{stream="meals"} 0.0' in page


def test_faults_are_logged_and_refusals_under_load_once_a_second(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, watch = 10.0, Watch(Metrics())
    monkeypatch.setattr(request_middleware.time, "monotonic", lambda: now)
    caplog.set_level(logging.WARNING)

    def answered(status: int, route: str = "/ask") -> None:
        watch.answered("POST", "/meals/ask", route, status, 0.123456, b"id-1")

    for status in (499, 500, 500, 503, 503):
        answered(status)
    answered(503, READY)
    now = 10.999
    answered(503)
    now = 11.0
    answered(503)
    said = [(record.getMessage(), getattr(record, "unsaid", None)) for record in caplog.records]
    fault, refusal = ("POST /meals/ask was answered with 500", None), "POST /meals/ask was answered with 503"
    assert said == [fault, fault, (refusal, 3)]
    assert caplog.records[0].__dict__["seconds"] == 0.1235


def test_ids_are_kept_where_they_are_sane_and_numbered_where_they_are_not() -> None:
    watch = Watch(Metrics())
    assert watch.id_of(b"mine-7") == b"mine-7"
    assert watch.id_of(b"a" * 100) == b"a" * 100
    first, second = watch.id_of(b"a" * 101), watch.id_of(None)
    assert (first[-2:], second[-2:]) == (b"-1", b"-2")
    assert first[:-2] == second[:-2] != Watch(Metrics()).id_of(None)[:-2]
