"""The same contents give the same bytes on every processor."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from data_pipelines.prepare.prepared import rounded

pytestmark = pytest.mark.slow

PREPARE = """
import sys
from pathlib import Path
from threadpoolctl import threadpool_info
from data_pipelines.fetch.sources import PreparationOptions
from data_pipelines.prepare.readiness import make_ready

folder = Path(sys.argv[1])
assert make_ready("delicious", PreparationOptions(folder=folder, stand_in="small")).manifest is not None
print(*{library["architecture"] for library in threadpool_info() if "architecture" in library})
"""


def prepare_on(core: str, folder: Path) -> str:
    """Prepare with the instructions of one kind of processor; return the kind that was used."""
    environment = {**os.environ, "OPENBLAS_CORETYPE": core}
    command = [sys.executable, "-c", PREPARE, str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=300)
    return done.stdout.strip()


def test_two_kinds_of_processors_prepare_the_same_bytes(tmp_path: Path):
    kinds = {core: prepare_on(core, tmp_path / core) for core in ("Nehalem", "Haswell")}
    if kinds["Nehalem"] == kinds["Haswell"]:
        pytest.skip(f"NOT RUN: this machine's linear algebra knows one kind of processor only, {kinds['Nehalem']}")
    first, second = (
        {path.name: path.read_bytes() for path in (tmp_path / core / "delicious").iterdir()} for core in kinds
    )
    assert first == second


def test_components_have_seven_decimals_and_no_negative_zero():
    components = rounded(np.array([[0.123456749, -1e-9], [1e-9, -0.5]]))
    assert components.tolist() == [[0.1234567, 0.0], [0.0, -0.5]]
    assert not np.signbit(components[0, 1])
