"""The wheel: built, installed somewhere else, and used there; generated output disturbs neither it nor the linters."""

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.benchmark.tiny_sweeps import TINY
from tests.readme import ROOT

pytestmark = pytest.mark.slow

DEPENDENCIES = [path for path in sys.path if path.endswith("site-packages")]


def run(*command: str | Path, cwd: Path) -> str:
    """Return the output of a command that must succeed."""
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "MLFLOW_TRACKING_URI")}
    arguments = [str(part) for part in command]
    result = subprocess.run(arguments, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def add_generated_output(folder: Path) -> None:
    """Put a file into the folder for reports that no tool could read as Python."""
    generated = folder / "reports" / "output" / "tables"
    generated.mkdir(parents=True)
    (generated / "generated.py").write_text("not (Python\n")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of a copy of the sources, with generated output among them as after `make benchmark`."""
    folder = tmp_path_factory.mktemp("sources")
    tracked = run("git", "ls-files", "-z", cwd=ROOT).split("\0")[:-1]
    for name in tracked:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((ROOT / name).read_bytes())
    add_generated_output(folder)
    target = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", target, ".", cwd=folder)
    (built,) = target.glob("*.whl")
    return built


def test_the_wheel_has_what_a_user_needs_and_no_tools_of_developers(wheel: Path):
    names = zipfile.ZipFile(wheel).namelist()
    for needed in (
        "benchmark/experiments/fig_a.toml",
        "benchmark/protocol.toml",
        "reports/paper.toml",
        "reports/published.json",
        "reports/page/web/report.html",
    ):
        assert needed in names
    assert [name for name in names if name.startswith(("tests/", "docs/"))] == []
    assert [name for name in names if "measure_" in name or name.startswith("reports/output/")] == []


def test_the_wheel_works_where_the_sources_are_not(wheel: Path, tmp_path: Path):
    venv.create(tmp_path / "venv", with_pip=False)
    python = tmp_path / "venv" / "bin" / "python"
    (site,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    # .pth files in those folders are not followed, so an editable install there stays unseen.
    (site / "dependencies.pth").write_text("\n".join(DEPENDENCIES))
    pip = (sys.executable, "-m", "pip", "--python", python)
    run(*pip, "install", "--no-deps", "--no-index", wheel, cwd=tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    where = run(python, "-c", "import benchmark; print(benchmark.__file__)", cwd=elsewhere)
    assert Path(where.strip()).is_relative_to(site)
    command = tmp_path / "venv" / "bin" / "fedbandit"
    assert "fig_a" in run(command, "list", cwd=elsewhere)
    (elsewhere / "tiny.toml").write_text(TINY.replace("STEPS", "50").replace("SEEDS", "1"))
    run(command, "run", "tiny.toml", "--method", "sync-linucb", "--jobs", "1", cwd=elsewhere)
    assert "3 runs finished" in run(command, "list", cwd=elsewhere)
