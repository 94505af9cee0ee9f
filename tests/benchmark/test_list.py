"""`fedbandit list`, and the stand-ins of `make benchmark`."""

from pathlib import Path
from typing import Any

import pytest

from benchmark.__main__ import main
from benchmark.execution.local import LocalExecutor
from benchmark.plan.plan import Run
from benchmark.terminal.summary import CHOSEN_HERE, best_lines
from data_pipelines.fetch.sources import PreparationOptions
from data_pipelines.prepare.prepared import read_manifest
from data_pipelines.prepare.readiness import make_ready
from data_pipelines.stream_spec import SimulatedSpec
from tests.benchmark.tiny_sweeps import RUNS, sweep, write_tiny

STREAM = SimulatedSpec(steps=40, clients=3)


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FEDBANDIT_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return tmp_path / "data"


def test_list_shows_experiments_algorithms_and_data_sets_with_their_state(data: Path, capsys):
    make_ready("lastfm", PreparationOptions(folder=data, stand_in="small"))
    assert main(["list"]) == 0
    shown = capsys.readouterr().out
    for expected in ("fig_a ", "user_groups", "async-linucb-am", "0 runs finished", "ready, stand-in", "not prepared"):
        assert expected in shown


def test_only_data_sets_that_fail_to_download_become_stand_ins(data: Path, capsys, monkeypatch):
    monkeypatch.delenv("FEDBANDIT_MIRROR", raising=False)
    monkeypatch.setenv("FEDBANDIT_OFFLINE", "1")
    assert main(["data", "lastfm", "--stand-in", "--size", "full"]) == 0
    before = (data / "lastfm" / "manifest.json").stat().st_mtime_ns
    capsys.readouterr()
    assert main(["data", "lastfm", "movielens", "--or-stand-in"]) == 0
    shown = capsys.readouterr()
    assert "movielens could not be downloaded; using generated stand-in data instead." in shown.err
    assert read_manifest(data / "movielens")["origin"] == "generated, small size"
    assert (data / "lastfm" / "manifest.json").stat().st_mtime_ns == before


def test_list_shows_user_experiments_in_columns(tmp_path: Path, capsys, workers: LocalExecutor):
    sweep(tmp_path, workers, write_tiny(tmp_path, seeds=1))
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (own,) = (line for line in lines if "(from your own TOML file)" in line)
    assert own.split() == [*f"{RUNS // 2} runs finished tiny".split(), *["(from", "your", "own", "TOML", "file)"]]
    experiments = lines[1 : lines.index(own) + 1]
    assert len({line.index(line.split()[3]) for line in experiments}) == 1  # names begin below each other


def run_of(seed: int, stream: SimulatedSpec = STREAM, **parameters: Any) -> Run:
    return Run("tiny", stream, "own:Own", None, parameters, seed, f"{seed} {parameters}")


def test_the_summary_names_the_best_setting_and_its_seeds():
    measured = [
        (run_of(0, gamma=3.0, ridge=0.1), {"regret": 1500.0, "communication": 8.0}),
        (run_of(1, gamma=3.0, ridge=0.1), {"regret": 1600.0, "communication": 8.0}),
        (run_of(0, gamma=3.0, ridge=1.0), {"regret": 900.0, "communication": 9.0}),
        (run_of(0, gamma=9.0, ridge=1.0), {"regret": 2900.0, "communication": 1.0}),
    ]
    (line,) = best_lines(measured)
    assert line.endswith(f"best regret 900 at γ=3, ridge=1.0, 9 transfers (1 seed); {CHOSEN_HERE}")
    (line,) = best_lines(measured[:2])
    assert line.endswith(f"best regret 1,550 at γ=3, 8 transfers (2 seeds); {CHOSEN_HERE}")
    apart = [run_of(0, gamma=None, gamma_upload=each, gamma_download=3.0) for each in (2.0, 4.0)]
    (line,) = best_lines([(run, {"regret": run.parameters["gamma_upload"]}) for run in apart])
    assert "best regret 2 at gamma_upload=2.0, " in line
    (line,) = best_lines([(run_of(0, period=5), {"regret": 2.0, "communication": 9.0})])
    assert line.endswith(f"best regret 2, 9 transfers (1 seed); {CHOSEN_HERE}")


def test_the_summary_sorts_stream_names_numerically():
    streams = [SimulatedSpec(global_dim=each) for each in (12, 4, 8)]
    lines = best_lines([(run_of(0, stream, gamma=5.0), {"regret": 1.0}) for stream in streams])
    assert [line.split()[0].rpartition("-")[2] for line in lines] == ["4", "8", "12"]


def install(folder: Path, package: str, code: str, points: str) -> None:
    """Put a package with entry points into a folder, as pip would."""
    (folder / f"{package}.py").write_text(code)
    about = folder / f"{package}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[fedbandit.algorithms]\n{points}\n")


@pytest.mark.parametrize(
    ("code", "points", "reason"),
    [
        ("import no_such_module", "theirs = broken_a:Theirs", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("raise SystemExit('bye')", "theirs = broken_b:Theirs", "SystemExit: bye"),
        ("raise GeneratorExit", "theirs = broken_c:Theirs", "GeneratorExit"),
        ("import", "theirs = broken_d:Theirs", "SyntaxError"),
        ("", "theirs = broken_e:Theirs", "AttributeError"),
        ("Theirs = 3", "theirs = broken_f:Theirs", "it is not a class"),
        ("", "theirs = not a reference", ""),
    ],
)
def test_a_broken_package_is_named_in_one_line_and_the_rest_works(
    tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch, code: str, points: str, reason: str
):
    package = points.partition("= ")[2].partition(":")[0].replace(" ", "_")
    install(tmp_path, package, code, points)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert main(["list"]) == 0
    shown = capsys.readouterr()
    assert "async-linucb-am" in shown.out
    assert "data sets" in shown.out
    assert shown.err.startswith(f"warning: algorithm theirs of the package {package} 1.0 cannot be loaded from ")
    assert reason in shown.err
    assert shown.err.count("\n") == 1
    write_tiny(tmp_path)
    assert main(["run", "tiny.toml", "--dry-run"]) == 0
    assert capsys.readouterr().err == ""  # an experiment that does not use it is not affected
    assert main(["run", "tiny.toml", "--dry-run", "--algorithm", "theirs"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"fedbandit: error: algorithm theirs of the package {package} 1.0 cannot be loaded from ")
    assert error.count("\n") == 1
    assert main(["run", "tiny.toml", "--dry-run", "--algorithm", "unknown"]) == 2
    assert "async-linucb" in capsys.readouterr().err
