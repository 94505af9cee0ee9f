"""Code comes in by `--algorithm module:Class` alone: nothing that reads a file can run it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmark.experiment import load_experiment

ROOT = Path(__file__).parents[2]
PACKAGES = ("algorithms", "benchmark", "data_pipelines", "reports")
LOADERS = {"pickle", "cPickle", "cloudpickle", "dill", "joblib", "marshal", "shelve", "yaml"}
LOADING = {"load", "loads", "Unpickler", "open", "full_load", "unsafe_load", "read_pickle"}
RUNNING = {"eval", "exec", "compile", "__import__"}
ALLOWED = {
    # A Dask worker takes the algorithm that its own client packed; who can send it tasks can run code anyway.
    ("benchmark/dask_executor.py", "pickle.loads"),
}


def name_of(node: ast.expr) -> str:
    """`a.b.c` of an expression; empty if it is none."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value)}.{node.attr}"
    return ""


def dangers(tree: ast.AST) -> Iterator[str]:
    """Yield the calls that could run code which a file holds."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in LOADERS:
            yield from (f"{node.module}.{each.name}" for each in node.names if each.name in LOADING)
        if not isinstance(node, ast.Call):
            continue
        name = name_of(node.func)
        first, _, last = name.partition(".")
        allows_pickle = [each for each in node.keywords if each.arg == "allow_pickle"]
        if name in RUNNING or (first in LOADERS and last in LOADING) or last in ("read_pickle", "load_model"):
            yield name
        if any(not (isinstance(each.value, ast.Constant) and each.value.value is False) for each in allows_pickle):
            yield f"{name}(allow_pickle)"
        if any(each.arg == "shell" for each in node.keywords) or name in ("os.system", "os.popen"):
            yield f"{name}(shell)"


def test_no_module_runs_what_it_finds_in_a_file():
    sources = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    assert len(sources) > 50
    found = {
        (str(path.relative_to(ROOT)), danger) for path in sources for danger in dangers(ast.parse(path.read_bytes()))
    }
    assert found == ALLOWED


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
def test_the_look_for_dangers_sees(code: str):
    assert list(dangers(ast.parse(code)))


def test_an_experiment_file_cannot_bring_code_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "evil.py").write_text("from pathlib import Path\nPath('was-run').touch()\nclass Evil: pass\n")
    (tmp_path / "mine.toml").write_text(
        'title = "x"\nstreams = [{ simulated = "uniform" }]\nalgorithms = [{ name = "evil:Evil" }]\n'
        "[profiles.quick]\nseeds = 1\n"
    )
    with pytest.raises(ValueError, match=r"name is 'evil:Evil'; allowed are installed algorithms"):
        load_experiment("mine.toml")
    assert not (tmp_path / "was-run").exists()


@pytest.mark.parametrize(
    "name", ["...toml", "....toml", "..toml", ".toml", ".hidden.toml", "a b.toml", "a\nb.toml", "a;b.toml"]
)
def test_an_experiment_file_s_name_becomes_a_folder_and_must_be_harmless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text('title = "x"\n')
    with pytest.raises(ValueError, match=r"experiment is .*; allowed"):
        load_experiment(name)


@pytest.mark.parametrize("dataset", ["../x", "/etc", "a/b", "..", "", "a\\b", ".locks", "a\nb"])
def test_the_name_of_a_data_set_cannot_lead_out_of_the_data_folder(tmp_path: Path, dataset: str):
    (tmp_path / "mine.toml").write_text(
        f"title = 'x'\nstreams = [{{ dataset = {dataset.encode('unicode_escape').decode()!r} }}]\n"
        "algorithms = [{ name = 'random' }]\n[profiles.quick]\nseeds = 1\n"
    )
    with pytest.raises(ValueError, match=r"dataset is "):
        load_experiment(str(tmp_path / "mine.toml"))
