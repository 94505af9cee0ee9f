"""What a method declares reaches plans, keys, records, figures and the page, without a change in any of our files."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from algorithms import AsyncLinUCBAM, Transfers
from algorithms.method import GAMMA, Front, MethodInfo, usual_style
from algorithms.registry import built_in_methods
from benchmark.plan.experiment import load_experiment
from benchmark.plan.plan import make_plan
from benchmark.plan.run_key import run_key
from benchmark.records.sweep_plan import FILE, plan_of
from benchmark.styles import distinct_styles, style
from reports.figures import fronts
from reports.labels import Methods
from reports.read.results import SWEEPS, read_results
from reports.tables import missing
from reports.write.table import Table
from tests.benchmark.test_list import install
from tests.benchmark.tiny_sweeps import Command, fedbandit, rows, write_tiny
from tests.reports.made_up import made_up, run
from tests.reports.whole_page import unpacked

pytestmark = pytest.mark.slow

PATIENT = """
from algorithms import Transfers
from algorithms.method import Front

class Patient:
    label = "Patient"
    reference = "this test"
    front = Front("pace", "κ", (9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.5, 2.0, 1.7, 1.5, 1.0), landmarks={1.0: "always"})
    style = 29

    def __init__(self, pace, bonus=0):
        self.pace, self.bonus, self.steps = pace, bonus, 0

    def choose(self, client, contexts, rng):
        return int(rng.integers(len(contexts)))

    def learn(self, client, context, reward):
        self.steps += 1
        return Transfers([client], [client]) if self.steps % int(self.pace) == 0 else Transfers()

    def skip(self, stream):
        return "it needs a larger dimension" if stream.dimension == 3 else None
"""
EXPERIMENT = """
title = "Pace"
streams = [
    { simulated = "uniform", steps = 300, clients = 10, arms = 5, dimension = 4 },
    { simulated = "non-uniform", steps = 300, clients = 10, arms = 5, dimension = 3 },
]
[[algorithms]]
name = "async-linucb"
gamma = "grid"
[[algorithms]]
name = "patient"
pace = "grid"
[profiles.quick]
seeds = 2
grid = [2, 4]
values = { gamma = [1, inf], pace = [1] }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store, in which an installed package provides a method."""
    folder = tmp_path_factory.mktemp("patient")
    write_tiny(folder)
    install(folder, "patient_package", PATIENT, "patient = patient_package:Patient")
    (folder / "pace.toml").write_text(EXPERIMENT)
    return folder


@pytest.fixture(scope="module")
def sweep_output(folder: Path) -> str:
    done = fedbandit(folder, "run", "pace.toml", "--jobs", "1", PYTHONPATH=str(folder))
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def parameter(folder: Path, name: str) -> set[str]:
    query = f"select p.value from params p join params a using (run_uuid) where p.key = '{name}' "
    return {value for (value,) in rows(folder, query + "and a.key = 'algorithm' and a.value = 'patient'")}


def test_a_method_of_another_package_has_its_own_symbol_and_style_everywhere(
    folder: Path, sweep_output: str, fedbandit_here: Command
):
    assert re.search(r"[\d.,]+ κ=\d", sweep_output)
    assert parameter(folder, "pace") == parameter(folder, "threshold") == {"1", "2", "4"}
    look = style(29)
    colours = rows(folder, "select value from tags where key = 'mlflow.runColor'")
    assert {colour for (colour,) in colours} == {look.colour, style(0).colour}
    (view,) = rows(
        folder,
        "select value from experiment_tags join experiments using (experiment_id) "
        "where key = 'mlflow.sharedViewState.fedbandit-communication' and name = 'pace'",
    )
    assert "log10 of messages sent" in view[0]

    # The report is made where the package is not installed: everything comes from the records.
    done = fedbandit_here(folder, "report", "pace")
    assert done.returncode == 0, done.stderr
    report = folder / "reports/output/pace"
    results = read_results(f"sqlite:///{folder / 'mlflow.db'}")
    figures = {figure.name: figure for figure in fronts.figures(results)}
    figure = figures["pace_simulated-uniform"]
    (panel,) = figure.plain_panels
    curve = next(series for series in panel.series if series.label == "Patient  (κ)")
    assert (curve.colour, curve.marker) == (look.colour, look.marker)
    assert [lines[1] for lines in curve.hover] == ["κ = 1", "κ = 2", "κ = 4"]
    plot = figure.interactive
    assert plot is not None
    assert look.symbol in [trace["marker"]["symbol"] for trace in plot["data"] if "marker" in trace]
    assert "<b>κ=1</b>" in [note["text"] for note in plot["layout"]["annotations"]]
    page = (report / "report.html").read_text()
    plots = unpacked(page, "plots")
    for text in ("Patient  (κ)", look.colour, "κ=1"):
        assert text in plots or json.dumps(text)[1:-1] in plots
    assert "Patient" in (report / "tables/settings_pace_simulated-uniform.csv").read_text()


def test_a_stream_in_which_a_method_takes_no_part_is_shown_with_the_reason(folder: Path, sweep_output: str):
    assert "SKIPPED: patient on simulated-non-uniform: it needs a larger dimension" in sweep_output
    datasets = parameter(folder, "dataset")
    assert datasets == {"simulated-uniform"}


def test_a_report_names_what_is_skipped_and_does_not_count_it_as_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    def missing_table(folder: Path) -> Table:
        """The table of a report after a sweep of figure c that finished one run."""
        folder.mkdir()
        (folder / FILE).write_text(plan_of(make_plan([load_experiment("fig_c")]), "fig_c").to_json())
        results = made_up([run("async-linucb", 5.0, experiment="fig_c", dataset="simulated-heterogeneous-4")])
        sweeps = pd.DataFrame([("fig_c", "quick", "FINISHED", "sweep", str(folder))], columns=[*SWEEPS])
        return missing.tables(replace(results, sweeps=sweeps, selected=("fig_c",)))[0]

    before = missing_table(tmp_path / "before")
    monkeypatch.setattr(AsyncLinUCBAM, "skip", lambda self, stream: f"{stream.arms} arms are too many")
    after = missing_table(tmp_path / "after")
    skipped = [note for note in after.notes if note.startswith("fig_c: Async-LinUCB-AM on ")]
    assert skipped
    assert all(note.endswith(" is skipped: 25 arms are too many.") for note in skipped)
    assert "Async-LinUCB-AM" in before.frame["missing"].iloc[0]
    assert "Async-LinUCB-AM" not in after.frame["missing"].iloc[0]
    plan = make_plan([load_experiment("fig_a")])
    assert plan.skipped == {}


def test_the_key_of_a_run_depends_on_a_version_above_one_and_on_added_parameters_that_were_changed():
    key = run_key("stream", "a", {"gamma": 2.0}, 0)
    assert run_key("stream", "a", {"gamma": 2.0}, 0, version=1) == key
    assert run_key("stream", "a", {"gamma": 2.0}, 0, version=2) != key
    assert run_key("stream", "a", {"gamma": 2.0, "new": 5}, 0, added={"new": 5.0}) == key
    assert run_key("stream", "a", {"gamma": 2.0, "new": 6}, 0, added={"new": 5}) != key
    assert run_key("stream", "a", {"gamma": 2.0, "new": 5}, 0) != key


class Plain:
    """A plain class, which uses names of declarations for something else."""

    label = 3
    tuning = "none"

    def __init__(self, first: int = 0, gamma: float = 1.0, threshold: float = 2.0) -> None:
        self.first, self.gamma, self.threshold = first, gamma, threshold

    def choose(self, client: int, contexts: Any, rng: Any) -> int:
        return self.first

    def learn(self, client: int, context: Any, reward: float) -> Transfers:
        return Transfers()


def test_a_plain_class_is_declared_by_its_constructor():
    info = MethodInfo.of(Plain, "mine:Plain")
    assert (info.label, info.front, info.tuned) == ("Plain (mine)", GAMMA, ())
    assert info.parameters == ("first", "gamma", "threshold")
    assert (info.role, info.version, info.style) == ("contender", 1, usual_style("mine:Plain"))


@pytest.mark.parametrize(
    ("attribute", "value", "message"),
    [
        ("front", Front("pace", "κ", (1.0,)), "mine must take the parameter pace that it declares"),
        ("added", {"pace": 1}, "mine must take the parameter pace that it declares"),
        ("variants", {"at once": {"pace": 1}}, "mine must take the parameter pace that it declares"),
        ("style", 48, "style of mine must be an integer from 0 to 47, got 48"),
    ],
)
def test_a_contradictory_declaration_is_refused(attribute: str, value: Any, message: str):
    with pytest.raises(ValueError, match=message):
        MethodInfo.of(type("Mine", (Plain,), {attribute: value}), "mine")


def test_the_recorded_part_is_read_as_it_was_written():
    for info in built_in_methods().values():
        recorded = MethodInfo.from_json(json.loads(json.dumps(info.to_json())))
        assert recorded == info.as_recorded()
        assert (recorded.label, recorded.style, recorded.role) == (info.label, info.style, info.role)
        assert (recorded.parameter, recorded.symbol, recorded.ends) == (info.parameter, info.symbol, info.ends)
        assert recorded.landmarks == info.landmarks
    assert Methods().info("async-linucb").symbol == "γ"
    assert Methods().info("sync-linucb").symbol == "D"


def test_a_style_follows_from_the_name_alone_and_never_from_other_methods():
    names = [f"package{number}:Method" for number in range(40)]
    alone = {name: usual_style(name) for name in names}
    assert min(alone.values()) >= 24
    taken = {info.style for info in built_in_methods().values()}
    assert not taken & {*alone.values()}
    assert len({*alone.values()}) < len(names), "some must have the same number for this test to mean anything"
    together = distinct_styles(alone.items())
    assert len({*together.values()}) == len(names)
    assert together == distinct_styles(reversed([*alone.items()]))
    first = min(name for name in names if alone[name] == alone[names[0]])
    assert distinct_styles([(first, alone[first]), ("zzz", alone[first])])[first] == style(alone[first])
