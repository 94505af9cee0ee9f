"""Another user of this machine with `curl`: the pages give no access to other files of the owner."""

import json
from pathlib import Path
from typing import Any

import pytest
import requests
from mlflow import MlflowClient

from benchmark.ui.app import is_served
from benchmark.ui.server import Server
from tests.benchmark.sweeps import EXPERIMENT

pytestmark = pytest.mark.slow

SECRET = "the owner's private key"
LIST_BY_GRAPHQL = """query List($id: String!) {
  mlflowListArtifacts(input: {runId: $id}) { files { path } apiError { message } }
}"""


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of the owner that is unrelated to the runs."""
    folder = tmp_path_factory.mktemp("private")
    (folder / "key").write_text(SECRET)
    return folder


@pytest.fixture(scope="module")
def client(shown_store: Path) -> MlflowClient:
    return MlflowClient(f"sqlite:///{shown_store / 'mlflow.db'}")


@pytest.fixture(scope="module")
def own_run(client: MlflowClient) -> str:
    """A run with a picture, as recorded by a sweep."""
    experiment = client.get_experiment_by_name(EXPERIMENT)
    assert experiment is not None
    return str(client.search_runs([experiment.experiment_id], "tags.`fedbandit.kind` = 'sweep'")[0].info.run_id)


@pytest.fixture(scope="module")
def planted_runs(client: MlflowClient, private: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Runs with artifacts in other locations, as older servers let clients create: a folder, a link to it, others."""
    link = tmp_path_factory.mktemp("attacker") / "link"
    link.symlink_to(private)
    runs = []
    for number, location in enumerate(
        (private.as_uri(), link.as_uri(), str(private), "s3://bucket/x", "mlflow-artifacts:/../..")
    ):
        experiment_id = client.create_experiment(f"planted{number}", artifact_location=location)
        run = client.create_run(experiment_id)
        runs.append(run.info.run_id)
        if location.startswith(("file:", "/")):  # the file is among the artifacts of the run
            target = private / run.info.run_id / "artifacts"
            target.mkdir(parents=True)
            (target / "key").write_text(SECRET)
    return runs


def post(server: Server, path: str, content: Any) -> requests.Response:
    return requests.post(f"{server.address}{path}", json=content, timeout=20)


def get(server: Server, path: str, /, **query: str) -> requests.Response:
    return requests.get(f"{server.address}{path}", params=query, timeout=20)


def test_the_artifacts_of_runs_are_served(server: Server, own_run: str):
    response = get(server, "/get-artifact", run_uuid=own_run, path="picture.png")
    assert response.status_code == 200
    assert response.content.startswith(b"\x89PNG")
    listing = get(server, "/ajax-api/2.0/mlflow/artifacts/list", run_id=own_run).json()
    assert [file["path"] for file in listing["files"]] == ["picture.png"]
    graphql = post(server, "/graphql", {"query": LIST_BY_GRAPHQL, "variables": {"id": own_run}}).json()
    assert [file["path"] for file in graphql["data"]["mlflowListArtifacts"]["files"]] == ["picture.png"]


@pytest.mark.parametrize("prefix", ["/api/2.0/mlflow", "/ajax-api/2.0/mlflow"])
def test_clients_cannot_choose_the_artifact_location(server: Server, private: Path, own_run: str, prefix: str):
    location = private.as_uri()
    attempts = {
        "experiments/create": {"name": "evil", "artifact_location": location},
        "runs/create": {"experiment_id": "1", "tags": []},
        "registered-models/create": {"name": "evil"},
        "model-versions/create": {"name": "evil", "source": location, "run_id": own_run},
        "logged-models": {"experiment_id": "1", "name": "evil"},
        "runs/log-model": {"run_id": own_run, "model_json": "{}"},
        "runs/log-inputs": {"run_id": own_run, "datasets": []},
        "runs/outputs": {"run_id": own_run, "models": []},
        "traces": {"experiment_id": "1", "tags": [{"key": "mlflow.artifactLocation", "value": location}]},
        "webhooks": {"name": "evil", "url": "http://127.0.0.1:1/", "events": []},
        "artifacts/presigned-download-url": {"run_id": own_run, "path": "x"},
        "gateway-proxy": {"gateway_path": "x"},
    }
    codes = {name: post(server, f"{prefix}/{name}", content).status_code for name, content in attempts.items()}
    assert set(codes.values()) == {403}, codes
    assert not any(
        experiment["name"] == "evil"
        for experiment in post(server, f"{prefix}/experiments/search", {"max_results": 99}).json()["experiments"]
    )


def test_clients_cannot_write_or_delete_artifacts(
    server: Server, shown_store: Path, own_run: str, planted_runs: list[str]
):
    before = sorted(shown_store.joinpath("mlartifacts").rglob("*"))
    for run in (own_run, *planted_runs):
        upload = f"{server.address}/ajax-api/2.0/mlflow/upload-artifact?run_uuid={run}&path=evil.txt"
        assert requests.post(upload, data=b"evil", timeout=20).status_code == 403
    for prefix in ("/api/2.0", "/ajax-api/2.0"):
        url = f"{server.address}{prefix}/mlflow-artifacts/artifacts/1/evil.txt"
        for method in ("PUT", "DELETE", "GET"):
            assert requests.request(method, url, data=b"evil", timeout=20).status_code == 403
    assert sorted(shown_store.joinpath("mlartifacts").rglob("*")) == before


def test_artifacts_in_other_locations_are_not_served(server: Server, planted_runs: list[str], private: Path):
    for run in planted_runs:
        responses = [
            get(server, "/get-artifact", run_uuid=run, path="key"),
            get(server, "/get-artifact", run_id=run, path="key"),
            get(server, "/get-artifact", run_uuid=run, path=str(private / "key")),
            get(server, "/ajax-api/2.0/mlflow/artifacts/list", run_id=run),
            get(server, "/api/2.0/mlflow/artifacts/list", run_id=run),
            post(server, "/graphql", {"query": LIST_BY_GRAPHQL, "variables": {"id": run}}),
        ]
        for response in responses:
            assert SECRET not in response.text
            assert '"key"' not in json.dumps(response.json().get("files", response.json().get("data")))
        assert [response.status_code for response in responses[:2]] == [403, 403]


def test_a_link_among_the_artifacts_is_not_followed_to_other_folders(
    server: Server, client: MlflowClient, own_run: str, private: Path
):
    artifacts = Path(client.get_run(own_run).info.artifact_uri.removeprefix("file://"))
    (artifacts / "link").symlink_to(private)
    (artifacts / "file-link").symlink_to(private / "key")
    try:
        for path in ("link/key", "file-link", "../../../key", str(private / "key"), "link/../link/key"):
            response = get(server, "/get-artifact", run_uuid=own_run, path=path)
            assert response.status_code in (400, 403), path
            assert SECRET not in response.text
        assert get(server, "/ajax-api/2.0/mlflow/artifacts/list", run_id=own_run, path="link").status_code == 403
    finally:
        (artifacts / "link").unlink()
        (artifacts / "file-link").unlink()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/ajax-api/3.0/mlflow/assistant/message"),
        ("PUT", "/ajax-api/3.0/mlflow/assistant/config"),
        ("POST", "/ajax-api/3.0/mlflow/scorers/register"),
        ("POST", "/ajax-api/3.0/jobs/"),
        ("POST", "/gateway/proxy/x/y"),
        ("POST", "/v1/traces"),
        ("GET", "/model-versions/get-artifact"),
        ("GET", "/ajax-api/2.0/mlflow/get-trace-artifact"),
        ("GET", "/ajax-api/2.0/mlflow/logged-models/m-1/artifacts/files"),
        ("GET", "/ajax-api/2.0/mlflow-artifacts/artifacts"),
        ("GET", "/ajax-api/2.0//mlflow/experiments/search/../create"),
        ("GET", "/api/2.0/mlflow/runs/delete"),
    ],
)
def test_requests_that_the_pages_do_not_need_are_refused(server: Server, method: str, path: str):
    assert not is_served(method, path)
    assert requests.request(method, f"{server.address}{path}", json={}, timeout=20).status_code == 403


@pytest.mark.parametrize("prefix", ["/api/2.0/mlflow", "/ajax-api/2.0/mlflow"])
def test_clients_cannot_change_what_results_are_read_from(
    server: Server, client: MlflowClient, own_run: str, prefix: str
):
    before = client.get_run(own_run)
    own = {"run_id": own_run, "key": "fedbandit.record", "value": "{}"}
    attempts = [
        ("runs/set-tag", json.dumps(own)),
        ("runs/set-tag", json.dumps(json.dumps(own))),
        ("runs/set-tag", json.dumps(own).replace('"key": "f', '"key": "x", "key": "\\u0066')),
        ("runs/set-tag", "no JSON"),
        ("runs/set-tag", json.dumps({**own, "key": "x", "value": "x" * (1 << 21)})),
        ("runs/delete-tag", json.dumps(own)),
        ("runs/update", json.dumps({"run_id": own_run, "status": "FAILED"})),
        ("experiments/set-experiment-tag", json.dumps({**own, "experiment_id": "1", "key": "fedbandit.kind"})),
    ]
    headers = {"Content-Type": "application/json"}
    for path, body in attempts:
        response = requests.post(f"{server.address}{prefix}/{path}", data=body, headers=headers, timeout=20)
        assert response.status_code == 403, path
    assert client.get_run(own_run).data.tags == before.data.tags
    assert client.get_run(own_run).info.status == before.info.status
    note = {"run_id": own_run, "key": "mlflow.note.content", "value": "mine"}
    assert post(server, f"{prefix}/runs/set-tag", note).status_code == 200
    assert post(server, f"{prefix}/runs/update", {"run_id": own_run, "run_name": "mine"}).status_code == 200
    assert client.get_run(own_run).data.tags["mlflow.note.content"] == "mine"
