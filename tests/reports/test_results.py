"""Reading a store: every run once, the same by SQL and through MLflow."""

import math

import numpy as np

from reports.read.results import Results, read_results
from tests.reports.hand_made import HandMade


def test_every_finished_run_is_one_row(results: Results):
    assert results.experiments() == ["fig_a", "user_groups"]
    assert len(results.runs) == 16
    row = results.runs[(results.runs["algorithm"] == "async-linucb") & (results.runs["threshold"] == 2)].iloc[1]
    values = row[["experiment", "dataset", "source", "seed", "steps", "clients", "arms", "dimension", "variant"]]
    assert values.tolist() == ["fig_a", "simulated-uniform", "simulated", 1, 214, 5, 25, 3, ""]
    assert (row["regret"], row["communication"]) == (210, 1000)
    assert math.isnan(row["reward"])
    assert math.isnan(row["global_dim"])
    assert np.isinf(results.runs["threshold"]).sum() == 4


def test_a_store_that_does_not_exist_has_no_runs(tmp_path):
    results = read_results(f"sqlite:///{tmp_path / 'none.db'}")
    assert results.runs.empty
    assert not (tmp_path / "none.db").exists()


def test_the_latest_of_two_runs_with_the_same_key_counts(fresh: HandMade):
    fresh.run("fig_a", "async-linucb", 2, 0, key="same", regret=1.0)
    latest = fresh.run("fig_a", "async-linucb", 2, 0, key="same", regret=2.0)
    fresh.run("fig_b", "async-linucb", 2, 0, key="same", regret=3.0)
    results = read_results(fresh.uri)
    assert results.superseded == 1
    assert results.runs.loc[results.runs["experiment"] == "fig_a", "run_id"].tolist() == [latest]


def test_runs_that_failed_are_listed_unless_they_were_finished_later(fresh: HandMade):
    fresh.run("fig_a", "async-linucb", 2, 0, key="again", status="FAILED")
    fresh.run("fig_a", "async-linucb", 2, 0, key="again", regret=1.0)
    fresh.run("fig_a", "async-linucb", 3, 0, key="never", status="FAILED")
    results = read_results(fresh.uri)
    assert len(results.runs) == 1
    assert results.failed["error"].tolist() == ["RuntimeError: made by hand"]


def test_runs_that_differ_in_other_parameters_are_variants(fresh: HandMade):
    plain = {"alpha": "0.3", "gamma": "2", "gamma_upload": "2"}
    fresh.run("fig_a", "async-linucb", 2, 0, parameters=plain)
    fresh.run("fig_a", "async-linucb", 3, 0, parameters={**plain, "gamma": "3", "gamma_upload": "3"})
    assert read_results(fresh.uri).runs["variant"].tolist() == ["", ""]
    fresh.run("fig_a", "async-linucb", 2, 0, parameters={**plain, "alpha": "0.5"})
    fresh.run("fig_a", "async-linucb", 2, 0, parameters={**plain, "gamma_upload": "9"})
    assert read_results(fresh.uri).runs["variant"].tolist() == [
        "alpha=0.3",
        "alpha=0.3",
        "alpha=0.5",
        "alpha=0.3, gamma_upload=9",
    ]


def test_client_totals_and_curves_of_a_run_can_be_read(results: Results):
    run_id = results.runs.loc[results.runs["threshold"] == 6001, "run_id"].iloc[0]
    assert results.client_totals(run_id)["reward"].tolist() == [10] * 5
    curves = results.curves([run_id])
    assert curves[curves["metric"] == "reward_curve"][["step", "value"]].to_numpy().tolist() == [
        [1, 0.5],
        [50, 25],
        [100, 50],
    ]
