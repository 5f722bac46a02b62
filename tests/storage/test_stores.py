"""Both databases pass the one conformance suite."""

from pathlib import Path

import pytest

from duelwise.testing.storage import StoreConformance


class TestSqlite(StoreConformance):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.url = f"sqlite:///{tmp_path}/duels.db"


@pytest.mark.long
class TestPostgresql(StoreConformance):
    @pytest.fixture(autouse=True)
    def _place(self, postgresql_url: str) -> None:
        self.url = postgresql_url
