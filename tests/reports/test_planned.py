"""The plan that is stored with a sweep has all runs that `fedbandit run --dry-run` lists."""

from pathlib import Path

import pytest

from benchmark.plan.experiment import experiment_names, load_experiment, shipped_data_sets
from benchmark.plan.plan import RunOptions, make_plan
from benchmark.records.sweep_plan import SweepPlan, merged, plan_of
from tests.reports.conftest import once
from tests.reports.hand_made import write_data


@pytest.fixture(scope="session")
def all_data_sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def write(folder: Path) -> None:
        for name in shipped_data_sets():
            write_data(folder, name)

    return once(tmp_path_factory, "all_data_sets", write)


@pytest.mark.parametrize("name", experiment_names())
def test_a_stored_plan_has_every_planned_run_once(name: str, all_data_sets: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FEDBANDIT_DATA", str(all_data_sets))
    experiment = load_experiment(name)
    plan = make_plan([experiment], RunOptions("quick" if "quick" in experiment.profiles else "paper"))
    stored = plan_of(plan, name)
    assert sorted(stored.runs.values()) == sorted(run.key for run in plan.runs)
    assert SweepPlan.from_json(stored.to_json()) == stored
    assert plan_of(plan, "another").runs == {}


def test_streams_with_other_options_are_other_settings_and_the_latest_key_of_a_run_counts(
    tmp_path: Path, all_data_sets: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FEDBANDIT_DATA", str(all_data_sets))
    options = ("negatives = 'popularity'", "repeats = 'once'", "order = 'shuffled'", "min_interactions = 5")
    tables = ["dataset = 'lastfm'", *(f"dataset = 'lastfm'\n{option}" for option in options)]
    tables += ["simulated = 'non-uniform'", "simulated = 'non-uniform'\nclients_drawn = 'zipf'\nexponent = 2"]
    streams = "".join(f"[[streams]]\n{table}\n" for table in tables)
    path = tmp_path / "options.toml"
    path.write_text(f"title = 'Options'\n{streams}[[algorithms]]\nname = 'random'\n[profiles.quick]\nseeds = 2\n")
    plan = make_plan([load_experiment(str(path))])
    stored = plan_of(plan, "options")
    assert len(stored.runs) == len(plan.runs) == 2 * len(tables)
    later = SweepPlan({run: f"later {key}" for run, key in [*stored.runs.items()][:1]}, {})
    assert sum(key.startswith("later") for key in merged([stored, later]).runs.values()) == 1
    assert len(merged([stored, later]).runs) == len(stored.runs)
