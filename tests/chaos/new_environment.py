"""The same sweep in a virtual environment made from nothing: the same numbers, bit for bit."""

import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

from tests.benchmark.tiny_sweeps import environment
from tests.chaos.sweeps import RUNS_A_SEED, differences, last_line, new_folder, undisturbed
from tests.chaos.tally import Tally

ROOT = Path(__file__).parents[2]


def sweep_in_new_environment(times: int, random: Random, folder: Path) -> Tally:
    """Installed as a user would, from the constraints; kernels are compiled anew."""
    tally, expected = Tally("new virtual environment"), undisturbed(folder)
    for _ in range(times):
        place = new_folder(folder, 1)
        source = shutil.copytree(ROOT, place / "source", ignore=shutil.ignore_patterns(".*", "data", "ml*", "build"))
        python = place / "venv" / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", place / "venv"], check=True)
        install = [python, "-m", "pip", "install", "--quiet", "--constraint", source / "constraints.txt", source]
        made = subprocess.run(install, capture_output=True, text=True, env=environment())
        if made.returncode != 0:
            tally.trouble.append(f"could not be installed: {last_line(made.stderr)}")
            continue
        done = subprocess.run(
            [place / "venv" / "bin" / "fedbandit", "run", "tiny.toml"],
            cwd=place,
            env=environment(NUMBA_CACHE_DIR=str(place / "kernels")),
            capture_output=True,
            text=True,
        )
        problems = [] if done.returncode == 0 else [f"exit code {done.returncode}: {last_line(done.stderr)}"]
        tally.count(1, problems + differences(place, expected, runs=RUNS_A_SEED))
    return tally
