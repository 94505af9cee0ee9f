"""`fedbandit list`, and the stand-ins of `make benchmark`."""

import math
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmark.__main__ import main
from benchmark.commands.run import short_lines
from benchmark.records.record import RunRecord
from benchmark.results.budget import budget_lines
from benchmark.results.frames import run_frame, setting_frame
from data_pipelines.fetch.sources import PreparationOptions
from data_pipelines.prepare.prepared import read_manifest
from data_pipelines.prepare.readiness import make_ready
from tests.benchmark.tiny_sweeps import write_tiny
from tests.records import run_record


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
    assert "movielens: STAND-IN DATA (generated), not a valid result (download: not tried)" in " ".join(
        shown.out.split()
    )
    assert read_manifest(data / "movielens")["origin"] == "generated, small size"
    assert (data / "lastfm" / "manifest.json").stat().st_mtime_ns == before


def test_the_summary_shows_the_best_setting_within_each_budget():
    values = {(3.0, 0): (3.0, 0.0), (3.0, 1): (5.0, 0.0), (2.0, 0): (9.0, 3500.0), (2.0, 1): (9.0, 3500.0)}
    runs = [
        run_record(front=gamma, seed=seed, normalised_reward=reward, numbers_per_client=numbers)
        for (gamma, seed), (reward, numbers) in values.items()
    ]
    header, title, row, caption, few = budget_lines(setting_frame(run_frame(runs)))
    assert header.split() == ["transfers", "per", "client", "none", "≤", "10", "≤", "100", "unlimited"]
    assert title == "Delicious: normalised reward, higher is better (2 seeds)"
    assert row.split() == ["Async-LinUCB", "4", "γ=3", *["9", "γ=2"] * 3]
    assert "chosen on these seeds" in caption
    assert few == "2 seeds: no statement on differences (10 are needed)"


def test_the_summary_marks_the_best_method_of_each_column_and_fits_80_columns():
    runs = [
        run_record(method, front, normalised_reward=reward, numbers_per_client=numbers, settings={"ridge": 123.456})
        for method, front, reward, numbers in [
            ("async-linucb", 1234.56, 12.345, 350.0),
            ("async-linucb", 1e16, 2.0, 0.0),
            ("async-linucb-as-published", 1.05, 1.0, 0.0),
            ("sync-linucb", 0.00012345, 13.25, 10_000_000.0),
        ]
    ]
    lines = budget_lines(setting_frame(run_frame(runs)))
    assert max(map(len, lines)) <= 80
    name, *rows = lines[2:-2][1:]
    assert name == "  Async-LinUCB as published"  # too long for its column: a line of its own
    assert [line.count("*") for line in (lines[2], *rows)] == [3, 0, 1]
    assert lines[2].split()[1:] == ["2", "γ=1e16*", "12.3", "γ=1,235*", "12.3", "γ=1,235*", "12.3", "γ=1,235"]
    assert "…" not in "".join(lines)  # values are whole
    assert "–" in rows[-1]  # nothing within the smaller budgets


def test_many_experiments_have_a_sentence_for_each_data_set_and_no_internal_names():
    def played(experiment: str, stream: str, source: str = "package", **values: float) -> list[RunRecord]:
        names = {name.replace("_", "-"): value for name, value in values.items()}
        metric = "regret" if source == "simulated" else "normalised_reward"
        more = {"experiment": experiment, "stream": stream, "source": source}
        return [
            run_record(name, 2.0, numbers_per_client=0.0, **{metric: value}, **more) for name, value in names.items()
        ]

    records = [
        *played("fig_a", "simulated-uniform", "simulated", async_linucb=380.0, sync_linucb=390.0),
        *played("fig_c", "simulated-heterogeneous-4", "simulated", async_linucb=50.0),
        *played("references", "lastfm", async_linucb=7.95, most_popular=11.47),
        *played("fig_e", "delicious-tagged", "stand-in", async_linucb=9.0),
    ]
    header, few, *sentences, _ = short_lines(records, 20)
    assert header == "What was found: best means by transfers per client (1 is random choice)"
    assert few == "1 seed: no statement on differences (10 are needed)"
    assert [" ".join(sentence.split()) for sentence in sentences] == [
        "LastFM: 7.95 with any number (Async-LinUCB); better, without a model: Most popular so far, 11.5",
        "Simulation, uniform clients: regret 380 with any number (Async-LinUCB)",
        "Simulation, heterogeneous clients, d_g=4: regret 50 with any number (Async-LinUCB)",
    ]
    assert short_lines(records, 5)[-1] == "… and 2 more, with variants and studies, in the report"


def settings(*runs: tuple[str, float], **more: Any) -> pd.DataFrame:
    """Return the settings of methods that earn these rewards on the same data."""
    records = [
        run_record(method, math.nan, normalised_reward=reward, numbers_per_client=0.0, **more)
        for method, reward in runs
    ]
    return setting_frame(run_frame(records))


def test_results_on_generated_data_have_a_label_and_no_marks():
    pair = settings(("async-linucb", 7.0), ("sync-linucb", 6.0), stream="own")
    rules = settings(("most-popular", 11.0), stream="own")
    lines = budget_lines(pair, rules=rules, generated={"own"})
    assert lines[1].split()[-7:] == ["STAND-IN", "DATA", "(generated):", "not", "a", "valid", "result"]
    assert not any("*" in line for line in lines[:-2])
    assert "without a model" not in " ".join(lines)


def test_a_rule_without_a_model_that_has_the_best_mean_is_the_first_line_of_its_data():
    methods = settings(("async-linucb", 7.0), ("sync-linucb", 6.0))
    lines = budget_lines(methods, rules=settings(("most-seen", 5.0), ("most-popular", 11.47)))
    assert lines[2] == "  a rule without a model has the best mean: Most popular so far 11.5, methods 7"
    assert "without a model" not in " ".join(budget_lines(methods, rules=settings(("most-popular", 6.9))))


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
    assert shown.err.startswith(f"warning: method theirs of the package {package} 1.0 cannot be loaded from ")
    assert reason in shown.err
    assert shown.err.count("\n") == 1
    write_tiny(tmp_path)
    assert main(["run", "tiny.toml", "--dry-run"]) == 0
    assert capsys.readouterr().err == ""  # an experiment that does not use it is not affected
    assert main(["run", "tiny.toml", "--dry-run", "--method", "theirs"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"fedbandit: error: method theirs of the package {package} 1.0 cannot be loaded from ")
    assert error.count("\n") == 1
    assert main(["run", "tiny.toml", "--dry-run", "--method", "unknown"]) == 2
    assert "async-linucb" in capsys.readouterr().err
