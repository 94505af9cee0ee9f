"""The application behind `fedbandit ui`: MLflow's server, limited to the requests of its experiment and run pages.

Every user of this machine can reach a loopback port, and MLflow's interface reads and writes files, starts assistants
and calls addresses on behalf of the user who started it. Requests that are not listed here are therefore refused. These
include requests that create experiments, runs or models, in which a client could choose the artifact location, and
requests that write artifacts. Artifacts are only read from one folder, whatever the store or a link says.
"""

import json
import os
import signal
import stat
import threading
from pathlib import Path
from typing import Any, NoReturn

from mlflow.exceptions import MlflowException
from mlflow.protos.databricks_pb2 import PERMISSION_DENIED
from mlflow.store.artifact.artifact_repository_registry import (
    _artifact_repository_registry,
    get_registered_artifact_repositories,
)
from mlflow.store.artifact.local_artifact_repo import LocalArtifactRepository
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ROOT_VARIABLE = "FEDBANDIT_UI_ARTIFACTS"
"""The environment variable that names the folder from which artifacts are served."""

INTERFACES = ("/ajax-api/2.0/mlflow/", "/api/2.0/mlflow/")
READING = {
    "artifacts": {"list"},
    "experiments": {"get", "get-by-name", "search", "search-datasets"},
    "logged-models": {"search"},
    "metrics": {"get-history", "get-history-bulk", "get-history-bulk-interval"},
    "model-versions": {"search"},
    "registered-models": {"search"},
    "runs": {"get", "search"},
}
CHANGING = {
    "experiments": {"delete", "delete-experiment-tag", "restore", "set-experiment-tag", "update"},
    "runs": {"delete", "delete-tag", "restore", "set-tag", "update"},
}
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
RENAMING = {"run_id", "runId", "run_uuid", "runUuid", "run_name", "runName"}
"""The fields of `runs/update` that the UI sends; the status of a run belongs to its result."""

OWN_TAGS = "fedbandit."
MAX_BODY = 1 << 20
FILES_OF_PAGES = ("/static-files/", "/build/")
DEFAULTS = {
    "mlflow.workflowType_v1": "machine_learning",  # instead of language models, whose traces do not exist here
    "mlflow.settings.telemetry.enabled_v1": False,  # the server never sends any; the notice on the home page
    "mlflow.telemetry.info.alert.dismissed_v1": True,  # says that it does
    "mlflow.assistant.fab.autoOpenedOnFirstLoad_v1": True,  # the assistant is not served
}
"""Initial values of the settings that the UI keeps in the browser."""

SCRIPT = f"""<head><script>
for (const [name, value] of Object.entries({json.dumps(DEFAULTS)}))
  if (localStorage.getItem(name) === null) localStorage.setItem(name, JSON.stringify(value));
</script>""".encode()
REFUSAL = {"error_code": "PERMISSION_DENIED", "message": "fedbandit ui does not allow this request"}


def is_served(method: str, path: str) -> bool:
    """Return whether the UI needs a request."""
    if method not in ("GET", "HEAD", "POST"):
        return False
    if path in PAGES:
        return method != "POST" or path == "/graphql"
    if path.startswith(FILES_OF_PAGES):
        return method != "POST"
    name = next((path.removeprefix(prefix) for prefix in INTERFACES if path.startswith(prefix)), "")
    subject, _, action = name.partition("/")
    return action in READING.get(subject, ()) or (method == "POST" and is_change(path))


def is_change(path: str) -> bool:
    """Return whether a request is one of the changes that the UI makes."""
    name = next((path.removeprefix(prefix) for prefix in INTERFACES if path.startswith(prefix)), "")
    subject, _, action = name.partition("/")
    return action in CHANGING.get(subject, ())


def changes_a_result(path: str, body: bytes) -> bool:
    """Return whether a request would change what results are read from: our own tags, or the status of a run.

    MLflow reads a text that contains JSON, too. What cannot be read counts as such a change.
    """
    action = path.rpartition("/")[2]
    try:
        content = json.loads(body)
        content = json.loads(content) if isinstance(content, str) else content
        if action == "update" and "/runs/" in path:
            return not {*content} <= RENAMING
        return "tag" in action and str(content["key"]).startswith(OWN_TAGS)
    except (ValueError, KeyError, TypeError, RecursionError):
        return True


def limited(application: ASGIApp) -> ASGIApp:
    """Return an application that refuses every request that is not served."""

    async def forward_or_refuse(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await application(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        elif not is_served(scope["method"], scope["path"]) or not _is_allowed_host(scope):
            await JSONResponse(REFUSAL, 403)(scope, receive, send)
        elif scope["method"] == "POST" and is_change(scope["path"]):
            body = await _body(receive)
            if body is None or changes_a_result(scope["path"], body):
                await JSONResponse(REFUSAL, 403)(scope, receive, send)
            else:
                await application(scope, _receiving(body, receive), send)
        else:
            await application(scope, receive, with_defaults(send) if scope["path"] == "/" else send)

    return forward_or_refuse


def _is_allowed_host(scope: Scope) -> bool:
    """Return whether a request is for this server; MLflow itself answers /health and /version to any host."""
    allowed = os.environ.get("MLFLOW_SERVER_ALLOWED_HOSTS", "").split(",")
    hosts = [value.decode("latin-1") for name, value in scope["headers"] if name.lower() == b"host"]
    return len(hosts) == 1 and hosts[0] in allowed


async def _body(receive: Receive) -> bytes | None:
    """Return the body of a request; None if it is too large, or if the client left."""
    body: bytes = b""
    while len(body) <= MAX_BODY:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += bytes(message.get("body", b""))
        if not message.get("more_body"):
            return body if len(body) <= MAX_BODY else None
    return None


def _receiving(body: bytes, receive: Receive) -> Receive:
    """Return a function that hands over a body that was read already, and then what comes after it."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return messages.pop() if messages else await receive()

    return receive_again


def with_defaults(send: Send) -> Send:
    """Add a script to the first page that sets the initial values in the browser."""

    async def forward(message: Message) -> None:
        if message["type"] == "http.response.start":  # the script changes the length
            message["headers"] = [header for header in message["headers"] if header[0].lower() != b"content-length"]
        elif message["type"] == "http.response.body":
            message["body"] = message.get("body", b"").replace(b"<head>", SCRIPT, 1)
        await send(message)

    return forward


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


def end_with_parent() -> None:
    """End all processes of this server when `fedbandit ui`, which holds the other end of the input, has ended."""
    while os.read(0, 1):
        pass
    os.killpg(0, signal.SIGKILL)


def create_app() -> ASGIApp:
    """Return the application: MLflow finds it by its entry point in the group `mlflow.app`."""
    from mlflow.server.fastapi_app import app

    if stat.S_ISFIFO(os.fstat(0).st_mode):  # started by `running_server`
        threading.Thread(target=end_with_parent, daemon=True).start()
    for scheme in get_registered_artifact_repositories():
        repository = ArtifactsBelowRoot if scheme in ("", "file") else _refuse
        _artifact_repository_registry.register(scheme, repository)  # type: ignore[no-untyped-call]
    return limited(app)
