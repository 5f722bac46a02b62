"""The log of the service: one JSON object a line, with the id of the request where there is one."""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime

EXTRAS = ("request_id", "status", "seconds", "unsaid", "worker")


class JsonLines(logging.Formatter):
    """A record as one line that a log collector can read."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": os.getpid(),
            "message": record.getMessage(),
        }
        for name in EXTRAS:
            value = getattr(record, name, None)
            if value is not None:
                line[name] = value
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def log_to_stderr() -> None:
    """What this package and the server say, from information upwards; of others, warnings."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    logging.getLogger("duelwise").setLevel(logging.INFO)
