"""The same sweep in a new virtual environment gives the same numbers, bit for bit."""

import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

from tests.benchmark.tiny_sweeps import environment
from tests.chaos.sweeps import RUNS_PER_SEED, differences, last_line, new_folder, undisturbed
from tests.chaos.tally import Tally

ROOT = Path(__file__).parents[2]


def sweep_in_new_environment(times: int, random: Random, folder: Path) -> Tally:
    """Install from the constraints as a user would, recompile the kernels, and run a sweep."""
    tally, expected = Tally("new virtual environment"), undisturbed(folder)
    for _ in range(times):
        workspace = new_folder(folder, 1)
        source = shutil.copytree(
            ROOT, workspace / "source", ignore=shutil.ignore_patterns(".*", "data", "ml*", "build")
        )
        python = workspace / "venv" / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", workspace / "venv"], check=True)
        install = [python, "-m", "pip", "install", "--quiet", "--constraint", source / "constraints.txt", source]
        installation = subprocess.run(install, capture_output=True, text=True, env=environment())
        if installation.returncode != 0:
            tally.problems.append(f"could not be installed: {last_line(installation.stderr)}")
            continue
        done = subprocess.run(
            [workspace / "venv" / "bin" / "fedbandit", "run", "tiny.toml"],
            cwd=workspace,
            env=environment(NUMBA_CACHE_DIR=str(workspace / "kernels")),
            capture_output=True,
            text=True,
        )
        problems = [] if done.returncode == 0 else [f"exit code {done.returncode}: {last_line(done.stderr)}"]
        tally.count(1, problems + differences(workspace, expected, runs=RUNS_PER_SEED))
    return tally
