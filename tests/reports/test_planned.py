"""Reports and `fedbandit run --dry-run` agree on planned and finished runs."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest

from benchmark.execution.run_result import RunResult
from benchmark.plan.experiment import experiment_names, load_experiment, shipped_data_sets
from benchmark.plan.plan import RunOptions, make_plan
from benchmark.plan.runs import Run
from benchmark.records.record import RunRecord, record_of
from reports.read.planned import planned_runs, recorded_as
from tests.reports.conftest import once
from tests.reports.hand_made import write_data


@pytest.fixture(scope="session")
def all_data_sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def write(folder: Path) -> None:
        for name in shipped_data_sets():
            write_data(folder, name)

    return once(tmp_path_factory, "all_data_sets", write)


def as_recorded(runs: Sequence[Run]) -> pd.DataFrame:
    """Return the columns of a table of runs that identify configurations."""
    rows = []
    for run in runs:
        arms, dimension = (str(run.stream.settings()[name]) for name in ("arms", "dimension"))
        sizes = {"steps": "100", "clients": "5", "arms": arms, "dimension": dimension}
        record = record_of(run, RunResult(0, 0, "", facts=sizes))
        _, tags = record.to_mlflow()
        record = RunRecord.from_mlflow(tags, {}, run_id="", experiment=run.experiment)
        stream = record.stream
        row = (stream.name, record.method.name, record.configuration, stream.source, stream.fingerprint, record.seed)
        rows.append(row)
    return pd.DataFrame(rows, columns=["dataset", "algorithm", "configuration", "source", "fingerprint", "seed"])


@pytest.mark.parametrize("name", experiment_names())
def test_planned_and_recorded_runs_are_matched_one_to_one(
    name: str, all_data_sets: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FEDBANDIT_DATA", str(all_data_sets))
    experiment = load_experiment(name)
    profile = "quick" if "quick" in experiment.profiles else "paper"
    runs = make_plan([experiment], RunOptions(profile)).runs
    planned = planned_runs(experiment, profile, {run.stream.name for run in runs})
    assert len(planned) == len(runs)
    assert set(recorded_as(planned, as_recorded(runs))) == set(planned)
    without_one = runs[: len(runs) // 2] + runs[len(runs) // 2 + 1 :]
    assert len(planned.keys() - set(recorded_as(planned, as_recorded(without_one)))) == 1


def test_runs_with_options_of_their_streams_are_matched_one_to_one(
    tmp_path: Path, all_data_sets: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FEDBANDIT_DATA", str(all_data_sets))
    tables = ["dataset = 'lastfm'", *(f"dataset = 'lastfm'\n{option}" for option in OPTIONS)]
    tables += ["simulated = 'non-uniform'", "simulated = 'non-uniform'\nclients_drawn = 'zipf'\nexponent = 2"]
    streams = "".join(f"[[streams]]\n{table}\n" for table in tables)
    path = tmp_path / "options.toml"
    path.write_text(f"title = 'Options'\n{streams}[[algorithms]]\nname = 'random'\n[profiles.quick]\nseeds = 2\n")
    experiment = load_experiment(str(path))
    runs = make_plan([experiment], RunOptions()).runs
    planned = planned_runs(experiment, "quick")
    assert len(planned) == len(runs) == 2 * len(tables)
    for run in runs:
        (match,) = recorded_as(planned, as_recorded([run]))
        assert match in planned
    assert set(recorded_as(planned, as_recorded(runs))) == set(planned)


OPTIONS = ("negatives = 'popularity'", "repeats = 'once'", "order = 'shuffled'", "min_interactions = 5")


def test_a_parameter_that_was_added_after_a_run_was_recorded_has_its_default(
    all_data_sets: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("FEDBANDIT_DATA", str(all_data_sets))
    experiment = load_experiment("study_ties")
    planned = planned_runs(experiment, "quick")
    recorded = as_recorded(make_plan([experiment], RunOptions()).runs)
    recorded["configuration"] = [configuration.without("first_maximum") for configuration in recorded["configuration"]]
    matches = planned.keys() & set(recorded_as(planned, recorded))
    assert {dict(run.parameters)["first_maximum"] for run in matches} == {False}
    assert 2 * len(matches) == len(planned)
