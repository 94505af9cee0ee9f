"""A store with thousands of artificial finished runs of one experiment."""

from pathlib import Path

from benchmark.ui.server import prepare_pages
from tests.performance.made_up_store import fill_store

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


def make_full_store(folder: Path, runs: int) -> int:
    """Fill the store in a folder, with its pages as after a sweep, and return its number of runs."""
    experiment = folder / f"{NAME}.toml"
    experiment.write_text(EXPERIMENT.replace("SEEDS", str(max(runs // RUNS_PER_SEED, 1))))
    count = fill_store(folder, [str(experiment)], "quick")
    prepare_pages(f"sqlite:///{folder / 'mlflow.db'}")
    return count
