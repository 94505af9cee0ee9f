"""Downloads that resume, verify and explain themselves: https only, TLS checks always on."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from data_pipelines.download_errors import DownloadError, RefusedError, explain
from data_pipelines.progress import progress
from data_pipelines.safe_files import flush_to_disk, put_in_place, sha256_of, write_whole
from data_pipelines.secrets import shown_address

if TYPE_CHECKING:
    import requests

BLOCK = 1 << 16
REDIRECTS = (301, 302, 303, 307, 308)
WORTH_RETRYING = (408, 425, 429, 500, 502, 503, 504)


@dataclass(frozen=True)
class Patience:
    """How long to wait and how often to try again."""

    connect_seconds: float = 6.0
    read_seconds: float = 20.0
    attempts: int = 3
    """Tries in a row that bring not a single byte."""
    most_tries: int = 100
    first_pause: float = 0.5
    least_rate: float = 500.0
    """Bytes a second below which, after a while, a connection counts as dead."""
    most_redirects: int = 5
    most_bytes: int = 2_000_000_000


@dataclass(frozen=True)
class Expected:
    """What is known beforehand of a file."""

    size: int | None = None
    sha256: str | None = None


def download(url: str, target: Path, expected: Expected, patience: Patience | None = None) -> None:
    """Download `url` to `target`; a file already downloaded from there and unharmed is kept.

    The bytes go to `target.part` and survive a broken connection or a killed process; the next try asks
    for the rest only, if the server can tell that the file is still the same.
    """
    _Download(url, target, expected, patience or Patience()).run()


class _Download:
    def __init__(self, url: str, target: Path, expected: Expected, patience: Patience) -> None:
        # Notes stay on disk beside the archive: they name the address without its password.
        self._shown = shown_address(url)
        self._url, self._target, self._expected, self._patience = url, target, expected, patience
        self._part = target.with_name(target.name + ".part")
        self._part_note = target.with_name(target.name + ".part.json")
        self._note = target.with_name(target.name + ".json")

    def run(self) -> None:
        """Fetch, verify and put in place."""
        _require_https(self._url, "the address is {}")
        if self._is_here():
            return
        self._target.parent.mkdir(parents=True, exist_ok=True)
        import requests

        with requests.Session() as session:
            self._try_until_whole(session)
        self._verify()
        write_whole(self._note, _json({"url": self._shown, "sha256": sha256_of(self._part)}))
        put_in_place(self._part, self._target)
        self._part_note.unlink(missing_ok=True)

    def _is_here(self) -> bool:
        note = _read_json(self._note)
        return (
            note.get("url") == self._shown and self._target.is_file() and note.get("sha256") == sha256_of(self._target)
        )

    def _try_until_whole(self, session: "requests.Session") -> None:
        fruitless = 0
        failure: str | None = None
        for _ in range(self._patience.most_tries):
            before = self._part_size()
            failure = self._try_once(session)
            if failure is None:
                return
            fruitless = 0 if self._part_size() > before else fruitless + 1
            if fruitless >= self._patience.attempts:
                break
            time.sleep(self._patience.first_pause * 2.0**fruitless)
        received = self._part_size()
        got = f" after {received:,} bytes" if received else ""
        error = DownloadError(f"{failure}{got}; tried {self._patience.attempts} times in a row in vain")
        error.concerns_host = not received and str(failure).startswith(("no connection", "time-out"))
        raise error

    def _try_once(self, session: "requests.Session") -> str | None:
        """Fetch what is missing; return why it did not work out, if trying again makes sense."""
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
                    return f"the server answers {response.status_code} {response.reason}"
                if response.status_code == 416:
                    if response.headers.get("Content-Range") == f"bytes */{start}":
                        return None  # a process was killed between the last byte and the new name
                    self._forget_part()
                    return "the server has no such range"
                if response.status_code not in (200, 206):
                    raise RefusedError(f"the server answers {response.status_code} {response.reason}")
                return self._receive(response, start)
        except (requests.RequestException, HTTPError) as error:
            return explain(error)

    def _open(self, session: "requests.Session", headers: dict[str, str]) -> "requests.Response":
        url = self._url
        for _ in range(self._patience.most_redirects + 1):
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
            _require_https(url, "the server redirects to {}")
        raise RefusedError(f"more than {self._patience.most_redirects} redirects")

    def _receive(self, response: "requests.Response", start: int) -> str | None:
        if response.status_code == 200:
            start = 0  # the server ignores ranges, or the file has changed
        elif not response.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
            self._forget_part()
            return "the server sent another range than asked for"
        length = response.headers.get("Content-Length", "")
        total = start + int(length) if length.isdigit() else None
        self._check_total(total)
        validator = response.headers.get("ETag") or response.headers.get("Last-Modified") or ""
        if start == 0:
            note = {"url": self._shown, "validator": "" if validator.startswith("W/") else validator}
            self._forget_part()
            write_whole(self._part_note, _json(note))
        size, begun = start, time.monotonic()
        label = f"downloading {self._target.name}"
        with self._part.open("ab") as file, progress(label, total, start) as shown:
            try:
                # read1 hands over what has come; iter_content would lose it when the connection breaks.
                while block := response.raw.read1(BLOCK, decode_content=False):
                    file.write(block)
                    size += len(block)
                    shown.update(len(block))
                    self._check_size(size)
                    self._check_rate(size - start, time.monotonic() - begun)
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
                f"wrong length: the server offers {total:,} bytes, the true file has {self._expected.size:,}"
            )

    def _check_size(self, size: int) -> None:
        if size > (self._expected.size or self._patience.most_bytes):
            self._forget_part()
            raise RefusedError(f"too long: more than {self._expected.size or self._patience.most_bytes:,} bytes")

    def _check_rate(self, received: int, seconds: float) -> None:
        if seconds > 3 * self._patience.read_seconds and received < self._patience.least_rate * seconds:
            raise RefusedError(f"time-out: the server is too slow, {received:,} bytes in {seconds:,.0f} s")

    def _verify(self) -> None:
        if self._expected.size is not None and self._part_size() != self._expected.size:
            size = self._part_size()
            self._forget_part()
            raise RefusedError(f"wrong length: {size:,} bytes, the true file has {self._expected.size:,}")
        if self._expected.sha256 is not None and (found := sha256_of(self._part)) != self._expected.sha256:
            self._forget_part()
            raise RefusedError(
                f"wrong hash: sha256 is {found[:12]}…, the true file has {self._expected.sha256[:12]}…; "
                "what was sent is thrown away"
            )

    def _resumable_from(self) -> int:
        """Go on only where the end can be trusted: the server can tell a change, or the hash will."""
        note = _read_json(self._part_note)
        trusted = note.get("validator") or self._expected.sha256
        if note.get("url") != self._shown or not trusted:
            self._forget_part()
        return self._part_size()

    def _part_size(self) -> int:
        return self._part.stat().st_size if self._part.is_file() else 0

    def _forget_part(self) -> None:
        self._part.unlink(missing_ok=True)


def _require_https(url: str, statement: str) -> None:
    if urlsplit(url).scheme != "https":
        raise RefusedError(f"{statement.format(shown_address(url))}; allowed is https only")


def _json(content: dict[str, str]) -> bytes:
    return json.dumps(content, sort_keys=True).encode()


def _read_json(path: Path) -> dict[str, str]:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
