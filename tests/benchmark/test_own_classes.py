"""A user's own class: what its key depends on, which files are sent with it, and how a sweep survives it."""

import hashlib
import importlib
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from algorithms.registry import built_in_methods
from benchmark.execution.local import LocalExecutor
from benchmark.execution.run_result import RunResult, run_method
from benchmark.plan.experiment import load_experiment
from benchmark.plan.method_names import make_method, method_info, parse_filter, source_of
from benchmark.plan.own_modules import own_source
from benchmark.plan.runs import Run
from benchmark.records.artifacts import FILES
from benchmark.records.provenance import provenance
from benchmark.records.reader import read
from benchmark.records.store import Store
from data_pipelines import simulate
from data_pipelines.stream_spec import SimulatedSpec
from tests.benchmark.test_dying_workers import Fragile, failures
from tests.benchmark.tiny_sweeps import RUNS, Command, statuses, unloaded, write_tiny
from tests.benchmark.tiny_sweeps import sweep as sweep_tiny

SMALL = {"steps": 50, "clients": 3, "arms": 3, "dimension": 2}
CLASS = """
from algorithms import Transfers

class Own:
    def choose(self, client, contexts, rng):
        return 0
    def learn(self, client, context, reward):
        return Transfers()
"""
LEADS_OUT = "\ndef never_called():\n    from .... import nothing\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's folder, on the path, whose modules are forgotten afterwards."""
    monkeypatch.syspath_prepend(str(tmp_path))
    with unloaded(tmp_path):
        yield tmp_path


def write(folder: Path, modules: dict[str, str]) -> None:
    for path, text in modules.items():
        file = folder / f"{path}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def hash_of(name: str) -> str:
    source = source_of(method_info(name))
    assert source is not None
    return source.hash


def class_in(module: str) -> type:
    importlib.invalidate_caches()
    found: type = importlib.import_module(module).Own
    return found


@pytest.mark.parametrize(
    "imports",
    ["", "import os, numpy as np\nfrom algorithms.trace import Trace\nimport benchmark.plan.plan, not_there\n"],
)
def test_a_class_that_imports_nothing_from_its_folder_keeps_its_key(folder: Path, imports: str):
    lazily = "".join(f"    {line}\n" for line in imports.splitlines())
    text = f"{CLASS}\ndef unused():\n    pass\n{lazily}"
    write(folder, {"plain": text, "beside": "NOT_IMPORTED = 1\n"})
    assert hash_of("plain:Own") == hashlib.sha256(text.encode()).hexdigest()[:16]
    assert {*own_source(class_in("plain")).files} == {"plain"}


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("import near", "near"),
        ("from near import *", "near"),
        ("def later():\n    import near", "near"),
        ("def later():\n    from package.inner import thing", "package/inner"),
        ("import package.inner as short", "package/__init__"),
        ("from package import inner", "package/inner"),
        ("import near", "far"),
        ("from package import inner", "far"),
    ],
)
def test_changing_a_helper_module_changes_the_key(folder: Path, line: str, changed: str):
    helpers = {
        "near": "import far\nTHING = 1\n",
        "far": "import near\n",
        "package/__init__": "",
        "package/inner": "thing = 1\nfrom . import beside\n",
        "package/beside": "def later():\n    import far\n",
    }
    write(folder, {"with_helpers": f"{line}\n{CLASS}", **helpers})
    before = hash_of("with_helpers:Own")
    assert hash_of("with_helpers:Own") == before
    write(folder, {changed: helpers[changed] + "# changed\n"})
    after = hash_of("with_helpers:Own")
    assert before != after
    write(folder, {"not_imported": "X = 1\n", "package/other": "X = 1\n"})
    assert hash_of("with_helpers:Own") == after


def test_helpers_of_a_packaged_class_are_found_by_relative_imports_and_next_to_the_package(folder: Path):
    modules = {
        "box/__init__": "from .extra import X\n",
        "box/extra": "X = 1\n",
        "box/sub/__init__": "",
        "box/sub/own": f"import next_door\nfrom ..tools import T\n{CLASS}{LEADS_OUT}",
        "box/tools": "T = 1\n",
        "next_door": "",
    }
    write(folder, modules)
    source = own_source(class_in("box.sub.own"))
    assert source.helpers == ("box", "box.extra", "box.tools", "next_door")
    assert {*source.files} == {path.removesuffix("/__init__").replace("/", ".") for path in modules}
    assert all(Path(file.path).read_bytes() == file.content for file in source.files.values())


class BadTextError(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


def test_an_exception_whose_text_cannot_be_shown_fails_only_its_own_run():
    class Raises:
        def choose(self, client: int, contexts: Any, rng: Any) -> int:
            raise BadTextError

        def learn(self, client: int, context: Any, reward: float) -> Any: ...

    outcome = run_method(simulate(seed=0, **SMALL), Raises(), 0)  # type: ignore[arg-type]
    assert outcome.error.startswith("BadTextError: (its message cannot be shown)")
    assert "BadTextError" in outcome.details
    assert outcome.provenance == provenance()


@pytest.mark.parametrize("error", [SystemExit(0), KeyboardInterrupt(), GeneratorExit()])
def test_an_error_that_comes_back_from_a_worker_is_not_mistaken_for_ctrl_c(error: BaseException):
    class Returns(Fragile):
        def submit(self, run: Run) -> "Future[RunResult]":
            future: Future[RunResult] = Future()
            if run.key == "s/bad":
                future.set_exception(error)
            else:
                future.set_result(RunResult(0, 1, "here"))
            return future

    (failure,) = failures(Returns(set()), "s/a", "s/bad", "s/b").items()
    assert failure == ("s/bad", f"{type(error).__name__}: {error}")


def test_a_class_that_exits_in_its_constructor_gives_a_one_line_error(folder: Path):
    init = "class Own:\n    def __init__(self):\n        raise SystemExit(5)"
    write(folder, {"quitter": CLASS.replace("class Own:", init)})
    with pytest.raises(ValueError, match=r"quitter:Own with {} cannot be created: SystemExit: 5"):
        make_method("quitter:Own", {})


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("import sys; sys.exit(0)", "SystemExit: 0"),
        ("class Odd(BaseException): ...\nraise Odd('odd')", "Odd: odd"),
    ],
)
def test_a_module_that_exits_at_its_import_gives_one_line_and_exit_code_2(
    folder: Path, fedbandit_here: Command, line: str, reason: str
):
    write(folder, {"exits": f"{line}\n{CLASS}"})
    done = fedbandit_here(folder, "run", write_tiny(folder), "--method", "exits:Own")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"fedbandit: error: method 'exits:Own': exits cannot be imported: {reason}\n"


def test_ctrl_c_during_the_import_of_a_module_is_not_an_error_of_the_module(folder: Path, fedbandit_here: Command):
    write(folder, {"slow": f"import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n{CLASS}"})
    done = fedbandit_here(folder, "run", write_tiny(folder), "--method", "slow:Own")
    assert (done.returncode, done.stderr) == (130, "fedbandit: interrupted\n")


def test_classes_that_quit_fail_their_runs_and_all_others_are_done(tmp_path: Path, workers: LocalExecutor):
    quits = parse_filter("tests.benchmark.failing:Quits[how=[exit,interrupt,close,fine]]")
    result = sweep_tiny(tmp_path, workers, write_tiny(tmp_path, seeds=1), methods=(quits,))
    assert statuses(tmp_path) == {"FINISHED": RUNS // 2 + 1, "FAILED": 3}
    errors = {failure.name: failure.error.partition(" (")[0] for failure in result.failed}
    assert errors == {
        "tests.benchmark.failing:Quits how=exit seed 0": "SystemExit: 0",
        "tests.benchmark.failing:Quits how=interrupt seed 0": "KeyboardInterrupt: ",
        "tests.benchmark.failing:Quits how=close seed 0": "GeneratorExit: ",
    }


def test_recorded_versions_are_those_of_the_worker_even_for_copied_runs(tmp_path: Path):
    write_tiny(tmp_path)
    experiment = load_experiment(str(tmp_path / "tiny.toml"))
    store = Store(f"sqlite:///{tmp_path / 'mlflow.db'}")
    run = Run("tiny", SimulatedSpec(**SMALL), built_in_methods()["random"], None, {}, 0, "key")
    theirs = {**provenance(), "fedbandit.version.numpy": "0.0.1", "fedbandit.machine": "theirs"}
    outcome = RunResult(1, 2, "there", {"reward": 1.0}, files=dict.fromkeys(FILES, b"x"), provenance=theirs)
    parent = store.begin_sweep(experiment.info, "quick", 1)
    run_id = store.record(parent, experiment.info, run, outcome).run_id
    (recorded,) = read(store.uri)
    assert recorded.run_id == run_id
    assert theirs.items() <= recorded.provenance.items()
    assert store.client.get_run(parent).data.tags["fedbandit.version.numpy"] == provenance()["fedbandit.version.numpy"]
    assert store.outcome_of(run_id).provenance == theirs
