"""Experiments in TOML: what is shipped, and what is said about mistakes."""

from pathlib import Path

import numpy as np
import pytest

from benchmark.experiment import FOLDER, expanded, experiment_names, load_experiment


def values(experiment: str, profile: str, algorithm: str, parameter: str) -> list[float]:
    loaded = load_experiment(experiment)
    entry = next(entry for entry in loaded.algorithms if entry.name == algorithm)
    return [each[parameter] for each in expanded(entry.parameters, loaded.profile(profile))]


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
            "streams.0.clients is 0; allowed: input should be greater than or equal to 1",
        ),
        ("clients = 1_000", "client = 1", "streams.0.client is 1; allowed are known fields only (dataset, simulated"),
        ("seeds = 2", 'seeds = "many"', "profiles.quick.seeds is 'many'; allowed: input should be a valid"),
        (
            "gammas = [1, inf]",
            "gammas = [0.5]",
            "profiles.quick.gammas.0 is 0.5; allowed: input should be greater than",
        ),
        ('"uniform"', '"unifrom"', "streams.0.simulated is 'unifrom'; allowed: input should be 'uniform'"),
        ("ridge = 0.1", "ridge = -1", "ridge is -1; allowed are numbers above 0"),
        ("ridge = 0.1", "rigde = 1", "parameter of async-linucb is 'rigde' (did you mean ridge?)"),
        ('gamma = "grid"', "gamma = 0.9", "gamma is 0.9; allowed are numbers from 1 to inf"),
        ("async-linucb", "async-lincub", "algorithm is 'async-lincub' (did you mean async-linucb?)"),
        ("title", "titel", "titel is 'Figure a: homogeneous clients, uniform'; allowed are known fields only (title, "),
        ("points = 6", "point = 6", "profiles.quick.grid"),
        ('simulated = "uniform"', 'dataset = "lastfm"', "does not go with dataset"),
        ("[[streams]]", "[[streams", "is not TOML"),
    ],
)
def test_a_mistake_is_named_with_file_field_value_and_what_is_allowed(tmp_path: Path, old, new, complaint):
    path = tmp_path / "mine.toml"
    path.write_text((FOLDER / "fig_a.toml").read_text().replace(old, new, 1))
    with pytest.raises(ValueError, match=r"mine\.toml") as caught:
        load_experiment(str(path))
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_study_is_compared_with_what_stands_first_in_its_file():
    assert load_experiment("study_ties").baseline() == {"positive": "anywhere", "first_maximum": "False"}
    assert load_experiment("study_scaling").baseline() == {"scaling": "standard"}
    assert load_experiment("fig_a").baseline() == {}


def test_an_effect_of_something_unknown_is_refused(tmp_path: Path):
    text = (FOLDER / "study_scaling.toml").read_text().replace('["scaling"]', '["scalin"]')
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(ValueError, match=r"effects_of is 'scalin' \(did you mean scaling\?\)"):
        load_experiment(str(tmp_path / "study.toml"))
