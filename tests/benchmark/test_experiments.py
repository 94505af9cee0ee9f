"""Experiments in TOML: those that are shipped, and messages about mistakes."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmark.plan.experiment import FOLDER, expanded, experiment_names, load_experiment
from benchmark.plan.plan import make_plan
from benchmark.protocol import load_protocol


def values(experiment: str, profile: str, algorithm: str, parameter: str) -> list[float]:
    loaded = load_experiment(experiment)
    entry = next(entry for entry in loaded.algorithms if entry.name == algorithm)
    return [each[parameter] for each in expanded(entry.parameters, loaded.profile(profile), entry.front)]


def test_the_papers_figures_and_the_studies_are_shipped():
    figures = [f"fig_{letter}" for letter in "abcdef"]
    ours = [f"study_{name}" for name in ("lastfm", "scaling", "stale_models", "ties")]
    assert experiment_names() == [
        "claims_tuned",
        *figures,
        "low_communication",
        "references",
        "references_matched",
        *ours,
        "user_groups",
    ]


@pytest.mark.parametrize("name", experiment_names())
def test_every_experiment_has_both_profiles_and_paper_has_ten_seeds(name: str):
    experiment = load_experiment(name)
    _, reporting = load_protocol().seeds.split(pd.DataFrame({"seed": experiment.profile("paper").seed_list()}))
    assert reporting["seed"].tolist() == list(range(10))
    assert experiment.is_tuned or len(experiment.profile("quick").seed_list()) in (1, 2)


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


def test_the_studies_have_the_papers_thresholds():
    gammas = values("low_communication", "paper", "async-linucb", "gamma")
    assert gammas == [*(10.0**power for power in range(4, 21)), np.inf]
    assert values("user_groups", "paper", "async-linucb", "gamma") == [np.inf, 6001, 3]


def test_figures_d_and_e_are_on_the_papers_preparation_with_two_variants():
    for name, data in (("fig_d", "lastfm"), ("fig_e", "delicious")):
        streams = load_experiment(name).streams
        assert [(stream.dataset, stream.negatives) for stream in streams] == [
            (f"{data}-tagged", "uniform"),
            (data, "uniform"),
            (data, "popularity"),
        ]


def test_non_uniform_clients_are_drawn_in_four_ways():
    drawn = [(stream.clients_drawn, stream.exponent) for stream in load_experiment("fig_b").streams]
    assert drawn == [("dirichlet", 1.0), ("uniform-weights", 1.0), ("zipf", 1.0), ("zipf", 2.0)]


def test_a_stream_can_have_thresholds_of_its_own():
    experiment = load_experiment("fig_d")
    (_, whole), *variants = experiment.parts(experiment.profile("paper"))
    assert whole == experiment.profile("paper")
    for _, profile in variants:
        for entry, count in zip(experiment.algorithms, (2, 2, 1), strict=True):
            assert len(expanded(entry.parameters, profile, entry.front)) == count
        assert profile.seed_list() == list(range(10))


def test_a_method_whose_parameter_is_not_among_a_streams_thresholds_is_not_run_on_it(tmp_path: Path):
    path = tmp_path / "mine.toml"
    stream = '[[streams]]\nsimulated = "non-uniform"\nonly = { gamma = [2, inf] }\n\n[[algorithms]]'
    path.write_text((FOLDER / "fig_a.toml").read_text().replace("[[algorithms]]", stream, 1))
    runs = [run for run in make_plan([load_experiment(str(path))]).runs if run.stream.name == "simulated-non-uniform"]
    settings = {(run.info.name, run.threshold) for run in runs}
    assert settings == {("async-linucb", "2"), ("async-linucb", "inf"), ("random", "")}


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            "clients = 1_000",
            "clients = 0",
            "streams.0.clients must be greater than or equal to 1, got 0",
        ),
        (
            "clients = 1_000",
            "client = 1",
            "unknown field streams.0.client (did you mean clients?), got 1; expected one of: simulated, steps",
        ),
        ("seeds = 2", 'seeds = "many"', "profiles.quick.seeds must be a valid"),
        (
            "values.gamma = [1, inf]",
            "gammas = [0.5]",
            "profiles.quick.gammas.0 must be greater than or equal to 1, got 0.5",
        ),
        ('"uniform"', '"unifrom"', "streams.0.simulated must be 'uniform' or 'non-uniform', got 'unifrom'"),
        ("ridge = 0.1", "ridge = -1", "ridge must be a number above 0 (from 1e-50 to 1e+50), got -1"),
        ("ridge = 0.1", "rigde = 1", "unknown parameter of async-linucb 'rigde' (did you mean ridge?)"),
        ('gamma = "grid"', "gamma = 0.9", "gamma must be a number from 1 to inf, got 0.9"),
        ("async-linucb", "async-lincub", "unknown method 'async-lincub' (did you mean async-linucb?)"),
        (
            "title",
            "titel",
            "unknown field titel (did you mean title?), got 'Figure a: homogeneous clients, uniform'; expected one of",
        ),
        ("[[algorithms]]", "[[algorithm]]", "unknown field algorithm (did you mean algorithms?), got [{'name': "),
        ("points = 6", "point = 6", "profiles.quick.grid"),
        ('simulated = "uniform"', 'dataset = "lastfm"', "cannot be combined with dataset"),
        ("[[streams]]", "[[streams", "is not valid TOML"),
        ("clients = 1_000", "global_dim = [4, 26]", "streams.0: global_dim must be from 1 to dimension (25), got 26"),
        ("clients = 1_000", "global_dim = [4, true]", "streams.0.global_dim must be a valid integer, got True"),
        ("clients = 1_000", "global_dim = []", "streams.0: global_dim must have from 1 to 1000 values, got 0"),
        ("clients = 1_000", "scaling = 'unit'", "streams.0.scaling cannot be combined with simulated, got 'unit'"),
        (
            "clients = 1_000",
            "clients_drawn = 'zip'",
            "streams.0.clients_drawn must be 'dirichlet', 'uniform-weights'",
        ),
        ("clients = 1_000", "clients_drawn = 'zipf'", "streams.0: clients_drawn must be 'dirichlet', its default, for"),
        ("clients = 1_000", "exponent = 2", "streams.0: exponent needs clients_drawn = 'zipf', got 2"),
        ("clients = 1_000", "dataset = 'x'", "streams.0: exactly one of dataset and simulated is required"),
    ],
)
def test_an_error_names_file_field_value_and_expectation(tmp_path: Path, old, new, complaint):
    path = tmp_path / "mine.toml"
    path.write_text((FOLDER / "fig_a.toml").read_text().replace(old, new, 1))
    with pytest.raises(ValueError, match=r"mine\.toml") as caught:
        load_experiment(str(path))
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        ("negatives = 'popular'", "streams.0.negatives must be 'uniform' or 'popularity', got 'popular'"),
        ("pools = 1", "streams.0.pools must be 'sampled' or 'rated', got 1"),
        ("repeats = 'twice'", "streams.0.repeats must be 'keep' or 'once', got 'twice'"),
        ("order = 'time'", "streams.0.order must be 'users' or 'shuffled', got 'time'"),
        ("min_interactions = '3'", "streams.0.min_interactions must be a valid integer, got '3'"),
        (
            "pools = 'rated'\nnegatives = 'popularity'",
            "streams.0: negatives = 'popularity' needs pools = 'sampled', got",
        ),
        ("xyz = '/tmp'", "unknown field streams.0.xyz, got '/tmp'; expected one of: dataset, arms, dimension"),
        ("clients_drawn = 'zipf'", "streams.0.clients_drawn cannot be combined with dataset, got 'zipf'"),
    ],
)
def test_an_error_in_an_option_of_a_data_set_names_field_value_and_expectation(tmp_path: Path, option, complaint):
    path = tmp_path / "mine.toml"
    path.write_text((FOLDER / "fig_d.toml").read_text().replace('"lastfm-tagged"', f'"lastfm"\n{option}', 1))
    with pytest.raises(ValueError, match=r"mine\.toml") as caught:
        load_experiment(str(path))
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_list_of_dimensions_stands_for_several_streams(tmp_path: Path):
    path = tmp_path / "mine.toml"
    text = (FOLDER / "fig_c.toml").read_text()
    path.write_text(text.replace("[4, 8, 12, 16, 20, 24]", "[4, 8]"))
    assert [stream.name for stream in load_experiment(str(path)).streams] == [
        "simulated-heterogeneous-4",
        "simulated-heterogeneous-8",
    ]
    path.write_text(text.replace("[4, 8, 12, 16, 20, 24]", "8"))
    assert [stream.global_dim for stream in load_experiment(str(path)).streams] == [8]


def test_a_study_is_compared_with_the_first_values_in_its_file():
    assert load_experiment("study_ties").baseline() == {"positive": "anywhere", "first_maximum": "False"}
    assert load_experiment("study_scaling").baseline() == {"scaling": "standard"}
    assert load_experiment("fig_a").baseline() == {}


def test_an_unknown_option_in_effects_of_is_rejected(tmp_path: Path):
    text = (FOLDER / "study_scaling.toml").read_text().replace('["scaling"]', '["scalin"]')
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(ValueError, match=r"unknown effects_of 'scalin' \(did you mean scaling\?\)"):
        load_experiment(str(tmp_path / "study.toml"))


def test_words_for_an_unknown_option_are_rejected(tmp_path: Path):
    text = (FOLDER / "study_scaling.toml").read_text().replace("\nscaling = {", "\nscalin = {")
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(ValueError, match=r"unknown words 'scalin' \(did you mean scaling\?\)"):
        load_experiment(str(tmp_path / "study.toml"))


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ("[streams.fallback]\ndataset = 'lastfm'", "required field streams.0.fallback.label is missing"),
        ("[streams.fallback]\nlabel = 'x'", "required field streams.0.fallback.dataset is missing"),
        ("[streams.fallback]\nlabel = 'x'\ndataset = 'lastfm'\narms = 0", "streams.0.fallback.arms must be"),
        ("[streams.fallback]\nlabel = 'x'\ndataset = 'lastfm'\nxyz = 0", "unknown field streams.0.fallback.xyz, got 0"),
        ("fallback = 3", "streams.0.fallback must be"),
        ("optional = 'yes'", "streams.0.optional must be a valid boolean, got 'yes'"),
    ],
)
def test_an_error_in_a_fallback_names_field_value_and_expectation(tmp_path: Path, table: str, complaint: str):
    path = tmp_path / "mine.toml"
    path.write_text(
        f"title = 'Mine'\n[[streams]]\ndataset = 'lastfm'\n{table}\n"
        "[[algorithms]]\nname = 'random'\n[profiles.quick]\nseeds = 1\n"
    )
    with pytest.raises(ValueError, match=r"mine\.toml") as caught:
        load_experiment(str(path))
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_simulation_has_no_fallback(tmp_path: Path):
    path = tmp_path / "mine.toml"
    fallback = "[streams.fallback]\nlabel = 'x'\ndataset = 'lastfm'\n"
    path.write_text((FOLDER / "fig_a.toml").read_text().replace("[[algorithms]]", f"{fallback}\n[[algorithms]]", 1))
    with pytest.raises(ValueError, match="fallback must belong to a data set, got a simulation"):
        load_experiment(str(path))
