"""The paper's claims with a tuned α: chosen on some seeds, judged on others."""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmark.charts.with_matplotlib import to_matplotlib
from benchmark.plan.experiment import load_experiment
from benchmark.plan.plan import find_experiments
from benchmark.records.record import RunRecord
from benchmark.records.sweep_plan import PlannedSetting, SweepPlan
from benchmark.results.frames import run_frame
from reports.figures import claims as claims_figure
from reports.figures import fronts, over_time
from reports.read.context import Context, make_context
from reports.read.results import Results, read_results
from reports.read.tuned import choose_alpha, choosing_seeds, grid_of, tuned_experiment, tuned_settings
from reports.tables import claims, missing, settings
from tests.benchmark.statistics.shipped import CHOOSING_SEEDS
from tests.reports.hand_made import HandMade
from tests.reports.judged import ALONE, THEIRS, rows
from tests.reports.made_up import made_up, run
from tests.tools.committed import read_committed, write
from tests.tools.renew import filled

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


def report_of(tuning: list[RunRecord], fixed: list[RunRecord] | None = None) -> tuple[Results, Context]:
    results = replace(made_up(fixed or [])[0], tuning=run_frame(tuning))
    return results, make_context(results, experiments=["fig_d", "fig_e", "user_groups", tuned_experiment()])


def cell(results: Results, context: Context, column: str, claim: str = ALONE) -> str:
    (table,) = claims.matrix_tables(results, context)
    found = rows(table, claim)
    return str(found.loc[found["place"].str.contains("figure d"), column].iloc[0])


def test_tuning_can_reverse_a_direction():
    fixed = [
        each
        for each in runs_with(reversed_by_tuning, REPORTING, experiment="fig_d")
        if each.method.parameters["alpha"] == 0.3
    ]
    results, context = report_of(runs_with(reversed_by_tuning, (*CHOOSING, *REPORTING)), fixed)
    assert cell(results, context, THEIRS) == "reproduced"
    assert cell(results, context, THEIRS_TUNED) == "opposite"
    (table,) = claims.list_tables(results, context)
    found = rows(table, ALONE)
    found = found[found["data"].str.startswith("LastFM, tagging")]
    assert found["kind"].tolist() == ["direction", "direction, α tuned"]
    assert found["seeds"].tolist() == [10, 10]
    assert found["remark"].iloc[1].endswith("; α: 0.1 at γ=∞, 0.01 at γ=1.01")
    assert "Directions: 1 reproduced" in table.caption
    assert "Directions with a tuned α: 1 opposite" in table.caption


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

    results, context = report_of(runs_with(better_with_more, (*CHOOSING, *REPORTING)))
    assert cell(results, context, THEIRS_TUNED) == "reproduced †"
    (table,) = claims.tuned_tables(results, context)
    assert table.frame["α"].tolist() == ["0.3†", "0.3†"]


def test_missing_runs_on_choosing_seeds_are_named_in_the_cell():
    tuning = [
        each
        for each in runs_with(reversed_by_tuning, (*CHOOSING, *REPORTING))
        if (each.seed, each.method.parameters["alpha"], each.method.front_number) != (10002, 0.1, NEVER)
    ]
    text = cell(*report_of(tuning), THEIRS_TUNED)
    assert text == (
        "not checkable here: Async-LinUCB at γ=∞: 1 run on seeds for choosing missing, such as α=0.1 on seed 10002"
    )
    text = cell(*report_of(runs_with(reversed_by_tuning, REPORTING)), THEIRS_TUNED)
    assert f"{len(CHOOSING) * len(GRID)} runs on seeds for choosing missing" in text
    text = cell(*report_of(runs_with(reversed_by_tuning, CHOOSING)), THEIRS_TUNED)
    assert text == "not checkable here: Async-LinUCB at γ=∞: no run with the chosen α=0.1 on a report seed"


def test_missing_runs_of_other_settings_do_not_matter():
    tuning = runs_with(reversed_by_tuning, (*CHOOSING, *REPORTING))
    tuning.append(replace(tuning[0], method=replace(tuning[0].method, parameters={"alpha": 0.1, "gamma": 3.0})))
    assert cell(*report_of(tuning), THEIRS_TUNED) == "opposite"


def test_without_any_tuned_run_the_matrix_has_no_such_columns_and_says_how_to_get_them():
    fixed = runs_with(reversed_by_tuning, REPORTING, experiment="fig_d")
    results, _ = made_up(fixed)
    (table,) = claims.matrix_tables(results, make_context(results))
    assert not [name for name in table.frame if "tuned" in str(name)]
    assert "`fedbandit run claims_tuned --profile paper`" in table.caption
    assert claims.tuned_tables(results, make_context(results)) == []


def test_tuned_directions_are_a_family_of_their_own():
    fixed = runs_with(reversed_by_tuning, REPORTING, experiment="fig_d")
    tuning = runs_with(reversed_by_tuning, (*CHOOSING, *REPORTING))
    alone, both = (claims.list_tables(*report_of(runs, fixed))[0].frame for runs in ([], tuning))
    kept = both[both["kind"] != "direction, α tuned"].reset_index(drop=True)
    assert len(kept) < len(both)
    assert kept.astype(str).equals(alone.astype(str))


def test_claims_about_simulations_numbers_and_the_embedding_have_no_tuned_cell():
    results, context = report_of(runs_with(reversed_by_tuning, (*CHOOSING, *REPORTING)))
    (table,) = claims.matrix_tables(results, make_context(results))
    frame = table.frame.set_index("claim")[THEIRS_TUNED]
    without = frame[frame == "–"].index
    assert {claim for claim in frame.index if "embedding" in claim or "orthogonal" in claim} <= {*without}
    assert frame[[claim for claim in frame.index if "d_g" in claim]].eq("–").all()
    assert frame[[claim for claim in frame.index if "numbers that the text states" in claim]].eq("–").all()
    assert not {*(each.kind for each in context.judged)} - {"direction", "direction, α tuned", "number", "count"}


def test_the_picture_has_six_columns():
    results, context = report_of(runs_with(reversed_by_tuning, (*CHOOSING, *REPORTING)))
    (figure,) = claims_figure.figures(results, context)
    texts = [text.get_text() for text in to_matplotlib(figure).axes[0].texts]
    assert sum(text.endswith("\nα tuned") for text in texts) == 3
    assert "✗ opposite" in texts


@pytest.fixture
def stored(fresh: HandMade) -> Results:
    """A store with runs on LastFM of figure d and of the experiment with a tuned α."""
    for gamma in (FREQUENT, NEVER):
        for seed in (0, 1):
            fresh.run("fig_d", "async-linucb", gamma, seed, dataset="lastfm", source="mirror", normalised_reward=2.0)
        for alpha in GRID:
            for seed in (*CHOOSING, 0, 1):
                fresh.run(
                    tuned_experiment(),
                    "async-linucb",
                    gamma,
                    seed,
                    dataset="lastfm",
                    source="mirror",
                    parameters={"alpha": str(alpha)},
                    normalised_reward=2 + alpha,
                )
    return read_results(fresh.uri)


def test_tuned_runs_are_in_no_other_table_or_figure(stored: Results):
    assert len(stored.tuning) == 2 * len(GRID) * (len(CHOOSING) + 2)
    assert stored.choosing == 2 * len(GRID) * len(CHOOSING)
    assert set(stored.runs["experiment"]) == {"fig_d"}
    assert set(stored.all_runs["seed"]) == {0, 1}
    context = make_context(stored)
    assert not [table.name for table in settings.tables(stored, context) if "tuned" in table.name]
    for maker in (fronts, over_time):
        assert not [figure.name for figure in maker.figures(stored, context) if "tuned" in figure.name]


def test_missing_runs_of_both_kinds_of_seeds_are_counted(fresh: HandMade, stored: Results):
    setting, keys = PlannedSetting("lastfm", "async-linucb", "5", "gamma", ()), [*stored.tuning["key"], "missing"]
    plan = SweepPlan({(setting, seed): key for seed, key in enumerate(keys)}, {})
    fresh.sweep(tuned_experiment(), "paper", plan)
    results = read_results(fresh.uri)
    table = missing.tables(results, make_context(results))[0].frame.set_index("experiment")
    assert table.loc[tuned_experiment(), ["planned", "finished"]].tolist() == [len(keys), len(stored.tuning)]


def test_the_records_rebuild_the_tuned_claims_without_the_store(stored: Results, tmp_path: Path):
    context = make_context(stored)
    write(stored, context, tmp_path)
    again, about = read_committed(tmp_path)
    assert len(again.tuning) == len(stored.tuning)
    assert len(again.runs) == len(stored.runs)
    for maker in (claims.matrix_tables, claims.list_tables, claims.tuned_tables):
        before, after = (maker(*each)[0].frame.astype(str) for each in ((stored, context), (again, about)))
        assert after.equals(before)


def test_tuned_values_can_be_written_into_the_text():
    results, context = report_of(runs_with(reversed_by_tuning, (*CHOOSING, *REPORTING)))
    text = f"[[verdict tuned: LastFM, tagging events (as in the paper): {ALONE}]]"
    assert filled(text, results, context).startswith("opposite")
    assert filled(text.replace(" tuned", ""), results, context).startswith("not checkable here")


def test_the_experiment_has_the_protocols_grid_and_only_the_papers_ridge():
    experiment = load_experiment(tuned_experiment())
    assert choosing_seeds() == CHOOSING
    for entry in experiment.algorithms:
        assert grid_of(entry.name) == GRID
        assert entry.parameters["ridge"] == 0.2
    assert experiment.is_tuned
    assert not load_experiment("fig_d").is_tuned


def test_experiments_without_the_profile_are_left_out_unless_they_are_named():
    names = {experiment.name for experiment in find_experiments([], "quick")}
    assert tuned_experiment() not in names
    assert "fig_d" in names
    assert tuned_experiment() in {experiment.name for experiment in find_experiments([], "paper")}
    assert [experiment.name for experiment in find_experiments([tuned_experiment()], "quick")] == [tuned_experiment()]
    assert len(find_experiments([], "nonsense")) > 10  # the plan names the profile as an error
