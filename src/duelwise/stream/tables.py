"""What a stream knows, as tables: CSV, Parquet, JSON lines, and preferences for tuning."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence

from duelwise.errors import check_known, require, unknown_name
from duelwise.storage import JSON
from duelwise.stream.catalogue import Catalogue
from duelwise.stream.csv_files import quoted
from duelwise.stream.decision_stream import DecisionStream
from duelwise.stream.vote_table import VoteTable

Columns = Mapping[str, Sequence[JSON]]
FORMATS = ("csv", "parquet", "jsonl", "preferences")
MEDIA_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
    "jsonl": "application/jsonl",
    "preferences": "application/jsonl",
}


def votes_as(stream: DecisionStream, format: str) -> bytes:
    """The votes of a stream as the bytes of a file."""
    check_format(format)
    votes = stream.votes()
    if format != "preferences":
        return written(vote_columns(votes), format)
    features = slice(votes.settings.sides.columns, None)  # by themselves: no side is in a preference
    margin = votes.dz[:, features] @ stream.knowledge().posterior.mean[features]
    return jsonl(preferences(votes, stream.catalogue, margin.tolist()))


def check_format(format: str) -> None:
    """Refuse what is no format of votes."""
    check_known("format", format, FORMATS)


def vote_columns(votes: VoteTable) -> Columns:
    """A row a vote: what was shown left and right, who won, whose vote it was and how it counted."""
    rows = range(len(votes))
    swapped = votes.swapped.tolist()
    columns: dict[str, Sequence[JSON]] = {
        "ticket": votes.ticket,
        "at": votes.at.tolist(),
        "seconds": votes.delay.tolist(),
        "left": [votes.second[k] if swapped[k] else votes.first[k] for k in rows],
        "right": [votes.first[k] if swapped[k] else votes.second[k] for k in rows],
        "winner": [votes.winner(k) for k in rows],
        "source": votes.source,
        "weight": votes.weight.tolist(),
    }
    sides = votes.x.copy()
    sides[votes.swapped] = sides[votes.swapped][:, ::-1]
    for side, label in enumerate(("left", "right")):
        for j, name in enumerate(votes.settings.context_names):
            columns[f"{label}.{name}"] = sides[:, side, j].tolist()
    return columns


def preferences(votes: VoteTable, catalogue: Catalogue, margin: Sequence[float]) -> list[dict[str, JSON]]:
    """prompt / chosen / rejected with margin, rater and weight; a tie prefers nobody and is left out.

    The prompt is the group of the items, chosen and rejected their content, or their ids where an item has
    none. The margin is how far the chosen one's utility is above the other's by the model.
    """
    found: list[dict[str, JSON]] = []
    for k, outcome in enumerate(votes.outcome.tolist()):
        if outcome == 0.5:
            continue
        pair = (votes.first[k], votes.second[k])
        chosen, rejected = pair if outcome == 1 else pair[::-1]
        found.append(
            {
                "prompt": _group(catalogue, chosen),
                "chosen": _shown(catalogue, chosen),
                "rejected": _shown(catalogue, rejected),
                "margin": margin[k] if outcome == 1 else -margin[k],
                "rater": votes.source[k],
                "weight": float(votes.weight[k]),
                "ticket": votes.ticket[k],
            }
        )
    return found


def written(columns: Columns, format: str) -> bytes:
    """A table as the bytes of a file."""
    if format == "csv":
        return _csv(columns)
    if format == "jsonl":
        return jsonl([dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)])
    if format == "parquet":
        require("pyarrow", extra="tables", purpose="Writing Parquet")
        import pyarrow
        from pyarrow import parquet

        file = io.BytesIO()
        parquet.write_table(pyarrow.Table.from_pydict(columns), file)
        return file.getvalue()
    raise unknown_name("format", format, ("csv", "parquet", "jsonl"))


def jsonl(rows: Sequence[Mapping[str, JSON]]) -> bytes:
    """A JSON object a line."""
    return "".join(json.dumps(dict(row), ensure_ascii=False) + "\n" for row in rows).encode()


def cell(value: JSON) -> JSON:
    """A value as CSV has it, in which no spreadsheet finds anything to run."""
    if isinstance(value, str):
        return quoted(value)
    return json.dumps(value) if isinstance(value, dict | list) else value


def _csv(columns: Columns) -> bytes:
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow([cell(name) for name in columns])
    for row in zip(*columns.values(), strict=True):
        writer.writerow([cell(value) for value in row])
    return file.getvalue().encode()


def _group(catalogue: Catalogue, id: str | None) -> str | None:
    return catalogue.item(id).group if id is not None and id in catalogue else None


def _shown(catalogue: Catalogue, id: str | None) -> JSON:
    content = catalogue.item(id).content if id is not None and id in catalogue else None
    return id if content is None else content
