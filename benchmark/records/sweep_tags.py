"""Tags of a sweep: its user, commit and command."""

import getpass
import subprocess
import sys
from pathlib import Path


def sweep_tags() -> dict[str, str]:
    """Return the tags of every run of a sweep."""
    tags = {"mlflow.user": _user(), "mlflow.source.name": "fedbandit", "mlflow.source.type": "LOCAL"}
    if commit := git_commit():
        tags["mlflow.source.git.commit"] = commit
    return tags


def git_commit() -> str:
    """Return the commit of this package's checkout, marked if files differ from it; empty if it is not a checkout."""
    folder = Path(__file__).parent
    try:
        _git(
            folder, "ls-files", "--error-unmatch", Path(__file__).name
        )  # otherwise, it is the checkout of another project
        commit = _git(folder, "rev-parse", "HEAD")
        return commit + ("-modified" if _git(folder, "status", "--porcelain", "--", "../..") else "")
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
