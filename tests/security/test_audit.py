"""The search for known vulnerabilities never passes packages that were not checked, and never hangs."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.audit import PINNED, audit

SKIPPED = {"name": "a", "skip_reason": "not found on PyPI"}
SOUND = {"name": "b", "version": "1", "vulns": []}
WRONG = {"name": "c", "version": "2", "vulns": [{"id": "CVE-1"}]}


def auditor(tmp_path: Path, packages: list[dict[str, Any]]) -> tuple[str, ...]:
    """A command with the output of pip-audit."""
    program = tmp_path / "auditor.py"
    program.write_text(f"print({json.dumps({'dependencies': packages})!r})")
    return (sys.executable, str(program))


@pytest.mark.parametrize(
    ("packages", "code", "message"),
    [
        ([SKIPPED], 0, "NOT RUN: pip-audit cannot reach its database"),
        ([SKIPPED, SOUND], 0, "pip-audit: 1 of 2 packages checked, 0 with known vulnerabilities"),
        ([SKIPPED, SOUND, WRONG], 1, "VULNERABLE: c 2: CVE-1"),
    ],
)
def test_only_packages_that_were_checked_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], packages: list[dict[str, Any]], code: int, message: str
):
    assert audit(auditor(tmp_path, packages)) == code
    assert message in capsys.readouterr().out


@pytest.mark.parametrize("command", [("no-such-program",), (sys.executable, "-c", "import time; time.sleep(60)")])
def test_a_database_that_hangs_or_is_unreachable_is_reported_and_does_not_fail(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
):
    assert audit(command, seconds=1) == 0
    assert capsys.readouterr().out.startswith("NOT RUN: pip-audit (")


def test_every_package_has_a_pinned_version():
    lines = PINNED.read_text().split()
    assert len(lines) > 100
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][A-Za-z0-9.]*", line) for line in lines)
