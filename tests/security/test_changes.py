"""Which changes of the MLflow UI reach MLflow: none of a tag or a status that results are read from."""

import asyncio
import json
from typing import Any

import pytest

from benchmark.ui.app import limited

OWN = {"run_id": "1", "key": "fedbandit.record", "value": "{}"}
SERVED: list[bytes] = []


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Stands for MLflow: keeps the body of a request."""
    body, more = b"", scope["method"] == "POST"
    while more:
        message = await receive()
        body, more = body + message["body"], message.get("more_body", False)
    SERVED.append(body)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def status(method: str, path: str, body: str = "", host: str = "localhost:5000") -> int:
    """Send a request in two parts."""
    parts = [(body[:5].encode(), True), (body[5:].encode(), False)]
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        part, more = parts.pop(0)
        return {"type": "http.request", "body": part, "more_body": more}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "headers": [(b"host", host.encode())]}
    asyncio.run(limited(application)(scope, receive, send))
    return int(sent[0]["status"])


@pytest.mark.parametrize("prefix", ["/api/2.0/mlflow/", "/ajax-api/2.0/mlflow/"])
@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("runs/set-tag", json.dumps(OWN), 403),
        ("runs/set-tag", json.dumps(json.dumps(OWN)), 403),
        ("runs/set-tag", json.dumps(OWN).replace('"key": "f', '"key": "x", "key": "\\u0066'), 403),
        ("runs/set-tag", "no JSON", 403),
        ("runs/set-tag", "[1]", 403),
        ("runs/set-tag", json.dumps({**OWN, "key": "x", "value": "x" * (1 << 20)}), 403),
        ("runs/delete-tag", json.dumps(OWN), 403),
        ("runs/update", json.dumps({"run_id": "1", "status": "FAILED"}), 403),
        ("experiments/set-experiment-tag", json.dumps({**OWN, "key": "fedbandit.kind"}), 403),
        ("runs/set-tag", json.dumps({**OWN, "key": "mlflow.note.content"}), 200),
        ("runs/update", json.dumps({"run_id": "1", "run_name": "mine"}), 200),
        ("experiments/update", json.dumps({"experiment_id": "1", "new_name": "mine"}), 200),
    ],
)
def test_tags_and_statuses_that_results_are_read_from_cannot_be_changed(
    prefix: str, path: str, body: str, code: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MLFLOW_SERVER_ALLOWED_HOSTS", "localhost,localhost:5000")
    SERVED.clear()
    assert status("POST", prefix + path, body) == code
    assert [body.encode()] * (code == 200) == SERVED


def test_no_page_is_served_to_another_host(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MLFLOW_SERVER_ALLOWED_HOSTS", "localhost,localhost:5000")
    for path in ("/health", "/version", "/"):
        assert status("GET", path) == 200
        assert status("GET", path, host="evil.example") == status("GET", path, host="localhost:5001") == 403
