"""The kernel cache is keyed by the contents of the whole package."""

from pathlib import Path

import numba

import algorithms
from algorithms.elimination import eliminate, new_system
from algorithms.jit import CACHE_FOLDER, OPTIONS, cache_folder
from benchmark import replay
from data_pipelines import simulate


def test_a_change_in_any_file_gives_another_folder(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text("a = 1")
    (tmp_path / "helper.py").write_text("b = 1")
    before = cache_folder(tmp_path)
    (tmp_path / "helper.py").write_text("b = 2")
    assert cache_folder(tmp_path) != before
    assert cache_folder(Path(algorithms.__file__).parent) == CACHE_FOLDER


def test_kernels_are_cached_on_disk() -> None:
    replay(algorithms.AsyncLinUCB(gamma=2), simulate(seed=0, steps=5, clients=2, arms=2, dimension=2))
    assert list(CACHE_FOLDER.rglob("*_run*.nbi"))


def test_kernels_count_no_references() -> None:
    fresh = numba.njit(**OPTIONS | {"cache": False})(eliminate.py_func)  # cached code cannot be looked into
    fresh(new_system(3, 2), 3, 2, 0.1)
    assert "NRT_incref" not in "".join(fresh.inspect_asm().values())
