"""MLflow's telemetry is disabled in all our processes, whatever the environment says."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmark.tiny_sweeps import environment, rows, write_tiny

pytestmark = pytest.mark.slow

REPORTING = """
import os
class Reporting:
    def __init__(self, gamma=1.0):
        pass
    def choose(self, client, contexts, rng):
        raise RuntimeError(f"telemetry off: {os.environ['MLFLOW_DISABLE_TELEMETRY']} {os.environ['DO_NOT_TRACK']}")
    def learn(self, client, context, reward):
        pass
"""


def test_telemetry_is_disabled_when_mlflow_is_imported_and_in_workers(tmp_path: Path):
    write_tiny(tmp_path, steps=50, seeds=1)
    (tmp_path / "reporting.py").write_text(REPORTING)
    code = (
        "from benchmark.__main__ import main\n"
        "main(['run', 'tiny.toml', '--method', 'reporting:Reporting', '--jobs', '1'])\n"
        "from mlflow.telemetry.client import get_telemetry_client\n"
        "from mlflow.telemetry.utils import is_telemetry_disabled\n"
        "assert is_telemetry_disabled() and get_telemetry_client() is None"
    )
    enabled = environment(MLFLOW_DISABLE_TELEMETRY="false", DO_NOT_TRACK="false")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=enabled, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    errors = {value for (value,) in rows(tmp_path, "select value from tags where key = 'fedbandit.error'")}
    assert errors == {"RuntimeError: telemetry off: true true (reporting.py, line 7)"}
