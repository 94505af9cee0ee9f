"""Access to MLflow: no telemetry, no log output, retries while a server is unreachable, and one-line errors."""

import glob
import logging
import os
import re
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from uuid import uuid4

from data_pipelines.support.secrets import without_secrets, without_user

if TYPE_CHECKING:
    from filelock import BaseFileLock
    from mlflow.tracking import MlflowClient

DEFAULT_URI = "sqlite:///mlflow.db"
ENVIRONMENT = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # it would print the address of each run, including the password
}
TELEMETRY_OFF = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
PATIENCE = 180.0
"""Seconds for which a write is retried when the server does not respond."""

SECONDS_TO_LOCK = 0.5
CREATING = ".creating-"
"""Between the name of a database and a random number, while the database is created."""

ADDED_BY_SQLITE = ("-journal", "-wal", "-shm")
"""The ends of the names of files that SQLite keeps next to a database."""

Result = TypeVar("Result")


_with_earlier_runs: set[str] = set()
"""The stores that were reported by `note_earlier_runs`."""


class StoreError(OSError):
    """The store cannot be reached, read or written; the message is one line."""


def switch_off_telemetry() -> None:
    """Set the variables that MLflow reads when it is imported; child processes inherit them."""
    os.environ.update(TELEMETRY_OFF)


def tracking_uri() -> str:
    """Return where records go: `MLFLOW_TRACKING_URI`, or a SQLite file in the working directory."""
    return os.environ.get("MLFLOW_TRACKING_URI") or DEFAULT_URI


def note_earlier_runs(store: str, count: int) -> None:
    """Print once per store how many runs have no record that can be read, and what to do."""
    if count and store not in _with_earlier_runs:
        _with_earlier_runs.add(store)
        runs = (
            "1 run of an earlier development version is"
            if count == 1
            else (f"{count:,} runs of an earlier development version are")
        )
        print(f"{store}: {runs} left out; to have such results, run the experiments again", file=sys.stderr)


def sqlite_file(uri: str) -> Path | None:
    """Return the file of a SQLite store, or None for any other."""
    if not uri.startswith("sqlite:///"):
        return None
    return Path(uri.removeprefix("sqlite:///").partition("?")[0]).absolute()


def absolute_uri(uri: str) -> str:
    """Return the address of a store, with the absolute path of a SQLite file.

    MLflow keeps connections per address. After a change of the working directory, a relative one would lead to the
    database of the previous folder.
    """
    file = sqlite_file(uri)
    if file is None:
        return uri
    _, mark, query = uri.partition("?")
    return f"sqlite:///{file}{mark}{query}"


def make_client(uri: str) -> "MlflowClient":
    """Open a store, creating the database of a SQLite one."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    if (file := sqlite_file(uri)) is not None and not _is_missing(file):
        _require_writable(file)
    from mlflow.tracking import MlflowClient

    for name in ("mlflow", "alembic", "sqlalchemy.pool"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # errors are also raised, and shown in one line
    if file is not None:
        once(uri, lambda: _create_if_missing(file))
    return once(uri, lambda: MlflowClient(absolute_uri(uri)))


def store_lock(file: Path) -> "BaseFileLock":
    """Return the lock of the process that writes to a SQLite file; its owner may acquire it again."""
    from filelock import FileLock

    return FileLock(f"{file}.lock", timeout=SECONDS_TO_LOCK, is_singleton=True)


def _is_missing(file: Path) -> bool:
    """Return whether a database still has to be created: SQLite makes an empty file before it writes tables."""
    return not file.exists() or file.stat().st_size == 0


def _create_if_missing(file: Path) -> None:
    """Create the database, unless another process does so first."""
    from filelock import Timeout

    with _errors_of_writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        while _is_missing(file):
            with suppress(Timeout), store_lock(file):
                if _is_missing(file):
                    _create(file)


def _create(file: Path) -> None:
    """Create the database under another name and rename it: an interrupted creation leaves nothing that is used.

    MLflow creates it in many transactions, and cannot continue after the first of them. The other name is new each
    time, because MLflow keeps connections per name.
    """
    from mlflow.tracking import MlflowClient

    file = file.resolve()
    unfinished = file.with_name(f"{file.name}{CREATING}{uuid4().hex}")
    try:
        MlflowClient(f"sqlite:///{unfinished}")
        for ending in ADDED_BY_SQLITE:  # of a database that was deleted: it would be applied to this one
            file.with_name(file.name + ending).unlink(missing_ok=True)
        unfinished.replace(file)
    finally:
        for leftover in file.parent.glob(f"{glob.escape(file.name)}{CREATING}*"):
            leftover.unlink(missing_ok=True)


def once(uri: str, call: Callable[[], Result]) -> Result:
    """Call MLflow; errors become a `StoreError` of one line."""
    try:
        return call()
    except Exception as error:
        raise as_store_error(uri, error) from error


def patiently(uri: str, call: Callable[[], Result], *, patience: float = PATIENCE) -> Result:
    """Call MLflow, and retry with growing pauses while a server is unreachable or a database is locked."""
    pause, deadline = 0.2, time.monotonic() + patience
    while True:
        try:
            return call()
        except Exception as error:
            if not _is_transient(uri, error) or time.monotonic() + pause > deadline:
                raise as_store_error(uri, error) from error
            time.sleep(pause)
            pause = min(pause * 1.6, 5.0)


def _is_transient(uri: str, error: Exception) -> bool:
    if sqlite_file(uri) is not None:
        return "database is locked" in str(error)
    from mlflow.exceptions import MlflowException
    from requests.exceptions import RequestException

    permanent = ("INVALID_PARAMETER_VALUE", "RESOURCE_DOES_NOT_EXIST", "PERMISSION_DENIED", "UNAUTHENTICATED")
    code = getattr(error, "error_code", "")
    return isinstance(error, MlflowException | RequestException) and code not in permanent


def as_store_error(uri: str, error: Exception) -> StoreError:
    """Return an error of MLflow or a database as a `StoreError` of one line."""
    if isinstance(error, StoreError):
        return error
    address = without_user(uri)
    text = without_secrets(" ".join(str(getattr(error, "orig", None) or error).split()))
    if "Max retries exceeded" in text or "Connection refused" in text or "Connection aborted" in text:
        return StoreError(f"the tracking server {address} does not respond; start it, or set MLFLOW_TRACKING_URI")
    if "disk is full" in text or "No space left" in text or "disk I/O error" in text or "File too large" in text:
        return StoreError(f"no space left for {address} and its artifacts; free some space and run the command again")
    if "readonly database" in text or "unable to open database" in text or "Read-only" in text:
        return StoreError(f"{address} cannot be written; run from another directory, or set MLFLOW_TRACKING_URI")
    if match := re.search(r"out-of-date database schema \(found version (\S+), but expected (\S+)\)", text):
        return StoreError(
            f"{address} was created by a different version of MLflow (schema {match[1]}, expected {match[2]}); "
            f"use that version, or upgrade a copy of the database: mlflow db upgrade {address}"
        )
    return StoreError(f"MLflow at {address}: {text[:300]}")


def _require_writable(file: Path) -> None:
    """Check immediately, without MLflow, whether the database can be written."""
    with _errors_of_writing(file), closing(sqlite3.connect(file, timeout=30)) as connection:
        connection.execute("begin immediate").close()
        connection.rollback()


@contextmanager
def _errors_of_writing(file: Path) -> Iterator[None]:
    """Turn errors of SQLite and of the operating system into a `StoreError`."""
    try:
        yield
    except StoreError:
        raise
    except (sqlite3.Error, OSError) as error:
        text = str(error)
        if "not a database" in text:
            raise StoreError(
                f"{file} is not a SQLite database; move it elsewhere, or set MLFLOW_TRACKING_URI"
            ) from None
        raise StoreError(
            f"{file} cannot be written ({text}); run from another directory, or set MLFLOW_TRACKING_URI"
        ) from None
