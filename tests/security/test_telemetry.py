"""Nobody is told what is run: MLflow's telemetry is off in every process of ours, whatever the environment says."""

import subprocess
import sys
from pathlib import Path

from tests.benchmark.tiny_sweeps import environment, fedbandit, rows, write_tiny

ASKING = """
import os
class Asking:
    def __init__(self, gamma=1.0):
        pass
    def choose(self, client, contexts, rng):
        raise RuntimeError(f"telemetry off: {os.environ['MLFLOW_DISABLE_TELEMETRY']} {os.environ['DO_NOT_TRACK']}")
    def learn(self, client, context, reward):
        pass
"""


def test_mlflow_finds_telemetry_off_when_it_is_imported(tmp_path: Path):
    code = (
        "from benchmark.tracking import make_client; make_client('sqlite:///mlflow.db')\n"
        "from mlflow.telemetry.client import get_telemetry_client\n"
        "from mlflow.telemetry.utils import is_telemetry_disabled\n"
        "assert is_telemetry_disabled() and get_telemetry_client() is None"
    )
    open_world = environment(MLFLOW_DISABLE_TELEMETRY="false", DO_NOT_TRACK="false")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=open_world, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_telemetry_is_off_in_workers(tmp_path: Path):
    write_tiny(tmp_path, steps=50, seeds=1)
    (tmp_path / "asking.py").write_text(ASKING)
    options = ("--algorithm", "asking:Asking", "--jobs", "1")
    fedbandit(tmp_path, "run", "tiny.toml", *options, MLFLOW_DISABLE_TELEMETRY="false", DO_NOT_TRACK="false")
    errors = {value for (value,) in rows(tmp_path, "select value from tags where key = 'fedbandit.error'")}
    assert errors == {"RuntimeError: telemetry off: true true (asking.py, line 7)"}
