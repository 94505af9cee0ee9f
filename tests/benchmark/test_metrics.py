"""The registry of metrics: a declaration is all that is needed to record, read and show a metric."""

import io
import math

import numpy as np
import pyarrow.parquet as pq
import pytest

from algorithms import AsyncLinUCB, AsyncLinUCBAM, Transfers
from benchmark import metrics as registry
from benchmark import replay
from benchmark.charts.with_matplotlib import to_matplotlib
from benchmark.execution.run_result import run_method
from benchmark.metrics import METRICS, Metric, metric, metric_values, objective
from benchmark.results.frames import over_seeds
from data_pipelines import EventStream, simulate
from reports.figures.fronts import front_figure
from reports.labels import Methods
from tests.reports.made_up import made_up, run

STREAM = simulate(seed=1, steps=80, clients=6, arms=4, dimension=3)


def test_numbers_and_bytes_follow_from_the_transfers():
    trace = replay(AsyncLinUCB(gamma=1.2), STREAM)
    values = metric_values(trace, STREAM, {})
    assert trace.uploads.sum() > 0
    assert trace.downloads.sum() > 0
    size = 3 * 4 // 2 + 3
    assert values["numbers_up"] == size * trace.uploads.sum()
    assert values["numbers_down"] == size * trace.downloads.sum()
    assert values["numbers_moved"] == size * trace.communication
    assert values["numbers_per_step"] == pytest.approx(size * trace.communication / 80)
    assert values["numbers_per_client"] == pytest.approx(size * trace.communication / len(STREAM.client_ids))
    assert values["transfers_per_client"] == pytest.approx(trace.communication / len(STREAM.client_ids))
    for direction in ("up", "down", "moved"):
        assert values[f"bytes_{direction}"] == 8 * values[f"numbers_{direction}"]


def test_needed_communication_is_measured_in_full_messages_per_decision():
    trace = replay(AsyncLinUCB(gamma=1.2), STREAM)
    values = metric_values(trace, STREAM, {})
    assert values["needed"] == values["needed_up"] + values["needed_down"] == trace.needed > 0
    assert values["needed_numbers"] == (3 * 4 // 2 + 3) * trace.needed
    assert values["needed_per_decision"] == pytest.approx(trace.needed / 80)
    for file in run_method(STREAM, AsyncLinUCB(gamma=1.2), 0).files.values():
        columns = pq.read_table(io.BytesIO(file))
        assert sum(columns[name].to_numpy().sum() for name in ("needed_up", "needed_down")) == trace.needed


def test_alternating_minimisation_moves_only_its_global_part():
    trace = replay(AsyncLinUCBAM(gamma=1.2, global_dim=2), STREAM)
    assert trace.communication > 0
    assert metric("numbers_moved").of(trace, STREAM) == (3 + 2) * trace.communication
    expected = (3 + 2) / (3 * 4 / 2 + 3) * trace.needed / 80  # a full message has three dimensions
    assert metric("needed_per_decision").of(trace, STREAM) == pytest.approx(expected)


def test_a_metric_without_meaning_is_not_recorded():
    trace = replay(AsyncLinUCB(gamma=2), STREAM)
    assert STREAM.rewards.min() < 0
    assert math.isnan(metric("normalised_reward").of(trace, STREAM))
    assert "normalised_reward" not in metric_values(trace, STREAM, {})


def test_a_record_has_the_curves_that_metrics_declare():
    result = run_method(STREAM, AsyncLinUCB(gamma=2), 0)
    assert result.curves.keys() == {"reward_curve", "regret_curve", "communication_curve"}
    steps = [step for step, _ in result.curves["reward_curve"]]
    for name in ("reward", "regret", "communication"):
        assert [step for step, _ in result.curves[f"{name}_curve"]] == steps
        assert result.curves[f"{name}_curve"][-1] == (80, pytest.approx(result.metrics[name]))


def test_simulations_are_judged_by_regret_and_everything_else_by_normalised_reward():
    assert objective(["simulated", "simulated"]).name == "regret"
    for origins in (["official"], ["simulated", "mirror"], ["stand-in"], []):
        assert objective(origins).name == "normalised_reward"
    assert (metric("regret").sign, metric("normalised_reward").sign) == (-1, 1)


FAIRNESS = Metric(
    "worst_client",
    "reward of the worst client",
    "higher",
    lambda trace, stream: float(trace.client_rewards.min()),
    unit="points",
    scale="log",
)


@pytest.fixture
def _one_more_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "METRICS", (*METRICS, FAIRNESS))


class Steady:
    """Chooses the first arm."""

    def choose(self, client: int, contexts: np.ndarray, rng: np.random.Generator) -> int:
        return 0

    def learn(self, client: int, context: np.ndarray, reward: float) -> Transfers:
        return Transfers()


@pytest.mark.usefixtures("_one_more_metric")
def test_a_metric_that_is_added_is_in_the_record_in_the_table_and_on_an_axis():
    stream: EventStream = STREAM
    result = run_method(stream, Steady(), 0)
    assert result.metrics["worst_client"] == replay(Steady(), stream).client_rewards.min()

    results = made_up([run("async-linucb", 2.0, worst_client=3.0), run("async-linucb", 3.0, worst_client=4.0)])
    assert results.runs["worst_client"].tolist() == [3, 4]

    rows = over_seeds(results.runs, ["communication", "worst_client"])
    figure = front_figure("worst", "Worst client", rows, metric("worst_client"), Methods(), experiments=[])
    (axes,) = to_matplotlib(figure).axes
    assert axes.get_ylabel() == "reward of the worst client (points), log scale"
    assert figure.interactive["layout"]["yaxis"]["title"]["text"] == "reward of the worst client (points)"


def test_an_axis_does_not_repeat_a_unit_that_is_in_its_label():
    assert metric("needed").axis_label() == metric("needed").plain_axis_label() == "needed transfers"
    assert metric("uploads").axis_label() == "uploads (transfers)"
