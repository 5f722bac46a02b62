"""What the service counts, in the words of Prometheus."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""When set, the processes of one service add up their counts in this folder."""

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_GROUP_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)

Gauges = Callable[[], Iterable[tuple[str, dict[str, float]]]]
"""The streams' names with their gauges."""

GAUGES = {
    "duelwise_events": "Events in the log of a stream.",
    "duelwise_pending_votes": "Duels that wait for a vote, a context, or both.",
    "duelwise_oldest_pending_seconds": "How long the oldest of them has waited.",
    "duelwise_waiting_operations": "Operations that wait for the next transaction of this process.",
    "duelwise_read_only": "1 when the stream takes no events.",
}


class Metrics:
    """Counters of this process, and gauges that are read when somebody looks."""

    def __init__(self, gauges: Gauges) -> None:
        self._registry = CollectorRegistry()
        self._gauges = _StreamGauges(gauges)
        self._known: dict[tuple[str, int], tuple[Counter, Histogram]] = {}
        self._registry.register(self._gauges)
        self._requests = Counter(
            "duelwise_requests", "Requests answered.", ("route", "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "duelwise_request_seconds",
            "Time to answer.",
            ("route",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._groups = Histogram(
            "duelwise_group_operations", "Operations that shared a transaction.",
            buckets=_GROUP_SIZES, registry=self._registry,
        )  # fmt: skip

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count a request; the route is a path's pattern, so that names do not become labels."""
        known = self._known.get((route, status))
        if known is None:  # the library's own lookup of labels takes longer than counting
            known = self._requests.labels(route, str(status)), self._seconds.labels(route)
            self._known[route, status] = known
        known[0].inc()
        known[1].observe(seconds)

    def grouped(self, operations: int) -> None:
        self._groups.observe(operations)

    def text(self) -> bytes:
        if SHARED_FOLDER not in os.environ:
            return generate_latest(self._registry)
        shared = CollectorRegistry()
        shared.register(self._gauges)
        MultiProcessCollector(shared)
        return generate_latest(shared)


class _StreamGauges(Collector):
    def __init__(self, read: Gauges) -> None:
        self._read = read

    def describe(self) -> Iterable[Metric]:
        return ()  # so that registering does not open every stream

    def collect(self) -> Iterator[Metric]:
        families = {name: GaugeMetricFamily(name, said, labels=("stream",)) for name, said in GAUGES.items()}
        for stream, gauges in self._read():
            for name, value in gauges.items():
                families[name].add_metric((stream,), value)
        yield from families.values()
