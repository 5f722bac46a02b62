"""The service's keys: only hashes are stored."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from duelwise.errors import Conflict, check_known
from duelwise.storage import schema
from duelwise.storage.rows import KeyRow

Transaction = Callable[[], AbstractContextManager[Connection]]


class Keys:
    def __init__(self, reading: Transaction, changing: Transaction) -> None:
        self._reading, self._changing = reading, changing

    def add(self, key: KeyRow) -> None:
        try:
            with self._changing() as connection:
                connection.execute(sa.insert(schema.keys), key._asdict())
        except IntegrityError as error:
            raise Conflict(f"There is already a key called {key.name!r}; choose another name.") from error

    def all(self) -> list[KeyRow]:
        """Every key, revoked ones too, by name."""
        columns = [schema.keys.c[name] for name in KeyRow._fields]
        with self._reading() as connection:
            rows = connection.execute(sa.select(*columns).order_by(schema.keys.c.name))
            return [KeyRow._make(row) for row in rows]

    def revoke(self, name: str, *, at: float) -> None:
        """A key that is revoked already keeps its first date."""
        check_known("key", name, [key.name for key in self.all()])
        table = schema.keys.c
        with self._changing() as connection:
            connection.execute(
                sa.update(schema.keys)
                .where(table.name == name, table.revoked_at.is_(None))
                .values(revoked_at=at)
            )
