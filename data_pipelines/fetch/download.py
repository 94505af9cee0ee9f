"""Download an archive: verified, resumed, retried; errors are one line that tells the user what to do."""

import json
import socket
import ssl
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from data_pipelines.support.files import flush_to_disk, put_in_place, sha256_of, write_whole
from data_pipelines.support.progress import progress
from data_pipelines.support.secrets import shown_address, without_secrets

if TYPE_CHECKING:
    import requests


class DownloadError(ValueError):
    """A download that failed; the message is one clear line."""

    concerns_host = False
    """Whether other downloads from the same server would fail too."""


class RefusedError(DownloadError):
    """A failed download that is not worth another attempt."""

    def __init__(self, message: str, *, concerns_host: bool = False) -> None:
        super().__init__(message)
        self.concerns_host = concerns_host


def explain(error: Exception) -> str:
    """Return what went wrong; raise `RefusedError` if another attempt is pointless."""
    from requests.exceptions import InvalidSchema, InvalidURL
    from urllib3.exceptions import ConnectTimeoutError, NameResolutionError, ProtocolError, ReadTimeoutError

    causes = list(_causes(error))
    kinds = tuple(type(cause) for cause in causes)
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            raise RefusedError(_certificate(cause), concerns_host=True) from None
        if isinstance(cause, NameResolutionError | socket.gaierror):
            raise RefusedError(
                "DNS: the server's name cannot be resolved; is there a network?", concerns_host=True
            ) from None
        if isinstance(cause, InvalidURL | InvalidSchema):
            raise RefusedError(f"the address is not valid ({without_secrets(str(cause))})") from None
    if ConnectTimeoutError in kinds:
        return "timed out while connecting"
    if ReadTimeoutError in kinds or TimeoutError in kinds:
        return "timed out waiting for data"
    if any(issubclass(kind, ssl.SSLError) for kind in kinds):
        return f"TLS: {_innermost(causes)}"
    if ProtocolError in kinds or isinstance(error, ProtocolError):
        return f"the connection broke ({_innermost(causes)})"
    return f"no connection ({_innermost(causes)})"


def _certificate(error: ssl.SSLCertVerificationError) -> str:
    reason = getattr(error, "verify_message", "") or str(error)
    if "expired" in reason:
        return "the server's TLS certificate has expired, so the server cannot be trusted"
    return f"the server's TLS certificate is not valid ({reason}), so the server cannot be trusted"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and all errors wrapped in it, in whatever way the libraries wrap them."""
    queue: list[object] = [error]
    seen: set[int] = set()
    while queue:
        cause = queue.pop()
        if not isinstance(cause, BaseException) or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        queue += [cause.__cause__, cause.__context__, getattr(cause, "reason", None), *cause.args]


def _innermost(causes: list[BaseException]) -> str:
    system = [cause for cause in causes if isinstance(cause, OSError) and cause.strerror]
    return str(system[-1].strerror) if system else without_secrets(str(causes[-1]))[:120]


BLOCK = 1 << 16
REDIRECTS = (301, 302, 303, 307, 308)
WORTH_RETRYING = (408, 425, 429, 500, 502, 503, 504)


@dataclass(frozen=True)
class Patience:
    """How long to wait and how often to try again."""

    connect_seconds: float = 6.0
    read_seconds: float = 20.0
    attempts: int = 3
    """Consecutive attempts without receiving a single byte."""
    max_tries: int = 100
    first_pause: float = 0.5
    min_rate: float = 500.0
    """Bytes per second; after a while, a slower connection counts as dead."""
    max_redirects: int = 5
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
    _Download(url, target, expected, patience or Patience()).run()


def is_downloaded(url: str, target: Path) -> bool:
    """Tell whether an undamaged file from this address is already at `target`."""
    return _Download(url, target, Expected(), Patience()).is_complete()


class _Download:
    def __init__(self, url: str, target: Path, expected: Expected, patience: Patience) -> None:
        # The notes stay on disk next to the archive, so they contain the address without its password.
        self._shown = shown_address(url)
        self._url, self._target, self._expected, self._patience = url, target, expected, patience
        self._part = target.with_name(target.name + ".part")
        self._part_note = target.with_name(target.name + ".part.json")
        self._note = target.with_name(target.name + ".json")

    def run(self) -> None:
        """Fetch the file, verify it and move it to its final name."""
        _require_https(self._url, "the address")
        if self.is_complete():
            return
        self._target.parent.mkdir(parents=True, exist_ok=True)
        import requests

        with requests.Session() as session:
            self._try_until_whole(session)
        self._verify()
        write_whole(self._note, _json({"url": self._shown, "sha256": sha256_of(self._part)}))
        put_in_place(self._part, self._target)
        self._part_note.unlink(missing_ok=True)

    def is_complete(self) -> bool:
        """Whether the target is the undamaged file from this address."""
        note = _read_json(self._note)
        return (
            note.get("url") == self._shown and self._target.is_file() and note.get("sha256") == sha256_of(self._target)
        )

    def _try_until_whole(self, session: "requests.Session") -> None:
        attempts, without_data = 0, 0
        failure: str | None = None
        while attempts < self._patience.max_tries:
            attempts += 1
            before = self._part_size()
            failure = self._try_once(session)
            if failure is None:
                return
            without_data = 0 if self._part_size() > before else without_data + 1
            if without_data >= self._patience.attempts:
                break
            time.sleep(self._patience.first_pause * 2.0**without_data)
        received = self._part_size()
        progress_made = f" after {received:,} bytes" if received else ""
        error = DownloadError(f"{failure}{progress_made}; gave up after {attempts} failed attempts")
        error.concerns_host = not received and str(failure).startswith(("no connection", "timed out"))
        raise error

    def _try_once(self, session: "requests.Session") -> str | None:
        """Fetch the missing bytes; return the reason for a failure that may be temporary."""
        import requests
        from urllib3.exceptions import HTTPError

        start = self._resumable_from()
        headers = {"Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
            if validator := _read_json(self._part_note).get("validator"):
                headers["If-Range"] = validator
        try:
            with self._open(session, headers) as response:
                if response.status_code in WORTH_RETRYING:
                    return f"the server answered {response.status_code} {response.reason}"
                if response.status_code == 416:
                    if response.headers.get("Content-Range") == f"bytes */{start}":
                        return None  # complete: a process was killed between the last byte and the renaming
                    self._forget_part()
                    return "the server does not have the requested byte range"
                if response.status_code not in (200, 206):
                    raise RefusedError(f"the server answered {response.status_code} {response.reason}")
                return self._receive(response, start)
        except (requests.RequestException, HTTPError) as error:
            return explain(error)

    def _open(self, session: "requests.Session", headers: dict[str, str]) -> "requests.Response":
        url = self._url
        for _ in range(self._patience.max_redirects + 1):
            response = session.get(
                url,
                headers=headers,
                stream=True,
                allow_redirects=False,
                timeout=(self._patience.connect_seconds, self._patience.read_seconds),
            )
            if response.status_code not in REDIRECTS:
                return response
            response.close()
            url = urljoin(url, response.headers.get("Location", ""))
            _require_https(url, "the server's redirect")
        raise RefusedError(f"more than {self._patience.max_redirects} redirects")

    def _receive(self, response: "requests.Response", start: int) -> str | None:
        if response.status_code == 200:
            start = 0  # the server ignores ranges, or the file has changed
        elif not response.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
            self._forget_part()
            return "the server returned a different byte range than requested"
        length = response.headers.get("Content-Length", "")
        total = start + int(length) if length.isdigit() else None
        self._check_total(total)
        validator = response.headers.get("ETag") or response.headers.get("Last-Modified") or ""
        if start == 0:
            note = {"url": self._shown, "validator": "" if validator.startswith("W/") else validator}
            self._forget_part()
            write_whole(self._part_note, _json(note))
        size, start_time = start, time.monotonic()
        label = f"downloading {self._target.name}"
        with self._part.open("ab") as file, progress(label, total, start) as reporter:
            try:
                # read1 returns the bytes received so far; iter_content would lose them if the connection breaks.
                while block := response.raw.read1(BLOCK, decode_content=False):
                    file.write(block)
                    size += len(block)
                    reporter.update(len(block))
                    self._check_size(size)
                    self._check_rate(size - start, time.monotonic() - start_time)
            finally:
                file.flush()
                flush_to_disk(self._part)
        if total is not None and size != total:
            return f"the connection broke: {size:,} of {total:,} bytes"
        return None

    def _check_total(self, total: int | None) -> None:
        if total is None:
            return
        self._check_size(total)
        if self._expected.size is not None and total != self._expected.size:
            self._forget_part()
            raise RefusedError(
                f"wrong length: the server offers {total:,} bytes, the official file has {self._expected.size:,}"
            )

    def _check_size(self, size: int) -> None:
        if size > (self._expected.size or self._patience.max_bytes):
            self._forget_part()
            raise RefusedError(f"too long: more than {self._expected.size or self._patience.max_bytes:,} bytes")

    def _check_rate(self, received: int, seconds: float) -> None:
        if seconds > 3 * self._patience.read_seconds and received < self._patience.min_rate * seconds:
            raise RefusedError(f"timed out: the server is too slow, {received:,} bytes in {seconds:,.0f} s")

    def _verify(self) -> None:
        if self._expected.size is not None and self._part_size() != self._expected.size:
            size = self._part_size()
            self._forget_part()
            raise RefusedError(f"wrong length: {size:,} bytes, the official file has {self._expected.size:,}")
        if self._expected.sha256 is not None and (sha256 := sha256_of(self._part)) != self._expected.sha256:
            self._forget_part()
            raise RefusedError(
                f"wrong hash: sha256 is {sha256[:12]}…, the official file has {self._expected.sha256[:12]}…; "
                "the download was discarded"
            )

    def _resumable_from(self) -> int:
        """Return the byte to resume from; 0 if neither the server nor a known hash would reveal a changed file."""
        note = _read_json(self._part_note)
        trusted = note.get("validator") or self._expected.sha256
        if note.get("url") != self._shown or not trusted:
            self._forget_part()
        return self._part_size()

    def _part_size(self) -> int:
        return self._part.stat().st_size if self._part.is_file() else 0

    def _forget_part(self) -> None:
        self._part.unlink(missing_ok=True)


def _require_https(url: str, name: str) -> None:
    if urlsplit(url).scheme != "https":
        raise RefusedError(f"{name} must use https, got {shown_address(url)}")


def _json(content: dict[str, str]) -> bytes:
    return json.dumps(content, sort_keys=True).encode()


def _read_json(path: Path) -> dict[str, str]:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
