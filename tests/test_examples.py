"""The notebooks in docs/examples: their cells are executed in order, as a kernel would."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from data_pipelines.fetch.sources import PreparationOptions
from data_pipelines.prepare.readiness import make_ready
from tests.data_pipelines.test_real_packages import NOT_REACHED
from tests.readme import ROOT

pytestmark = pytest.mark.slow

EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.ipynb"))
NEEDED = {"own_data": "online-retail"}
"""The data set that a notebook needs."""


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the data sets of the notebooks, from the package index that pip uses."""
    folder = tmp_path_factory.mktemp("data-of-notebooks")
    for name in NEEDED.values():
        result = make_ready(name, PreparationOptions(folder=folder))
        if result.manifest is None and any(sign in str(result.tried[-1]) for sign in NOT_REACHED):
            pytest.skip(f"NOT RUN: it needs the data set {name}: {result.tried[-1]}")
        assert result.manifest is not None, result.tried
    return folder


def cells(file: Path) -> list[str]:
    """Return the code of a notebook, cell by cell."""
    content = json.loads(file.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == "code"]


def execute(file: Path) -> list[Any]:
    """Execute the cells of a notebook; return the value of each cell's last expression, which a notebook would show."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    for number, code in enumerate(cells(file)):
        tree = ast.parse(code)
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
def test_a_notebook_runs_from_top_to_bottom(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
):
    import matplotlib as mpl

    mpl.use("Agg")
    if file.stem in NEEDED:
        monkeypatch.setenv("FEDBANDIT_DATA", str(request.getfixturevalue("data")))
    monkeypatch.chdir(tmp_path)
    shown = [value for value in execute(file) if value is not None]
    assert shown
    assert any(hasattr(value, "_repr_html_") for value in shown)
