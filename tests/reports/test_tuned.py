"""The paper's claims with a tuned α: chosen on some seeds, judged on others."""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.plan.experiment import load_experiment
from benchmark.records.record import RunRecord
from benchmark.results.frames import run_frame
from reports.figures import fronts, over_time
from reports.paper import choose_alpha, choosing_seeds, grid_of, tuned_experiment, tuned_settings
from reports.read.results import Results, read_results
from reports.tables import claims, settings
from tests.benchmark.statistics.shipped import CHOOSING_SEEDS
from tests.reports.hand_made import HandMade
from tests.reports.judged import ALONE, THEIRS, rows
from tests.reports.made_up import made_up, run
from tests.tools.committed import read_committed, write

pytestmark = pytest.mark.slow

THEIRS_TUNED = f"{THEIRS}, α tuned"
FREQUENT, NEVER = 1.01, math.inf
GRID = (0.0, 0.01, 0.1, 0.3)
CHOOSING, REPORTING = tuple(CHOOSING_SEEDS), range(10)

Reward = Callable[[float, float, int], float]


def reversed_by_tuning(gamma: float, alpha: float, seed: int) -> float:
    """At α = 0.3 no communication is ahead by 1; each at its best α, it is behind by 1."""
    noise = seed % 7 / 100 * (1 if math.isinf(gamma) else 2)
    best = {FREQUENT: {0.0: 1.0, 0.01: 5.0}, NEVER: {0.1: 4.0}}[gamma]
    return best.get(alpha, 2.0 if gamma == FREQUENT else 3.0) + noise


def runs_with(reward: Reward, seeds: Iterable[int], stream: str = "lastfm-tagged", **more: Any) -> list[RunRecord]:
    return [
        run(
            "async-linucb",
            gamma,
            seed,
            dataset=stream,
            settings={"alpha": alpha, "ridge": 0.2},
            normalised_reward=reward(gamma, alpha, seed),
            **{"experiment": tuned_experiment(), **more},
        )
        for gamma in (FREQUENT, NEVER)
        for alpha in GRID
        for seed in seeds
    ]


def report_of(tuning: list[RunRecord], fixed: list[RunRecord] | None = None) -> Results:
    results = replace(made_up(fixed or []), tuning=run_frame(tuning))
    return replace(results, selected=["fig_d", "fig_e", "user_groups", tuned_experiment()])


def cell(results: Results, column: str, claim: str = ALONE) -> str:
    (table,) = claims.matrix_tables(results)
    found = rows(table, claim)
    return str(found.loc[found["place"].str.contains("figure d"), column].iloc[0])


def test_tuning_can_reverse_a_direction():
    fixed = [
        each
        for each in runs_with(reversed_by_tuning, REPORTING, experiment="fig_d")
        if each.method.parameters["alpha"] == 0.3
    ]
    results = report_of(runs_with(reversed_by_tuning, (*CHOOSING, *REPORTING)), fixed)
    assert cell(results, THEIRS) == "reproduced"
    assert cell(results, THEIRS_TUNED) == "opposite"
    (table,) = claims.list_tables(results)
    found = rows(table, ALONE)
    found = found[found["data"].str.startswith("LastFM, tagging")]
    assert found["kind"].tolist() == ["direction", "direction, α tuned"]
    assert found["seeds"].tolist() == [10, 10]
    assert found["remark"].iloc[1].endswith("; α: 0.1 at γ=∞, 0.01 at γ=1.01")


def test_alpha_is_chosen_on_the_seeds_for_choosing_alone():
    def misleading(gamma: float, alpha: float, seed: int) -> float:
        best = 0.01 if seed in CHOOSING_SEEDS else 0.1  # on report seeds another value is far better
        return 1 + (1.0 if alpha == best else 0.0) + 100 * (alpha == 0.1 and seed not in CHOOSING_SEEDS) + seed / 1e6

    runs = run_frame(runs_with(misleading, (*CHOOSING, *REPORTING)))
    assert {setting.alpha for setting in tuned_settings(runs)} == {0.01}
    for setting in tuned_settings(runs):
        assert setting.runs is not None
        assert set(setting.runs["seed"]) == set(REPORTING)
        assert setting.score == pytest.approx(2, abs=0.1)


def test_runs_on_report_seeds_are_refused_for_choosing():
    runs = run_frame(runs_with(reversed_by_tuning, (*CHOOSING, 0)))
    one = runs[runs["threshold"] == FREQUENT]
    with pytest.raises(ValueError, match="seeds for choosing must be from 10000 to 10009, got 0"):
        choose_alpha(one, GRID, CHOOSING)
    choice, _ = choose_alpha(one[one["seed"] != 0], GRID, CHOOSING)
    assert choice is not None
    assert choice.configuration == "0.01"


def test_a_choice_at_the_edge_of_the_grid_is_marked():
    def better_with_more(gamma: float, alpha: float, seed: int) -> float:
        return alpha + (1 + seed / 1e6 if math.isinf(gamma) else 0)

    results = report_of(runs_with(better_with_more, (*CHOOSING, *REPORTING)))
    assert cell(results, THEIRS_TUNED) == "reproduced †"
    (table,) = claims.tuned_tables(results)
    assert table.frame["α"].tolist() == ["0.3†", "0.3†"]


def test_missing_runs_on_choosing_seeds_are_named_in_the_cell():
    tuning = [
        each
        for each in runs_with(reversed_by_tuning, (*CHOOSING, *REPORTING))
        if (each.seed, each.method.parameters["alpha"], each.method.front_number) != (10002, 0.1, NEVER)
    ]
    text = cell(report_of(tuning), THEIRS_TUNED)
    assert text == (
        "not checkable here: Async-LinUCB at γ=∞: 1 run on seeds for choosing missing, such as α=0.1 on seed 10002"
    )
    text = cell(report_of(runs_with(reversed_by_tuning, REPORTING)), THEIRS_TUNED)
    assert f"{len(CHOOSING) * len(GRID)} runs on seeds for choosing missing" in text
    text = cell(report_of(runs_with(reversed_by_tuning, CHOOSING)), THEIRS_TUNED)
    assert text == "not checkable here: Async-LinUCB at γ=∞: no run with the chosen α=0.1 on a report seed"


def test_without_any_tuned_run_the_matrix_has_no_such_columns_and_says_how_to_get_them():
    fixed = runs_with(reversed_by_tuning, REPORTING, experiment="fig_d")
    results = made_up(fixed)
    (table,) = claims.matrix_tables(results)
    assert not [name for name in table.frame if "tuned" in str(name)]
    assert "`fedbandit run claims_tuned --profile paper`" in table.caption
    assert claims.tuned_tables(results) == []


def test_tuned_directions_are_a_family_of_their_own():
    fixed = runs_with(reversed_by_tuning, REPORTING, experiment="fig_d")
    tuning = runs_with(reversed_by_tuning, (*CHOOSING, *REPORTING))
    alone, both = (claims.list_tables(report_of(runs, fixed))[0].frame for runs in ([], tuning))
    kept = both[both["kind"] != "direction, α tuned"].reset_index(drop=True)
    assert len(kept) < len(both)
    assert kept.astype(str).equals(alone.astype(str))


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory, empty_store: Path) -> Results:
    """A store with runs on LastFM of figure d and of the experiment with a tuned α."""
    store = HandMade(tmp_path_factory.mktemp("tuned"), empty_store)
    for gamma in (FREQUENT, NEVER):
        for seed in (0, 1):
            store.run("fig_d", "async-linucb", gamma, seed, dataset="lastfm", source="mirror", normalised_reward=2.0)
        for alpha in GRID:
            for seed in (*CHOOSING, 0, 1):
                store.run(
                    tuned_experiment(),
                    "async-linucb",
                    gamma,
                    seed,
                    dataset="lastfm",
                    source="mirror",
                    parameters={"alpha": str(alpha)},
                    normalised_reward=2 + alpha,
                )
    return read_results(store.uri)


def test_tuned_runs_are_in_no_other_table_or_figure(stored: Results):
    assert len(stored.tuning) == 2 * len(GRID) * (len(CHOOSING) + 2)
    assert stored.choosing == 2 * len(GRID) * len(CHOOSING)
    assert set(stored.runs["experiment"]) == {"fig_d"}
    assert set(stored.all_runs["seed"]) == {0, 1}
    assert not [table.name for table in settings.tables(stored) if "tuned" in table.name]
    for maker in (fronts, over_time):
        assert not [figure.name for figure in maker.figures(stored) if "tuned" in figure.name]


def test_the_records_rebuild_the_tuned_claims_without_the_store(stored: Results, tmp_path: Path):
    write(stored, tmp_path)
    again = read_committed(tmp_path)
    assert len(again.tuning) == len(stored.tuning)
    assert len(again.runs) == len(stored.runs)
    for maker in (claims.matrix_tables, claims.list_tables, claims.tuned_tables):
        before, after = (maker(each)[0].frame.astype(str) for each in (stored, again))
        assert after.equals(before)


def test_the_experiment_has_the_protocols_grid_and_only_the_papers_ridge():
    experiment = load_experiment(tuned_experiment())
    assert choosing_seeds() == CHOOSING
    for entry in experiment.algorithms:
        assert grid_of(entry.name) == GRID
        assert entry.parameters["ridge"] == 0.2
    assert experiment.is_tuned
    assert not load_experiment("fig_d").is_tuned
