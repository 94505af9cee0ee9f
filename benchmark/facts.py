"""What is worth knowing about a sweep beside its runs: versions, commit, machine, user."""

import getpass
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("fedbandit-bench", "numpy", "numba", "scipy", "mlflow")


def facts() -> dict[str, str]:
    """Return tags that every run of a sweep carries."""
    found = {f"fedbandit.version.{name}": version(name) for name in PACKAGES}
    found["fedbandit.version.python"] = platform.python_version()
    found["fedbandit.machine"] = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    found["mlflow.user"] = _user()
    found["mlflow.source.name"] = "fedbandit"
    found["mlflow.source.type"] = "LOCAL"
    if commit := git_commit():
        found["mlflow.source.git.commit"] = commit
    return found


def git_commit() -> str:
    """Return the commit of this package's checkout, marked if files differ from it; empty if it is none."""
    folder = Path(__file__).parent
    try:
        _git(folder, "ls-files", "--error-unmatch", Path(__file__).name)  # else the checkout is somebody else's
        commit = _git(folder, "rev-parse", "HEAD")
        return commit + ("-modified" if _git(folder, "status", "--porcelain", "--", "..") else "")
    except (OSError, subprocess.SubprocessError):
        return ""


def command_line() -> str:
    """Return the command that this process was started with."""
    return " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=5).stdout.strip()


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
