"""`fedbandit list`, and the stand-ins of `make benchmark`."""

from pathlib import Path
from typing import Any

import pytest

from benchmark import fill_in
from benchmark.__main__ import main
from benchmark.plan import Run
from benchmark.stream_source import StreamSource, simulated_source
from benchmark.summary import best_lines
from data_pipelines.prepared import read_manifest
from data_pipelines.readiness import make_ready
from data_pipelines.sources import Wishes
from tests.benchmark.tiny_sweeps import RUNS, fedbandit, write_tiny

SOURCE = simulated_source({"steps": 40, "clients": 3}, 0)


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FEDBANDIT_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return tmp_path / "data"


def test_list_shows_experiments_algorithms_and_data_sets_with_their_state(data: Path, capsys):
    make_ready("lastfm", Wishes(folder=data, stand_in="small"))
    assert main(["list"]) == 0
    shown = capsys.readouterr().out
    for expected in ("fig_a ", "user_groups", "async-linucb-am", "0 runs finished", "ready, stand-in", "not prepared"):
        assert expected in shown


def test_what_cannot_be_had_is_filled_in_and_labelled_and_the_rest_is_left(data: Path, capsys, monkeypatch):
    monkeypatch.setattr(fill_in, "SIZES", {})
    make_ready("lastfm", Wishes(folder=data, stand_in="small"))
    before = (data / "lastfm" / "manifest.json").stat().st_mtime_ns
    assert fill_in.fill_in() == 0
    shown = capsys.readouterr().out
    assert "movielens cannot be had: a stand-in, generated data, takes its place" in shown
    assert "lastfm cannot be had" not in shown
    assert read_manifest(data / "movielens")["source"] == "stand-in"
    assert (data / "lastfm" / "manifest.json").stat().st_mtime_ns == before


def test_list_shows_experiments_of_ones_own_in_columns(tmp_path: Path, capsys):
    assert fedbandit(tmp_path, "run", write_tiny(tmp_path), "--seeds", "1").returncode == 0
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (own,) = (line for line in lines if "(of a file of your own)" in line)
    assert own.split() == [*f"{RUNS // 2} runs finished tiny".split(), *["(of", "a", "file", "of", "your", "own)"]]
    experiments = lines[1 : lines.index(own) + 1]
    assert len({line.index(line.split()[3]) for line in experiments}) == 1  # names begin below each other


def run_of(seed: int, source: StreamSource = SOURCE, **parameters: Any) -> Run:
    return Run("tiny", source, "own:Own", None, parameters, seed, f"{seed} {parameters}")


def test_the_summary_names_the_best_setting_and_its_seeds():
    measured = [
        (run_of(0, gamma=3.0, ridge=0.1), {"regret": 1500.0, "communication": 8.0}),
        (run_of(1, gamma=3.0, ridge=0.1), {"regret": 1600.0, "communication": 8.0}),
        (run_of(0, gamma=3.0, ridge=1.0), {"regret": 900.0, "communication": 9.0}),
        (run_of(0, gamma=9.0, ridge=1.0), {"regret": 2900.0, "communication": 1.0}),
    ]
    (line,) = best_lines(measured)
    assert line.endswith("best regret 900 at threshold 3, ridge=1.0, communication 9 (1 seed)")
    (line,) = best_lines(measured[:2])
    assert line.endswith("best regret 1,550 at threshold 3, communication 8 (2 seeds)")
    apart = [run_of(0, gamma=None, gamma_upload=each, gamma_download=3.0) for each in (2.0, 4.0)]
    (line,) = best_lines([(run, {"regret": run.parameters["gamma_upload"]}) for run in apart])
    assert "best regret 2 at gamma_upload=2.0, " in line
    (line,) = best_lines([(run_of(0, period=5), {"regret": 2.0, "communication": 9.0})])
    assert line.endswith("best regret 2, communication 9 (1 seed)")


def test_the_summary_sorts_streams_by_the_size_of_their_numbers():
    sources = [simulated_source({"global_dim": each}, 0) for each in (12, 4, 8)]
    lines = best_lines([(run_of(0, source, gamma=5.0), {"regret": 1.0}) for source in sources])
    assert [line.split()[0].rpartition("-")[2] for line in lines] == ["4", "8", "12"]
