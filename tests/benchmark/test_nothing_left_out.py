"""A plan never leaves out in silence what the user asked for: it says so, or it refuses."""

from pathlib import Path
from typing import Any

import pytest

from benchmark.board.entries import board_filters
from benchmark.plan.experiment import load_experiment
from benchmark.plan.method_names import parse_filter
from benchmark.plan.plan import Plan, RunOptions, make_plan
from benchmark.protocol import load_protocol
from tests.benchmark.tiny_sweeps import Command, empty_database

STREAMS = "streams = [{ simulated = 'uniform', steps = 40, clients = 5, arms = 3, dimension = 2ONLY }]"
MORE = "{ simulated = 'non-uniform', steps = 40, clients = 5, arms = 3, dimension = 2"
TEXT = f"""
title = "Own"
{STREAMS}
[[algorithms]]
name = "sync-linucb"
threshold = [1.0]
[profiles.quick]
seeds = 1
VALUES
"""


class Base:
    def choose(self, client: int, contexts: Any, rng: Any) -> int:
        return 0

    def learn(self, client: int, context: Any, reward: float) -> None:
        return None


class WithDefault(Base):
    def __init__(self, gamma: float = 5.0) -> None:
        self.gamma = gamma


class WithoutDefault(Base):
    def __init__(self, gamma: float) -> None:
        self.gamma = gamma


def experiment(folder: Path, name: str = "own", values: str = "", only: str = "", **changes: str) -> str:
    text = TEXT.replace("VALUES", values).replace("ONLY", only)
    for old, new in changes.items():
        text = text.replace(old, new)
    (folder / f"{name}.toml").write_text(text)
    return str(folder / f"{name}.toml")


def plan(*files: str, algorithms: tuple[str, ...] = (), **options: Any) -> Plan:
    filters = tuple(parse_filter(text.replace("MINE", __name__)) for text in algorithms)
    return make_plan([load_experiment(file) for file in files], RunOptions(methods=filters, **options))


def test_a_class_without_values_of_its_front_is_run_with_its_default_and_the_plan_says_so(tmp_path: Path):
    made = plan(experiment(tmp_path), algorithms=("MINE:WithDefault",))
    own = [run for run in made.runs if "WithDefault" in run.info.name]
    assert [run.parameters for run in own] == [{"gamma": 5.0}]
    assert made.notices == (
        f"own: {__name__}:WithDefault is run with its default gamma, because profile quick has no values of it",
    )


def test_a_class_without_values_and_without_a_default_is_refused(tmp_path: Path):
    with pytest.raises(ValueError, match=r"^profile quick of own has no values of gamma, and .*Default has no"):
        plan(experiment(tmp_path), algorithms=("MINE:WithoutDefault",))
    made = plan(experiment(tmp_path), algorithms=("MINE:WithoutDefault[gamma=[1,2]]",))
    assert [run.parameters for run in made.runs[1:]] == [{"gamma": 1}, {"gamma": 2}]
    assert made.notices == ()


def test_a_stream_without_values_of_a_class_is_named(tmp_path: Path):
    only = ", only = { threshold = [1.0] } }, " + MORE
    file = experiment(tmp_path, values="values.gamma = [1, inf]", only=only)
    made = plan(file, algorithms=("MINE:WithDefault",))
    assert len([run for run in made.runs if "WithDefault" in run.info.name]) == 2
    assert made.notices == (
        f"own: {__name__}:WithDefault is not run on simulated-uniform: it has no values of gamma there",
    )


def test_a_named_method_without_values_on_a_stream_is_named(tmp_path: Path):
    changes = {
        "threshold = [1.0]\n[prof": 'threshold = "grid"\n[[algorithms]]\nname = "async-linucb"\ngamma = 2\n[prof'
    }
    only = ", only = { gamma = [1.0] } }, " + MORE
    file = experiment(tmp_path, values="values.threshold = [1]", only=only, **changes)
    assert plan(file).notices == ()  # the file says so itself
    sentence = "own: sync-linucb is not run on simulated-uniform: it has no values of threshold there"
    assert plan(file, algorithms=("sync-linucb",)).notices == (sentence,)
    nothing = plan(file, algorithms=("sync-linucb",), datasets=("simulated-uniform",))
    assert (nothing.runs, nothing.notices) == ((), (sentence,))


def test_an_experiment_that_no_filter_matches_is_named(tmp_path: Path):
    first = experiment(tmp_path)
    second = experiment(
        tmp_path, "second", uniform="non-uniform", **{"sync-linucb": "random", "threshold = [1.0]\n": ""}
    )
    made = plan(first, second, algorithms=("random",))
    assert {run.experiment for run in made.runs} == {"second"}
    assert made.notices == ("LEFT OUT (no method random): own",)
    made = plan(first, second, datasets=("simulated-non-uniform",))
    assert {run.experiment for run in made.runs} == {"second"}
    assert made.notices == ("LEFT OUT (no stream simulated-non-uniform): own",)


def test_the_command_names_experiments_without_the_profile(tmp_path: Path, fedbandit_here: Command):
    done = fedbandit_here(tmp_path, "run", "--dry-run", "--method", "random", FEDBANDIT_DATA=str(tmp_path))
    assert "LEFT OUT (no profile quick): claims_tuned, further_methods\n" in done.stderr
    assert "LEFT OUT (no method random): fig_d, fig_e" in done.stderr


def test_the_command_does_not_blame_the_data_if_every_method_is_skipped(tmp_path: Path, fedbandit_here: Command):
    (tmp_path / "mlflow.db").write_bytes(empty_database().read_bytes())
    changes = {"sync-linucb": "async-linucb", "threshold = [1.0]": "gamma = 'grid'"}
    only = ", only = { gamma = [2] } }, " + MORE
    file = experiment(tmp_path, values="values.threshold = [1]", only=only, **changes)
    arguments = ["run", file, "--method", "async-linucb", "--dataset", "simulated-non-uniform"]
    done = fedbandit_here(tmp_path, *arguments)
    assert done.returncode == 1
    text = " ".join(done.stderr.split())
    assert text.startswith("own: async-linucb is not run on simulated-non-uniform: it has no values of gamma there")
    assert text.endswith("Nothing to run: see above.")
    assert fedbandit_here(tmp_path, *arguments, "--dry-run").returncode == 1


def test_a_board_refuses_a_reference_that_it_would_not_show():
    reference = load_protocol().comparison.reference
    with pytest.raises(ValueError, match="as-published is a reference with a front, which a board does not show"):
        board_filters([parse_filter("async-linucb-as-published")], reference)
    assert board_filters([parse_filter("most-popular")], reference)


def test_a_quick_board_names_the_task_that_it_plays(tmp_path: Path, fedbandit_here: Command):
    (tmp_path / "mlflow.db").write_bytes(empty_database().read_bytes())
    tasks = ["simulated-uniform", "simulated-zipf"]
    done = fedbandit_here(tmp_path, "board", *tasks, "--quick", "--dry-run", FEDBANDIT_DATA=str(tmp_path))
    assert "--quick plays one task, simulated-uniform; the others are left out" in done.stderr
