"""The application behind `fedbandit ui`: MLflow's server, limited to the requests of its experiment and run pages.

Every user of this machine can reach a loopback port, and MLflow's interface reads and writes files, starts assistants
and calls addresses on behalf of the user who started it. Requests that are not listed here are therefore refused. These
include requests that create experiments, runs or models, in which a client could choose the artifact location, and
requests that write artifacts. Artifacts are only read from one folder, whatever the store or a link says.
"""

import json
import os
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any, NoReturn

from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import PERMISSION_DENIED
from mlflow.store.artifact.artifact_repository_registry import (
    _artifact_repository_registry,
    get_registered_artifact_repositories,
)
from mlflow.store.artifact.local_artifact_repo import LocalArtifactRepository

ROOT_VARIABLE = "FEDBANDIT_UI_ARTIFACTS"
"""The environment variable that names the folder from which artifacts are served."""

INTERFACES = ("/ajax-api/2.0/mlflow/", "/api/2.0/mlflow/")
READING = frozenset(
    {
        "artifacts/list",
        "experiments/get",
        "experiments/get-by-name",
        "experiments/search",
        "experiments/search-datasets",
        "logged-models/search",
        "metrics/get-history",
        "metrics/get-history-bulk",
        "metrics/get-history-bulk-interval",
        "model-versions/search",
        "registered-models/search",
        "runs/get",
        "runs/search",
    }
)
CHANGING = frozenset(
    {
        "experiments/delete",
        "experiments/delete-experiment-tag",
        "experiments/restore",
        "experiments/set-experiment-tag",
        "experiments/update",
        "runs/delete",
        "runs/delete-tag",
        "runs/restore",
        "runs/set-tag",
        "runs/update",
    }
)
"""Changes that the UI makes: names, descriptions, tags, saved views; a deleted run can be restored."""

PAGES = frozenset(
    {
        "/",
        "/ajax-api/2.0/mlflow/gateway-proxy",  # has no effect without a target: see server.py
        "/ajax-api/3.0/mlflow/server-info",
        "/ajax-api/3.0/mlflow/ui-telemetry",
        "/ajax-api/3.0/mlflow/workspaces",
        "/get-artifact",
        "/graphql",
        "/health",
        "/version",
    }
)
FILES_OF_PAGES = ("/static-files/", "/build/")
DEFAULTS = {
    "mlflow.workflowType_v1": "machine_learning",  # instead of language models, whose traces do not exist here
    "mlflow.assistant.fab.autoOpenedOnFirstLoad_v1": True,  # the assistant is not served
}
"""Initial values of the settings that the UI keeps in the browser."""

SCRIPT = f"""<head><script>
for (const [name, value] of Object.entries({json.dumps(DEFAULTS)}))
  if (localStorage.getItem(name) === null) localStorage.setItem(name, JSON.stringify(value));
</script>""".encode()
REFUSAL = json.dumps(
    {"error_code": "PERMISSION_DENIED", "message": "fedbandit ui does not allow this request"}
).encode()

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


def is_served(method: str, path: str) -> bool:
    """Return whether the UI needs a request."""
    if method not in ("GET", "HEAD", "POST"):
        return False
    if path in PAGES:
        return method != "POST" or path == "/graphql"
    if path.startswith(FILES_OF_PAGES):
        return method != "POST"
    name = next((path.removeprefix(prefix) for prefix in INTERFACES if path.startswith(prefix)), "")
    return name in READING or (name in CHANGING and method == "POST")


class OnlyPages:
    """Refuses every request that is not served."""

    def __init__(self, application: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self._application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request, or refuse it."""
        if scope["type"] == "http" and scope["path"] == "/" and is_served(scope["method"], "/"):
            await self._application(scope, receive, WithDefaults(send))
        elif scope["type"] == "lifespan" or (scope["type"] == "http" and is_served(scope["method"], scope["path"])):
            await self._application(scope, receive, send)
        elif scope["type"] == "http":
            headers = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": 403, "headers": headers})
            await send({"type": "http.response.body", "body": REFUSAL})
        else:
            await send({"type": "websocket.close", "code": 1008})


class WithDefaults:
    """Adds a script to the first page that sets the initial values in the browser."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        """Forward a part of the response. The script changes its length, so the header with the length is removed."""
        if message["type"] == "http.response.start":
            message["headers"] = [header for header in message["headers"] if header[0].lower() != b"content-length"]
        elif message["type"] == "http.response.body":
            message["body"] = message.get("body", b"").replace(b"<head>", SCRIPT, 1)
        await self._send(message)


class ArtifactsBelowRoot(LocalArtifactRepository):
    """The artifacts of a run, limited to the folder that is served."""

    def __init__(self, artifact_uri: str, *arguments: Any, **options: Any) -> None:
        super().__init__(artifact_uri, *arguments, **options)
        self._refuse_outside(self.artifact_dir)

    def get_local_path(self, artifact_path: str) -> str:
        """Return the file of an artifact."""
        self._refuse_outside(os.path.join(self.artifact_dir, artifact_path or ""))  # noqa: PTH118 - may be absolute
        return str(super().get_local_path(artifact_path))

    def list_artifacts(self, path: str | None = None) -> Any:
        """Return the artifacts in a folder."""
        self._refuse_outside(os.path.join(self.artifact_dir, path or ""))  # noqa: PTH118
        return super().list_artifacts(path)  # type: ignore[no-untyped-call]

    def _refuse_outside(self, path: str) -> None:
        if not Path(path).resolve().is_relative_to(Path(os.environ[ROOT_VARIABLE]).resolve()):
            _refuse()


def _refuse(*arguments: Any, **options: Any) -> NoReturn:
    """Refuse an artifact store that is not served."""
    raise MlflowException("fedbandit ui only serves artifacts from its own folder", PERMISSION_DENIED)


def create_app() -> OnlyPages:
    """Return the application: MLflow finds it by its entry point in the group `mlflow.app`."""
    from mlflow.server.fastapi_app import app

    for scheme in get_registered_artifact_repositories():
        repository = ArtifactsBelowRoot if scheme in ("", "file") else _refuse
        _artifact_repository_registry.register(scheme, repository)  # type: ignore[no-untyped-call]
    return OnlyPages(app)
