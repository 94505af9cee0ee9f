"""A small sweep, MLflow's pages, a report and a deletion, read back in both ways, with the MLflow that is installed.

Usage: python -m tests.newest
"""

import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

EXPERIMENT = """
title = "Small"
streams = [{ simulated = "uniform", steps = 300, clients = 5, arms = 4, dimension = 3 }]
algorithms = [{ name = "random" }, { name = "async-linucb", gamma = 2 }]
[profiles.quick]
seeds = 2
"""
RUNS, METHODS, SEEDS = 4, 2, 2


def require(condition: bool, what: str) -> None:
    """End with one line unless a condition holds."""
    if not condition:
        raise SystemExit(f"tests.newest: {what}")


def fedbandit(*arguments: str) -> str:
    """Run a command in the working directory, and return what it printed."""
    command = [sys.executable, "-m", "benchmark", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    require(done.returncode == 0, f"fedbandit {' '.join(arguments)} failed: {done.stderr.strip()[-2000:]}")
    return done.stdout


def check_store(uri: str) -> None:
    """Check the runs, curves and pages of the store, from its tables and through MLflow's search."""
    from benchmark.records import sqlite
    from benchmark.records.artifacts import CURVE, curves_in, local_folder
    from benchmark.records.reader import finished_runs, read, read_aggregates, read_sweeps, something_is_running
    from benchmark.records.store import Store

    store, file = Store(uri), Path(uri.removeprefix("sqlite:///"))
    is_known = sqlite.is_known(file)
    ways = []
    for schemas in ({*sqlite.KNOWN_SCHEMAS, *sqlite.schema(file)}, set[str]()):
        sqlite.KNOWN_SCHEMAS = frozenset(schemas)
        pages = [(run.run_id, run.status) for run in read_aggregates(store, ["small", "overview"])]
        ways.append(([*read(uri)], read_sweeps(uri), pages, finished_runs(store, ["small"])))
        require(not something_is_running(store), "something is still marked as RUNNING")
    require(ways[0][:3] == ways[1][:3], "the tables and MLflow's search give other runs")
    runs, sweeps, pages, finished = ways[0]
    require(len(runs) == len(finished) == RUNS, f"{RUNS} finished runs expected, got {len(runs)} and {len(finished)}")
    require([sweep[0] for sweep in sweeps] == ["small"], "one sweep expected")
    require(len(pages) == METHODS + 1, f"{METHODS} settings and one line of the overview expected, got {len(pages)}")
    for run in runs:
        require(math.isfinite(run.metrics["regret"]), "a run has no regret")
        folder = local_folder(run.artifact_uri)
        require(folder is not None, "the files of a run must be in a folder")
        curves = curves_in((Path(folder or ".") / CURVE).read_bytes(), run.stream.source)
        require(math.isclose(curves["regret_curve"][-1][1], run.metrics["regret"]), "a curve ends at another value")
        history = store.client.get_metric_history(run.run_id, "regret_curve")
        require(len(history) == 10, f"10 points of a curve expected, got {len(history)}")
        require(bool(run.parent), "a run is not nested below its setting")
    for setting in store.search(store.experiment_ids()["small"], "FINISHED", "setting"):
        require(setting.data.metrics["seeds"] == SEEDS, "a setting has not all seeds")
        files = {each.path for each in store.client.list_artifacts(setting.info.run_id)}
        require({"curve.csv", "curve.png"} <= files, f"a setting has the files {sorted(files)}")
    print("tables known" if is_known else "tables not known: read through MLflow's search")


def main() -> None:
    """Run everything in an empty folder."""
    import mlflow

    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        os.environ.pop("MLFLOW_TRACKING_URI", None)
        os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
        Path("small.toml").write_text(EXPERIMENT, encoding="utf-8")
        fedbandit("run", "small.toml", "--jobs", "1")
        require("Nothing to do" in fedbandit("run", "small.toml"), "the second sweep had something to do")
        check_store(f"sqlite:///{Path.cwd() / 'mlflow.db'}")
        fedbandit("report", "small")
        (page,) = Path("reports/output").rglob("report.html")
        require("Async-LinUCB" in page.read_text(encoding="utf-8"), "the report does not name a method")
        require(f"{RUNS} runs deleted" in fedbandit("runs", "delete", "--experiment", "small", "--yes"), "not deleted")
        require("No recorded run matches" in fedbandit("runs", "list"), "runs are left after their deletion")
        require(not [*Path("mlartifacts").rglob("*.parquet")], "files are left after the deletion of their runs")
        os.chdir("/")
    print(f"MLflow {mlflow.__version__}: sweep, pages, report and deletion are as expected")


if __name__ == "__main__":
    main()
