"""The OpenAPI document is complete and true: requests made from it, good and bad, are answered as it says."""

import re
import subprocess
import sys
from pathlib import Path

import httpx
import jsonschema
import pytest
from servers import serving

from duelwise.client import Client
from duelwise.service import ServiceSettings, create_app
from in_process import MEALS, InProcess, candidates

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
    "response_schema_conformance,negative_data_rejection,missing_required_header,unsupported_method"
)


@pytest.mark.long
@pytest.mark.parametrize("known", [False, True])
def test_requests_made_from_the_document_are_answered_as_it_says(tmp_path: Path, known: bool) -> None:
    store = f"sqlite:///{tmp_path}/duels.db"
    with serving(store, "--feature-limit", "8") as server, Client(server.url) as client:
        meals = client.create("meals", context_dim=1)  # few features: some lists that are made up fit
        ticket = meals.ask([{"id": "a", "features": [0]}, {"id": "b", "features": [1]}]).ticket
        config = tmp_path / "schemathesis.toml"
        config.write_text(f'[parameters]\nname = "meals"\nticket = "{ticket}"\n' if known else "")
        done = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "--config-file", config, "run"),
                *(f"{server.url}/openapi.json", "--checks", CHECKS, "--max-examples", "25", "--seed", "7"),
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
        metrics = httpx.get(f"{server.url}/metrics").text
        assert 'status="500"' not in metrics
        if known:  # requests got as far as the ticket
            ticket_paths = [f"tickets/{{ticket}}/{step}" for step in ("observe", "tell", "retract")]
            for path in ("ask", *ticket_paths):
                taken = rf'route="/v1/streams/{{name}}/{re.escape(path)}",status="(200|201|409|410)"'
                assert re.search(taken, metrics), path


def test_a_report_is_what_the_document_says(tmp_path: Path) -> None:
    """With all that it can hold: what was foreseen, and what being shown on the left adds."""
    running = InProcess(create_app(f"sqlite:///{tmp_path}/duels.db"))
    with httpx.Client(base_url="http://127.0.0.1", transport=running) as http:
        http.post(
            "/v1/streams",
            json=MEALS | {"post_dim": 0, "feature_names": [], "ranges": {}, "position_bias": True},
        )
        duel = http.post("/v1/streams/meals/ask", json={"candidates": candidates()}).json()
        http.post(f"/v1/streams/meals/tickets/{duel['ticket']}/tell", json={"winner": "left"})
        report = http.get("/v1/streams/meals/report").json()
        document = http.get("/openapi.json").json()
    running.stop()
    assert report["foresight"]["calibration"]
    assert report["positions"]["bias"]
    schema = {"$ref": "#/components/schemas/Report", "components": document["components"]}
    jsonschema.validate(report, schema)


def test_who_asks_too_fast_is_answered_as_the_document_says(tmp_path: Path) -> None:
    running = InProcess(create_app(f"sqlite:///{tmp_path}/duels.db", ServiceSettings(rate_limit=1)))
    with httpx.Client(base_url="http://127.0.0.1", transport=running) as http:
        answers = [http.get("/v1/streams") for _ in range(3)]
        document = http.get("/openapi.json").json()
    running.stop()
    assert 429 in {answer.status_code for answer in answers}
    for path, methods in document["paths"].items():
        for operation in methods.values():
            assert ("429" in operation["responses"]) == (path not in ("/healthz", "/readyz")), path
