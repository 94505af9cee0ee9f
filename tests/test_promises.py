"""Every promise in docs/reliability.md is kept by a test that exists, and every kind of fault tests a promise."""

import re

import pytest

from tests.chaos.__main__ import KINDS
from tests.readme import ROOT

PAGE = ROOT / "docs" / "reliability.md"
TEST = re.compile(r"\[([^\]]+)\]\(\.\./(tests/[\w/]+\.py)\)")


def promises(page: str) -> list[tuple[str, str, str]]:
    """Return the rows of the tables of promises: the promise, its tests, its kinds of fault."""
    tables = page.split("| promise | test | faults of `make chaos` |\n|---|---|---|\n")[1:]
    rows = [row for table in tables for row in table.split("\n\n")[0].splitlines()]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return [(promise, tests, faults) for promise, tests, faults in cells]


def without_test(page: str) -> list[str]:
    """Return the promises without a test, or with one that does not exist."""
    missing = []
    for promise, tests, _ in promises(page):
        named = [(ROOT / path, f"def test_{text.replace(' ', '_')}(") for text, path in TEST.findall(tests)]
        if not named or not all(path.is_file() and test in path.read_text() for path, test in named):
            missing.append(promise)
    return missing


def test_every_promise_has_a_test_that_exists():
    assert len(promises(PAGE.read_text())) > 20
    assert without_test(PAGE.read_text()) == []


def test_every_kind_of_fault_belongs_to_a_promise():
    assert {fault for *_, faults in promises(PAGE.read_text()) for fault in re.findall(r"`([\w-]+)`", faults)} == {
        *KINDS
    }


@pytest.mark.parametrize("name", ["", "test_run.py", "[not written yet](../tests/test_promises.py)"])
def test_a_promise_without_a_test_is_found(name: str):
    row = re.escape(promises(PAGE.read_text())[0][1])
    assert len(without_test(re.sub(row, name, PAGE.read_text()))) == 1
