"""The durable half of a stream: an append-only event log, tickets, snapshots and keys.

SQLite by default, PostgreSQL for many machines, one set of statements for both.
Storage knows rows and bytes; what an event means is the stream's affair.
"""

from duelwise.errors import missing_extra

try:
    from duelwise.storage.codec import pack, unpack
    from duelwise.storage.rows import OPEN_STATES, EventRow, KeyRow, SnapshotRow, StreamRow, TicketRow
    from duelwise.storage.store import Store, open_store, told_plainly
    from duelwise.storage.writer import Writer
    from duelwise.types import JSON
except ModuleNotFoundError as error:
    raise missing_extra(error, extra="service", purpose="A store of streams") from error

__all__ = [
    "JSON",
    "OPEN_STATES",
    "EventRow",
    "KeyRow",
    "SnapshotRow",
    "Store",
    "StreamRow",
    "TicketRow",
    "Writer",
    "open_store",
    "pack",
    "told_plainly",
    "unpack",
]
