"""What the service counts, in the words of Prometheus.

Counting is adding to plain numbers: the counts of several processes are added up when somebody
looks, so there are no files to share and nothing that a full disk could break.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate

from msgspec import Struct, field
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from duelwise.storage import StreamRow

_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_GROUP_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)

GAUGES = {
    "duelwise_events": "Events in the log of a stream.",
    "duelwise_pending_votes": "Duels that wait for a vote, a context, or both.",
    "duelwise_oldest_pending_seconds": "How long the oldest of them has waited.",
    "duelwise_waiting_operations": "Operations that wait for the next transaction.",
    "duelwise_read_only": "1 when the stream takes no events.",
    "duelwise_broken": "1 when the stream cannot be opened.",
}


class Spread(Struct):
    """A histogram: how many values fell at or below each bound, and their sum."""

    counts: list[int]
    total: float = 0.0

    def add(self, value: float, bounds: tuple[float, ...]) -> None:
        self.counts[bisect_left(bounds, value)] += 1
        self.total += value

    def plus(self, other: Spread) -> Spread:
        summed = [one + more for one, more in zip(self.counts, other.counts, strict=True)]
        return Spread(summed, self.total + other.total)

    def buckets(self, bounds: tuple[float, ...]) -> list[tuple[str, float]]:
        names = [*(str(float(bound)) for bound in bounds), "+Inf"]
        return list(zip(names, map(float, accumulate(self.counts)), strict=True))


def _no_seconds() -> Spread:
    return Spread([0] * (len(_SECONDS) + 1))


def _no_groups() -> Spread:
    return Spread([0] * (len(_GROUP_SIZES) + 1))


ByFeature = dict[str, dict[str, int]]  # asks with a candidate beyond the feature's range, by key


class Counts(Struct):
    """What one process has counted; goes to the others as it is."""

    requests: dict[str, dict[int, int]] = field(default_factory=dict[str, dict[int, int]])
    seconds: dict[str, Spread] = field(default_factory=dict[str, Spread])
    groups: Spread = field(default_factory=_no_groups)
    waiting: dict[str, int] = field(default_factory=dict[str, int])  # operations, by stream
    broken: list[str] = field(default_factory=list[str])  # streams that could not be opened
    clamped: dict[str, ByFeature] = field(default_factory=dict[str, ByFeature])  # asks, by stream

    def plus(self, other: Counts) -> Counts:
        made = Counts(groups=self.groups.plus(other.groups), broken=[*self.broken, *other.broken])
        for one in (self, other):
            for route, statuses in one.requests.items():
                known = made.requests.setdefault(route, {})
                for status, count in statuses.items():
                    known[status] = known.get(status, 0) + count
            for route, spread in one.seconds.items():
                made.seconds[route] = made.seconds.get(route, _no_seconds()).plus(spread)
            for stream, waiting in one.waiting.items():
                made.waiting[stream] = made.waiting.get(stream, 0) + waiting
            for stream, feature, key, count in one.each_clamped():
                made.add_clamped(stream, feature, key, count)
        return made

    def add_clamped(self, stream: str, feature: str, key: str, count: int) -> None:
        keys = self.clamped.setdefault(stream, {}).setdefault(feature, {})
        keys[key] = keys.get(key, 0) + count

    def each_clamped(self) -> Iterator[tuple[str, str, str, int]]:
        for stream, features in self.clamped.items():
            for feature, keys in features.items():
                for key, count in keys.items():
                    yield stream, feature, key, count


class Metrics:
    """The counters of this process."""

    def __init__(self) -> None:
        self.counts = Counts()

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count a request; the route is a path's pattern, so that names do not become labels."""
        counts = self.counts
        spread = counts.seconds.get(route)
        if spread is None:
            spread = counts.seconds[route] = _no_seconds()
            counts.requests[route] = {}
        statuses = counts.requests[route]
        statuses[status] = statuses.get(status, 0) + 1
        spread.add(seconds, _SECONDS)

    def clamped(self, stream: str, features: Iterable[str], key: str) -> None:
        """Count an ask some of whose candidates lie beyond the range of these features."""
        for feature in features:
            self.counts.add_clamped(stream, feature, key, 1)

    def grouped(self, operations: int) -> None:
        self.counts.groups.add(operations, _GROUP_SIZES)


def text(
    counts: Counts, streams: Iterable[StreamRow], pending: dict[int, tuple[int, float]], *, at: float
) -> bytes:
    """The page that Prometheus reads."""
    registry = CollectorRegistry()
    registry.register(_Page(counts, list(streams), pending, at))
    return generate_latest(registry)


class _Page(Collector):
    def __init__(
        self, counts: Counts, streams: list[StreamRow], pending: dict[int, tuple[int, float]], at: float
    ) -> None:
        self._counts, self._streams, self._pending, self._at = counts, streams, pending, at

    def collect(self) -> Iterator[Metric]:
        yield from self._gauges()
        requests = CounterMetricFamily("duelwise_requests", "Requests answered.", labels=("route", "status"))
        seconds = HistogramMetricFamily("duelwise_request_seconds", "Time to answer.", labels=("route",))
        for route, statuses in self._counts.requests.items():
            for status, count in statuses.items():
                requests.add_metric((route, str(status)), count)
        for route, spread in self._counts.seconds.items():
            seconds.add_metric((route,), spread.buckets(_SECONDS), spread.total)
        groups = HistogramMetricFamily("duelwise_group_operations", "Operations that shared a transaction.")
        groups.add_metric((), self._counts.groups.buckets(_GROUP_SIZES), self._counts.groups.total)
        clamped = CounterMetricFamily(
            "duelwise_clamped_asks", "Asks with a candidate beyond a feature's range.",
            labels=("stream", "feature", "key"),
        )  # fmt: skip
        for stream, feature, key, count in self._counts.each_clamped():
            clamped.add_metric((stream, feature, key), count)
        yield from (requests, seconds, groups, clamped)

    def _gauges(self) -> Iterator[Metric]:
        families = {name: GaugeMetricFamily(name, said, labels=("stream",)) for name, said in GAUGES.items()}
        for stream in self._streams:
            count, oldest = self._pending.get(stream.id, (0, self._at))
            values = (
                stream.head, count, max(0.0, self._at - oldest), self._counts.waiting.get(stream.name, 0),
                stream.damaged is not None, stream.name in self._counts.broken,
            )  # fmt: skip
            for family, value in zip(families.values(), values, strict=True):
                family.add_metric((stream.name,), float(value))
        yield from families.values()
