"""Data flow one way: the pipelines know neither algorithms nor the benchmark."""

import ast
import sys
from pathlib import Path

import pytest

import data_pipelines

FILES = sorted(Path(data_pipelines.__file__).parent.rglob("*.py"))
ALLOWED = {
    *("data_pipelines", "numpy", "scipy", "pandas", "pyarrow", "sklearn", "requests", "urllib3"),
    *("filelock", "matplotlib", "threadpoolctl", "tqdm"),
}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_pipeline_imports_only_what_its_folder_may(file: Path):
    imported = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            imported |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            imported.add(node.module.partition(".")[0])
    assert imported - ALLOWED <= set(sys.stdlib_module_names)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_stays_small(file: Path):
    assert len(file.read_text().splitlines()) < 400
