"""The command `fedbandit`."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from algorithms import AsyncLinUCB
from benchmark.__main__ import main
from benchmark.bench import speed
from benchmark.bench.floor import floor
from benchmark.bench.scale import million_client_stream, run_at_scale
from benchmark.commands import bench
from data_pipelines import simulate


def test_help_shows_the_commands_and_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for argv, expected in ((["--help"], "bench"), (["bench", "--help"], "Examples:")):
        with pytest.raises(SystemExit) as stop:
            main(argv)
        assert stop.value.code == 0
        assert expected in capsys.readouterr().out


def test_an_unknown_command_gives_one_line_and_exit_code_2() -> None:
    done = subprocess.run([sys.executable, "-m", "benchmark", "nonsense"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "invalid choice: 'nonsense'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_misspelt_command_gives_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["reprot"])
    assert stop.value.code == 2
    assert "invalid choice: 'reprot' (did you mean report?); expected one of: bench, board, " in capsys.readouterr().err


def test_bad_input_gives_one_line_and_exit_code_2(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> int:
        raise ValueError("gamma must be a number from 1 to inf, got 0")

    monkeypatch.setattr(bench, "run", refuse)
    monkeypatch.delenv("FEDBANDIT_DEBUG", raising=False)
    assert main(["bench"]) == 2
    assert capsys.readouterr().err == "fedbandit: error: gamma must be a number from 1 to inf, got 0\n"


def test_the_floor_learns() -> None:
    stream = simulate(seed=0, steps=2_000, clients=1, arms=5, dimension=4)
    reward = floor(stream.items, stream.pools, stream.rewards, stream.noise, 0.1, 0.3)
    assert reward > 0.8 * stream.rewards.max(axis=1).sum()


def test_bench_measures_every_method_and_reports_exceeded_limits(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = simulate(seed=0, steps=300, clients=10, table=50)
    monkeypatch.setattr(speed, "use_one_core", lambda: None)
    monkeypatch.setattr(speed, "lastfm_shaped", lambda: tiny)
    monkeypatch.setattr(speed, "measure_growth", lambda repeats: iter([speed.GrowthRow("a method", 1.0, 2.0, 1.3)]))
    monkeypatch.setattr(speed, "REPEATS", 1)
    monkeypatch.setattr(speed, "PREFIX", 20)
    assert main(["bench", "--repeats", "1"]) == 1  # the growth row exceeds its limit
    table = capsys.readouterr().out
    measured = [method for method in speed.methods() if method.limits().floor_multiple is not None]
    assert len(measured) > 20
    for method in measured:
        assert speed.label(method) in table
    assert len({method.order for method in measured if hasattr(method, "order")}) == 2
    assert len(re.findall(r"^\S+ (?:global|local), median +[\d.]+ +2\.1", table, re.MULTILINE)) == 2
    assert "2.00      1.3  MISSED" in table
    assert "of this machine's dgemm" in table


def test_the_median_of_each_form_of_a_method_has_its_own_limit() -> None:
    rows = [
        speed.SpeedRow(f"{form} γ={number}", form, multiple, 1.0, 2.3, limit, None)
        for form, limit in (("a", 2.1), ("b", 2.1), ("c", None))
        for number, multiple in enumerate((1.0, 2.0 if form == "a" else 2.2, 2.25))
    ]
    assert [*speed.medians(rows)] == [("a", 2.0, 2.1), ("b", 2.2, 2.1)]


def test_bench_measures_at_least_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--repeats", "0"]) == 2
    assert capsys.readouterr().err == "fedbandit: error: --repeats must be an integer from 1, got 0\n"


def test_every_client_of_the_scale_stream_acts_and_the_run_reports_its_memory() -> None:
    stream = million_client_stream(500, 1_200)
    assert len(stream.client_ids) == 500
    row = run_at_scale(AsyncLinUCB(gamma=5.0), 500, 1_200, 6.0)
    assert row.label == "async-linucb γ=5"
    assert row.communication > 0
    assert 0 < row.peak_gib < 24
    assert np.isfinite(row.microseconds)


def test_a_reader_that_closes_the_pipe_is_not_an_error(tmp_path: Path):
    script = f"{sys.executable} -m benchmark list | head -1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "experiments (fedbandit run NAME)\n"
    assert (done.stderr, done.returncode) in [
        ("", 141),
        ("", 0),
    ]  # 0 if the whole output was written before `head` ended
