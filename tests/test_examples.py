"""The notebooks in docs/examples: their cells are executed in order, as a kernel would."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from data_pipelines.prepare.imported import import_table
from tests.readme import ROOT

pytestmark = pytest.mark.slow

EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.ipynb"))


def cells(file: Path) -> list[str]:
    """Return the code of a notebook, cell by cell."""
    content = json.loads(file.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == "code"]


def execute(file: Path) -> list[Any]:
    """Execute the cells of a notebook; return the value of each cell's last expression, which a notebook would show."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    for number, code in enumerate(cells(file)):
        tree = ast.parse(code.replace('DATA = "online-retail"', 'DATA = "purchases"'))  # takes a minute less
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"cell {number}", "exec"), namespace)
        value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), namespace) if last else None
        shown.append(value)
    return shown


def test_there_are_three_notebooks_without_outputs():
    assert [file.stem for file in EXAMPLES] == ["first_steps", "own_data", "own_method"]
    for file in EXAMPLES:
        content = json.loads(file.read_text(encoding="utf-8"))
        assert all(not cell.get("outputs") for cell in content["cells"])
        assert len(cells(file)) >= 4


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
@pytest.mark.usefixtures("same_workers")
def test_a_notebook_runs_from_top_to_bottom(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import matplotlib as mpl

    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    small = tmp_path / "purchases.csv"
    small.write_text("user,item\n" + "".join(f"{row % 20},{row * row % 199}\n" for row in range(400)))
    import_table(small)
    shown = [value for value in execute(file) if value is not None]
    assert shown
    assert any(hasattr(value, "_repr_html_") for value in shown)
