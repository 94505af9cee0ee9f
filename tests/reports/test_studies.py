"""Tables of studies, from a store made by hand: differences are paired by seed, with all other settings equal."""

from dataclasses import replace

import pytest

from benchmark.plan.experiment import experiment_names, load_experiment
from benchmark.results.frames import value_text
from reports.read.results import read_results
from reports.tables import settings, studies
from tests.reports.hand_made import HandMade

TIES = "study_ties"


def write_ties(store: HandMade) -> None:
    """With unit-norm features, the positive first and the first maximum add 1 in seed 0 and 0.5 in seed 1."""
    for seed, gain in ((0, 1.0), (1, 0.5)):
        for scaling, reward in (("standard", 1.5), ("unit", 2.0)):
            for positive, first_maximum, more in (("", False, 0.0), ("first", True, gain if scaling == "unit" else 0)):
                parameters = {"stream_scaling": scaling, "first_maximum": str(first_maximum)}
                parameters |= {"stream_positive": positive} if positive else {}
                store.run(
                    TIES,
                    "async-linucb-as-published",
                    3,
                    seed,
                    dataset="delicious",
                    source="stand-in",
                    parameters=parameters,
                    normalised_reward=reward + seed + more,
                    communication=10.0,
                )


def test_a_study_compares_with_its_baseline_all_else_held_constant(fresh: HandMade):
    write_ties(fresh)
    results = read_results(fresh.uri)
    results = replace(results, folder=fresh.folder / "data")
    (table,) = studies.tables(results)
    frame = table.frame
    assert table.name == TIES
    assert frame["held constant"].tolist() == ["components of unit variance"] * 2 + ["items of norm 1"] * 2
    baseline = "positive item anywhere, ties broken at random"
    assert frame["setting"].tolist() == [baseline, "positive item first, first of equal scores wins"] * 2
    assert f"from the baseline ({baseline}) at the same threshold" in table.caption
    assert "=" not in "".join(results.runs["variant"])
    assert frame["normalised reward"].tolist() == [2, 2, 2.5, 3.25]
    assert frame["difference"].tolist()[1::2] == [0, 0.75]
    assert frame["difference"].isna().tolist() == [True, False] * 2
    assert frame["difference_high"].isna().all()  # two seeds
    assert any("STAND-IN" in note for note in table.notes)
    assert settings.tables(results) == []


@pytest.mark.parametrize("name", [name for name in experiment_names() if load_experiment(name).effects_of])
def test_every_value_that_a_study_compares_has_words_in_its_file(name: str):
    study = load_experiment(name)
    options = [stream.model_dump() for stream in study.streams] + [entry.parameters for entry in study.algorithms]
    for option in study.effects_of:
        values = [each[option] for each in options if option in each]
        flat = [value for each in values for value in (each if isinstance(each, list) else [each])]
        assert len(set(flat)) > 1
        texts = {value_text(option, str(value), study.words) for value in flat}
        assert len(texts) == len(set(flat))
        assert not any("=" in text or "_" in text for text in texts), texts
