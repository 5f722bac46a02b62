"""One request and its answer on a connection: uvicorn's own cycle, with a short way for the usual answer."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

LINE = b"\r\n"


class Exchange(RequestResponseCycle):
    """An answer of known length goes out in one piece; every other one goes uvicorn's way."""

    _start: Any = None  # the first message of an answer, until its body is known

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start" and not self.response_started:
            self._start = message  # a second one replaces the first, of which nothing was sent
            return
        start = self._start
        if start is not None:
            self._start = None
            if self._send_whole(start, message):
                return
            await super().send(start)
        await super().send(message)

    def _send_whole(self, start: Any, message: Any) -> bool:
        """Write status, headers and body together; False when the answer is none of the usual ones."""
        if message["type"] != "http.response.body" or message.get("more_body", False):
            return False
        if (
            self.disconnected
            or self.flow.write_paused
            or not self.keep_alive
            or self.scope["method"] == "HEAD"
        ):
            return False
        body: bytes = message.get("body", b"")
        length = b"%d" % len(body)
        parts = [STATUS_LINE[start["status"]]]
        is_usual = False
        for name, value in start["headers"]:
            is_usual = is_usual or (name == b"content-length" and value == length)
            if name == b"connection" or name == b"transfer-encoding":
                return False
            parts += (name, b": ", value, LINE)
        parts.append(LINE)
        head = b"".join(parts)
        lines = len(start["headers"]) + 2
        if not is_usual or head.count(b"\n") != lines or head.count(b"\r") != lines or b"\0" in head:
            return False  # uvicorn says what is wrong with it
        self.transport.write(head + body)
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        self.message_event.set()
        self.on_response()
        return True
