"""From experiments and filters to runs, and the keys of runs."""

import shutil
from pathlib import Path

import pytest

from benchmark.plan.experiment import load_experiment
from benchmark.plan.method_names import parse_filter
from benchmark.plan.plan import Plan, RunOptions, make_plan, parse_seeds
from benchmark.plan.run_key import run_key
from data_pipelines import load
from data_pipelines.fetch.sources import PreparationOptions
from data_pipelines.prepare.readiness import make_ready
from tests.reports.hand_made import write_data


@pytest.fixture(autouse=True)
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FEDBANDIT_DATA", str(tmp_path))
    return tmp_path


def plan(*names: str, algorithms: tuple[str, ...] = (), **options) -> Plan:
    filters = tuple(parse_filter(each) for each in algorithms)
    return make_plan([load_experiment(name) for name in names], RunOptions(methods=filters, **options))


def test_a_key_depends_on_stream_algorithm_and_seed_and_on_nothing_else():
    key = run_key("f", "a", {"gamma": 5, "alpha": 0.3}, 0)
    assert key == run_key("f", "a", {"alpha": 0.3, "gamma": 5.0}, 0)
    others = [("g", "a", {"gamma": 5}, 0), ("f", "b", {"gamma": 5}, 0), ("f", "a", {"gamma": 6}, 0)]
    others += [("f", "a", {"gamma": float("inf")}, 0), ("f", "a", {"gamma": 5}, 1)]
    assert len({key, *(run_key(*each) for each in others)}) == 1 + len(others)


def test_the_predicted_fingerprint_matches_the_built_stream(data: Path):
    run = plan("fig_c", seeds=(3,)).runs[0]
    small = run.stream.model_copy(update={"steps": 50})
    assert small.build(3).fingerprint == small.fingerprint(3)
    assert small.build(3).name == small.name == "simulated-heterogeneous-4"
    make_ready("lastfm", PreparationOptions(folder=data, stand_in="small"))
    run = plan("fig_d").runs[0]
    assert run.stream.source == "stand-in"
    assert run.fingerprint == load("lastfm", seed=0).fingerprint == run.stream.build(0).fingerprint


def test_a_filter_keeps_one_algorithm_and_replaces_values():
    runs = plan("fig_a", algorithms=("async-linucb[gamma=5]",), seeds=(0,)).runs
    assert [run.name for run in runs] == ["async-linucb γ=5 seed 0"]
    runs = plan("fig_a", algorithms=("async-linucb[gamma=[2, inf],alpha=0.5]", "sync-linucb"), seeds=(0,)).runs
    assert [run.threshold for run in runs if run.info.name == "async-linucb"] == ["2", "inf"]
    assert runs[0].parameters["alpha"] == 0.5
    assert len(runs) == 2 + 6


def test_a_value_typed_with_display_precision_matches_the_exact_grid_value():
    (run,) = plan("fig_a", profile="paper", algorithms=("async-linucb[gamma=1.01778]",), seeds=(0,)).runs
    assert run.key in {each.key for each in plan("fig_a", profile="paper", seeds=(0,)).runs}


def test_a_missing_data_set_is_reported_and_the_rest_is_planned():
    made = plan("fig_a", "fig_d", "fig_e")
    assert {run.experiment for run in made.runs} == {"fig_a"}
    assert sorted(made.missing) == ["delicious", "delicious-tagged", "lastfm", "lastfm-tagged"]
    assert "`fedbandit data lastfm`, with --mirror DIR_OR_URL for a copy or --stand-in" in made.missing["lastfm"]


def test_a_fallback_is_used_only_while_the_first_data_set_is_missing_or_a_stand_in(data: Path):
    assert sorted(plan("fig_f").missing) == ["movielens"]
    make_ready("movielens", PreparationOptions(folder=data, stand_in="small"))
    assert {run.stream.source for run in plan("fig_f").runs} == {"stand-in"}
    assert plan("fig_f").notices == ()
    write_data(data, "movielens-1m")
    (stream,) = {run.stream for run in plan("fig_f").runs}
    assert (stream.name, stream.min_interactions) == ("movielens-1m", 600)
    assert plan("fig_f").notices == ("fig_f: MovieLens 1M instead of 20M",)
    assert plan("fig_f", datasets=("movielens",)).runs == plan("fig_f").runs
    shutil.rmtree(data / "movielens")
    write_data(data, "movielens")
    assert {run.stream.name for run in plan("fig_f").runs} == {"movielens"}


def test_an_optional_stream_without_data_is_left_out_and_not_missing(data: Path):
    write_data(data, "lastfm")
    made = plan("references_matched")
    assert sorted(made.missing) == ["delicious"]
    assert any(notice.startswith("LEFT OUT (optional): online-retail ") for notice in made.notices)
    assert {run.stream.name for run in made.runs} == {"lastfm"}


def test_experiments_share_the_keys_of_equal_runs(data: Path):
    make_ready("delicious", PreparationOptions(folder=data, stand_in="small"))
    figure = {run.key for run in plan("fig_e", profile="paper").runs}
    groups = {run.key for run in plan("user_groups", profile="paper").runs}
    assert groups <= figure


def test_a_users_own_class_runs_with_all_values_that_are_given_for_it():
    names = [f"tests.benchmark.epsilon_greedy:EpsilonGreedy[{value}]" for value in ("epsilon=0.2", "period=[10,20]")]
    runs = plan("fig_a", algorithms=(*names,), seeds=(0,)).runs
    own = [(run.parameters["epsilon"], run.parameters["period"]) for run in runs if ":" in run.info.name]
    assert sorted(own) == [(0.05, 10), (0.05, 20), (0.2, 10)]


def test_seeds_are_a_number_a_list_or_a_range():
    assert parse_seeds("3") == (0, 1, 2)
    assert parse_seeds("0,5,5") == (0, 5)
    assert parse_seeds("2-4,3") == (2, 3, 4)
    for wrong in ("x", "0", "-1", "3-1", ""):
        with pytest.raises(ValueError, match="--seeds must be a number of seeds"):
            parse_seeds(wrong)
