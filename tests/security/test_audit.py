"""The search for known vulnerabilities never passes packages that were not checked, and never hangs."""

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.utils import canonicalize_name

from tests.audit import PINNED, audit
from tests.readme import ROOT
from tests.tools import hashes, licences

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
        ([SKIPPED], 0, "NOT RUN: pip-audit cannot reach its database: vulnerabilities of all 1"),
        ([SKIPPED, SOUND], 0, "NOT CHECKED, so that vulnerabilities are unknown: a\n"),
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


def test_the_build_requires_the_pinned_version_of_its_only_package():
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert len(build) == 1
    assert build[0] in PINNED.read_text().splitlines()


def test_every_package_of_the_user_has_its_licence_listed():
    page = (ROOT / "docs" / "citing.md").read_text()
    section = page.partition(licences.FIRST)[2].partition(licences.LAST)[0]
    listed = {name for row in section.splitlines()[4:] if "|" in row for name in row.split("|")[2].strip().split(", ")}
    assert {*licences.packages()} <= listed
    assert len(listed) > 80
    assert {*licences.packages()} > {"numba", "mlflow", "distributed", "psycopg2-binary", "llvmlite"}
    assert licences.licence(licences.packages()["numpy"]).startswith("BSD-3-Clause AND")


def test_the_hashed_requirements_are_the_pinned_versions():
    """`make install` installs them first; pip refuses a file with another hash."""
    hashed: dict[str, list[str]] = {}
    for file in (hashes.USERS, hashes.DEVELOPERS):
        for line in file.read_text().replace(" \\\n", "").splitlines():
            if not line.startswith(("#", "-r")):
                pin, *options = line.split()
                hashed[pin] = options
    assert {*hashed} == {f"{name}=={version}" for name, version in hashes.pins().items()}
    assert all(options for options in hashed.values())
    assert all(re.fullmatch("--hash=sha256:[0-9a-f]{64}", each) for options in hashed.values() for each in options)
    users = hashes.USERS.read_text()
    assert "\nsetuptools==" in users
    assert "\npytest==" not in users
    assert {canonicalize_name(name) for name in licences.packages()} <= {
        line.partition("==")[0] for line in users.splitlines()
    }


def test_only_wheels_of_the_version_for_systems_that_are_tested_are_listed():
    names = {
        "a": "six-1.17.0-py2.py3-none-any.whl",
        "b": "six-1.16.0-py2.py3-none-any.whl",
        "c": "six-1.17.0.tar.gz",
        "d": "six-1.17.0-cp312-cp312-manylinux_2_28_x86_64.whl",
        "e": "six-1.17.0-cp310-cp310-manylinux_2_28_x86_64.whl",
        "f": "six-1.17.0-cp38-abi3-manylinux_2_28_x86_64.whl",
        "0": "six-1.17.0-cp312-cp312-win_amd64.whl",
    }
    page = "".join(f'<a href="https://x/{file}#sha256={letter * 64}">{file}</a>' for letter, file in names.items())
    assert hashes.hashes(page, "six", "1.17.0") == ["a" * 64, "d" * 64, "f" * 64]
