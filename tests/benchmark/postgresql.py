"""A real PostgreSQL for tests: a separate cluster in a temporary folder, on a free loopback port."""

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.benchmark.test_cluster import free_port

FOLDERS = "/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin"
OPTIONS = "-c listen_addresses=127.0.0.1 -c fsync=off -c shared_buffers=16MB -c max_connections=40"
UNPRIVILEGED = "postgres", "nobody"


@contextmanager
def postgresql() -> Iterator[str]:
    """Yield the address of an empty database; without PostgreSQL, the tests are skipped (NOT RUN)."""
    with cluster() as (address, _):
        yield address


def is_installed() -> bool:
    return _programs() is not None


@contextmanager
def cluster() -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the address of an empty database, and a function that lets the server crash and starts it again."""
    programs = _programs()
    if programs is None:
        pytest.skip("NOT RUN: PostgreSQL is not installed (Debian: apt-get install postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="fedbandit-postgresql-"))  # other users cannot read pytest's own folders
    user = _unprivileged_user()
    if user is not None:
        shutil.chown(folder, user.pw_uid, user.pw_gid)

    def call(program: str, *arguments: str) -> None:
        done = subprocess.run(
            [programs / program, *arguments],
            cwd=folder,
            user=None if user is None else user.pw_uid,
            group=None if user is None else user.pw_gid,
            extra_groups=None if user is None else [],
            capture_output=True,
            text=True,
            timeout=120,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, done.stdout + done.stderr

    data, port = str(folder / "cluster"), free_port()
    log, options = str(folder / "log"), f"{OPTIONS} -c port={port} -c unix_socket_directories={folder}"

    def start() -> None:
        call("pg_ctl", "-D", data, "-l", log, "-o", options, "-w", "-t", "60", "start")

    def stop() -> None:
        call("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")

    def crash() -> None:
        stop()
        time.sleep(1)
        start()

    try:
        call("initdb", "-D", data, "-U", "fedbandit", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
        start()
        try:
            yield f"127.0.0.1:{port}/postgres", crash
        finally:
            stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Path | None:
    """The programs of the newest PostgreSQL; on Debian, `initdb` is not on the path."""
    on_path = shutil.which("initdb")
    programs = [path for pattern in FOLDERS for path in sorted(Path("/").glob(f"{pattern[1:]}/initdb"))]
    return Path(on_path).parent if on_path else programs[-1].parent if programs else None


def _unprivileged_user() -> pwd.struct_passwd | None:
    """PostgreSQL refuses to run as root."""
    if os.getuid() != 0:
        return None
    users = {user.pw_name: user for user in pwd.getpwall()}
    return next(users[name] for name in UNPRIVILEGED if name in users)
