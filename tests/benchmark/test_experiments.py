"""Experiments in TOML: those that are shipped, and messages about mistakes."""

from pathlib import Path

import numpy as np
import pytest

from benchmark.plan.experiment import FOLDER, expanded, experiment_names, load_experiment


def values(experiment: str, profile: str, algorithm: str, parameter: str) -> list[float]:
    loaded = load_experiment(experiment)
    entry = next(entry for entry in loaded.algorithms if entry.name == algorithm)
    return [each[parameter] for each in expanded(entry.parameters, loaded.profile(profile), entry.front)]


def test_the_papers_figures_and_the_studies_are_shipped():
    figures = [f"fig_{letter}" for letter in "abcdef"]
    ours = [f"study_{name}" for name in ("scaling", "stale_models", "ties")]
    assert experiment_names() == [*figures, "low_communication", *ours, "user_groups"]


@pytest.mark.parametrize("name", experiment_names())
def test_every_experiment_has_both_profiles_and_paper_has_ten_seeds(name: str):
    experiment = load_experiment(name)
    assert experiment.profile("paper").seed_list() == list(range(10))
    assert len(experiment.profile("quick").seed_list()) in (1, 2)


def test_simulated_figures_have_the_papers_sizes():
    for name, distribution in (("fig_a", "uniform"), ("fig_b", "non-uniform")):
        (stream,) = load_experiment(name).streams
        assert (stream.steps, stream.clients, stream.simulated) == (30_000, 1_000, distribution)
    (stream,) = load_experiment("fig_c").streams
    assert stream.global_dim == [4, 8, 12, 16, 20, 24]
    assert values("fig_c", "paper", "async-linucb-am", "gamma") == [5]


def test_the_paper_grid_is_gamma_minus_one_and_d_with_further_gammas():
    grid = np.logspace(-2, 3, 21)
    np.testing.assert_allclose(values("fig_d", "paper", "sync-linucb", "threshold"), grid)
    gammas = sorted([*(1 + grid), 1, 3, 6001, 9001, np.inf])
    for name in ("fig_d", "fig_e", "fig_f"):
        for algorithm in ("async-linucb", "async-linucb-am"):
            np.testing.assert_allclose(values(name, "paper", algorithm, "gamma"), gammas)


def test_the_studies_have_the_papers_thresholds():
    assert values("low_communication", "paper", "async-linucb", "gamma") == [10.0**power for power in range(4, 21)]
    assert values("user_groups", "paper", "async-linucb", "gamma") == [np.inf, 6001, 3]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        (
            "clients = 1_000",
            "clients = 0",
            "streams.0.clients must be greater than or equal to 1, got 0",
        ),
        ("clients = 1_000", "client = 1", "unknown field streams.0.client, got 1; expected one of: dataset, simulated"),
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
        ("async-linucb", "async-lincub", "unknown algorithm 'async-lincub' (did you mean async-linucb?)"),
        (
            "title",
            "titel",
            "unknown field titel, got 'Figure a: homogeneous clients, uniform'; expected one of: title, ",
        ),
        ("points = 6", "point = 6", "profiles.quick.grid"),
        ('simulated = "uniform"', 'dataset = "lastfm"', "cannot be combined with dataset"),
        ("[[streams]]", "[[streams", "is not valid TOML"),
    ],
)
def test_an_error_names_file_field_value_and_expectation(tmp_path: Path, old, new, complaint):
    path = tmp_path / "mine.toml"
    path.write_text((FOLDER / "fig_a.toml").read_text().replace(old, new, 1))
    with pytest.raises(ValueError, match=r"mine\.toml") as caught:
        load_experiment(str(path))
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_study_is_compared_with_the_first_values_in_its_file():
    assert load_experiment("study_ties").baseline() == {"positive": "anywhere", "first_maximum": "False"}
    assert load_experiment("study_scaling").baseline() == {"scaling": "standard"}
    assert load_experiment("fig_a").baseline() == {}


def test_an_unknown_option_in_effects_of_is_rejected(tmp_path: Path):
    text = (FOLDER / "study_scaling.toml").read_text().replace('["scaling"]', '["scalin"]')
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(ValueError, match=r"unknown effects_of 'scalin' \(did you mean scaling\?\)"):
        load_experiment(str(tmp_path / "study.toml"))
