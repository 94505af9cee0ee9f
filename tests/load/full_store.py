"""A store with thousands of finished runs: one real run, copied with SQL to the keys of all other runs."""

import sqlite3
import uuid
from pathlib import Path

from algorithms.hyperparameters import number_text
from benchmark.execution.run_result import RunResult
from benchmark.plan.experiment import load_experiment
from benchmark.plan.plan import RunOptions, make_plan
from benchmark.plan.runs import Run
from benchmark.records.provenance import provenance
from benchmark.records.record import record_of
from benchmark.records.tags import KEY, RECORD
from benchmark.ui.server import prepare_pages
from tests.benchmark.tiny_sweeps import fedbandit

NAME = "fig_a"
"""The name of a built-in experiment, so that `fedbandit list` counts its runs; its file is replaced here."""
EXPERIMENT = """
title = "Figure a, many times"
streams = [{ simulated = "uniform", steps = 300, clients = 20, arms = 5, dimension = 4 }]
algorithms = [{ name = "async-linucb", gamma = "grid" }, { name = "sync-linucb", threshold = "grid" }]
[profiles.quick]
seeds = SEEDS
grid = { start = 1e-2, stop = 1e3, points = 50 }
"""
RUNS_PER_SEED = 100
RUN_COLUMNS = {"params": "run_uuid", "tags": "run_uuid", "metrics": "run_uuid", "latest_metrics": "run_uuid"}


def make_full_store(folder: Path, runs: int) -> int:
    """Fill the store in a folder, with its pages as after a sweep, and return its number of runs."""
    experiment = folder / f"{NAME}.toml"
    experiment.write_text(EXPERIMENT.replace("SEEDS", str(max(runs // RUNS_PER_SEED, 1))))
    one_run = ("--seeds", "1", "--method", "async-linucb[gamma=1.01]", "--jobs", "1")
    done = fedbandit(folder, "run", experiment.name, *one_run)
    if done.returncode:
        raise RuntimeError(done.stderr)
    plan = make_plan([load_experiment(str(experiment))], RunOptions())
    connection = sqlite3.connect(folder / "mlflow.db")
    with connection:
        (template, done_key) = connection.execute(f"select run_uuid, value from tags where key = '{KEY}'").fetchone()
        _copy(connection, template, [run for run in plan.runs if run.key != done_key])
    connection.close()
    prepare_pages(f"sqlite:///{folder / 'mlflow.db'}")
    return len(plan.runs)


def _copy(connection: sqlite3.Connection, template: str, runs: list[Run]) -> None:
    connection.execute("create temp table more (id primary key, key, name, algorithm, threshold, seed, record)")
    rows = [
        (
            uuid.uuid4().hex,
            run.key,
            run.name,
            run.info.name,
            number_text(_threshold(run)),
            str(run.seed),
            _tag(run),
        )
        for run in runs
    ]
    connection.executemany("insert into more values (?, ?, ?, ?, ?, ?, ?)", rows)
    _insert(connection, "runs", template, {"run_uuid": "more.id", "name": "more.name"})
    for table, owner in RUN_COLUMNS.items():
        _insert(connection, table, template, {owner: "more.id"})
    _insert(connection, "inputs", template, {"destination_id": "more.id", "input_uuid": "lower(hex(randomblob(16)))"})
    for column in ("algorithm", "threshold", "seed"):
        connection.execute(
            f"update params set value = (select more.{column} from more where more.id = run_uuid) "
            f"where key = '{column}' and run_uuid in (select id from more)"
        )
    for key, column in ((KEY, "key"), ("mlflow.runName", "name"), (RECORD, "record")):
        connection.execute(
            f"update tags set value = (select more.{column} from more where more.id = run_uuid) "
            f"where key = '{key}' and run_uuid in (select id from more)"
        )
    connection.execute(
        "update latest_metrics set value = abs(random() % 1000000) "
        "where key in ('regret', 'communication') and run_uuid in (select id from more)"
    )


def _insert(connection: sqlite3.Connection, table: str, template: str, new_values: dict[str, str]) -> None:
    """Copy the rows of the template in a table for each further run, with new values in some columns."""
    columns = [column[1] for column in connection.execute(f"pragma table_info({table})")]
    owner = next(iter(new_values))
    values = ", ".join(new_values.get(column, f"old.{column}") for column in columns)
    query = f"insert into {table} ({', '.join(columns)}) select {values} from {table} old, more where old.{owner} = ?"
    connection.execute(query, (template,))


def _tag(run: Run) -> str:
    """Return the record of a run as the store has it."""
    sizes = {"steps": "300", "clients": "20", "arms": "5", "dimension": "4"}
    return record_of(run, RunResult(0, 0, "", facts=sizes), provenance()).to_mlflow()[1][RECORD]


def _threshold(run: Run) -> float:
    return float(run.threshold)
