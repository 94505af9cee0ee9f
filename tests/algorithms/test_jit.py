"""The kernel cache is keyed by the contents of the whole package; inner kernels are part of entry points."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.codegen import CPUCodeLibrary
from numpy.typing import NDArray

import algorithms
from algorithms.exchange.pending import new_pending, write_model
from algorithms.exchange.read_ahead import prefetch
from algorithms.kernel_cache import CACHE_FOLDER, cache_folder
from algorithms.numerics.elimination import eliminate, new_system, place_arms, place_arms_plainly
from algorithms.numerics.jit import OPTIONS, compiled, entry_point
from benchmark.execution.replay import replay
from data_pipelines import simulate


def test_a_change_in_any_file_changes_the_cache_folder(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text("a = 1")
    (tmp_path / "helper.py").write_text("b = 1")
    before = cache_folder(tmp_path)
    (tmp_path / "helper.py").write_text("b = 2")
    assert cache_folder(tmp_path) != before
    assert cache_folder(Path(algorithms.__file__).parent) == CACHE_FOLDER


def test_kernels_are_cached_on_disk() -> None:
    replay(algorithms.AsyncLinUCB(gamma=2), simulate(seed=0, steps=5, clients=2, arms=2, dimension=2))
    assert list(CACHE_FOLDER.rglob("*_run*.nbi"))


@pytest.mark.slow
def test_a_copy_in_another_folder_compiles_nothing(tmp_path: Path) -> None:
    replay(algorithms.SyncLinUCB(threshold=2), simulate(seed=0, steps=5, clients=2, arms=2, dimension=2))
    package = Path(algorithms.__file__).parent
    shutil.copytree(  # with new dates, as a second clone has them
        package,
        tmp_path / package.name,
        ignore=shutil.ignore_patterns("__pycache__"),
        copy_function=shutil.copyfile,
    )
    script = """
import algorithms
from algorithms.kernels.sync_linucb import _run
from data_pipelines import simulate
stream = simulate(seed=0, steps=5, clients=2, arms=2, dimension=2)
algorithms.SyncLinUCB(threshold=2).start(stream, 0).advance()
print(algorithms.__file__)
print(sum(_run.stats.cache_hits.values()), sum(_run.stats.cache_misses.values()))
"""
    result = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(package.parent)])},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.split() == [str(tmp_path / package.name / "__init__.py"), "1", "0"]


def test_kernels_do_not_count_references() -> None:
    kernel = numba.njit(**OPTIONS | {"cache": False})(eliminate.py_func)  # cached code cannot be inspected
    kernel(new_system(3, 2), 3, 2, 0.1)
    assert "NRT_incref" not in "".join(kernel.inspect_asm().values())


def test_hot_loops_have_no_gather_instructions() -> None:
    """An index that could be negative makes compilers read element by element: slices avoid it."""
    items, system, pending = np.ones((9, 7)), new_system(5, 6), new_pending(np.ones((9, 7)), 1, 5, 2, 20)
    calls = {
        place_arms: (system, items, np.arange(6, dtype=np.int32), 1, 5),
        place_arms_plainly: (system, items, np.arange(6, dtype=np.int32), 1, 5),
        write_model: (pending, 0, np.eye(5), np.ones(5), system.rows, 11),
        eliminate: (system, 5, 6, 0.1),
    }
    for function, arguments in calls.items():
        kernel = numba.njit(**OPTIONS | {"cache": False})(function.py_func)
        kernel(*arguments)
        assert "gather" not in "".join(kernel.inspect_asm().values())


@compiled
def doubled(number: int) -> int:
    return 2 * number


@compiled
def doubled_twice(number: int) -> int:
    return doubled(doubled(number))


@entry_point
def sum_of_both(number: int) -> int:
    return doubled(number) + doubled_twice(number)


def test_an_entry_point_contains_the_kernels_that_it_calls() -> None:
    assert sum_of_both(7) == 42
    assert list(CACHE_FOLDER.rglob("*sum_of_both*.nbi"))
    assert not list(CACHE_FOLDER.rglob("*doubled*.nbi"))


def test_an_inner_kernel_has_no_machine_code_of_its_own() -> None:
    fresh = numba.njit(**OPTIONS | {"cache": False})(sum_of_both.py_func)  # type: ignore[attr-defined]
    assert fresh(np.int32(7)) == 42
    kernel: Any = doubled_twice
    (overload,) = [result for types, result in kernel.overloads.items() if types == (numba.int32,)]
    assert overload.entry_point is not None
    assert not overload.codegen._engine.is_symbol_defined(overload.fndesc.mangled_name)


def test_numba_still_has_the_steps_that_are_left_out() -> None:
    assert {"_optimize_final_module", "_finalize_final_module"} <= vars(CPUCodeLibrary).keys()


def read_all_ahead(table: NDArray[np.float64]) -> None:
    for i in range(table.shape[0]):
        prefetch(table, i)


def test_data_are_requested_and_not_changed() -> None:
    kernel = numba.njit(**OPTIONS | {"cache": False})(read_all_ahead)  # cached code cannot be inspected
    cube = np.arange(7 * 5 * 3.0).reshape(7, 5, 3)
    kernel(cube)
    assert cube.tolist() == np.arange(7 * 5 * 3.0).reshape(7, 5, 3).tolist()
    assert "@llvm.prefetch" in "".join(kernel.inspect_llvm().values())


RUN = """
from algorithms.kernels.rules import _run
from algorithms import RandomChoice
from data_pipelines import simulate
run = RandomChoice().start(simulate(seed=0, steps=5, clients=2, arms=2, dimension=2), 0)
run.advance()
print(sum(_run.stats.cache_hits.values()), run.trace().rewards.sum())
"""


def damaged(content: bytes, how: str) -> bytes:
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    return {"empty": b"", "truncated": content[:middle], "flipped": flipped}[how]


def test_a_damaged_stored_kernel_is_compiled_again(tmp_path: Path) -> None:
    def run() -> list[str]:
        variables = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
        done = subprocess.run([sys.executable, "-c", RUN], env=variables, capture_output=True, text=True, check=True)
        return done.stdout.split()

    _, reward = run()
    assert run() == ["1", reward]
    for pattern, how in (("*.nbi", "empty"), ("*.nbc", "truncated"), ("*.nbc", "flipped")):
        (file,) = tmp_path.rglob(f"rules._run{pattern}")
        file.write_bytes(damaged(file.read_bytes(), how))
        assert run() == ["0", reward], how
    assert run() == ["1", reward]
