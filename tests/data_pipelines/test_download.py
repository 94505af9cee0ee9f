"""Downloads from a real https server on loopback that misbehaves."""

import hashlib
import json
import random
import socket
from pathlib import Path

import pytest

from data_pipelines.fetch.download import DownloadError, Expected, Patience, download
from tests.data_pipelines.tls_server import (
    Authority,
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


def test_a_file_is_downloaded_without_leftovers(server: Server, target: Path):
    server.behaviours = [whole(CONTENT)]
    fetch(server, target)
    assert target.read_bytes() == CONTENT
    assert sorted(path.name for path in target.parent.iterdir()) == ["file.zip", "file.zip.json"]


def test_a_complete_file_is_not_downloaded_again(server: Server, target: Path):
    server.behaviours = [whole(CONTENT)]
    fetch(server, target)
    fetch(server, target)
    assert len(server.requests) == 1


def test_a_file_damaged_after_the_download_is_downloaded_again(server: Server, target: Path):
    server.behaviours = [whole(CONTENT)]
    fetch(server, target)
    target.write_bytes(CONTENT[:-1] + b"?")
    fetch(server, target)
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize("expected", [KNOWN, Expected()])
def test_a_broken_connection_is_resumed_where_it_broke(server: Server, target: Path, expected: Expected):
    server.behaviours = [cut_after(100_000, CONTENT), cut_after(50_000, CONTENT), whole(CONTENT)]
    fetch(server, target, expected)
    assert target.read_bytes() == CONTENT
    assert [byte_range for _, byte_range in server.requests] == [None, "bytes=100000-", "bytes=150000-"]


def test_a_connection_that_breaks_repeatedly_is_resumed_as_long_as_bytes_arrive(server: Server, target: Path):
    server.behaviours = [*[cut_after(20_000, CONTENT)] * 14, whole(CONTENT)]
    fetch(server, target)
    assert target.read_bytes() == CONTENT


def test_another_process_continues_a_partial_download(server: Server, target: Path):
    server.behaviours = [cut_after(100_000, CONTENT), status(404)]
    refusal(server, target)
    server.behaviours, server.requests = [whole(CONTENT)], []
    fetch(server, target)
    assert server.requests == [("/file.zip", "bytes=100000-")]
    assert target.read_bytes() == CONTENT


def test_a_complete_part_that_was_not_renamed_is_not_downloaded_again(server: Server, target: Path):
    target.parent.mkdir()
    target.with_name("file.zip.part").write_bytes(CONTENT)
    note = {"url": f"{server.address}/file.zip", "validator": '"1"'}
    target.with_name("file.zip.part.json").write_text(json.dumps(note))
    server.behaviours = [whole(CONTENT)]
    fetch(server, target)
    assert target.read_bytes() == CONTENT
    assert [byte_range for _, byte_range in server.requests] == ["bytes=300000-"]


def test_the_download_of_a_file_that_changed_starts_over(server: Server, target: Path):
    other = bytes(reversed(CONTENT))
    server.behaviours = [cut_after(100_000, other, etag='"old"'), whole(CONTENT, etag='"new"')]
    fetch(server, target, Expected())
    assert target.read_bytes() == CONTENT


def test_a_server_that_ignores_ranges_gives_the_whole_file(server: Server, target: Path):
    server.behaviours = [cut_after(100_000, CONTENT), ignoring_ranges(CONTENT)]
    fetch(server, target)
    assert target.read_bytes() == CONTENT


def test_a_length_other_than_the_known_one_is_refused_immediately(server: Server, target: Path):
    server.behaviours = [stating_length(200_000, CONTENT)]
    message = "wrong length: the server offers 200,000 bytes, the official file has 300,000"
    assert refusal(server, target) == message
    assert len(server.requests) == 1


def test_a_file_shorter_than_its_announced_length_is_never_accepted(server: Server, target: Path):
    server.behaviours = [stating_length(400_000, CONTENT)]
    assert "the connection broke" in refusal(server, target, Expected())


def test_a_file_longer_than_its_announced_length_fails_the_hash_check(server: Server, target: Path):
    server.behaviours = [stating_length(200_000, CONTENT)]
    assert "wrong hash" in refusal(server, target, Expected(sha256=SHA256))


def test_wrong_content_is_refused_and_discarded(server: Server, target: Path):
    server.behaviours = [whole(bytes(reversed(CONTENT)))]
    message = refusal(server, target)
    assert message.startswith("wrong hash: sha256 is ")
    assert message.endswith("; the download was discarded")
    assert not target.with_name("file.zip.part").exists()


def test_not_found_is_reported_immediately(server: Server, target: Path):
    server.behaviours = [status(404)]
    assert refusal(server, target) == "the server answered 404 Not Found"
    assert len(server.requests) == 1


def test_a_request_to_a_busy_server_is_repeated(server: Server, target: Path):
    server.behaviours = [status(503), whole(CONTENT)]
    fetch(server, target)
    assert target.read_bytes() == CONTENT


def test_a_download_from_a_server_that_stays_busy_fails(server: Server, target: Path):
    server.behaviours = [status(503)]
    message = "the server answered 503 Service Unavailable; gave up after 2 failed attempts"
    assert refusal(server, target) == message
    assert len(server.requests) == 2


def test_a_download_from_a_stalling_server_fails(server: Server, target: Path):
    server.behaviours = [stalling_after(0, CONTENT)]
    assert "timed out waiting for data" in refusal(server, target)


def test_a_download_that_stalls_halfway_is_resumed(server: Server, target: Path):
    server.behaviours = [stalling_after(70_000, CONTENT), whole(CONTENT)]
    fetch(server, target)
    assert target.read_bytes() == CONTENT


def test_a_download_from_a_very_slow_server_fails(server: Server, target: Path):
    server.behaviours = [dripping(CONTENT)]
    assert "too slow" in refusal(server, target)


def test_a_chunked_download_that_ends_early_is_never_accepted(server: Server, target: Path):
    server.behaviours = [chunked(CONTENT[:100_000], whole=False)]
    assert "the connection broke" in refusal(server, target, Expected())
    server.behaviours = [chunked(CONTENT, whole=True)]
    fetch(server, target)
    assert target.read_bytes() == CONTENT


def test_a_redirect_to_https_is_followed(server: Server, target: Path):
    server.behaviours = [status(302, Location="/elsewhere.zip"), whole(CONTENT)]
    fetch(server, target)
    assert [path for path, _ in server.requests] == ["/file.zip", "/elsewhere.zip"]


def test_a_redirect_to_http_is_refused(server: Server, target: Path):
    server.behaviours = [status(301, Location="http://localhost/file.zip")]
    message = "the server's redirect must use https, got http://localhost/file.zip"
    assert refusal(server, target) == message


def test_endless_redirects_are_refused(server: Server, target: Path):
    server.behaviours = [status(302, Location="/file.zip")]
    assert refusal(server, target) == "more than 5 redirects"


def test_a_plain_http_address_is_refused(target: Path):
    with pytest.raises(DownloadError, match=r"the address must use https, got http://localhost/file\.zip"):
        download("http://localhost/file.zip", target, KNOWN, HASTY)


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


def test_a_closed_port_is_reported_as_no_connection(target: Path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with pytest.raises(DownloadError, match="no connection"):
        download(f"https://localhost:{port}/file.zip", target, KNOWN, HASTY)


def test_a_name_that_does_not_resolve_is_reported_as_a_dns_error(target: Path):
    with pytest.raises(DownloadError, match=r"^DNS: the server's name cannot be resolved"):
        download("https://no-such-host.invalid/file.zip", target, KNOWN, HASTY)


def test_a_file_that_is_too_long_is_refused(server: Server, target: Path):
    server.behaviours = [whole(CONTENT)]
    patience = Patience(max_bytes=1_000)
    with pytest.raises(DownloadError, match="too long: more than 1,000 bytes"):
        download(f"{server.address}/file.zip", target, Expected(), patience)
