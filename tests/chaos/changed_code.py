"""Source files that change while a sweep runs: those of a user's class, and those of the packages themselves."""

import shutil
from pathlib import Path
from random import Random

from benchmark.records.provenance import OUR_PACKAGES
from tests.benchmark.tiny_sweeps import fedbandit, results, rows
from tests.chaos.killed_sweeps import kill_one, wait_for_a_moment, workers_of
from tests.chaos.sweeps import RUNS_PER_SEED, differences, new_folder, records, run_again, start, wait_until
from tests.chaos.tally import Tally

SEEDS, ARMS = 8, 5
IN_FLIGHT = 6
"""Runs that are repeated alone after a worker died: if workers die three times more during one of them, it fails."""

OWN = ("--method", f"chooser:Chooser[arm=[{','.join(map(str, range(ARMS)))}]]")
CHOOSER = """
from dataclasses import dataclass
from algorithms import Transfers
from shift import SHIFT

@dataclass
class Chooser:
    arm: int = 0

    def choose(self, client, contexts, rng):
        return (self.arm + SHIFT) % len(contexts)

    def learn(self, client, context, reward):
        return Transfers()
"""
RANDOM = """
title = "Random"
streams = [{ simulated = "uniform", steps = 1500, clients = 20, arms = 5, dimension = 4 }]
[[algorithms]]
name = "random"
[profiles.quick]
seeds = 60
"""
RANDOM_RUNS = 60
MEASURED = "metrics = metric_values(trace, stream, times)"


def change_own_class(times: int, random: Random, folder: Path) -> Tally:
    """Change a class, or the module that it imports, and kill a worker: the next one must execute the planned code."""
    tally, reference, workspace = Tally("own class changed"), new_folder(folder, SEEDS), new_folder(folder, SEEDS)
    for target in (reference, workspace):
        _write_class(target, 0)
    assert fedbandit(reference, "run", "tiny.toml", *OWN).returncode == 0
    expected, changed = results(reference), 0
    process = start(workspace, "run", "tiny.toml", "--jobs", "2", *OWN)
    while changed < times:
        count = records(workspace)
        if not wait_until(process, lambda count=count: records(workspace) > count + IN_FLIGHT):  # type: ignore[misc]
            break
        _write_class(workspace, 1 + changed % (ARMS - 1))
        changed += kill_one(workers_of(process.pid), random)
    problems = [] if process.wait(240) == 0 else [f"exit code {process.returncode}: {'; '.join(_errors(workspace))}"]
    _write_class(workspace, 0)
    runs = SEEDS * (RUNS_PER_SEED + ARMS)
    tally.count(changed, problems + differences(workspace, expected, runs=runs))
    tally.count(0, run_again(workspace, expected, runs, *OWN))
    return tally


def change_packages(times: int, random: Random, folder: Path) -> Tally:
    """Change the code that measures runs, and kill a worker: no run of the next one may be recorded as finished."""
    tally = Tally("packages changed")
    packages, reference = new_folder(folder, 1), new_folder(folder, 1)
    for package in OUR_PACKAGES:
        shutil.copytree(Path.cwd() / package, packages / package, ignore=lambda *_: ["__pycache__"])
    (reference / "tiny.toml").write_text(RANDOM)
    assert fedbandit(reference, "run", "tiny.toml").returncode == 0
    expected, path = results(reference), {"PYTHONPATH": str(packages)}
    measuring = packages / "benchmark" / "execution" / "run_result.py"
    source = measuring.read_text()
    for _ in range(times):
        workspace = new_folder(folder, 1)
        (workspace / "tiny.toml").write_text(RANDOM)
        process = start(workspace, "run", "tiny.toml", "--jobs", "2", **path)
        wait_for_a_moment(process, workspace, random, anywhere=False)
        measuring.write_text(source.replace(MEASURED, f"{MEASURED}; metrics['reward'] += 1"))
        killed = process.poll() is None and kill_one(workers_of(process.pid), random)
        problems = [] if process.wait(240) == 1 else [f"exit code {process.returncode}"]
        problems += differences(workspace, expected)
        problems += [f"no advice: {error}" for error in _errors(workspace) if "run the same command" not in error]
        measuring.write_text(source)
        tally.count(killed, problems + run_again(workspace, expected, RANDOM_RUNS, **path))
    return tally


def _errors(folder: Path) -> set[str]:
    return {error for (error,) in rows(folder, "select value from tags where key = 'fedbandit.error'")}


def _write_class(folder: Path, shift: int) -> None:
    """Write the class and its helper module; with another shift it chooses other arms."""
    (folder / "chooser.py").write_text(f"# {shift}\n{CHOOSER}")
    (folder / "shift.py").write_text(f"SHIFT = {shift}\n")
