"""Downloads from a real https server on loopback that misbehaves."""

import hashlib
import random
import re
from pathlib import Path

import pytest

from data_pipelines.fetch.download import DownloadError, Expected, Patience, download
from tests.data_pipelines.tls_server import (
    Authority,
    Behaviour,
    Server,
    chunked,
    cut_after,
    dripping,
    ignoring_ranges,
    running,
    stalling_after,
    stating_length,
    status,
    whole,
)

CONTENT = random.Random(0).randbytes(300_000)
OTHER = bytes(reversed(CONTENT))
SHA256 = hashlib.sha256(CONTENT).hexdigest()
KNOWN = Expected(len(CONTENT), SHA256)
HASTY = Patience(connect_seconds=2, read_seconds=0.5, attempts=2, first_pause=0.01)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "archives" / "file.zip"


def fetch(server: Server, target: Path, expected: Expected = KNOWN) -> None:
    download(f"{server.address}/file.zip", target, expected, HASTY)


def refusal(server: Server, target: Path, expected: Expected = KNOWN) -> str:
    with pytest.raises(DownloadError) as caught:
        fetch(server, target, expected)
    assert not target.exists()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def requested_ranges(server: Server) -> list[str | None]:
    return [byte_range for _, byte_range in server.requests]


def test_a_file_is_downloaded_once_without_leftovers_and_again_if_it_is_damaged(server: Server, target: Path):
    server.behaviours = [whole(CONTENT)]
    fetch(server, target)
    assert sorted(path.name for path in target.parent.iterdir()) == ["file.zip", "file.zip.json"]
    fetch(server, target)
    assert len(server.requests) == 1
    target.write_bytes(CONTENT[:-1] + b"?")
    fetch(server, target)
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize("expected", [KNOWN, Expected()])
def test_a_broken_connection_is_resumed_where_it_broke(server: Server, target: Path, expected: Expected):
    server.behaviours = [cut_after(100_000, CONTENT), cut_after(50_000, CONTENT), whole(CONTENT)]
    fetch(server, target, expected)
    assert target.read_bytes() == CONTENT
    assert requested_ranges(server) == [None, "bytes=100000-", "bytes=150000-"]


RECOVERIES = {
    "breaks repeatedly": ([*[cut_after(20_000, CONTENT)] * 14, whole(CONTENT)], KNOWN),
    "changed": ([cut_after(100_000, OTHER, etag='"old"'), whole(CONTENT, etag='"new"')], Expected()),
    "ignores ranges": ([cut_after(100_000, CONTENT), ignoring_ranges(CONTENT)], KNOWN),
    "busy": ([status(503), whole(CONTENT)], KNOWN),
    "stalls halfway": ([stalling_after(70_000, CONTENT), whole(CONTENT)], KNOWN),
    "chunked": ([chunked(CONTENT, whole=True)], KNOWN),
}


@pytest.mark.parametrize(("behaviours", "expected"), RECOVERIES.values(), ids=RECOVERIES.keys())
def test_a_file_is_downloaded_in_spite_of_a_bad_server(
    server: Server, target: Path, behaviours: list[Behaviour], expected: Expected
):
    server.behaviours = list(behaviours)
    fetch(server, target, expected)
    assert target.read_bytes() == CONTENT


def test_another_process_continues_a_partial_download(server: Server, target: Path):
    server.behaviours = [cut_after(100_000, CONTENT), status(404)]
    refusal(server, target)
    server.behaviours, server.requests = [whole(CONTENT)], []
    fetch(server, target)
    assert server.requests == [("/file.zip", "bytes=100000-")]
    assert target.read_bytes() == CONTENT


REFUSALS = {
    "other length": (
        stating_length(200_000, CONTENT),
        KNOWN,
        "^wrong length: the server offers 200,000 bytes, the official file has 300,000$",
        1,
    ),
    "other length, not announced": (
        chunked(CONTENT[:100_000], whole=True),
        KNOWN,
        "^wrong length: 100,000 bytes, the official file has 300,000$",
        1,
    ),
    "shorter than announced": (stating_length(400_000, CONTENT), Expected(), "the connection broke", 2),
    "longer than announced": (stating_length(200_000, CONTENT), Expected(sha256=SHA256), "wrong hash", 1),
    "chunks that end early": (chunked(CONTENT[:100_000], whole=False), Expected(), "the connection broke", 2),
    "other content": (
        whole(OTHER),
        KNOWN,
        "^wrong hash: sha256 is [0-9a-f]{12}…, the official file has .*; the download was discarded$",
        1,
    ),
    "not found": (status(404), KNOWN, "^the server answered 404 Not Found$", 1),
    "stays busy": (
        status(503),
        KNOWN,
        "^the server answered 503 Service Unavailable; gave up after 2 failed attempts$",
        2,
    ),
    "stalls": (stalling_after(0, CONTENT), KNOWN, "timed out waiting for data", 2),
    "very slow": (dripping(CONTENT), KNOWN, "too slow", 1),
    "redirect to http": (
        status(301, Location="http://localhost/file.zip"),
        KNOWN,
        "^the server's redirect must use https, got http://localhost/file.zip$",
        1,
    ),
    "endless redirects": (status(302, Location="/file.zip"), KNOWN, "^more than 5 redirects$", 6),
}


@pytest.mark.parametrize(("behaviour", "expected", "message", "requests"), REFUSALS.values(), ids=REFUSALS.keys())
def test_a_failed_download_is_one_line_and_tried_again_only_if_that_may_help(
    server: Server, target: Path, behaviour: Behaviour, expected: Expected, message: str, requests: int
):
    server.behaviours = [behaviour]
    assert re.search(message, refusal(server, target, expected))
    assert len(server.requests) >= requests
    assert requests > 1 or len(server.requests) == 1
    if "wrong" in message:
        assert not target.with_name("file.zip.part").exists()


def test_a_redirect_to_https_is_followed(server: Server, target: Path):
    server.behaviours = [status(302, Location="/elsewhere.zip"), whole(CONTENT)]
    fetch(server, target)
    assert [path for path, _ in server.requests] == ["/file.zip", "/elsewhere.zip"]


def test_an_expired_certificate_is_refused_and_explained(authority: Authority, target: Path, monkeypatch):
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(authority.bundle))
    with running(authority.server_certificate(expired=True)) as server:
        server.behaviours = [whole(CONTENT)]
        message = "the server's TLS certificate has expired, so the server cannot be trusted"
        assert refusal(server, target) == message
        assert server.requests == []


def test_a_certificate_of_an_unknown_authority_is_refused(authority: Authority, target: Path):
    with running(authority.server_certificate()) as server:
        assert "TLS certificate is not valid" in refusal(server, target)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http://localhost/file.zip", r"^the address must use https, got http://localhost/file\.zip$"),
        ("https://localhost:1/file.zip", r"^no connection \(Connection refused\); gave up after 2 failed attempts$"),
        ("https://no-such-host.invalid/file.zip", "^DNS: the server's name cannot be resolved"),
        ("https://me:secret@/file.zip", r"^the address is not valid \((?!.*secret)"),
    ],
)
def test_an_address_without_a_server_is_reported(target: Path, url: str, message: str):
    with pytest.raises(DownloadError, match=message):
        download(url, target, KNOWN, HASTY)


def test_a_file_that_is_too_long_is_refused(server: Server, target: Path):
    server.behaviours = [whole(CONTENT)]
    with pytest.raises(DownloadError, match="too long: more than 1,000 bytes"):
        download(f"{server.address}/file.zip", target, Expected(), Patience(max_bytes=1_000))
    assert not target.with_name("file.zip.part").exists()
