"""docs/methods.md has a section for each method, as the method declares it."""

from pathlib import Path

import pytest

from algorithms.method import MethodInfo
from algorithms.registry import built_in_methods
from tests.tools.methods_page import methods_sections
from tests.tools.prose import BLOCK

PAGE = (Path(__file__).parents[1] / "docs" / "methods.md").read_text()
CONTENDERS = [info for info in built_in_methods().values() if info.role == "contender"]


def test_the_page_is_what_the_methods_declare() -> None:
    renewed = BLOCK.sub(lambda match: match[1] + methods_sections() + match[3], PAGE)
    assert renewed == PAGE, "run: make docs"
    assert all(f"## {info.label}\n" in PAGE for info in CONTENDERS)


@pytest.mark.parametrize("info", CONTENDERS, ids=lambda info: info.name)
def test_a_contender_says_what_it_does_sends_and_where_it_is_ours(info: MethodInfo) -> None:
    about = info.method.about
    assert about.idea.count(". ") <= 2
    assert about.formula
    assert about.sends
    if "ours" in info.label:
        assert about.deviations
