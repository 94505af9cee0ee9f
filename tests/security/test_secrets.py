"""Passwords and tokens never reach output, records or files: a real server, of which every byte is searched."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from benchmark.records.store import stored_error
from data_pipelines.support.secrets import shown_address, without_secrets, without_user
from tests.benchmark.test_cluster import background, free_port, wait_for
from tests.benchmark.tiny_sweeps import Command, rows, write_tiny

pytestmark = pytest.mark.slow

USER, PASSWORD, TOKEN = "ann-the-user", "hush%2Fhush-pass", "tok-hush-en"
SECRETS = ("hush", USER)
LEAKING = """
import os
class Leaking:
    def __init__(self, gamma=1.0):
        pass
    def choose(self, client, contexts, rng):
        raise RuntimeError("no " + os.environ["MLFLOW_TRACKING_URI"] + " " + os.environ["MLFLOW_TRACKING_TOKEN"])
    def learn(self, client, context, reward):
        pass
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A real server, and the folder with its database and artifacts."""
    folder = tmp_path_factory.mktemp("server")
    address = f"http://127.0.0.1:{(port := free_port())}"
    store = ("--backend-store-uri", f"sqlite:///{folder / 'mlflow.db'}", "--workers", "1")
    artifacts = ("--artifacts-destination", str(folder / "artifacts"))
    with background(folder, "mlflow", "server", "--port", str(port), *store, *artifacts):
        wait_for(address)
        yield address, folder


def with_password(address: str) -> str:
    return address.replace("://", f"://{USER}:{PASSWORD}@")


def leaks(text: str) -> list[str]:
    return [line for line in text.splitlines() if any(secret in line for secret in SECRETS)]


def files_with_secrets(folder: Path) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [str(path) for path in files if any(secret.encode() in path.read_bytes() for secret in SECRETS)]


def test_a_sweep_on_a_server_with_a_password_does_not_store_it(
    server: tuple[str, Path], tmp_path: Path, fedbandit_here: Command
):
    address, server_folder = server
    write_tiny(tmp_path, steps=50, seeds=1)
    (tmp_path / "leaking.py").write_text(LEAKING)
    secret = {"MLFLOW_TRACKING_USERNAME": USER, "MLFLOW_TRACKING_PASSWORD": PASSWORD, "MLFLOW_TRACKING_TOKEN": TOKEN}
    secret["MLFLOW_TRACKING_URI"] = with_password(address)
    sweep = fedbandit_here(tmp_path, "run", "tiny.toml", "--method", "leaking:Leaking", "--jobs", "1", **secret)
    assert sweep.returncode == 1, sweep.stderr  # the runs of the leaking class fail
    assert "FAILED tiny: leaking:Leaking" in sweep.stdout
    page = fedbandit_here(tmp_path, "ui", "tiny", "--no-browser", **secret)
    assert page.stdout.startswith(f"{address}/#/experiments/"), page.stderr
    listing = fedbandit_here(tmp_path, "list", **secret)
    assert listing.returncode == 0
    for done in (sweep, page, listing):
        assert leaks(done.stdout + done.stderr) == []
    (tmp_path / "leaking.py").unlink()
    statuses = dict(rows(server_folder, "select status, count(*) from runs group by status"))
    assert statuses["FINISHED"] >= 8
    assert statuses["FAILED"] >= 1
    assert files_with_secrets(server_folder) == []
    assert files_with_secrets(tmp_path) == []


@pytest.mark.parametrize(
    ("scheme", "arguments"),
    [("http", ("list",)), ("http", ("ui",)), ("postgresql", ("ui",)), ("bogus", ("run", "tiny.toml", "--dry-run"))],
)
def test_the_error_for_an_unreachable_server_does_not_contain_its_password(
    tmp_path: Path, fedbandit_here: Command, arguments: tuple[str, ...], scheme: str
):
    write_tiny(tmp_path)
    uri = f"{scheme}://{USER}:{PASSWORD}@127.0.0.1:{free_port()}/path"
    done = fedbandit_here(tmp_path, *arguments, MLFLOW_TRACKING_URI=uri, MLFLOW_TRACKING_TOKEN=TOKEN)
    assert done.returncode == 2
    assert leaks(done.stdout + done.stderr) == []
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_mirror_and_a_proxy_are_shown_without_their_passwords(tmp_path: Path, fedbandit_here: Command):
    port = free_port()
    secret = {
        "FEDBANDIT_MIRROR": f"https://{USER}:{PASSWORD}@127.0.0.1:{port}/files?token={TOKEN}",
        "HTTPS_PROXY": f"http://{USER}:{PASSWORD}@127.0.0.1:{port}",
        "NO_PROXY": "",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_INDEX_URL": f"https://{USER}:{PASSWORD}@127.0.0.1:{port}/simple",
        "PIP_RETRIES": "0",
    }
    done = fedbandit_here(tmp_path, "data", "lastfm", "--verbose", **secret)
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


@pytest.mark.parametrize("piece", ["a", "a.", "://", "://a", "a://b:c", "@", "://@", "a b://"])
def test_texts_of_five_megabytes_are_filtered_in_one_pass(piece: str):
    """Each of these could take minutes when the time grew with the square of the length."""
    text = piece * (5_000_000 // len(piece))
    assert without_secrets(f"{text} https://u:hush@host/") == f"{without_user(text)} https://host/"


def test_escaping_or_shortening_a_text_does_not_reveal_a_secret(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", TOKEN)
    assert TOKEN not in stored_error(f"{TOKEN[:5]}\0{TOKEN[5:]}", 100)
    for max_length in range(20, 40):  # wherever the text is cut, no half of the token remains
        assert "hush" not in stored_error(f"{'x' * 10} {TOKEN} {'y' * 100}", max_length)


def test_requests_to_a_server_contain_the_password(server: tuple[str, Path]):
    """Otherwise the tests above would prove nothing: requests takes user and password from the address."""
    address, _ = server
    prepared = requests.Request("GET", with_password(address)).prepare()
    assert prepared.headers["Authorization"].startswith("Basic ")
