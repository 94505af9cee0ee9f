"""Experiments in TOML: those that are shipped, and messages about mistakes."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from algorithms.registry import built_in_methods
from benchmark.board.task import load_task, task_names
from benchmark.plan.experiment import FOLDER, expanded, experiment_names, load_experiment
from benchmark.plan.method_names import method_info
from benchmark.plan.plan import RunOptions, make_plan
from benchmark.protocol import load_protocol
from data_pipelines.stream_spec import SimulatedSpec
from reports.paper import paper


def values(experiment: str, profile: str, algorithm: str, parameter: str) -> list[float]:
    loaded = load_experiment(experiment)
    entry = next(entry for entry in loaded.algorithms if entry.name == algorithm)
    return [each[parameter] for each in expanded(entry.parameters, loaded.profile(profile), entry.front)]


@pytest.mark.parametrize("name", experiment_names())
def test_every_experiment_has_both_profiles_and_paper_has_ten_seeds(name: str):
    experiment = load_experiment(name)
    _, reporting = load_protocol().seeds.split(pd.DataFrame({"seed": experiment.profile("paper").seed_list()}))
    assert reporting["seed"].tolist() == list(range(10))
    has_no_quick = experiment.is_tuned or name == "further_methods"
    assert has_no_quick or len(experiment.profile("quick").seed_list()) in (1, 5)


def test_the_quick_profile_has_the_seeds_of_verdicts_on_simulations_and_lastfm():
    needed = load_protocol().paper.min_seeds
    assert [len(load_experiment(f"fig_{letter}").profile("quick").seed_list()) for letter in "abc"] == [needed] * 3
    profile = load_experiment("fig_d").profile("quick")
    assert profile.more is not None
    assert len(profile.more_seeds()) == needed
    claims = [claim for claim in paper()["directions"] if claim["experiment"] == "fig_d"]
    for claim in claims:
        for side in ("better", "worse"):
            name, value = claim[side]["algorithm"], claim[side]["threshold"]
            front = method_info(name).front
            assert front is not None
            lowest = min(each for each in profile.thresholds(front) if each > 1 or front.parameter != "gamma")
            assert profile.more.concern(name, {front.parameter: lowest if value == "frequent" else float(value)})


def test_some_settings_may_have_more_seeds_unless_the_user_names_seeds(tmp_path: Path):
    text = (FOLDER / "fig_a.toml").read_text().replace("seeds = 5", "seeds = 1")
    file = tmp_path / "mine.toml"
    more = "[profiles.quick.more]\nseeds = 3\nat = { async-linucb = [inf] }\n"
    file.write_text(f"{text}\n{more}")
    experiment = load_experiment(str(file))
    seeds = [(run.threshold, run.seed) for run in make_plan([experiment]).runs if run.info.name == "async-linucb"]
    assert sorted(seed for gamma, seed in seeds if gamma == "inf") == [0, 1, 2]
    assert {seed for gamma, seed in seeds if gamma != "inf"} == {0}
    named = make_plan([experiment], RunOptions(seeds=(7,))).runs
    assert {run.seed for run in named} == {7}
    file.write_text(f"{text}\n{more.replace('async-linucb', 'async-lincub')}")
    with pytest.raises(
        ValueError, match=r"method in profile quick, more\.at 'async-lincub' \(did you mean async-linucb"
    ):
        load_experiment(str(file))


def test_further_methods_are_all_contenders_at_their_fronts_on_the_simulated_tasks():
    experiment = load_experiment("further_methods")
    contenders = {name: info for name, info in built_in_methods().items() if info.role == "contender"}
    assert [entry.name for entry in experiment.algorithms] == [*contenders, "random"]
    for entry in experiment.algorithms[:-1]:
        front = contenders[entry.name].front
        assert front is not None
        assert entry.parameters == {front.parameter: [*front.grid]}
    tasks = [load_task(name).stream for name in task_names()]
    assert experiment.streams == [stream for stream in tasks if isinstance(stream, SimulatedSpec)]
    assert {*experiment.profiles} == {"paper"}
    assert experiment.counts == "needed"


def test_simulated_figures_have_the_papers_sizes():
    for name, distribution in (("fig_a", "uniform"), ("fig_b", "non-uniform")):
        for stream in load_experiment(name).streams:
            assert (stream.steps, stream.clients, stream.simulated) == (30_000, 1_000, distribution)
    assert [stream.global_dim for stream in load_experiment("fig_c").streams] == [4, 8, 12, 16, 20, 24]
    assert {*values("fig_c", "paper", "async-linucb-am", "gamma")} == {5}


def test_the_paper_grid_is_gamma_minus_one_and_d_with_further_gammas():
    grid = np.logspace(-2, 3, 21)
    np.testing.assert_allclose(values("fig_d", "paper", "sync-linucb", "threshold"), grid)
    gammas = sorted([*(1 + grid), 1, 3, 6001, 9001, np.inf])
    for name in ("fig_d", "fig_e", "fig_f"):
        for algorithm in ("async-linucb", "async-linucb-am"):
            np.testing.assert_allclose(values(name, "paper", algorithm, "gamma"), gammas)


def test_figures_d_and_e_are_on_the_papers_preparation_with_two_variants():
    for name, data in (("fig_d", "lastfm"), ("fig_e", "delicious")):
        streams = load_experiment(name).streams
        assert [(stream.dataset, stream.negatives) for stream in streams] == [
            (f"{data}-tagged", "uniform"),
            (data, "uniform"),
            (data, "popularity"),
        ]


def test_a_method_whose_parameter_is_not_among_a_streams_thresholds_is_not_run_on_it(tmp_path: Path):
    path = tmp_path / "mine.toml"
    stream = '[[streams]]\nsimulated = "non-uniform"\nonly = { gamma = [2, inf] }\n\n[[algorithms]]'
    path.write_text((FOLDER / "fig_a.toml").read_text().replace("[[algorithms]]", stream, 1))
    runs = [run for run in make_plan([load_experiment(str(path))]).runs if run.stream.name == "simulated-non-uniform"]
    settings = {(run.info.name, run.threshold) for run in runs}
    assert settings == {("async-linucb", "2"), ("async-linucb", "inf"), ("random", "")}


LASTFM, CLIENTS = '"lastfm-tagged"', "clients = 1_000"
STREAM, FALLBACK = "\n[[algorithms]]", "[streams.fallback]\nlabel = 'x'\ndataset = 'lastfm'\n"


@pytest.mark.parametrize(
    ("file", "old", "new", "complaint"),
    [
        ("fig_a", CLIENTS, "clients = 0", "streams.0.clients must be greater than or equal to 1, got 0"),
        ("fig_a", CLIENTS, "client = 1", "unknown field streams.0.client (did you mean clients?), got 1"),
        ("fig_a", CLIENTS, "global_dim = [4, 26]", "global_dim must be from 1 to dimension (25), got 26"),
        ("fig_a", CLIENTS, "global_dim = [4, true]", "streams.0.global_dim must be a valid integer, got True"),
        ("fig_a", CLIENTS, "global_dim = []", "streams.0: global_dim must have from 1 to 1000 values, got 0"),
        ("fig_a", CLIENTS, "scaling = 'unit'", "streams.0.scaling cannot be combined with simulated, got"),
        ("fig_a", CLIENTS, "clients_drawn = 'zip'", "streams.0.clients_drawn must be 'dirichlet',"),
        ("fig_a", CLIENTS, "clients_drawn = 'zipf'", "streams.0: clients_drawn must be 'dirichlet', its default"),
        ("fig_a", CLIENTS, "exponent = 2", "streams.0: exponent needs clients_drawn = 'zipf', got 2"),
        ("fig_a", CLIENTS, "dataset = 'x'", "streams.0: exactly one of dataset and simulated is required"),
        ("fig_a", "seeds = 5", 'seeds = "many"', "profiles.quick.seeds must be a valid"),
        ("fig_a", "values.gamma = [1, inf]", "gammas = [0.5]", "profiles.quick.gammas.0 must be greater than"),
        ("fig_a", '"uniform"', '"unifrom"', "streams.0.simulated must be 'uniform' or 'non-uniform', got 'unifrom'"),
        ("fig_a", "ridge = 0.1", "ridge = -1", "ridge must be a number above 0 (from 1e-50 to 1e+50), got -1"),
        ("fig_a", "ridge = 0.1", "rigde = 1", "unknown parameter of async-linucb 'rigde' (did you mean ridge?)"),
        ("fig_a", 'gamma = "grid"', "gamma = 0.9", "gamma must be a number from 1 to inf, got 0.9"),
        ("fig_a", "async-linucb", "async-lincub", "unknown method 'async-lincub' (did you mean async-linucb?)"),
        ("fig_a", "title", "titel", "unknown field titel (did you mean title?), got 'Figure a: homogeneous clients"),
        ("fig_a", "[[algorithms]]", "[[algorithm]]", "unknown field algorithm (did you mean algorithms?), got"),
        ("fig_a", "points = 6", "point = 6", "profiles.quick.grid"),
        ("fig_a", 'simulated = "uniform"', 'dataset = "lastfm"', "cannot be combined with dataset"),
        ("fig_a", "[[streams]]", "[[streams", "is not valid TOML"),
        ("fig_a", STREAM, f"\n{FALLBACK}{STREAM}", "fallback must belong to a data set, got a simulation"),
        (
            "fig_d",
            LASTFM,
            "'lastfm'\nnegatives = 'popular'",
            "negatives must be 'uniform', 'popularity' or 'not-then', got",
        ),
        ("fig_d", LASTFM, "'lastfm'\npools = 1", "streams.0.pools must be 'sampled' or 'rated', got 1"),
        ("fig_d", LASTFM, "'lastfm'\nrepeats = 'twice'", "streams.0.repeats must be 'keep' or 'once', got 'twice'"),
        ("fig_d", LASTFM, "'lastfm'\norder = 'items'", "order must be 'users', 'shuffled' or 'time', got 'items'"),
        ("fig_d", LASTFM, "'lastfm'\nmin_interactions = '3'", "min_interactions must be a valid integer, got '3'"),
        ("fig_d", LASTFM, "'x'\npools = 'rated'\nnegatives = 'popularity'", "negatives = 'popularity' needs pools"),
        ("fig_d", LASTFM, "'lastfm'\nxyz = '/tmp'", "unknown field streams.0.xyz, got '/tmp'; expected"),
        (
            "fig_d",
            LASTFM,
            "'lastfm'\nclients_drawn = 'zipf'",
            "clients_drawn cannot be combined with dataset, got 'zipf'",
        ),
        ("fig_d", LASTFM, "'lastfm'\nfallback = 3", "streams.0.fallback must be"),
        ("fig_d", LASTFM, "'lastfm'\noptional = 'yes'", "streams.0.optional must be a valid boolean, got 'yes'"),
        ("fig_f", "label =", "# label =", "required field streams.0.fallback.label is missing"),
        ("fig_f", 'dataset = "movielens-1m"', "", "required field streams.0.fallback.dataset is missing"),
        ("fig_f", 'dataset = "movielens-1m"', "dataset = 'x'\narms = 0", "streams.0.fallback.arms must be"),
        ("fig_f", 'dataset = "movielens-1m"', "dataset = 'x'\nxyz = 0", "unknown field streams.0.fallback.xyz, got 0"),
        ("study_scaling", '["scaling"]', '["scalin"]', "unknown effects_of 'scalin' (did you mean scaling?)"),
        ("study_scaling", "\nscaling = {", "\nscalin = {", "unknown words 'scalin' (did you mean scaling?)"),
    ],
)
def test_an_error_names_file_field_value_and_expectation(tmp_path: Path, file: str, old: str, new: str, complaint: str):
    path, text = tmp_path / "mine.toml", (FOLDER / f"{file}.toml").read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(ValueError, match=r"mine\.toml") as caught:
        load_experiment(str(path))
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_study_is_compared_with_the_first_values_in_its_file():
    assert load_experiment("study_ties").baseline() == {"positive": "anywhere", "first_maximum": "False"}
    assert load_experiment("study_scaling").baseline() == {"scaling": "standard"}
    assert load_experiment("fig_a").baseline() == {}
