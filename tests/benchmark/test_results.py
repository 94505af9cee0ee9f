"""`compare`, `results` and `Results`: what a notebook gets."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from algorithms import AsyncLinUCB, SyncLinUCB, Transfers
from algorithms.messages import numbers_in_statistics
from benchmark import Results, compare, replay, results, simulate
from benchmark.results import stored
from benchmark.results.budget import UNLIMITED, Budget, as_budget, parse_budget
from benchmark.results.frames import COST
from benchmark.statistics.intervals import mean_interval, paired_interval
from data_pipelines import EventStream
from tests.benchmark.tiny_sweeps import environment, write_tiny
from tests.records import run_record

pytestmark = pytest.mark.usefixtures("same_workers")

METHODS = ["async-linucb[gamma=[2,inf]]", SyncLinUCB(threshold=1.0)]


def tiny(seed: int) -> EventStream:
    return simulate(seed=seed, steps=200, clients=5, arms=4, dimension=3)


@pytest.fixture(scope="module")
def compared(same_workers: None) -> Results:
    """Three settings on three seeds, two processes."""
    return compare(METHODS, tiny, seeds=3, jobs=2)


class First:
    """A method of this module, which takes the first arm."""

    def __init__(self, arm: int = 0) -> None:
        self.arm = arm

    def choose(self, client: int, contexts: object, rng: object) -> int:
        return self.arm

    def learn(self, client: int, context: object, reward: float) -> Transfers:
        return Transfers(uploads=[client])


def test_every_row_of_the_frame_is_a_replay_of_that_method_and_seed(compared: Results):
    frame = compared.frame
    assert len(frame) == 9
    for row in frame.itertuples():
        method = AsyncLinUCB(gamma=row.gamma) if row.algorithm == "async-linucb" else SyncLinUCB(threshold=1.0)
        trace = replay(method, tiny(row.seed), row.seed)
        assert row.regret == pytest.approx(trace.regret.sum(), rel=1e-12)
        numbers = trace.numbers_up.sum() + trace.numbers_down.sum()
        assert getattr(row, COST) == pytest.approx(numbers / (numbers_in_statistics(tiny(row.seed).dimension) * 5))


def test_the_summary_has_means_intervals_and_differences_paired_by_seed(compared: Results):
    summary = compared.summary().set_index("setting")
    frame = compared.frame.sort_values("seed")
    alone = frame[frame["setting"] == "γ=∞"]["regret"]
    shared = frame[frame["setting"] == "γ=2"]["regret"]
    assert tuple(summary.loc["γ=2", ["mean", "low", "high"]]) == pytest.approx(mean_interval(shared))
    expected = paired_interval(shared, alone)
    assert tuple(summary.loc["γ=2", ["difference", "difference_low", "difference_high"]]) == pytest.approx(expected)
    assert list(summary.index[summary["is_reference"]]) == ["γ=∞"]
    assert summary.loc["γ=∞", "difference"] == 0


def test_the_best_setting_stays_within_the_budget_and_says_on_which_seeds_it_was_chosen(compared: Results):
    summary = compared.summary()
    silent, unlimited = compared.best("0.001/client"), compared.best()
    assert silent.setting == "γ=∞"
    assert silent.transfers_per_client == 0
    assert unlimited.value == summary["mean"].min()  # regret: lower is better
    assert "chosen on these seeds" in str(silent)
    again = replay(AsyncLinUCB(**silent.parameters), tiny(0), 0)
    assert again.communication == 0


def test_a_setting_without_a_run_within_the_budget_is_one_line():
    many = Results((run_record(seed=0, normalised_reward=2.0, numbers_per_client=35_000.0),))
    assert many.summary()[COST].iloc[0] == 100
    with pytest.raises(ValueError, match=r"no setting stays within 10 transfers per client; the lowest is 100 "):
        many.best("10/client")


def test_the_plot_has_one_line_per_method_and_the_budget(compared: Results):
    pytest.importorskip("matplotlib").use("Agg")
    axes = Results(compared.records, Budget(3.0)).plot()
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["Async-LinUCB", "Sync-LinUCB", "budget: 3 transfers per client"]
    assert axes.get_xlabel() == "needed messages per client"
    assert axes.get_ylabel() == "regret"
    own = axes.figure.add_axes((0.5, 0.5, 0.4, 0.4))
    assert compared.plot(own) is own
    assert len(own.get_legend().get_texts()) == 2


def test_a_notebook_shows_the_table_and_the_failures(compared: Results):
    failing = Results(compared.records, failures=("gossip seed 0: ValueError: <no>",))
    assert "<td>γ=∞</td>" in failing._repr_html_()
    assert "&lt;no&gt;" in failing._repr_html_()
    assert repr(compared) == "<Results: 9 runs; 1 data set, 2 methods, 3 settings, 3 seeds>"


def test_a_failing_method_is_reported_and_the_others_are_kept():
    outcome = compare([First(9), First(0)], tiny, seeds=1, jobs=1)
    assert len(outcome.records) == 1
    assert "index of an arm from 0 to 3, got 9" in outcome.failures[0]
    assert "FAILED" in repr(outcome)


@pytest.mark.slow
def test_a_script_without_a_guard_can_compare_its_own_class(tmp_path: Path):
    script = """
from algorithms import Transfers
from benchmark import compare, simulate

class Mine:
    def choose(self, client, contexts, rng):
        return 1
    def learn(self, client, context, reward):
        return Transfers()

found = compare([Mine()], lambda seed: simulate(seed=seed, steps=20, clients=2), seeds=2, jobs=1)
print(repr(found), sum(found.frame["communication"]))
import sys
print("mlflow" in sys.modules)
"""
    (tmp_path / "script.py").write_text(script)
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, env=environment(), capture_output=True, text=True
    )
    assert done.stdout == "<Results: 2 runs; 1 data set, 1 method, 1 setting, 2 seeds> 0.0\nFalse\n", done.stderr


def test_a_store_resumes_and_gives_the_same_results(tmp_path: Path, compared: Results, monkeypatch: pytest.MonkeyPatch):
    write_tiny(tmp_path)
    monkeypatch.chdir(tmp_path)
    store = f"sqlite:///{tmp_path / 'mlflow.db'}"
    first = compare(METHODS, tiny, seeds=2, jobs=2, store=store)
    ids = {record.run_id for record in first.records}
    more = compare(METHODS, tiny, seeds=3, jobs=2, store=store)
    assert ids < {record.run_id for record in more.records}
    pd.testing.assert_series_equal(more.frame["regret"], compared.frame["regret"])
    stored = results("compare-simulated-uniform", store)
    assert sorted(stored.frame["regret"]) == sorted(compared.frame["regret"])
    with pytest.raises(ValueError, match=r"unknown experiment with finished runs 'fig_e'.*compare-simulated-uniform"):
        results("fig_e", store)


def test_results_leave_out_other_data_and_choosing_seeds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    old = run_record(seed=0, prepared="old", normalised_reward=9.0, ended=1)
    new = [run_record(seed=seed, prepared="new", normalised_reward=2.0, ended=2) for seed in (0, 10_000)]
    monkeypatch.setattr(stored, "read", lambda uri, names: iter([old, *new]))
    monkeypatch.setattr(stored, "fingerprints_prepared_now", lambda names, folder: {"delicious": "new"})
    found = results("fig_e", "sqlite:///nowhere.db", tmp_path)
    assert list(found.frame["normalised_reward"]) == [2.0]
    assert any("1 run on other data" in note for note in found.notes)
    assert "1 run on seeds that choose settings left out" in found.notes


@pytest.mark.parametrize(
    ("methods", "stream", "seeds", "message"),
    [
        ([], tiny, 1, "methods must have at least one method"),
        (["async-linucb"], "lastfmm", 1, "unknown data set or task 'lastfmm' (did you mean lastfm"),
        (["async-lincub"], tiny, 1, "unknown method 'async-lincub' (did you mean async-linucb"),
        ([3], tiny, 1, "a method must be a name, or a class or an object with the functions choose and learn"),
        ([First(), First()], tiny, 1, "methods must be distinct, got"),
        (["random"], tiny, 0, "seeds must be a number from 1 or a list of seeds, got 0"),
        (["random"], tiny, [10_000], "report seeds must be outside"),
        (["random"], lambda seed: 3, 1, "the function of the seed must return an EventStream, got int"),
        (["random"], 3, 1, "stream must be the name of a prepared data set"),
    ],
)
def test_bad_arguments_are_one_line(methods: object, stream: object, seeds: object, message: str):
    with pytest.raises(ValueError, match=r"\A[^\n]+\Z") as error:
        compare(methods, stream, seeds=seeds)  # type: ignore[arg-type]
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("10/client", Budget(10.0)),
        (" 2.5 / client ", Budget(2.5)),
        ("5000", Budget(5000.0, "transfers")),
        ("5,000", Budget(5000.0, "transfers")),
        ("1MB", Budget(1e6, "bytes")),
        ("1.5 gb", Budget(1.5e9, "bytes")),
    ],
)
def test_budgets_are_read_in_three_units(text: str, budget: Budget):
    assert parse_budget(text) == budget


@pytest.mark.parametrize(
    "text", ["0", "-1/client", "0MB", "", "ten", "10/user", "1,5", "nan", "1e400", "1e30/client", "9" * 200]
)
def test_bad_budgets_are_one_line(text: str):
    with pytest.raises(ValueError, match=r"\Abudget must be [^\n]{1,300}\Z"):
        parse_budget(text)


def test_a_budget_in_bytes_or_in_total_is_shared_by_all_clients():
    assert Budget(1000.0, "transfers").per_client(clients=100, dimension=25) == 10
    assert Budget(2.8e6, "bytes").per_client(clients=100, dimension=25) == pytest.approx(10)  # 350 numbers of 8 bytes
    assert as_budget(None) is UNLIMITED
    assert as_budget(5000) == Budget(5000.0, "transfers")
