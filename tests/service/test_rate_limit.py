"""A key that asks too often is told so; the others are not concerned."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast
from unittest.mock import Mock

import httpx
import pytest

from duelwise.errors import TooManyRequests
from duelwise.service import ServiceSettings, create_app
from duelwise.service.fast_path import FastPath, FastRequest
from duelwise.service.rate_limit import RateLimit
from in_process import InProcess


def test_so_many_in_each_second() -> None:
    now = 10.0
    rates = RateLimit(2, lambda: now)
    for who in ("ann", "ann", "bob"):
        rates.count(who)
    with pytest.raises(TooManyRequests, match="ann"):
        rates.count("ann")
    now = 11.0
    rates.count("ann")


def test_one_that_will_be_counted_again_is_counted_once() -> None:
    rates = RateLimit(2, lambda: 10.0)
    for _ in range(2):
        rates.count("ann")
        rates.take_back("ann")
        rates.count("ann")
    with pytest.raises(TooManyRequests):
        rates.count("ann")
    rates.take_back("nobody")


def test_what_leaves_the_short_way_is_counted_on_the_long_one_only() -> None:
    guard, homes = Mock(is_fresh=True), Mock()
    guard.check_known.return_value, homes.begin.return_value = None, False
    fast_path = FastPath([], guard, homes, Mock(), Mock())
    direct = SimpleNamespace(
        endpoint=SimpleNamespace(role="write"), segments=["", "v1", "streams", "meals", "ask"],
        address="127.0.0.1", head=SimpleNamespace(given={}), body=b"", reply=None,
    )  # fmt: skip
    assert not fast_path.begin(cast("FastRequest", direct))
    guard.will_be_checked_again.assert_called_once_with("127.0.0.1", None)
    homes.begin.return_value = True
    assert fast_path.begin(cast("FastRequest", direct))
    guard.will_be_checked_again.assert_called_once()


def test_the_refusal_says_when_to_come_again(tmp_path: Path) -> None:
    transport = InProcess(create_app(f"sqlite:///{tmp_path}/duels.db", ServiceSettings(rate_limit=3)))
    try:
        with httpx.Client(base_url="http://127.0.0.1", transport=transport) as http:
            answers = [http.get("/v1/streams") for _ in range(8)]
            refused = [answer for answer in answers if answer.status_code == 429]
            assert refused
            assert all(int(answer.headers["retry-after"]) >= 1 for answer in refused)
            assert http.get("/healthz").status_code == 200
    finally:
        transport.stop()
