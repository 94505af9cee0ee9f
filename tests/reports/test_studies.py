"""Tables of studies, from a store made by hand: differences are paired by seed, with all other settings equal."""

import math

import pytest

from reports.read.context import make_context
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
    context = make_context(results, fresh.folder / "data")
    (table,) = studies.tables(results, context)
    frame = table.frame
    assert table.name == TIES
    assert frame["held constant"].tolist() == ["scaling=standard"] * 2 + ["scaling=unit"] * 2
    assert (
        frame["setting"].tolist()
        == ["positive=anywhere, first_maximum=False", "positive=first, first_maximum=True"] * 2
    )
    assert frame["normalised reward"].tolist() == [2, 2, 2.5, 3.25]
    assert frame["difference"].tolist()[1::2] == [0, 0.75]
    assert frame["difference"].isna().tolist() == [True, False] * 2
    half = 12.706204736 * math.sqrt(0.125) / math.sqrt(2)
    assert frame["difference_high"].iloc[-1] == pytest.approx(0.75 + half)
    assert any("STAND-IN" in note for note in table.notes)
    assert settings.tables(results, context) == []


def test_without_its_baseline_a_study_has_no_differences(fresh: HandMade):
    fresh.run(
        "study_scaling",
        "async-linucb",
        3,
        0,
        dataset="delicious",
        source="stand-in",
        parameters={"stream_scaling": "unit"},
        normalised_reward=2.0,
        communication=1.0,
    )
    results = read_results(fresh.uri)
    (table,) = studies.tables(results, make_context(results, fresh.folder / "data"))
    assert table.frame["normalised reward"].tolist() == [2.0]
    assert table.frame["setting"].tolist() == ["scaling=unit"]
    assert table.frame["difference"].isna().all()
