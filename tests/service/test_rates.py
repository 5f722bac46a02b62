"""A key that asks too often is told so; the others are not concerned."""

from pathlib import Path

import httpx
import pytest

from duelwise.errors import TooManyRequests
from duelwise.service import ServiceSettings, create_app
from duelwise.service.rates import Rates
from in_process import InProcess


def test_so_many_in_each_second() -> None:
    now = 10.0
    rates = Rates(2, lambda: now)
    for who in ("ann", "ann", "bob"):
        rates.count(who)
    with pytest.raises(TooManyRequests, match="ann"):
        rates.count("ann")
    now = 11.0
    rates.count("ann")


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
