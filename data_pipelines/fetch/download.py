"""Download an archive: verified, resumed, retried; errors are one line that tells the user what to do."""

import json
import socket
import ssl
import time
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from data_pipelines.support.files import flush_to_disk, put_in_place, sha256_of, write_whole
from data_pipelines.support.progress import progress
from data_pipelines.support.secrets import shown_address, without_secrets

if TYPE_CHECKING:
    import requests

BLOCK = 1 << 16
MAX_REDIRECTS = 5
MAX_ATTEMPTS = 100
MIN_RATE = 500.0
"""Bytes per second; after a while, a slower connection counts as dead."""
WORTH_RETRYING = (408, 425, 429, 500, 502, 503, 504)


class DownloadError(ValueError):
    """A download that failed; the message is one clear line."""

    def __init__(self, message: str, *, may_retry: bool = False, concerns_host: bool = False) -> None:
        super().__init__(message)
        self.may_retry = may_retry
        """Whether another attempt may succeed."""
        self.concerns_host = concerns_host
        """Whether other downloads from the same server would fail too."""


@dataclass(frozen=True)
class Patience:
    """How long to wait and how often to try again."""

    connect_seconds: float = 6.0
    read_seconds: float = 20.0
    attempts: int = 3
    """Consecutive attempts without receiving a single byte."""
    first_pause: float = 0.5
    max_bytes: int = 2_000_000_000
    package_seconds: float = 900.0
    """The time limit for pip to download one wheel."""


@dataclass(frozen=True)
class Expected:
    """The known size and hash of a file; `None` if unknown."""

    size: int | None = None
    sha256: str | None = None


def download(url: str, target: Path, expected: Expected, patience: Patience | None = None) -> None:
    """Download `url` to `target`; an undamaged file already downloaded from that address is kept.

    The bytes go to `target.part` and survive a broken connection or a killed process; the next attempt requests
    only the rest, if the server can tell that the file has not changed.
    """
    import requests

    _require_https(url, "the address")
    if is_downloaded(url, target):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.part")
    with requests.Session() as session:
        session.max_redirects = MAX_REDIRECTS
        session.hooks["response"] = [_check_redirect]
        _fetch(session, url, part, expected, patience or Patience())
    sha256 = sha256_of(part)
    _check_length(part, _size(part), expected, "")
    if expected.sha256 not in (None, sha256):
        part.unlink()
        raise DownloadError(
            f"wrong hash: sha256 is {sha256[:12]}…, the official file has {str(expected.sha256)[:12]}…; "
            "the download was discarded"
        )
    _write_note(target, url, sha256=sha256)
    put_in_place(part, target)
    _note_of(part).unlink(missing_ok=True)


def is_downloaded(url: str, target: Path) -> bool:
    """Tell whether an undamaged file from this address is already at `target`."""
    sha256 = _read_note(target, url).get("sha256")
    return target.is_file() and sha256 == sha256_of(target)


def _fetch(session: "requests.Session", url: str, part: Path, expected: Expected, patience: Patience) -> None:
    """Try until the file is whole; attempts that receive a part of it are not counted."""
    without_data = 0
    for attempt in count(1):
        before = _size(part)
        try:
            _attempt(session, url, part, expected, patience)
            break
        except DownloadError as error:
            if not error.may_retry:
                raise
            received = _size(part)
            without_data = 0 if received > before else without_data + 1
            if without_data >= patience.attempts or attempt >= MAX_ATTEMPTS:
                so_far = f" after {received:,} bytes" if received else ""
                message = f"{error}{so_far}; gave up after {attempt} failed attempts"
                raise DownloadError(message, concerns_host=error.concerns_host and not received) from None
        time.sleep(patience.first_pause * 2.0**without_data)


def _attempt(session: "requests.Session", url: str, part: Path, expected: Expected, patience: Patience) -> None:
    """Request the missing bytes and append them to the part."""
    import requests
    from urllib3.exceptions import HTTPError

    validator = _read_note(part, url).get("validator")
    if not (validator or (validator is not None and expected.sha256)):
        part.unlink(missing_ok=True)  # neither the server nor a known hash would reveal a changed file
    start = _size(part)
    headers = {"Accept-Encoding": "identity"}
    if start:
        headers |= {"Range": f"bytes={start}-"} | ({"If-Range": validator} if validator else {})
    timeout = (patience.connect_seconds, patience.read_seconds)
    try:
        with session.get(url, headers=headers, stream=True, timeout=timeout) as response:
            status, content_range = response.status_code, response.headers.get("Content-Range", "")
            if status == 416 and content_range == f"bytes */{start}":
                return  # complete: a process was killed between the last byte and the renaming
            if status not in (200, 206, 416):
                may_retry = status in WORTH_RETRYING
                raise DownloadError(f"the server answered {status} {response.reason}", may_retry=may_retry)
            if status == 206 and content_range.startswith(f"bytes {start}-"):
                _receive(response, part, start, expected, patience)
                return
            part.unlink(missing_ok=True)
            if status != 200:
                raise DownloadError("the server does not have the requested byte range", may_retry=True)
            # The server ignores ranges, or the file has changed.
            validator = response.headers.get("ETag") or response.headers.get("Last-Modified") or ""
            _write_note(part, url, validator="" if validator.startswith("W/") else validator)
            _receive(response, part, 0, expected, patience)
    except requests.TooManyRedirects:
        raise DownloadError(f"more than {MAX_REDIRECTS} redirects") from None
    except (requests.RequestException, HTTPError) as error:
        raise _explained(error) from None


def _receive(response: "requests.Response", part: Path, start: int, expected: Expected, patience: Patience) -> None:
    length = response.headers.get("Content-Length", "")
    total = start + int(length) if length.isdigit() else None
    limit = expected.size or patience.max_bytes
    if total is not None:
        _check_length(part, total, expected, "the server offers ")
    size, start_time = start, time.monotonic()
    with part.open("ab") as file, progress(f"downloading {part.stem}", total, start) as reporter:
        try:
            # read1 returns the bytes received so far; iter_content would lose them if the connection breaks.
            while block := response.raw.read1(BLOCK, decode_content=False):
                file.write(block)
                size += len(block)
                reporter.update(len(block))
                if max(size, total or 0) > limit:
                    part.unlink()
                    raise DownloadError(f"too long: more than {limit:,} bytes")
                seconds = time.monotonic() - start_time
                if seconds > 3 * patience.read_seconds and size - start < MIN_RATE * seconds:
                    raise DownloadError(
                        f"timed out: the server is too slow, {size - start:,} bytes in {seconds:,.0f} s"
                    )
        finally:
            file.flush()
            if part.exists():
                flush_to_disk(part)
    if total is not None and size != total:
        raise DownloadError(f"the connection broke: {size:,} of {total:,} bytes", may_retry=True)


def _check_length(part: Path, size: int, expected: Expected, who: str) -> None:
    if expected.size is not None and size != expected.size:
        part.unlink(missing_ok=True)
        raise DownloadError(f"wrong length: {who}{size:,} bytes, the official file has {expected.size:,}")


def _explained(error: Exception) -> DownloadError:
    """Return what went wrong in one line."""
    from requests.exceptions import InvalidSchema, InvalidURL
    from urllib3 import exceptions as urllib3

    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None:
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
    system = [cause.strerror for cause in causes if isinstance(cause, OSError) and cause.strerror]
    innermost = str(system[-1]) if system else without_secrets(str(causes[-1]))[:120]
    reason = next((cause.verify_message for cause in causes if isinstance(cause, ssl.SSLCertVerificationError)), "")
    certificate = "has expired" if "expired" in reason else f"is not valid ({reason})"
    untrusted = f"the server's TLS certificate {certificate}, so the server cannot be trusted"
    unresolved = "DNS: the server's name cannot be resolved; is there a network?"
    unconnected = DownloadError(f"no connection ({innermost})", may_retry=True, concerns_host=True)
    kinds: dict[tuple[type[BaseException], ...], DownloadError] = {
        (ssl.SSLCertVerificationError,): DownloadError(untrusted, concerns_host=True),
        (urllib3.NameResolutionError, socket.gaierror): DownloadError(unresolved, concerns_host=True),
        (InvalidURL, InvalidSchema): DownloadError(f"the address is not valid ({without_secrets(str(error))})"),
        (urllib3.NewConnectionError,): unconnected,  # a ConnectTimeoutError, too
        (urllib3.ConnectTimeoutError,): DownloadError("timed out while connecting", may_retry=True, concerns_host=True),
        (urllib3.ReadTimeoutError, TimeoutError): DownloadError(
            "timed out waiting for data", may_retry=True, concerns_host=True
        ),
        (ssl.SSLError,): DownloadError(f"TLS: {innermost}", may_retry=True),
        (urllib3.ProtocolError,): DownloadError(f"the connection broke ({innermost})", may_retry=True),
        (Exception,): unconnected,
    }
    return next(explained for kind, explained in kinds.items() if any(isinstance(cause, kind) for cause in causes))


def _check_redirect(response: "requests.Response", **_: Any) -> None:
    """Refuse a redirect to http; called by requests for each response."""
    if response.is_redirect:
        response.close()  # its body is not needed
        _require_https(urljoin(response.url, response.headers["Location"]), "the server's redirect")


def _require_https(url: str, name: str) -> None:
    if urlsplit(url).scheme != "https":
        raise DownloadError(f"{name} must use https, got {shown_address(url)}")


def _size(part: Path) -> int:
    return part.stat().st_size if part.is_file() else 0


def _note_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.json")


def _write_note(path: Path, url: str, **content: str) -> None:
    """Write down where a file is from; the note stays on disk, so the address is without its password."""
    write_whole(_note_of(path), json.dumps({"url": shown_address(url), **content}, sort_keys=True).encode())


def _read_note(path: Path, url: str) -> dict[str, str]:
    """Return the note on a file; an empty one if the file is not from this address."""
    try:
        note = json.loads(_note_of(path).read_bytes())
        return dict(note) if note["url"] == shown_address(url) else {}
    except (OSError, ValueError, TypeError, KeyError):
        return {}
