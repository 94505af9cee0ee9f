"""Code is only loaded by `--method module:Class`: no file that is read can run code."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmark.plan.experiment import load_experiment
from tests.readme import ROOT, sources

PACKAGES = ("algorithms", "benchmark", "data_pipelines", "reports")
LOADERS = {"pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "yaml"}
LOADING = {"load", "loads", "Unpickler", "open", "full_load", "unsafe_load", "read_pickle"}
RUNNING = {"eval", "exec", "compile", "__import__"}
ALLOWED = {
    # A worker unpickles the algorithm that its own client or parent sent; a sender of tasks can run code anyway.
    ("benchmark/execution/run_result.py", "pickle.loads"),
}


def name_of(node: ast.expr) -> str:
    """Return the dotted name `a.b.c` of an expression; empty if it is not a name."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value)}.{node.attr}"
    return ""


def dangers(tree: ast.AST) -> Iterator[str]:
    """Yield the calls that could run code from a file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in LOADERS:
            yield from (f"{node.module}.{alias.name}" for alias in node.names if alias.name in LOADING)
        if not isinstance(node, ast.Call):
            continue
        name = name_of(node.func)
        first, _, last = name.partition(".")
        pickle_options = [keyword for keyword in node.keywords if keyword.arg == "allow_pickle"]
        if name in RUNNING or (first in LOADERS and last in LOADING) or last in ("read_pickle", "load_model"):
            yield name
        if any(
            not (isinstance(option.value, ast.Constant) and option.value.value is False) for option in pickle_options
        ):
            yield f"{name}(allow_pickle)"
        if any(keyword.arg == "shell" for keyword in node.keywords) or name in ("os.system", "os.popen"):
            yield f"{name}(shell)"


def test_no_module_runs_code_from_a_file():
    modules = sources(*PACKAGES)
    assert len(modules) > 50
    calls = {
        (str(path.relative_to(ROOT)), danger) for path in modules for danger in dangers(ast.parse(path.read_bytes()))
    }
    assert calls == ALLOWED


@pytest.mark.parametrize(
    "code",
    [
        "import pickle; pickle.load(file)",
        "import cloudpickle; cloudpickle.loads(data)",
        "from pickle import loads",
        "eval(text)",
        "exec(text)",
        "yaml.load(file)",
        "np.load(path, allow_pickle=True)",
        "np.load(path, allow_pickle=flag)",
        "pandas.read_pickle(path)",
        "subprocess.run(text, shell=True)",
    ],
)
def test_dangerous_calls_are_detected(code: str):
    assert list(dangers(ast.parse(code)))


def test_an_experiment_file_cannot_load_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.py").write_text("from pathlib import Path\nPath('was-run').touch()\nclass Evil: pass\n")
    (tmp_path / "mine.toml").write_text(
        'title = "x"\nstreams = [{ simulated = "uniform" }]\nalgorithms = [{ name = "evil:Evil" }]\n'
        "[profiles.quick]\nseeds = 1\n"
    )
    with pytest.raises(ValueError, match=r"name must be an installed method, got 'evil:Evil'"):
        load_experiment("mine.toml")
    assert not (tmp_path / "was-run").exists()


@pytest.mark.parametrize(
    "name", ["...toml", "....toml", "..toml", ".toml", ".hidden.toml", "a b.toml", "a\nb.toml", "a;b.toml"]
)
def test_the_name_of_an_experiment_file_becomes_a_folder_and_must_be_safe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text('title = "x"\n')
    with pytest.raises(ValueError, match=r"the file name of an experiment must be at most 100 .*, got"):
        load_experiment(name)


@pytest.mark.parametrize("dataset", ["../x", "/etc", "a/b", "..", "", "a\\b", ".locks", "a\nb"])
def test_the_name_of_a_data_set_cannot_point_outside_the_data_folder(tmp_path: Path, dataset: str):
    (tmp_path / "mine.toml").write_text(
        f"title = 'x'\nstreams = [{{ dataset = {dataset.encode('unicode_escape').decode()!r} }}]\n"
        "algorithms = [{ name = 'random' }]\n[profiles.quick]\nseeds = 1\n"
    )
    with pytest.raises(ValueError, match=r"dataset must match pattern"):
        load_experiment(str(tmp_path / "mine.toml"))
