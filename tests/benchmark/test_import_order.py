"""A user's folder is searched last, also in workers: it hides no package of ours, and errors name hidden files."""

import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from algorithms import RandomChoice
from algorithms.method import MethodInfo
from benchmark import import_order
from benchmark.execution.local import LocalExecutor
from benchmark.import_order import PACKAGES, hidden_file, put_ours_first
from benchmark.plan.method_names import find_method
from benchmark.plan.runs import Run
from data_pipelines.stream_spec import SimulatedSpec
from tests.benchmark.test_dying_workers import outcomes_of
from tests.benchmark.tiny_sweeps import environment, fedbandit, rows, statuses, unloaded, write_tiny

LEARNER = """
class CLASS:
    def choose(self, client, contexts, rng):
        return FIRST
    def learn(self, client, context, reward):
        return Transfers()
"""


def learner(name: str, first: str = "0") -> str:
    return "from algorithms import Transfers\n" + LEARNER.replace("CLASS", name).replace("FIRST", first)


def run_of(method: object) -> Run:
    return Run("e", SimulatedSpec(steps=40, clients=3), MethodInfo("m", "m", 0), method, {}, 0, "key")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A user's folder as the working directory; modules imported from it are unloaded afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(import_order._user_folder, "folder", None)
    with unloaded(tmp_path):
        yield tmp_path


@pytest.mark.slow
def test_files_named_like_our_packages_do_not_affect_a_class_next_to_them(tmp_path: Path):
    (tmp_path / "gossip.py").write_text("from helper_of_gossip import FIRST\n" + learner("Gossip", "FIRST"))
    (tmp_path / "helper_of_gossip.py").write_text("FIRST = 0\n")
    for name in PACKAGES:
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('this is the file of the user')\n")
    tiny = write_tiny(tmp_path, steps=50, seeds=1)
    script = Path(sysconfig.get_path("scripts")) / "fedbandit"
    done = subprocess.run(
        [script, "run", tiny, "--method", "gossip:Gossip", "--method", "sync-linucb", "--jobs", "1"],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert statuses(tmp_path) == {"FINISHED": 4}
    assert ("gossip:Gossip",) in rows(tmp_path, "select value from params where key = 'algorithm'")


def test_python_m_benchmark_uses_our_packages_even_if_the_folder_is_first_on_the_path(tmp_path: Path):
    for name in ("algorithms", "data_pipelines", "reports"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError('this is the package of the user')\n")
    done = fedbandit(tmp_path, "run", "--help")
    assert done.returncode == 0, done.stderr


def test_the_error_names_a_file_that_already_hides_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    other = ModuleType("algorithms")
    other.__file__ = str(tmp_path / "algorithms.py")
    monkeypatch.setitem(sys.modules, "algorithms", other)
    with pytest.raises(ImportError, match=r"algorithms\.py hides the fedbandit package 'algorithms'; rename the file"):
        put_ours_first()


@pytest.mark.parametrize(
    ("file", "reference"),
    [
        ("colorsys.py", "colorsys:Mine"),  # in the standard library
        ("threadpoolctl.py", "threadpoolctl:Mine"),  # an installed package
        ("algorithms.py", "algorithms:RandomChoice"),  # our package has this class too
        ("algorithms/__init__.py", "algorithms.literal.rules:LiteralRandomChoice"),
        ("reports/mine.py", "reports.mine:Mine"),
    ],
)
def test_a_file_with_the_name_of_another_module_is_reported_and_the_other_is_not_run_instead(
    folder: Path, file: str, reference: str
):
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_text(learner("Mine"))
    with pytest.raises(ValueError, match=r"is ignored because \w+ is the name of a .*; rename the file") as caught:
        find_method(reference)
    hidden = folder / (file if file.endswith(("s.py", "l.py", "__init__.py")) else "reports")
    assert f"; {hidden} is ignored because" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_class_in_a_folder_without_an_init_file_is_found(folder: Path):
    (folder / "my_methods_of_today").mkdir()
    (folder / "my_methods_of_today" / "gossip.py").write_text(learner("Gossip"))
    assert find_method("my_methods_of_today.gossip:Gossip").__name__ == "Gossip"
    assert hidden_file("my_methods_of_today.gossip", folder) is None
    assert str(folder) not in sys.path


def test_a_class_that_a_worker_cannot_import_fails_its_run_with_the_reason(folder: Path):
    (folder / "only_here.py").write_text(
        "import multiprocessing\nif multiprocessing.parent_process():\n    raise SystemExit('not in a worker')\n"
        + learner("Learner")
    )
    (folder / "anywhere.py").write_text("from helper_of_anywhere import FIRST\n" + learner("Learner", "FIRST"))
    (folder / "helper_of_anywhere.py").write_text("FIRST = 0\n")
    only_here, anywhere = find_method("only_here:Learner"), find_method("anywhere:Learner")
    with LocalExecutor(1) as executor:
        result = executor.submit(run_of(only_here())).result(timeout=120)
        assert result.error == "the worker could not load the method: SystemExit: not in a worker"
        assert executor.submit(run_of(anywhere())).result(timeout=120).error == ""


def test_workers_that_cannot_start_report_the_reason_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    (tmp_path / "numba.py").write_text("raise ImportError('this Numba is broken')\n")
    monkeypatch.syspath_prepend(tmp_path)
    broken = pytest.raises(OSError, match=r"^worker processes cannot start: ImportError: this Numba is broken$")
    with LocalExecutor(2) as executor, broken:
        outcomes_of(executor, [run_of(RandomChoice())])
    assert capfd.readouterr().err == ""
