"""A metric of the user: recorded, shown everywhere, filled in for finished runs, never mixed with an earlier one."""

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from algorithms.stream import silent_trace
from benchmark import compare
from benchmark.__main__ import main
from benchmark.execution.own_metrics import find_metric, find_metrics, measured
from benchmark.metrics import Metric, OwnMetric, own_metrics_from_json
from benchmark.protocol import load_protocol
from benchmark.records.data_identity import split_by_metric_code
from benchmark.records.reader import read
from benchmark.records.record import RunRecord
from benchmark.records.store import Store
from benchmark.results.stored import results
from benchmark.ui.chart_views import TAG_PREFIX, VIEW_KEY
from data_pipelines import simulate
from reports.read.results import read_results
from reports.tables.settings import setting_tables
from tests.benchmark.test_list import install
from tests.benchmark.tiny_sweeps import Command, unloaded, write_tiny
from tests.readme import DOCS, commands, example_file
from tests.records import run_record, unknown_schema

FAIR = """
from benchmark.metrics import Metric
from counted import least

def share(trace, stream):
    return least(trace) / trace.client_rewards.sum()

WORST = Metric("worst_client", "reward of the worst client", "higher", lambda trace, stream: float(least(trace)))
SHARE = Metric("worst_share", "share of the worst client", "higher", share)
NEEDED = Metric("spent", "numbers needed by the first client", "lower", lambda t, s: t.client_needed_numbers_up[0])
"""
COUNTED = "def least(trace):\n    return trace.client_rewards.min()\n"
BAD = """
from benchmark.metrics import Metric

VALUES = {"text": "many", "nothing": None, "undefined": float("nan"), "good": 3}

def of(name):
    def value(trace, stream):
        if name == "raises":
            raise KeyError("no such column")
        if name == "leaves":
            raise SystemExit(0)
        return VALUES[name]
    return value

TEXT, NOTHING, UNDEFINED, GOOD, RAISES, LEAVES = (
    Metric(name, name, "higher", of(name)) for name in ("text", "nothing", "undefined", "good", "raises", "leaves")
)
"""
STEPS, SEEDS = 60, 3
RUNS = 8 * SEEDS


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fair.py").write_text(FAIR)
    (tmp_path / "counted.py").write_text(COUNTED)
    (tmp_path / "bad.py").write_text(BAD)
    write_tiny(tmp_path, steps=STEPS, seeds=SEEDS)
    return tmp_path


def records(folder: Path) -> list[RunRecord]:
    return [each for each in read(f"sqlite:///{folder / 'mlflow.db'}") if each.status == "FINISHED"]


def values(folder: Path, name: str) -> dict[str, float]:
    return {record.key: record.metrics[name] for record in records(folder) if name in record.metrics}


def test_a_metric_is_recorded_filled_in_and_shown_everywhere(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, fedbandit_here: Command, monkeypatch: pytest.MonkeyPatch
):
    names = [word for name in ("WORST", "SHARE", "NEEDED") for word in ("--metric", f"fair:{name}")]
    fresh = tmp_path_factory.mktemp("fresh")
    for file in ("fair.py", "counted.py", "tiny.toml", "mlflow.db"):
        (fresh / file).write_bytes((folder / file).read_bytes())
    assert fedbandit_here(fresh, "run", "tiny.toml", *names).returncode == 0

    assert fedbandit_here(folder, "run", "tiny.toml", "--seeds", "1", "--metric", "fair:WORST").returncode == 0
    assert len(values(folder, "worst_client")) == 8
    assert fedbandit_here(folder, "run", "tiny.toml").returncode == 0
    keys = {record.run_id: record.key for record in records(folder)}
    lacking = fedbandit_here(folder, "run", "tiny.toml", "--metric", "fair:WORST").stderr
    assert f"worst_client: {RUNS - 8} finished runs were recorded without it" in lacking
    assert "fedbandit runs fill fair:WORST" in " ".join(lacking.split())

    # An interrupted command continues.
    add, added = Store.add_metric, []

    def add_some(store: Store, *arguments: object) -> RunRecord:
        if len(added) == 5:
            raise KeyboardInterrupt
        added.append(arguments)
        return add(store, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(Store, "add_metric", add_some)
    assert fedbandit_here(folder, "runs", "fill", "fair:WORST").returncode == 130
    monkeypatch.setattr(Store, "add_metric", add)
    shown = fedbandit_here(folder, "runs", "fill", "fair:WORST")
    assert (shown.returncode, shown.stdout) == (
        0,
        f"worst_client: {RUNS - 13} runs filled in; 13 runs had it already.\n",
    )
    for name in ("SHARE", "NEEDED"):
        assert fedbandit_here(folder, "runs", "fill", f"fair:{name}").returncode == 0
    for name in ("worst_client", "worst_share", "spent"):
        assert len(values(folder, name)) == RUNS
        assert values(folder, name) == values(fresh, name)
    assert {record.run_id: record.key for record in records(folder)} == keys

    # Read through MLflow's search, the records are the same.
    known = records(folder)
    with unknown_schema():
        assert [(each.key, each.metrics, each.own_metrics) for each in records(folder)] == [
            (each.key, each.metrics, each.own_metrics) for each in known
        ]

    # Nothing needs the source any more.
    (folder / "fair.py").unlink()
    uri = f"sqlite:///{folder / 'mlflow.db'}"
    per_setting = pd.read_csv(_exported(folder, fedbandit_here, "--per", "setting"))
    first = results("tiny", uri).frame.query("algorithm == 'async-linucb' and setting == 'γ=∞'")["worst_client"]
    row = per_setting.query("algorithm == 'async-linucb' and setting == 'γ=∞'").iloc[0]
    assert row["worst_client"] == pytest.approx(first.mean())
    assert row["worst_client_low"] < row["worst_client"] < row["worst_client_high"]
    assert "spent" in pd.read_csv(_exported(folder, fedbandit_here))

    (table,) = setting_tables(read_results(uri))
    assert table.frame["reward of the worst client"].notna().all()
    assert {"share of the worst client_low", "share of the worst client_high"} <= {*table.frame}

    store = Store(uri)
    settings = store.search(store.experiment_ids()["tiny"], None, "setting")
    assert len(settings) == 8
    shown_names = {f"reward of the worst client{end}" for end in ("", " low", " high")}
    assert all(shown_names <= run.data.metrics.keys() for run in settings)
    view = store.find("tiny").tags[TAG_PREFIX + VIEW_KEY]  # type: ignore[union-attr]
    assert all(f"metrics.`{name}`" in view for name in ("reward of the worst client", "share of the worst client"))
    assert view.count("SCATTER") == 4 * 2  # each metric against the messages needed, and against those sent


def _exported(folder: Path, fedbandit: Command, *options: str) -> Path:
    file = folder / "exported.csv"
    assert fedbandit(folder, "export", "tiny", "--out", str(file), *options).returncode == 0
    return file


def test_values_by_an_earlier_source_are_left_out_until_they_are_filled_in(folder: Path, fedbandit_here: Command):
    assert fedbandit_here(folder, "run", "tiny.toml", "--metric", "fair:WORST").returncode == 0
    (folder / "counted.py").write_text(COUNTED.replace("min", "max"))
    assert fedbandit_here(folder, "run", "tiny.toml", "--seeds", "3-3", "--metric", "fair:WORST").returncode == 0
    before = results("tiny", f"sqlite:///{folder / 'mlflow.db'}")
    assert before.frame["worst_client"].count() == 8
    (sentence,) = [note for note in before.notes if "worst_client" in note]
    assert sentence.startswith(f"worst_client: {RUNS} runs of tiny have no value by its latest source")
    assert fedbandit_here(folder, "runs", "fill", "fair:WORST").returncode == 0
    after = results("tiny", f"sqlite:///{folder / 'mlflow.db'}")
    assert after.frame["worst_client"].count() == RUNS + 8
    assert not [note for note in after.notes if "worst_client" in note]
    assert (after.frame["worst_client"] > after.frame["reward"] / 20).all()  # the largest is above the mean


def test_a_bad_value_is_one_line_and_costs_nothing_else(folder: Path, fedbandit_here: Command):
    names = ("TEXT", "NOTHING", "UNDEFINED", "GOOD", "RAISES", "LEAVES")
    options = [word for name in names for word in ("--metric", f"bad:{name}")]
    swept = fedbandit_here(folder, "run", "tiny.toml", "--seeds", "1", *options)
    assert swept.returncode == 1
    assert [{*record.metrics} & {name.lower() for name in names} for record in records(folder)] == [{"good"}] * 8
    lines = " ".join((swept.stdout + swept.stderr).split())
    for name, reason in {
        "FAILED metric text": "it must return a number, got 'many'",
        "FAILED metric nothing": "it must return a number, got None",
        "FAILED metric raises": "KeyError: 'no such column' (bad.py, line 9)",
        "FAILED metric leaves": "SystemExit: 0 (bad.py, line 11)",
        "metric undefined": "it is nan, so it is not recorded",
    }.items():
        where = r" of \S+ \S+ seed 0 on simulated-uniform: "
        assert len(re.findall(re.escape(name) + where + re.escape(f"{reason} (and 7 other runs)"), lines)) == 1, name
    filled = fedbandit_here(folder, "runs", "fill", "bad:RAISES")
    assert filled.returncode == 1
    assert filled.stdout == "raises: 0 runs filled in; 0 runs had it already.\n"
    assert "FAILED metric raises" in filled.stderr


def test_runs_without_stored_steps_and_on_other_streams_are_one_line_each(
    folder: Path, fedbandit_here: Command, monkeypatch: pytest.MonkeyPatch
):
    choosing = load_protocol().seeds.choosing.first
    assert fedbandit_here(folder, "run", "tiny.toml", "--seeds", f"0,{choosing}").returncode == 0
    monkeypatch.setattr("data_pipelines.stream_spec.SimulatedSpec.fingerprint", lambda spec, seed: "other")
    shown = fedbandit_here(folder, "runs", "fill", "fair:WORST")
    assert shown.stdout == "worst_client: 0 runs filled in; 0 runs had it already.\n"
    lines = " ".join(shown.stderr.split())
    assert "8 runs left out: their steps are not stored, as on seeds that choose settings" in lines
    assert "8 runs left out: the stream of simulated-uniform is another one now" in lines


WRONG = {
    'Metric("regret", "mine", "lower", of)': "name must not be that of a built-in metric",
    'Metric("gamma", "mine", "lower", of)': "name must not be that of a built-in metric",
    'Metric("worst client", "mine", "lower", of)': "name must be at most 50 letters a-z",
    'Metric("mine_curve", "mine", "lower", of)': "not end in _curve, got 'mine_curve'",
    'Metric("mine", "regret", "lower", of)': "label must be at most 80 letters, digits and spaces, and not that of a",
    'Metric("mine", "<b>", "lower", of)': "label must be at most 80 letters, digits and spaces",
    'Metric("mine", "mine", "better", of)': "better must be one of higher, lower, neither, got 'better'",
    'Metric("mine", "mine", "lower")': "of must be a function of a trace and its stream, got None",
    'Metric("mine", "mine", "lower", of, curve=of)': "curve must be left out",
    'Metric("mine", "mine", "lower", of, unit=3)': "unit must be a text of at most 200 characters, got 3",
    "3": "unknown Metric in wrong 'MINE'; expected one of: none",
    "1 / 0": "wrong cannot be imported: division by zero",
}


@pytest.mark.parametrize("code", WRONG)
def test_a_wrong_declaration_is_refused_before_anything_is_run(folder: Path, capsys, code: str):
    (folder / "wrong.py").write_text(f"from benchmark.metrics import Metric\nof = len\nMINE = {code}\n")
    with unloaded(folder):
        assert main(["run", "tiny.toml", "--metric", "wrong:MINE"]) == 2
    error = capsys.readouterr().err
    assert WRONG[code] in error
    assert error.count("\n") == 1
    assert records(folder) == []


def test_an_installed_metric_has_a_name_and_a_broken_one_is_named(folder: Path, capsys, monkeypatch):
    points = "[fedbandit.metrics]\nworst = theirs_of_metrics:WORST\nbroken = theirs_of_metrics:NONE"
    install(folder, "theirs_of_metrics", FAIR, f"x = theirs_of_metrics:X\n{points}")
    monkeypatch.syspath_prepend(str(folder))
    with unloaded(folder):
        planned = find_metric("worst")
        assert (planned.name, planned.own.reference) == ("worst_client", "theirs_of_metrics:WORST")
        with pytest.raises(ValueError, match=r"^metric broken of the package theirs_of_metrics 1\.0 cannot be loaded"):
            find_metric("broken")
        with pytest.raises(ValueError, match="two with the name 'worst_client'"):
            find_metrics(["worst", "theirs_of_metrics:WORST"])
        assert main(["list"]) == 0
    shown = capsys.readouterr()
    assert "reward of the worst client" in shown.out
    assert "warning: metric broken of the package theirs_of_metrics 1.0" in shown.err


def test_the_source_that_was_planned_is_executed(folder: Path):
    stream = simulate(seed=1, steps=40, clients=4, arms=4, dimension=3)
    trace = silent_trace(stream, np.zeros(stream.steps, dtype=np.int32))
    with unloaded(folder):
        planned = find_metric("fair:WORST")
        (folder / "counted.py").write_text(COUNTED.replace("min", "max"))
        assert measured([planned], trace, stream).values == {"worst_client": trace.client_rewards.min()}
    with unloaded(folder):
        assert find_metric("fair:WORST").own.code != planned.own.code


@pytest.mark.usefixtures("same_workers")
def test_a_comparison_and_the_commands_of_the_page_take_a_metric(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "fair.py").write_text(example_file("fair.py"))
    with unloaded(folder):
        stream = simulate(seed=1, steps=40, clients=4, arms=4, dimension=3)
        compared = compare("random", stream, seeds=3, metrics=["fair:WORST"])
        assert compared.settings["worst_client"].notna().all()
        assert compared.failures == ()
        for start in ("run fig_a --metric", "runs fill"):
            (command,) = commands(start, DOCS / "own_metric.md")
            assert main([*command, "--dry-run"]) == 0, capsys.readouterr().err


def test_a_tag_that_is_not_ours_is_no_metric():
    for text in ("", "[]", "3", '{"a": 1}', '{"a": {"label": "a"}}'):
        assert own_metrics_from_json(text) == {}


def test_the_latest_source_of_each_experiment_counts():
    own = {
        code: OwnMetric(Metric("mine", "mine", "lower"), "fair:WORST", code, at)
        for code, at in (("old", 1), ("new", 2))
    }
    runs = [
        replace(run_record(seed=seed, experiment=experiment), metrics={"mine": 1.0}, own_metrics={"mine": own[code]})
        for seed, (code, experiment) in enumerate([("old", "a"), ("new", "a"), ("old", "b")])
    ]
    shown, metrics, lacking = split_by_metric_code(runs)
    assert [run.metrics.get("mine", math.nan) == 1.0 for run in shown] == [False, True, True]
    assert [{*run.own_metrics} for run in shown] == [set(), {"mine"}, {"mine"}]
    assert (metrics["mine"].label, [*lacking]) == ("mine", [("a", "mine")])
