"""Passwords and tokens never reach output, records or files: a real server, and a look at every byte of it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from benchmark.ui import running_server
from data_pipelines.secrets import shown_address, without_secrets, without_user
from tests.benchmark.test_ui import any_free_port
from tests.benchmark.tiny_sweeps import fedbandit, rows, write_tiny

USER, PASSWORD, TOKEN = "ann-the-user", "hush%2Fhush-pass", "tok-hush-en"
SECRETS = ("hush", USER)
TELLING = """
import os
class Telling:
    def __init__(self, gamma=1.0):
        pass
    def choose(self, client, contexts, rng):
        raise RuntimeError("no " + os.environ["MLFLOW_TRACKING_URI"] + " " + os.environ["MLFLOW_TRACKING_TOKEN"])
    def learn(self, client, context, reward):
        pass
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A real server that knows nothing of the secrets but what it is told."""
    folder = tmp_path_factory.mktemp("server")
    before = Path.cwd()
    os.chdir(folder)  # where it keeps artifacts
    try:
        with running_server(f"sqlite:///{folder / 'mlflow.db'}", any_free_port(), folder / "server.log") as server:
            yield server.address, folder
    finally:
        os.chdir(before)


def with_password(address: str) -> str:
    return address.replace("://", f"://{USER}:{PASSWORD}@")


def leaks(text: str) -> list[str]:
    return [line for line in text.splitlines() if any(secret in line for secret in SECRETS)]


def files_with_secrets(folder: Path) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [str(path) for path in files if any(secret.encode() in path.read_bytes() for secret in SECRETS)]


def test_a_sweep_onto_a_server_with_a_password_leaves_it_nowhere(server: tuple[str, Path], tmp_path: Path):
    address, kept = server
    write_tiny(tmp_path, steps=50, seeds=1)
    (tmp_path / "telling.py").write_text(TELLING)
    secret = {"MLFLOW_TRACKING_URI": with_password(address), "MLFLOW_TRACKING_TOKEN": TOKEN}
    swept = fedbandit(tmp_path, "run", "tiny.toml", "--algorithm", "telling:Telling", "--jobs", "1", **secret)
    assert swept.returncode == 1, swept.stderr  # the class that tells fails
    assert "FAILED tiny: telling:Telling" in swept.stdout
    shown = fedbandit(tmp_path, "ui", "tiny", "--no-browser", **secret)
    assert shown.stdout.startswith(f"{address}/#/experiments/"), shown.stderr
    listed = fedbandit(tmp_path, "list", **secret)
    assert listed.returncode == 0
    for done in (swept, shown, listed):
        assert leaks(done.stdout + done.stderr) == []
    (tmp_path / "telling.py").unlink()
    statuses = dict(rows(kept, "select status, count(*) from runs group by status"))
    assert statuses["FINISHED"] >= 8
    assert statuses["FAILED"] >= 1
    assert files_with_secrets(kept) == []
    assert files_with_secrets(tmp_path) == []


def test_a_name_and_password_of_the_environment_are_left_nowhere(server: tuple[str, Path], tmp_path: Path):
    address, kept = server
    write_tiny(tmp_path, "other", steps=50, seeds=1)
    secret = {"MLFLOW_TRACKING_USERNAME": USER, "MLFLOW_TRACKING_PASSWORD": PASSWORD, "MLFLOW_TRACKING_URI": address}
    done = fedbandit(tmp_path, "run", "other.toml", "--jobs", "1", **secret)
    assert done.returncode == 0, done.stderr
    assert leaks(done.stdout + done.stderr) == []
    assert files_with_secrets(kept) == files_with_secrets(tmp_path) == []


@pytest.mark.parametrize(
    ("scheme", "arguments"),
    [("http", ("list",)), ("http", ("ui",)), ("postgresql", ("ui",)), ("bogus", ("run", "tiny.toml", "--dry-run"))],
)
def test_a_server_that_cannot_be_had_is_named_without_its_password(
    tmp_path: Path, arguments: tuple[str, ...], scheme: str
):
    write_tiny(tmp_path)
    uri = f"{scheme}://{USER}:{PASSWORD}@127.0.0.1:{any_free_port()}/path"
    done = fedbandit(tmp_path, *arguments, MLFLOW_TRACKING_URI=uri, MLFLOW_TRACKING_TOKEN=TOKEN)
    assert done.returncode == 2
    assert leaks(done.stdout + done.stderr) == []
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_mirror_and_a_proxy_with_passwords_are_named_without(tmp_path: Path):
    port = any_free_port()
    secret = {
        "FEDBANDIT_MIRROR": f"https://{USER}:{PASSWORD}@127.0.0.1:{port}/files?token={TOKEN}",
        "HTTPS_PROXY": f"http://{USER}:{PASSWORD}@127.0.0.1:{port}",
        "NO_PROXY": "",
    }
    done = fedbandit(tmp_path, "data", "lastfm", **secret)
    assert done.returncode == 1
    assert "lastfm is MISSING" in done.stderr
    assert f"https://127.0.0.1:{port}/files" in done.stderr
    assert leaks(done.stdout + done.stderr) == []
    assert [path for path in tmp_path.rglob("*") if path.is_file() and b"hush" in path.read_bytes()] == []


def test_addresses_are_shown_without_user_password_and_query(monkeypatch: pytest.MonkeyPatch):
    assert shown_address("https://u:p@host:1/a?token=x#y") == "https://host:1/a"
    assert shown_address("https://token@host/a") == "https://host/a"
    assert without_user("sqlite:////a/b@c.db") == "sqlite:////a/b@c.db"
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", TOKEN)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"postgresql://u:{PASSWORD}@host/db")
    text = without_secrets(f"Bearer {TOKEN}: postgresql://u:{PASSWORD}@host/db, password 'hush/hush-pass', mail a@b.c")
    assert text == "Bearer ***: postgresql://host/db, password '***', mail a@b.c"


def test_a_server_is_really_asked_with_the_password(server: tuple[str, Path]):
    """So that the tests above are about something: requests takes user and password from the address."""
    address, _ = server
    prepared = requests.Request("GET", with_password(address)).prepare()
    assert prepared.headers["Authorization"].startswith("Basic ")
