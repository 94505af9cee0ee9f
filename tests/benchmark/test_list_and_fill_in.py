"""`fedbandit list`, and the stand-ins of `make benchmark`."""

from pathlib import Path

import pytest

from benchmark import fill_in
from benchmark.__main__ import main
from benchmark.finished import FinishedRun
from benchmark.summary import best_lines
from data_pipelines.prepared import read_manifest
from data_pipelines.readiness import make_ready
from data_pipelines.sources import Wishes


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


def test_the_summary_says_where_variants_were_taken_together():
    def run(seed: str, reward: float) -> FinishedRun:
        about = {"dataset": "delicious", "algorithm": "async-linucb", "threshold": "3", "seed": seed}
        return FinishedRun("", "study", "", about, {"normalised_reward": reward, "communication": 8.0})

    (plain,) = best_lines([run("0", 1.0), run("1", 2.0)])
    assert plain.endswith("best normalised reward 1.5 at threshold 3, communication 8 (2 seeds)")
    (mixed,) = best_lines([run("0", 1.0), run("0", 3.0)])
    assert mixed.endswith("(1 seed, mean over 2 variants: the report tells them apart)")
