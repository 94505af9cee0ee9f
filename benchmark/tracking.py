"""Reaching MLflow: quiet, without telemetry, patient with a server that is away for a while, one line for errors."""

import logging
import os
import re
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from data_pipelines.secrets import without_secrets, without_user

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

DEFAULT_URI = "sqlite:///mlflow.db"
ENVIRONMENT = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # of each run, and with the password in it
}
PATIENCE = 180.0
"""Seconds for which a write is tried again when the server does not answer."""

Result = TypeVar("Result")


class StoreError(OSError):
    """MLflow's store cannot be reached, read or written; the message is one line."""


def tracking_uri() -> str:
    """Return where records go: `MLFLOW_TRACKING_URI`, or a SQLite file in the working directory."""
    return os.environ.get("MLFLOW_TRACKING_URI") or DEFAULT_URI


def sqlite_file(uri: str) -> Path | None:
    """Return the file of a SQLite store, or None for any other."""
    if not uri.startswith("sqlite:///"):
        return None
    return Path(uri.removeprefix("sqlite:///").partition("?")[0]).absolute()


def make_client(uri: str) -> "MlflowClient":
    """Open a store, creating the database of a SQLite one."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    if (file := sqlite_file(uri)) is not None:
        _require_writable(file)
    from mlflow.tracking import MlflowClient

    for noisy in ("mlflow", "alembic"):
        logging.getLogger(noisy).setLevel(logging.CRITICAL)  # errors are raised too, and told in one line
    return once(uri, lambda: MlflowClient(uri))


def once(uri: str, call: Callable[[], Result]) -> Result:
    """Call MLflow; what goes wrong becomes one line."""
    try:
        return call()
    except Exception as error:
        raise as_store_error(uri, error) from error


def patiently(uri: str, call: Callable[[], Result], *, patience: float = PATIENCE) -> Result:
    """Call MLflow again and again while a server is away or a database is locked, with growing pauses."""
    pause, give_up = 0.2, time.monotonic() + patience
    while True:
        try:
            return call()
        except Exception as error:
            if not _may_pass(uri, error) or time.monotonic() + pause > give_up:
                raise as_store_error(uri, error) from error
            time.sleep(pause)
            pause = min(pause * 1.6, 5.0)


def _may_pass(uri: str, error: Exception) -> bool:
    if sqlite_file(uri) is not None:
        return "database is locked" in str(error)
    from mlflow.exceptions import MlflowException
    from requests.exceptions import RequestException

    refused = ("INVALID_PARAMETER_VALUE", "RESOURCE_DOES_NOT_EXIST", "PERMISSION_DENIED", "UNAUTHENTICATED")
    code = getattr(error, "error_code", "")
    return isinstance(error, MlflowException | RequestException) and code not in refused


def as_store_error(uri: str, error: Exception) -> StoreError:
    """Return what went wrong with a store as one line."""
    if isinstance(error, StoreError):
        return error
    shown = without_user(uri)
    text = without_secrets(" ".join(str(getattr(error, "orig", None) or error).split()))
    if "Max retries exceeded" in text or "Connection refused" in text or "Connection aborted" in text:
        return StoreError(f"the tracking server {shown} does not answer; start it, or set MLFLOW_TRACKING_URI")
    if "disk is full" in text or "No space left" in text or "disk I/O error" in text or "File too large" in text:
        return StoreError(f"no space left for {shown} and its artifacts; free some and run the same command again")
    if "readonly database" in text or "unable to open database" in text or "Read-only" in text:
        return StoreError(f"{shown} cannot be written; choose another folder, or set MLFLOW_TRACKING_URI")
    if found := re.search(r"out-of-date database schema \(found version (\S+), but expected (\S+)\)", text):
        return StoreError(
            f"{shown} is a database of another MLflow (its schema is {found[1]}, ours is {found[2]}); use that MLflow, "
            f"or bring a copy of it up to date: mlflow db upgrade {shown}"
        )
    return StoreError(f"MLflow at {shown}: {text[:300]}")


def _require_writable(file: Path) -> None:
    """Find out at once, and without MLflow's help, whether the database can be written."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(file, timeout=30)
        try:
            connection.execute("begin immediate").close()
            connection.rollback()
        finally:
            connection.close()
    except (sqlite3.Error, OSError) as error:
        text = str(error)
        if "not a database" in text:
            raise StoreError(f"{file} is not a database; move it away, or set MLFLOW_TRACKING_URI") from None
        raise StoreError(f"{file} cannot be written ({text}); choose another folder or MLFLOW_TRACKING_URI") from None
