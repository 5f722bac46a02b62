"""What an engineer would write instead: FastAPI and SQLAlchemy, one inserted row a request, a random pair."""

from __future__ import annotations

import os
import random
from typing import Any

import sqlalchemy as sa
from fastapi import FastAPI  # pyright: ignore[reportMissingImports]
from pydantic import BaseModel

engine = sa.create_engine(os.environ.get("PLAIN_STORE", "sqlite:///plain.db"))
rows = sa.Table(
    "rows", sa.MetaData(), sa.Column("id", sa.Integer, primary_key=True), sa.Column("kind", sa.Text),
    sa.Column("content", sa.JSON),
)  # fmt: skip
app = FastAPI()


class Candidate(BaseModel):
    id: str
    features: list[float]


class Ask(BaseModel):
    candidates: list[Candidate]


class Tell(BaseModel):
    winner: str


@app.post("/v1/streams/{name}/ask", status_code=201)
def ask(name: str, body: Ask) -> dict[str, Any]:
    left, right = random.sample(body.candidates, 2)
    pair = {"stream": name, "left": left.model_dump(), "right": right.model_dump()}
    return {"ticket": f"{_insert('ask', pair)}-x", "left": {"id": left.id}, "right": {"id": right.id}}


@app.post("/v1/streams/{name}/tickets/{ticket}/tell")
def tell(name: str, ticket: str, body: Tell) -> dict[str, Any]:
    _insert("tell", {"stream": name, "ticket": ticket, "winner": body.winner})
    return {"ticket": ticket, "state": "told"}


def _insert(kind: str, content: dict[str, Any]) -> int:
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA synchronous = FULL")
        made = connection.execute(sa.insert(rows).values(kind=kind, content=content))
        assert made.inserted_primary_key is not None
        return made.inserted_primary_key[0]


def prepare() -> None:
    rows.metadata.create_all(engine)
    if engine.dialect.name == "sqlite":
        with engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")


prepare()
