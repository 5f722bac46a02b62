"""A client of the service, with the method names of `DecisionStream`.

    with Client("http://127.0.0.1:8000") as client:
        meals = client.create("meals", context_dim=3, post_dim=2)
        duel = meals.ask([{"id": "soup", "features": [1, 0, 2]}, {"id": "rice", "features": [0, 1, 1]}])
        meals.observe(duel.ticket, left=[60, 25], right=[71, 40])
        meals.tell(duel.ticket, "left")

Requests may be sent again: votes and contexts because the same one twice changes
nothing, an ask because it carries an event_id. So a request that got no answer, or 503,
is sent again by itself. `derive` and `erase_source` are begun once: they take long, and a
second one would be refused, or name a pseudonym that stands nowhere.
"""

from __future__ import annotations

import json
import math
import secrets
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Self, SupportsFloat, TypedDict, cast
from urllib.parse import quote, urlencode

# Relative: the same files are the package duelwise_client, which needs nothing else.
from . import errors
from .receipts import Receipt as Receipt
from .receipts import Side as Side

try:
    import httpx
except ModuleNotFoundError as error:
    raise errors.missing_extra(error, extra="service", purpose="The client") from error

JSON = None | bool | int | float | str | list["JSON"] | dict[str, "JSON"]
Winner = Literal["left", "right", "tie", "skip"]
Known = Sequence[float | None] | Mapping[str, float | None] | None
"""Values in order or by name; None for what is not known yet."""

ERRORS: dict[str, type[errors.DuelwiseError]] = {
    "invalid-input": errors.InvalidInput,
    "too-large": errors.TooLarge,
    "unknown-stream": errors.UnknownStream,
    "unknown-ticket": errors.UnknownTicket,
    "unknown-item": errors.UnknownItem,
    "conflict": errors.Conflict,
    "expired": errors.DuelExpired,
    "unauthorised": errors.Unauthorised,
    "forbidden": errors.Forbidden,
    "overloaded": errors.Overloaded,
    "too-many-requests": errors.TooManyRequests,
    "broken-stream": errors.BrokenStream,
    "read-only": errors.ReadOnly,
    "damaged": errors.Damaged,
    "folding": errors.Folding,
    "compiling": errors.Compiling,
    "storage-failure": errors.StorageFailure,
}
RETRIES = 4  # with the waits below, about three seconds in all
FIRST_WAIT = 0.2  # seconds; doubled each time, and spread so that clients do not come back together
ITEMS_AT_ONCE = 500  # of a catalogue, in one request
LONGEST_WAIT = 60.0  # however long the service asks for
FINAL = ("read-only", "damaged", "broken-stream")  # 503s that no waiting will cure
NOT_BEGUN = ("overloaded", "too-many-requests", "folding", "compiling")
PASSING = (429, 502, 503, 504)
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
IMPORTED_AT_ONCE = 200  # past duels in one request
BYTES_AT_ONCE = 800_000  # of items or duels in one request: a service takes a million, if not set to less

Features = Sequence[float] | Mapping[str, float | str]
"""In the order of the stream's names, or by name; a declared level by its name."""


class Candidate(TypedDict):
    """One of those to choose a pair from."""

    id: str
    features: Features


@dataclass(frozen=True)
class RemoteDecision:
    """The pair to show, and the ticket under which to report."""

    ticket: str
    left: Side
    right: Side
    model_version: int
    probability: float | None
    fallback: bool = False  # the learner could not choose: the pair was drawn at random
    clamped: tuple[str, ...] = ()  # features of which some candidate lies beyond the range


class Client:
    """A connection to a service; safe to share between threads."""

    def __init__(
        self,
        base_url: str,
        token: str | None = None,
        *,
        timeout: float = 10.0,
        retries: int = RETRIES,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not base_url.lower().startswith(("http://", "https://")):
            raise errors.InvalidInput(
                f"base_url is {base_url!r}; expected an address such as 'http://127.0.0.1:8000'."
            )
        headers = {} if token is None else {"Authorization": f"Bearer {_sound(token)}"}
        self._http = httpx.Client(base_url=base_url, headers=headers, timeout=timeout, transport=transport)
        self._retries, self._sleep = retries, sleep

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def stream(self, name: str) -> RemoteStream:
        """A stream of the service; whether it exists shows with the first request."""
        return RemoteStream(self, name)

    def create(self, name: str, *, context_dim: int, **settings: JSON | Sequence[str]) -> RemoteStream:
        """Create a stream, or find it with the same settings: those of `StreamSettings`, by name.

        What is left out has the service's default.
        """
        body = {"name": name, "context_dim": context_dim, **settings}
        self.request("POST", "/v1/streams", cast("dict[str, JSON]", body))
        return self.stream(name)

    def streams(self) -> list[dict[str, JSON]]:
        """Every stream that the key may see, and where it stands."""
        return cast("list[dict[str, JSON]]", self.request("GET", "/v1/streams")["streams"])

    def request(
        self, method: str, path: str, body: Mapping[str, JSON] | None = None, *, once: bool = False
    ) -> dict[str, JSON]:
        """One request, sent again while that may help, unless it is to be begun `once`."""
        response = self._answer(method, path, body, once=once)
        content = _object(response)
        if content is None:
            raise errors.DuelwiseError(
                f"{self._http.base_url} answered with {response.text[:60]!r}, which is no JSON object. "
                "Is this the address of the service?"
            )
        return content

    def _answer(
        self, method: str, path: str, body: Mapping[str, JSON] | None = None, *, once: bool = False
    ) -> httpx.Response:
        for attempt in range(self._retries + 1):
            wanted = 0.0  # seconds that the service asks to be left alone
            try:
                response = self._http.request(method, path, json=body)
            except httpx.TransportError as error:
                is_unknown = once and not isinstance(error, NOT_SENT)
                if attempt == self._retries or is_unknown:
                    raise self._no_answer(error, once=is_unknown) from error
            else:
                if response.is_success:
                    return response
                if attempt == self._retries or not _may_pass(response, once=once):
                    raise error_of(response)
                wanted = _retry_after(response)
            self._sleep(max(wanted, FIRST_WAIT * 2**attempt * (0.5 + secrets.randbelow(1000) / 1000)))
        raise AssertionError("the last attempt returns or raises")

    def content(self, path: str) -> bytes:
        """The bytes of a file."""
        return self._answer("GET", path).content

    def lines(self, path: str) -> Iterator[str]:
        """The lines of a long answer, as they arrive; it is not asked for again."""
        try:
            with self._http.stream("GET", path) as response:
                if not response.is_success:
                    response.read()
                    raise error_of(response)
                yield from response.iter_lines()
        except httpx.TransportError as error:
            raise self._no_answer(error) from error

    def _no_answer(self, error: httpx.TransportError, *, once: bool = False) -> errors.StorageFailure:
        advice = (
            "look before sending it again, and give the client a longer timeout"
            if once
            else "sending it again is safe"
        )
        return errors.StorageFailure(
            f"{self._http.base_url} gave no answer ({type(error).__name__}: {error}). "
            f"Whether the request was taken is not known; {advice}."
        )


class RemoteStream:
    """A stream on the other side of the network."""

    def __init__(self, client: Client, name: str) -> None:
        self.name = name
        self._client = client
        self._path = f"/v1/streams/{quote(name, safe='')}"

    def ask(
        self, candidates: Sequence[Candidate] | None = None, *, ids: Sequence[str] | None = None,
        group: str | None = None, event_id: str | None = None, votes_wanted: int | None = None,
    ) -> RemoteDecision:  # fmt: skip
        """Two to show: of the candidates, of items by id or group, or of all items where none is named.

        An `event_id` is made up where none is given. With `votes_wanted` as many raters may vote on the
        duel, each with a source of its own.
        """
        if candidates is None:
            named: dict[str, JSON] = {"event_id": event_id or uuid.uuid4().hex}
            given = {"ids": None if ids is None else list(ids), "group": group, "votes_wanted": votes_wanted}
            named |= {name: cast("JSON", value) for name, value in given.items() if value is not None}
            return _decision(self._client.request("POST", f"{self._path}/ask", named))
        body: dict[str, JSON] = {"candidates": _offered(candidates), "event_id": event_id or uuid.uuid4().hex}
        if votes_wanted is not None:
            body["votes_wanted"] = votes_wanted
        return _decision(self._client.request("POST", f"{self._path}/ask", body))

    def observe(self, ticket: str, left: Known = None, right: Known = None) -> Receipt:
        """What became known of the two after serving, in as many parts as it takes, before or after the vote.

        None where a value is not known yet.
        """
        body: dict[str, JSON] = {"left": _features(left, "left"), "right": _features(right, "right")}
        return _receipt(self._client.request("POST", f"{self._ticket(ticket)}/observe", body))

    def tell(self, ticket: str, winner: Winner, *, source: str | None = None) -> Receipt:
        """Who won: "left", "right", "tie", or "skip" when nobody will say."""
        return _receipt(
            self._client.request("POST", f"{self._ticket(ticket)}/tell", {"winner": winner, "source": source})
        )

    def retract(self, ticket: str, *, vote: str | None = None, source: str | None = None) -> Receipt:
        """The duel's votes shall not count: all, one by its id, or those of a source."""
        body: dict[str, JSON] = {"vote": vote, "source": source}
        return _receipt(self._client.request("POST", f"{self._ticket(ticket)}/retract", body))

    def batch(self, items: Sequence[Mapping[str, JSON]]) -> list[dict[str, JSON]]:
        """Many operations in one transaction; asks are given an event_id, so that a repeat is safe."""
        named = [
            {"event_id": uuid.uuid4().hex, **item} if item.get("op") == "ask" else dict(item)
            for item in items
        ]
        answer = self._client.request("POST", f"{self._path}/batch", {"items": cast("list[JSON]", named)})
        return cast("list[dict[str, JSON]]", answer["results"])

    def ticket(self, ticket: str) -> dict[str, JSON]:
        """A ticket's state and history."""
        return self._client.request("GET", self._ticket(ticket))

    def status(self) -> dict[str, JSON]:
        """Settings, counts by state, what is pending, model version."""
        return self._client.request("GET", self._path)

    def report(self, *, clustered: bool = False) -> dict[str, JSON]:
        """What the stream has learned, from whom, and how sure it is; `clustered`: sources may be alike."""
        return self._client.request("GET", f"{self._path}/report" + ("?clustered=true" if clustered else ""))

    def expire(self, older_than: float | None = None, *, confirm_clock: bool = False) -> int:
        """Close duels that waited longer than this many seconds, or the stream's own; returns how many."""
        body: dict[str, JSON] = {"older_than": older_than, "confirm_clock": confirm_clock}
        return cast("int", self._client.request("POST", f"{self._path}/expire", body)["changed"])

    def retract_source(self, source: str) -> int:
        """Take back every vote of a source; returns how many."""
        answer = self._client.request("POST", f"{self._path}/retract-source", {"source": source})
        return cast("int", answer["changed"])

    def erase_source(self, source: str) -> str:
        """Put a pseudonym in the place of a source's name; returns it. Votes and what was learned stay."""
        answer = self._client.request("POST", f"{self._path}/erase-source", {"source": source}, once=True)
        return cast("str", answer["pseudonym"])

    def derive(self, name: str, columns: Mapping[str, str] | None = None, **settings: JSON) -> RemoteStream:
        """A new stream that has lived through this one's log, with other settings.

        `columns` gives the features it has, as {"rating": "stars"}: a new name before the old one.
        """
        body: dict[str, JSON] = {"name": name, **settings}
        if columns is not None:
            body["columns"] = dict(columns)
        self._client.request("POST", f"{self._path}/derive", body, once=True)
        return self._client.stream(name)

    def import_duels(
        self, duels: Sequence[Mapping[str, JSON]], *, on_progress: Callable[[int, int], None] | None = None
    ) -> int:
        """Learn from past duels, {"left", "right", "winner", …} each; returns how many were new.

        Each needs an `event_id`, so that an import that was interrupted can be run again.
        `on_progress` hears how many of how many are done.
        """
        for number, one in enumerate(duels):
            if not one.get("event_id"):
                raise errors.InvalidInput(f"Duel {number} has no event_id; a repeat would count it twice.")
        new = 0
        for start, some in _parts(duels, IMPORTED_AT_ONCE, "Duel"):
            for number, result in enumerate(
                self.batch([{"op": "import", **one} for one in some]), start=start
            ):
                if result["status"] != 200:
                    problem = cast("dict[str, JSON]", result["problem"])
                    raise ERRORS.get(_kind(problem), errors.DuelwiseError)(
                        f"Duel {number}: {problem['detail']}"
                    )
                new += bool(result["changed"])
            if on_progress is not None:
                on_progress(start + len(some), len(duels))
        return new

    def export(self) -> Iterator[str]:
        """The log, one line of JSON for each event."""
        return self._client.lines(f"{self._path}/export")

    def put_items(self, items: Sequence[Mapping[str, JSON]]) -> dict[str, JSON]:
        """Add items to the catalogue or change them; returns how many were added, changed, the same."""
        times = Counter(str(item["id"]) for item in items if "id" in item)
        twice = next((id for id in times if times[id] > 1), None)
        if twice is not None:
            raise errors.InvalidInput(f"Two of the items share the id {twice!r}; give every item its own.")
        total: dict[str, JSON] = {"added": 0, "changed": 0, "same": 0}
        for _, some in _parts(items, ITEMS_AT_ONCE, "Item"):
            done = self._client.request("PUT", f"{self._path}/items", {"items": cast("list[JSON]", some)})
            total = {name: cast("int", total[name]) + cast("int", done[name]) for name in total}
        return total

    def items(
        self, *, group: str | None = None, after: str | None = None, limit: int = 100
    ) -> dict[str, JSON]:
        """A page of the catalogue."""
        given = {"group": group, "after": after, "limit": str(limit)}
        query = urlencode({name: value for name, value in given.items() if value is not None})
        return self._client.request("GET", f"{self._path}/items?{query}")

    def withdraw_items(self, ids: Sequence[str]) -> int:
        """Offer these items no longer; returns how many."""
        return cast(
            "int", self._client.request("POST", f"{self._path}/items/withdraw", {"ids": list(ids)})["changed"]
        )

    def rank(self, **wanted: JSON) -> dict[str, JSON]:
        """Candidates, ids, a group or all items in order; also adjust, limit, clustered."""
        return self._client.request("POST", f"{self._path}/rank", wanted)

    def best(self, **wanted: JSON) -> dict[str, JSON]:
        """The one to serve without a duel."""
        return self._client.request("POST", f"{self._path}/best", wanted)

    def raters(self, gold: Sequence[tuple[str, str]] = ()) -> list[dict[str, JSON]]:
        """What is known of every source; votes on `gold` pairs (better, worse) are counted apart."""
        if gold:
            body: JSON = {"gold": [{"better": better, "worse": worse} for better, worse in gold]}
            answer = self._client.request("POST", f"{self._path}/raters/tested", body)
        else:
            answer = self._client.request("GET", f"{self._path}/raters")
        return cast("list[dict[str, JSON]]", answer["raters"])

    def hold(self, source: str) -> bool:
        """The votes of a source shall not count until it is released."""
        answer = self._client.request("POST", f"{self._path}/raters/hold", {"source": source})
        return cast("bool", answer["changed"])

    def release(self, source: str) -> bool:
        """The votes of a source shall count again."""
        answer = self._client.request("POST", f"{self._path}/raters/release", {"source": source})
        return cast("bool", answer["changed"])

    def votes(self, format: str = "csv") -> bytes:
        """Every vote that counts, as a file: csv, parquet, jsonl or preferences."""
        return self._client.content(f"{self._path}/votes?{urlencode({'format': format})}")

    def audit(self) -> dict[str, JSON]:
        """What every vote counts for, and whether a group of voters is held back or outvoted."""
        return self._client.request("GET", f"{self._path}/audit")

    def _ticket(self, ticket: str) -> str:
        return f"{self._path}/tickets/{quote(ticket, safe='')}"


def _parts(
    records: Sequence[Mapping[str, JSON]], most: int, kind: str
) -> list[tuple[int, list[dict[str, JSON]]]]:
    """Records that fit into one request, and the number of the first, once all have been looked at."""
    parts = list[tuple[int, list[dict[str, JSON]]]]()
    size = 0
    for number, one in enumerate(records):
        try:
            json.dumps(dict(one), ensure_ascii=False).encode()  # refuses half a letter
            length = len(json.dumps(dict(one), allow_nan=False))  # as the httpx that escapes letters sends it
        except (TypeError, ValueError) as error:
            raise errors.InvalidInput(f"{kind} {number} is no JSON: {error}. Nothing was sent.") from error
        if not parts or len(parts[-1][1]) == most or size + length > BYTES_AT_ONCE:
            parts.append((number, []))
            size = 0
        parts[-1][1].append(dict(one))
        size += length
    return parts


def error_of(response: httpx.Response) -> errors.DuelwiseError:
    """The error that a refusal stands for: the one the stream itself would raise."""
    problem = _object(response) or {}
    kind = ERRORS.get(_kind(problem), errors.DuelwiseError)
    advice = problem.get("advice", "")
    return kind(
        f"{problem.get('detail') or f'The service answered {response.status_code}.'} {advice}".strip()
    )


def _may_pass(response: httpx.Response, *, once: bool) -> bool:
    kind = _kind(_object(response) or {})
    return kind in NOT_BEGUN if once else response.status_code in PASSING and kind not in FINAL


def _retry_after(response: httpx.Response) -> float:
    """The seconds that the answer asks for; none where it says a date or nothing."""
    try:
        seconds = float(response.headers.get("retry-after", "0"))
    except ValueError:
        return 0.0
    return min(seconds, LONGEST_WAIT) if seconds > 0 else 0.0


def _offered(candidates: Sequence[Candidate]) -> list[JSON]:
    """Candidates as they are sent; one that is none is named, and nothing is sent."""
    for number, one in enumerate(cast("Sequence[object]", candidates)):
        if not isinstance(one, Mapping) or "id" not in one or "features" not in one:
            raise errors.InvalidInput(
                f"candidate {number} is {one!r:.80}; expected a mapping with 'id' and 'features', such as "
                "{'id': 'soup', 'features': [0.4, 0.9]}. Nothing was sent."
            )
    return [
        {"id": one["id"], "features": _features(one["features"], f"candidate {number} ({one['id']!r})")}
        for number, one in enumerate(candidates)
    ]


def _features(features: Known | Features, owner: str) -> JSON:
    """What JSON can carry: numbers, names of levels, null for what is not known; nothing else is sent."""
    if features is None:
        return None
    named = dict(features) if isinstance(features, Mapping) else dict(enumerate(features))
    sent = {str(name): _value(value, f"{owner}, feature {name!r}") for name, value in named.items()}
    return sent if isinstance(features, Mapping) else list(sent.values())


def _value(value: object, owner: str) -> JSON:
    if value is None or isinstance(value, str):
        return value
    try:
        number = float(value) if isinstance(value, SupportsFloat) else math.nan
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise errors.InvalidInput(f"{owner} is {value!r:.80}; expected a finite number. Nothing was sent.")
    return number


def _sound(token: str) -> str:
    """A token as a header takes it; those that are read from a file end with the line."""
    found = token.strip()
    if not found or not found.isascii() or not found.isprintable():
        raise errors.InvalidInput(
            "The token is empty, or has characters that no token has. Give it as `duelwise keys add` printed "
            "it, or none where the service has no keys."
        )
    return found


def _object(response: httpx.Response) -> dict[str, JSON] | None:
    """The JSON object of an answer, if it is one."""
    try:
        content: JSON = response.json()
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


def _kind(problem: Mapping[str, JSON]) -> str:
    return str(problem.get("type", "")).rpartition(":")[2]


def _decision(answer: Mapping[str, JSON]) -> RemoteDecision:
    left, right = (cast("dict[str, JSON]", answer[side]) for side in ("left", "right"))
    return RemoteDecision(
        ticket=cast("str", answer["ticket"]),
        left=Side(cast("str | None", left["id"]), cast("int", left["index"])),
        right=Side(cast("str | None", right["id"]), cast("int", right["index"])),
        model_version=cast("int", answer["model_version"]),
        probability=cast("float | None", answer["probability"]),
        fallback=cast("bool", answer.get("fallback", False)),
        clamped=tuple(cast("list[str]", answer.get("clamped", []))),
    )


def _receipt(answer: Mapping[str, JSON]) -> Receipt:
    return Receipt(
        cast("str", answer["ticket"]), cast("str", answer["state"]), cast("bool", answer["changed"]),
        cast("str | None", answer.get("vote")),
    )  # fmt: skip
