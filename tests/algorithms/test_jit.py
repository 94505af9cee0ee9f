"""The kernel cache is keyed by the contents of the whole package."""

from pathlib import Path

import algorithms
from algorithms.async_linucb import _run
from algorithms.jit import CACHE_FOLDER, cache_folder
from benchmark import replay
from data_pipelines import simulate


def test_a_change_in_any_file_gives_another_folder(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text("a = 1")
    (tmp_path / "helper.py").write_text("b = 1")
    before = cache_folder(tmp_path)
    (tmp_path / "helper.py").write_text("b = 2")
    assert cache_folder(tmp_path) != before
    assert cache_folder(Path(algorithms.__file__).parent) == CACHE_FOLDER


def test_kernels_are_cached_on_disk_and_count_no_references() -> None:
    replay(algorithms.AsyncLinUCB(gamma=2), simulate(seed=0, steps=5, clients=2, arms=2, dimension=2))
    assert list(CACHE_FOLDER.rglob("*_run*.nbi"))
    assembly = "".join(_run.inspect_asm().values())
    assert "NRT_incref" not in assembly
