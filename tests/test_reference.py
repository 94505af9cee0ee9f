"""The tables in docs/reference have the public names, commands and metrics as they are."""

from pathlib import Path

import pytest

from benchmark import commands
from tests.tools.reference_pages import FOLDER, TABLES, first_line, public_names, renewed


@pytest.mark.parametrize("name", list(TABLES))
def test_a_page_of_the_reference_is_up_to_date(name: str):
    assert renewed(name) == (FOLDER / f"{name}.md").read_text(), "run: python -m tests.tools.reference_pages"


def test_every_public_name_and_every_command_is_described():
    members = {name: first_line(member) for names in public_names().values() for name, member in names.items()}
    assert [name for name, line in members.items() if not line.endswith((".", ":"))] == []
    page = (FOLDER / "command_line.md").read_text()
    names = [file.stem for file in Path(commands.__path__[0]).glob("[!_]*.py")]
    assert len(names) > 7
    assert [name for name in names if f"| `fedbandit {name}` | " not in page] == []
