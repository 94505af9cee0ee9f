"""What changes around a sweep: sources of a user's class or of the packages, the installation, the clock."""

import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

from benchmark.records.provenance import OUR_PACKAGES
from tests.benchmark.tiny_sweeps import environment, fedbandit, results, rows
from tests.chaos.damaged_data import PREPARE, bytes_of, prepared
from tests.chaos.killed_sweeps import kill_worker
from tests.chaos.sweeps import RUNS_PER_SEED, Faults, Workspace, last_line, wrong_end
from tests.readme import ROOT

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
RANDOM_RUNS = 60
RANDOM = f"""
title = "Random"
streams = [{{ simulated = "uniform", steps = 1500, clients = 20, arms = 5, dimension = 4 }}]
[[algorithms]]
name = "random"
[profiles.quick]
seeds = {RANDOM_RUNS}
"""
MEASURED = "values = metric_values(trace, stream, times)"


def change_own_class(times: int, random: Random, folder: Path) -> Faults:
    """Change a class, or the module that it imports, and kill a worker: the next one must execute the planned code."""
    reference, workspace, changed = Workspace(folder, SEEDS), Workspace(folder, SEEDS), 0
    for each in (reference, workspace):
        _write_class(each, 0)
    assert fedbandit(reference.folder, "run", "tiny.toml", *OWN).returncode == 0
    workspace.expected, workspace.runs = results(reference.folder), SEEDS * (RUNS_PER_SEED + ARMS)
    process = workspace.sweep(2, *OWN)
    while changed < times and workspace.wait_for_records(process, IN_FLIGHT + 1):
        _write_class(workspace, 1 + changed % (ARMS - 1))
        changed += kill_worker(process.pid, random)
    problems = workspace.wrong_end(process) + [f"failed: {error}" for error in _errors(workspace)]
    _write_class(workspace, 0)
    yield changed, problems + workspace.differences(workspace.runs) + workspace.run_again(*OWN)


def change_packages(times: int, random: Random, folder: Path) -> Faults:
    """Change the code that measures runs, and kill a worker: no run of the next one may be recorded as finished."""
    packages = Workspace(folder, 1).folder
    for package in OUR_PACKAGES:
        shutil.copytree(Path.cwd() / package, packages / package, ignore=lambda *_: ["__pycache__"])
    reference, path = _with_random(folder, {}), {"PYTHONPATH": str(packages)}
    assert fedbandit(reference.folder, "run", "tiny.toml").returncode == 0
    expected = results(reference.folder)
    measuring = packages / "benchmark" / "execution" / "run_result.py"
    source = measuring.read_text()
    assert MEASURED in source
    for _ in range(times):
        workspace = _with_random(folder, expected)
        process = workspace.sweep(2, **path)
        workspace.wait_for_a_moment(process, random)
        measuring.write_text(source.replace(MEASURED, f"{MEASURED}; values['reward'] += 1"))
        killed = process.poll() is None and kill_worker(process.pid, random)
        problems = workspace.wrong_end(process, [1]) + workspace.differences()
        problems += [f"no advice: {error}" for error in _errors(workspace) if "run the same command" not in error]
        measuring.write_text(source)
        yield killed, problems + workspace.run_again(**path)


def _with_random(folder: Path, expected: dict[str, object]) -> Workspace:
    workspace = Workspace(folder, 1, expected)
    workspace.runs = RANDOM_RUNS
    (workspace.folder / "tiny.toml").write_text(RANDOM)
    return workspace


def _errors(workspace: Workspace) -> set[str]:
    return {error for (error,) in rows(workspace.folder, "select value from tags where key = 'fedbandit.error'")}


def _write_class(workspace: Workspace, shift: int) -> None:
    """Write the class and its helper module; with another shift it chooses other arms."""
    (workspace.folder / "chooser.py").write_text(f"# {shift}\n{CHOOSER}")
    (workspace.folder / "shift.py").write_text(f"SHIFT = {shift}\n")


def sweep_in_new_environment(times: int, random: Random, folder: Path) -> Faults:
    """Install from the constraints as a user would, recompile the kernels, and compare the results bit for bit."""
    for _ in range(times):
        workspace = Workspace(folder, 1)
        source, binaries = workspace.folder / "source", workspace.folder / "venv" / "bin"
        shutil.copytree(ROOT, source, ignore=shutil.ignore_patterns(".*", "data", "ml*", "build"))
        subprocess.run([sys.executable, "-m", "venv", workspace.folder / "venv"], check=True)
        install = [binaries / "python", "-m", "pip", "install", "--quiet", "--constraint", source / "constraints.txt"]
        installation = subprocess.run([*install, source], capture_output=True, text=True, env=environment())
        if installation.returncode != 0:
            yield 0, [f"could not be installed: {last_line(installation.stderr)}"]
            continue
        own_kernels = environment(NUMBA_CACHE_DIR=str(workspace.folder / "kernels"))
        sweep = [binaries / "fedbandit", "run", "tiny.toml"]
        done = subprocess.run(sweep, cwd=workspace.folder, env=own_kernels, capture_output=True, text=True)
        yield 1, wrong_end(done.returncode, done.stderr) + workspace.differences(workspace.runs)


def set_clock_back(times: int, random: Random, folder: Path) -> Faults:
    """Give the parent and each worker its own clock, and set each back up to five times, by up to a day."""
    undamaged, injected = prepared(folder)[0], 0
    while injected < times:
        workspace = Workspace(folder, 2)
        jumps = workspace.folder / "jumps"
        jumps.touch()
        clock = {
            "PYTHONPATH": f"{Path(__file__).parent / 'clock'}:{ROOT}",
            "CLOCK_SEED": str(random.getrandbits(16)),
            "CLOCK_MAX_JUMPS": "5",
            "CLOCK_JUMPS": str(jumps),
        }
        problems = []
        for command in (("run", "tiny.toml", "--jobs", "2"), PREPARE):
            done = fedbandit(workspace.folder, *command, **clock)
            problems += wrong_end(done.returncode, done.stderr)
        problems += workspace.differences(workspace.runs)
        if bytes_of(workspace.folder / "data" / "lastfm") != undamaged:
            problems.append("prepared data differ")
        backwards = "select count(*) from runs where end_time < start_time and name not like 'sweep%'"
        problems += ["a run ended before it started"] if rows(workspace.folder, backwards)[0][0] else []
        count = len(jumps.read_text().splitlines())
        if not count:
            yield 0, [*problems, "no clock was set back"]
            break
        injected += count
        yield count, problems
