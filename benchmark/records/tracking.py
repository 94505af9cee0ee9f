"""Access to MLflow: no telemetry, no log output, retries while a server is unreachable, and one-line errors."""

import glob
import logging
import os
import re
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import lru_cache
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
# MLflow reads these when it is imported; child processes inherit them.
TELEMETRY_OFF = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
PATIENCE = 180.0
"""Seconds for which a write is retried when the server does not respond."""

TIMEOUT, TOO_MANY = 408, 429
"""The codes from 400 to 499 for errors of a server that a second attempt may change."""

PORTS = {"postgresql": 5432, "mysql": 3306, "mssql": 1433}
SECONDS_TO_CONNECT = 10.0

SECONDS_TO_LOCK = 0.5
CREATING = ".creating-"
"""Between the name of a database and a random number, while the database is created."""

ADDED_BY_SQLITE = ("-journal", "-wal", "-shm")
"""The ends of the names of files that SQLite keeps next to a database."""

Result = TypeVar("Result")


class StoreError(OSError):
    """The store cannot be reached, read or written; the message is one line."""


def tracking_uri() -> str:
    """Return where records go: `MLFLOW_TRACKING_URI`, or a SQLite file in the working directory."""
    return os.environ.get("MLFLOW_TRACKING_URI") or DEFAULT_URI


def sqlite_file(uri: str) -> Path | None:
    """Return the file of a SQLite store, or None for any other; links are followed, as locks are beside the file."""
    if not uri.startswith("sqlite:"):
        return None
    path, _, query = uri.removeprefix("sqlite:").removeprefix("///").partition("?")
    if path in ("", "//") or ":memory:" in path or "mode=memory" in query:
        raise StoreError(
            f"MLFLOW_TRACKING_URI must name a file, such as {DEFAULT_URI}, got {uri}: results would be lost"
        )
    return _resolved(Path(path).absolute())


@lru_cache(maxsize=64)
def _resolved(path: Path) -> Path:
    """Follow links once: every run of a store asks for its file."""
    return path.resolve()


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
        # Whether it can be written is checked before MLflow is imported, which takes a second.
        with _errors_of_writing(file), closing(sqlite3.connect(file, timeout=30)) as connection:
            connection.execute("begin immediate").close()
            connection.rollback()
    from mlflow.tracking import MlflowClient

    for name in ("mlflow", "alembic", "sqlalchemy.pool"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # errors are also raised, and shown in one line
    if file is not None:
        patiently(uri, lambda: _create_if_missing(file), patience=0)
    elif not uri.startswith(("http://", "https://")):
        _require_database(uri)
    return patiently(uri, lambda: MlflowClient(absolute_uri(uri)), patience=0)


def _require_database(uri: str) -> None:
    """Raise an error unless the host of a database responds: MLflow would try for minutes, in silence."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        address = make_url(uri)
    except ArgumentError:
        return  # MLflow says what is wrong
    port = address.port or PORTS.get(address.get_backend_name())
    if address.host and not address.host.startswith("/") and port:
        try:
            socket.create_connection((address.host, port), SECONDS_TO_CONNECT).close()
        except OSError as error:
            raise StoreError(
                f"the database {without_user(uri)} does not respond ({error}); start it, or set MLFLOW_TRACKING_URI"
            ) from None


def _lock(file: Path) -> "BaseFileLock":
    """Return the lock of the process that writes to a SQLite file; its owner may acquire it again."""
    from filelock import FileLock

    return FileLock(f"{file}.lock", timeout=SECONDS_TO_LOCK, is_singleton=True)


@contextmanager
def single_writer_lock(uri: str) -> Iterator[None]:
    """Prevent a second sweep on the same SQLite file: both would execute the same runs.

    At the end, the changes in its log (`-wal`) are moved into the file, so that a copy of the file alone is complete. A
    process that is using the database may prevent it, and does it later.
    """
    file = sqlite_file(uri)
    if file is None:
        yield
        return
    lock = _lock(file)
    with _errors_of_writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    try:
        yield
        with suppress(sqlite3.Error), closing(sqlite3.connect(file, timeout=SECONDS_TO_LOCK)) as connection:
            connection.execute("pragma wal_checkpoint(truncate)").close()
    finally:
        lock.release()


def _is_missing(file: Path) -> bool:
    """Return whether a database still has to be created: SQLite makes an empty file before it writes tables."""
    return not file.exists() or file.stat().st_size == 0


def _create_if_missing(file: Path) -> None:
    """Create the database, unless another process does so first."""
    from filelock import Timeout

    with _errors_of_writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        while _is_missing(file):
            with suppress(Timeout), _lock(file):
                if _is_missing(file):
                    _create(file)


def _create(file: Path) -> None:
    """Create the database under another name and rename it: an interrupted creation leaves nothing that is used.

    MLflow creates it in many transactions, and cannot continue after the first of them. The other name is new each
    time, because MLflow keeps connections per name. From the rename on, SQLite writes changes to a log first (WAL
    mode), which takes less time, and readers and the writer do not wait for each other.
    """
    from mlflow.tracking import MlflowClient

    file = file.resolve()
    unfinished = file.with_name(f"{file.name}{CREATING}{uuid4().hex}")
    try:
        MlflowClient(f"sqlite:///{unfinished}")
        with closing(sqlite3.connect(unfinished)) as connection:
            connection.execute("pragma journal_mode = wal").close()  # where the file system does not support it, none
        for ending in ADDED_BY_SQLITE:  # of a database that was deleted: it would be applied to this one
            file.with_name(file.name + ending).unlink(missing_ok=True)
        unfinished.replace(file)
    finally:
        for leftover in file.parent.glob(f"{glob.escape(file.name)}{CREATING}*"):
            leftover.unlink(missing_ok=True)


def patiently(uri: str, call: Callable[[], Result], *, patience: float = PATIENCE) -> Result:
    """Call MLflow, and retry with growing pauses while a server is unreachable or a database is locked.

    Errors become a `StoreError` of one line. Without patience, nothing is retried.
    """
    pause, deadline = 0.2, time.monotonic() + patience
    while True:
        try:
            return call()
        except Exception as error:
            if time.monotonic() + pause > deadline or not _is_transient(uri, error):
                raise as_store_error(uri, error) from error
            time.sleep(pause)
            pause = min(pause * 1.6, 5.0)


def _is_transient(uri: str, error: Exception) -> bool:
    if sqlite_file(uri) is not None:
        return "database is locked" in str(error)
    from mlflow.exceptions import MlflowException
    from requests.exceptions import RequestException

    if isinstance(error, MlflowException):
        code: int = error.get_http_status_code()  # type: ignore[no-untyped-call]
        return code >= 500 or code in (TIMEOUT, TOO_MANY)
    return isinstance(error, RequestException)


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


@contextmanager
def _errors_of_writing(file: Path) -> Iterator[None]:
    """Turn errors of SQLite, of the lock and of the operating system into a `StoreError`."""
    try:
        yield
    except StoreError:
        raise
    except (sqlite3.Error, OSError) as error:
        message = f"{file} cannot be written ({error}); run from another directory"
        if isinstance(error, TimeoutError):
            message = f"another sweep is writing to {file}; wait until it ends"
        elif "not a database" in str(error):
            message = f"{file} is not a SQLite database; move it elsewhere"
        raise StoreError(f"{message}, or set MLFLOW_TRACKING_URI") from None
