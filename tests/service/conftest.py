"""Fixtures: a service in this process, and clients of it."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from duelwise.client import Client
from duelwise.service import ServiceSettings, create_app
from in_process import MEALS, InProcess


@pytest.fixture
def settings() -> ServiceSettings:
    return ServiceSettings(key_refresh_seconds=1)


@pytest.fixture
def store_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/duels.db"


@pytest.fixture
def transport(store_url: str, settings: ServiceSettings) -> Iterator[InProcess]:
    running = InProcess(create_app(store_url, settings))
    yield running
    running.stop()


@pytest.fixture
def http(transport: InProcess) -> Iterator[httpx.Client]:
    """Plain requests from this machine."""
    with httpx.Client(base_url="http://127.0.0.1", transport=transport) as client:
        yield client


@pytest.fixture
def client(transport: InProcess) -> Iterator[Client]:
    with Client("http://127.0.0.1", transport=transport) as client:
        yield client


@pytest.fixture
def meals(http: httpx.Client) -> str:
    """The path of a stream with named features."""
    assert http.post("/v1/streams", json=MEALS).status_code == 201
    return "/v1/streams/meals"
