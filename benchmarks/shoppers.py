"""Clients that never give up, and keep account of what they sent and what was acknowledged."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterable

import httpx

PAUSE_SECONDS = 0.05  # after a refusal, or when nobody answers
STREAM = "/v1/streams/meals"


class Shopper:
    """Asks, observes and tells, one after another; what got no answer, or 503, is sent again."""

    def __init__(self, number: int, url: str) -> None:
        self.acknowledged: list[tuple[str, str]] = []  # (kind of event, ticket)
        self.statuses: Counter[int] = Counter()  # 0: no answer
        self.unexpected: list[str] = []  # what was said with a 5xx other than 503
        self._number, self._url = number, url
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._shop, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """The duel under way is brought to its end."""
        self._ended.set()
        self._thread.join(60)

    def _shop(self) -> None:
        with httpx.Client(base_url=self._url, timeout=15) as http:
            count = 0
            while not self._ended.is_set():
                self._duel(http, count)
                count += 1

    def _duel(self, http: httpx.Client, count: int) -> None:
        x = [((self._number + 1) * 7 + count * 3) % 11 / 11, self._number / 10, 1.0]
        offered = [{"id": f"c{i}", "features": [i / 5 * value for value in x]} for i in range(4)]
        body = {"candidates": offered, "event_id": f"{self._number}/{count}"}
        ticket = self._send(http, f"{STREAM}/ask", body).json()["ticket"]
        self.acknowledged.append(("asked", ticket))
        context = {"left": [count % 7, 1.5], "right": [count % 5, 0.25]}
        self._send(http, f"{STREAM}/tickets/{ticket}/observe", context)
        self.acknowledged.append(("observed", ticket))
        vote = {"winner": "left" if count % 3 else "right", "source": f"shopper {self._number}"}
        self._send(http, f"{STREAM}/tickets/{ticket}/tell", vote)
        self.acknowledged.append(("told", ticket))

    def _send(self, http: httpx.Client, path: str, body: object) -> httpx.Response:
        while True:
            try:
                answer = http.post(path, json=body)
            except httpx.TransportError:
                self.statuses[0] += 1
            else:
                self.statuses[answer.status_code] += 1
                if answer.is_success:
                    return answer
                if answer.status_code >= 500 and answer.status_code != 503:
                    self.unexpected.append(f"{answer.status_code} at {path}: {answer.text[:500]}")
                if answer.status_code < 500:
                    raise SystemExit(f"{path} was refused: {answer.text}")
            time.sleep(PAUSE_SECONDS)


def account(
    shoppers: Iterable[Shopper], events: list[tuple[str, str]], names: Iterable[str]
) -> dict[str, int]:
    """What became of everything: `events` are the log's (kind, ticket), `names` its event_ids."""
    shoppers = list(shoppers)
    recorded, statuses = Counter(events), sum((one.statuses for one in shoppers), Counter[int]())
    acknowledged = [one for shopper in shoppers for one in shopper.acknowledged]
    faults = sum(count for status, count in statuses.items() if status >= 500 and status != 503)
    return {
        "sent": statuses.total(),
        "acknowledged": len(acknowledged),
        "lost": sum(recorded[one] == 0 for one in acknowledged),
        "doubled": sum(count - 1 for count in [*recorded.values(), *Counter(names).values()]),
        "5xx other than 503": faults,
    }
