"""Headers that were read before: the same bytes say the same again.

Whoever keeps a connection sends the same headers with every request, but for the length of the body. A
request that comes in one piece, with headers that the parser has taken before, needs no parser: its first
line and the end of its body are all that is left to look at.
"""

from __future__ import annotations

from typing import NamedTuple

MOST_HEADS = 1024  # that are remembered; then all are forgotten
LONGEST_HEAD = 2048  # bytes; longer ones are parsed every time


class RequestHead(NamedTuple):
    """Headers of a request whose body has a known length."""

    headers: list[tuple[bytes, bytes]]  # as they came, names in small letters
    given: dict[bytes, bytes]  # the same by name
    size: int  # of the body


class HeaderCache:
    """Heads of requests that the parser has taken, by their bytes from the end of the first line on."""

    def __init__(self) -> None:
        self._heads: dict[bytes, RequestHead] = {}

    def remember(self, data: bytes, head: RequestHead) -> None:
        """`data` was taken as one whole request with this head, if it holds nothing else."""
        line, end = data.find(b"\r\n"), data.find(b"\r\n\r\n") + 4
        is_whole = line < end == len(data) - head.size and _is_post(data, line)
        if is_whole and end - line <= LONGEST_HEAD:
            if len(self._heads) >= MOST_HEADS:
                self._heads.clear()
            self._heads[data[line:end]] = head

    def find(self, data: bytes) -> tuple[bytes, RequestHead, bytes] | None:
        """Address, head and body, where `data` is one whole request with a head that is known."""
        line, end = data.find(b"\r\n"), data.find(b"\r\n\r\n") + 4
        head = self._heads.get(data[line:end])
        if head is None or end + head.size != len(data) or not _is_post(data, line):
            return None
        return data[5 : line - 9], head, data[end:]


def _is_post(data: bytes, line: int) -> bool:
    """Whether the first line, which ends there, is that of a POST in HTTP/1.1."""
    return data.startswith(b"POST ") and data.endswith(b" HTTP/1.1", 0, line)
