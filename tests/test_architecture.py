"""The rules of docs/architecture.md: who may import whom, where methods are named, what starts quickly."""

import ast
import json
import os
import re
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from algorithms.registry import built_in_methods
from benchmark.records.tags import KIND, RECORD
from tests.readme import ROOT, sources

LAYERS = {
    "algorithms": {"algorithms"},
    "data_pipelines/support": {"data_pipelines/support"},
    "data_pipelines": {"data_pipelines/support", "data_pipelines"},
    "benchmark": {"algorithms", "data_pipelines/support", "data_pipelines", "benchmark"},
    "reports": {"algorithms", "data_pipelines/support", "data_pipelines", "benchmark", "reports"},
    "commands": {"algorithms", "data_pipelines/support", "data_pipelines", "benchmark", "reports", "commands"},
}
"""What each layer may import; `commands` are benchmark/commands and the command itself."""

LIBRARIES = {
    "algorithms": {"numpy", "scipy", "numba", "llvmlite"},
    "data_pipelines/support": {"numpy", "tqdm", "filelock", "pydantic"},
    "data_pipelines": {
        *("numpy", "scipy", "pandas", "pyarrow", "sklearn", "requests", "urllib3"),
        *("filelock", "matplotlib", "threadpoolctl", "tqdm", "pydantic"),
    },
}
ALSO = {"algorithms.trace": {"pandas"}}  # for Trace.frame, on first use
PACKAGES = ("algorithms", "data_pipelines", "benchmark", "reports")
FILES = sources(*PACKAGES)
WATCHED = {
    "tests/algorithms/test_jit.py": {  # Numba
        *("_dynfunc", "_nrt", "_py_file", "_lineno", "_cache_path"),
        *("_cache", "_cache_file", "_load_index", "_index_path", "_load_data", "_data_path", "_open_for_write"),
    },
    "tests/algorithms/test_references.py": {"_getvalue"},  # Numba
    "tests/benchmark/test_dying_workers.py": {"_processes", "_result_queue", "_writer"},  # concurrent.futures
    "tests/benchmark/test_export.py": {"_tracking_client", "_hard_delete_run", "_hard_delete_experiment"},  # MLflow
    "tests/security/test_artifacts.py": {"_artifact_repository_registry"},  # MLflow
}
"""The private names that we use of other packages, by the test that fails if one of them changes its meaning."""

PUBLIC_DESPITE_UNDERSCORE = {"_asdict", "_exit", "_fields", "_replace"}
"""Documented names of `os` and of named tuples."""


def layer(module: str) -> str:
    """The layer of a module, by its dotted name."""
    if module.startswith(("benchmark.commands", "benchmark.__main__")):
        return "commands"
    if module.startswith("data_pipelines.support"):
        return "data_pipelines/support"
    return module.partition(".")[0]


def name_of(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports_of(file: Path) -> Iterator[str]:
    """Every module that a file imports, at its top, inside functions or for types; `from a import b` counts as a.b."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield from (f"{node.module}.{name.name}" for name in node.names)


def wrong_imports(file: Path) -> Iterator[str]:
    """What a module imports beyond its own layer, those below, and the libraries of its layer."""
    name, own = name_of(file), layer(name_of(file))
    for module in imports_of(file):
        top = module.partition(".")[0]
        if top in PACKAGES:
            is_allowed = layer(module) in LAYERS[own]
        else:
            is_library = own not in LIBRARIES or top in LIBRARIES[own] | ALSO.get(name, set())
            is_allowed = is_library or top in sys.stdlib_module_names
        if not is_allowed:
            yield f"{name} imports {module}"


def test_a_module_imports_only_its_own_layer_and_those_below():
    assert [wrong for file in FILES for wrong in wrong_imports(file)] == []


def test_statistics_need_arrays_and_tables_only():
    files = sorted((ROOT / "benchmark" / "statistics").glob("*.py"))
    assert len(files) > 3
    for file in files:
        for module in imports_of(file):
            top = module.partition(".")[0]
            is_library = top in {"numpy", "scipy", "pandas"} or top in sys.stdlib_module_names
            assert is_library or module.startswith("benchmark.statistics."), f"{name_of(file)} imports {module}"


NAMES_METHODS = {
    "reports.tables.bounds": "the rows of the paper's appendix Table 1",
}
"""Modules outside `algorithms` that may name methods, and why; the paper's experiments and claims are TOML files."""


def texts_in(file: Path) -> Iterator[str]:
    """Every text in a file except docstrings, and every name that it imports."""
    tree = ast.parse(file.read_text())
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            yield node.value
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (name.name for name in node.names)


def test_no_module_outside_algorithms_names_a_method():
    methods = built_in_methods().values()
    exact = {method.name for method in methods} | {method.method.__name__ for method in methods}
    inside = {name for name in (*exact, *(method.label for method in methods)) if "LinUCB" in name or "-" in name}
    naming: dict[str, list[str]] = {}
    for file in FILES:
        named = {text for text in texts_in(file) if text in exact or any(name in text for name in inside)}
        if named and ROOT / "algorithms" not in file.parents:
            naming[name_of(file)] = sorted(named)
    assert naming.keys() == NAMES_METHODS.keys(), naming


def test_the_ways_through_the_code_name_functions_that_exist_and_each_once():
    text = (ROOT / "docs" / "architecture.md").read_text()
    rows = re.findall(r"^\| [^|]+ \| `(\w+)` \| `([\w/]+\.py)` \|$", text, re.MULTILINE)
    assert len(rows) > 30
    assert len(set(rows)) == len(rows)
    definitions = (ast.FunctionDef, ast.ClassDef)
    for name, module in rows:
        tree = ast.parse((ROOT / module).read_text())
        assert name in {node.name for node in ast.walk(tree) if isinstance(node, definitions)}, (name, module)


def test_make_runs_modules_and_tests_that_exist():
    text = (ROOT / "Makefile").read_text()
    modules = re.findall(r"-m (tests[\w.]*)", text)
    assert len(modules) > 5
    for module in modules:
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file(), module
    for file in re.findall(r"tests/\S+\.py", text):
        assert (ROOT / file).is_file(), file


def private_names_in(file: Path) -> set[str]:
    """Return the names with a leading underscore that a file uses of other modules, classes or packages."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) not in ("self", "cls"):
            names.add(node.attr)
        elif isinstance(node, ast.Dict):  # options of a decorator
            names |= {str(key.value) for key in node.keys if isinstance(key, ast.Constant)}
        elif isinstance(node, ast.Call):  # such an option itself, or getattr
            names |= {str(value.value) for value in node.args[1:2] if isinstance(value, ast.Constant)}
            names |= {str(keyword.arg) for keyword in node.keywords}
    names |= {part for module in imports_of(file) for part in module.split(".")}
    return {name for name in names if re.fullmatch(r"_[a-z]\w*", name)} - PUBLIC_DESPITE_UNDERSCORE


def test_a_private_interface_is_used_by_one_module_and_watched_by_a_test():
    users: dict[str, set[str]] = {test: set() for test in WATCHED}
    for file in FILES:
        for name in private_names_in(file):
            tests = [test for test, names in WATCHED.items() if name in names]
            assert tests, f"{name_of(file)} uses the private name {name}; use a public one, or list it in WATCHED"
            users[tests[0]].add(name_of(file))
    for test, modules in users.items():
        assert len(modules) == 1, f"{test} watches what {sorted(modules)} use"
        assert (ROOT / test).is_file()


def test_the_version_of_a_package_with_a_watched_private_interface_is_bounded():
    """Except MLflow, whose private names limit the UI and delete runs: `tests/newest.py` tests its newest version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    requirements = [Requirement(text) for text in project["dependencies"]]
    bounded = {requirement.name for requirement in requirements if "<" in str(requirement.specifier)}
    assert bounded == {"numba"}
    pinned = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines())
    for requirement in requirements:
        if requirement.name in bounded:
            assert pinned[requirement.name] in requirement.specifier, "the tests run with the pinned version"


def loaded_by(*arguments: str, folder: Path) -> set[str]:
    """Return the modules that a command of `fedbandit`, started in a folder, has loaded when it ends."""
    code = (
        "import atexit, json, sys\n"
        "atexit.register(lambda: print('\\n' + json.dumps(sorted(sys.modules))))\n"
        "from benchmark.__main__ import main\n"
        f"main({list(arguments)!r})\n"
    )
    environment = {name: value for name, value in os.environ.items() if name != "MLFLOW_TRACKING_URI"}
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder, env=environment
    )
    sys.stdout.write(result.stdout)
    return set(json.loads(result.stdout.splitlines()[-1]))


def test_help_loads_neither_numba_nor_mlflow(tmp_path: Path):
    loaded = loaded_by("--help", folder=tmp_path)
    assert loaded & {"numba", "mlflow", "pandas", "sklearn"} == set()
    assert "benchmark.commands.run" in loaded


@pytest.mark.parametrize("has_store", [True, False])
def test_list_does_not_load_mlflow(tmp_path: Path, capsys: pytest.CaptureFixture[str], has_store: bool):
    if has_store:
        write_store_with_one_run(tmp_path / "mlflow.db")
    assert "mlflow" not in loaded_by("list", folder=tmp_path)
    assert ("1 run finished   fig_a" in capsys.readouterr().out) == has_store


def write_store_with_one_run(file: Path) -> None:
    """Write the part of MLflow's tables that `fedbandit list` reads."""
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(
            "create table experiments (experiment_id integer, name text, lifecycle_stage text);"
            "create table runs (run_uuid text, experiment_id integer, artifact_uri text, status text,"
            " lifecycle_stage text, name text, start_time integer, end_time integer);"
            "create table tags (run_uuid text, key text, value text);"
            "insert into experiments values (1, 'fig_a', 'active');"
            "insert into runs values ('a', 1, 'file:///nowhere', 'FINISHED', 'active', 'a', 1, 2);"
            f"insert into tags values ('a', '{KIND}', 'run'), ('a', '{RECORD}', '{{}}');"
        )
