"""A SQLite file on a disk that is full when a test says so."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import event

from duelwise.storage.database import open_engine

PLENTY = 1_000_000


class Disk:
    """How many pages the file of a database may have."""

    def __init__(self, url: str) -> None:
        self.engine, self._pages = open_engine(url), PLENTY
        event.listen(self.engine, "begin", self._limit)

    def leave(self, pages: int) -> None:
        """The file may grow by so many, and no further."""
        with self.engine.connect() as connection:
            self._pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one() + pages

    def clear(self) -> None:
        """There is room again."""
        self._pages = PLENTY

    def _limit(self, connection: sa.Connection) -> None:
        connection.exec_driver_sql(f"PRAGMA max_page_count = {self._pages}")
