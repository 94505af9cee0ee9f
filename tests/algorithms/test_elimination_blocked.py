"""Elimination in blocks of registers gives the same results as the plain one, on every processor."""

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms import AsyncLinUCB
from algorithms.literal import literal
from algorithms.numerics.elimination import (
    System,
    eliminate,
    new_system,
    place_arms,
    reduce_in_blocks,
    reduce_plainly,
    sum_up_in_blocks,
    sum_up_plainly,
)
from algorithms.numerics.elimination_blocked import processor_has_vectors
from algorithms.numerics.jit import entry_point
from benchmark import EventStream
from benchmark.execution.replay import replay
from data_pipelines import simulate
from tests.algorithms.inspection import assert_same_trace, python_callable
from tests.readme import ROOT

SEEDS = st.integers(0, 2**32 - 1)
KINDS = ("random", "near singular", "huge", "tiny", "scales", "duplicates", "empty")
RIDGE = 0.2


@entry_point
def blocked(system: System, d: int, arms: int) -> None:
    reduce_in_blocks(system, d)
    sum_up_in_blocks(system, d, arms)


@entry_point
def plain(system: System, d: int, arms: int) -> None:
    reduce_plainly(system, d)
    sum_up_plainly(system, d, arms)


def statistics(kind: str, d: int, rng: np.random.Generator) -> np.ndarray:
    """Return a matrix V = XᵀX of the given kind."""
    X = rng.standard_normal((3 * d + 2, d))
    if kind == "near singular":
        X = np.outer(X[:, 0], np.ones(d)) + 1e-7 * X
    elif kind == "duplicates":
        X = X[rng.integers(max(1, d // 3), size=len(X))]
    elif kind == "scales":
        X *= 10.0 ** rng.uniform(-8, 8, (len(X), 1))
    elif kind == "empty":
        X *= 0.0
    else:
        X *= {"random": 1.0, "huge": 1e40, "tiny": 1e-40}[kind]
    return X.T @ X


def prepared(V: np.ndarray, arms: np.ndarray, b: np.ndarray) -> System:
    """Return a system that is ready to be reduced, as `eliminate` makes it."""
    d, count = len(V), len(arms)
    system = new_system(d, count)
    system.rows[:, :d], system.rows[:, d : d + count], system.rows[:, d + count] = V + RIDGE * np.eye(d), arms.T, b
    system.inverse_pivots[:] = np.maximum(RIDGE, 1e-14 * np.diag(system.rows))
    return system


def assert_blocked_equals_plain(kind: str, seed: int, d: int, arms: int) -> None:
    rng = np.random.default_rng(seed)
    V, X, b = statistics(kind, d, rng), rng.standard_normal((arms, d)), rng.standard_normal(d)
    ours, theirs = prepared(V, X, b), prepared(V, X, b)
    blocked(ours, d, arms)
    plain(theirs, d, arms)
    # the rounding errors of both grow with the condition of V(λ), which rounding itself bounds
    condition = min(np.trace(V) / RIDGE + d, 1e14)
    tolerance = 1e-14 * d * max(condition, 10.0)
    for field, largest in (("squared_widths", arms), ("means", arms), ("inverse_pivots", d)):
        left, right = getattr(ours, field)[:largest], getattr(theirs, field)[:largest]
        assert np.isfinite(left).all()
        np.testing.assert_allclose(left, right, rtol=min(tolerance, 1e-2), atol=tolerance * np.abs(right).max())


@pytest.mark.parametrize("kind", KINDS)
@given(SEEDS, st.integers(1, 64), st.integers(1, 200))
def test_blocked_and_plain_elimination_agree(kind: str, seed: int, d: int, arms: int) -> None:
    assert_blocked_equals_plain(kind, seed, d, arms)


@pytest.mark.parametrize("reduce", [blocked, plain])
def test_a_pivot_is_at_least_its_minimum_despite_rounding_and_nan_is_passed_on(reduce: Any) -> None:
    system = prepared(np.full((9, 9), 1e30), np.ones((3, 9)), np.ones(9))
    reduce(system, 9, 3)
    assert (system.inverse_pivots[1:] <= 1.0 / RIDGE).all()
    assert (system.inverse_pivots > 0).all()
    assert np.isfinite(system.squared_widths[:3]).all()
    system = prepared(np.eye(6), np.full((5, 6), np.nan), np.ones(6))
    reduce(system, 6, 5)
    assert np.isnan(system.means[:5]).all()


@given(SEEDS, st.integers(1, 40), st.integers(1, 60), st.integers(0, 3))
def test_arms_are_placed_in_their_columns(seed: int, d: int, arms: int, first: int) -> None:
    rng = np.random.default_rng(seed)
    items = rng.standard_normal((30, d + 3))
    pool = rng.integers(30, size=arms).astype(np.int32)
    system = new_system(d, arms)
    system.rows[:] = 7.0
    python_callable(place_arms)(system, items, pool, first, d)
    np.testing.assert_array_equal(system.rows[:, d : d + arms], items[pool, first : first + d].T)
    assert (system.rows[:, :d] == 7.0).all()
    assert (system.rows[:, d + arms :] == 7.0).all()


def test_arms_that_are_equal_stay_tied() -> None:
    """Equal arms in different lanes and tiles must get scores within the tolerance, so that the draw decides."""
    rng = np.random.default_rng(3)
    items = np.repeat(rng.standard_normal((6, 13)) * 1e2, 5, axis=0)
    stream = EventStream(
        items=items,
        clients=rng.integers(3, size=400),
        pools=np.stack([rng.permutation(30) for _ in range(400)]),
        rewards=rng.random((400, 30)),
        noise=np.zeros(400),
    )
    for gamma in (1.0, 1.3, np.inf):
        algorithm = AsyncLinUCB(gamma=gamma)
        assert_same_trace(replay(algorithm, stream, 1), replay(literal(algorithm), stream, 1))


CHILD = "from tests.algorithms.test_elimination_blocked import seen_here; print(seen_here())"
HASWELL = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx,+avx2,+fma"}
GENERIC = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}


def seen_here() -> str:
    """Check the elimination on this processor; return as JSON whether it has vectors, and what a method chooses."""
    sizes = [(1, 1), (2, 200), (3, 5), (4, 4), (5, 11), (13, 25), (25, 25), (32, 64), (63, 199), (64, 1)]
    for kind in KINDS:
        for seed, size in enumerate(sizes):
            assert_blocked_equals_plain(kind, seed, *size)
    trace = replay(AsyncLinUCB(gamma=1.3), simulate(seed=4, steps=400, clients=9, arms=11, dimension=13), 2)
    chosen = [trace.choices.tolist(), trace.uploads.tolist(), trace.downloads.tolist()]
    return json.dumps([processor_has_vectors(), chosen])


@pytest.mark.slow
def test_another_processor_gets_its_own_code_and_makes_the_same_choices() -> None:
    """All processes use one cache on disk, which must not return the code of one processor to the other."""
    here, others = json.loads(seen_here()), []
    for processor in (HASWELL, GENERIC):
        command, environment = [sys.executable, "-c", CHILD], os.environ | processor
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        others.append(json.loads(done.stdout))
    assert others == [[True, here[1]], [False, here[1]]]


@given(SEEDS, st.integers(1, 64), st.integers(1, 200))
def test_without_data_the_short_cut_gives_exactly_what_the_elimination_gives(seed: int, d: int, arms: int) -> None:
    rng = np.random.default_rng(seed)
    V, X, b = np.zeros((d, d)), rng.standard_normal((arms, d)), rng.standard_normal(d)
    reduced, short_cut = prepared(V, X, b), prepared(V, X, b)
    short_cut.rows[:, :d] = 0.0
    blocked(reduced, d, arms)
    log_det = python_callable(eliminate)(short_cut, d, arms, RIDGE)
    assert log_det == pytest.approx(d * np.log(RIDGE))
    for field in ("inverse_pivots", "squared_widths", "means", "rows"):
        np.testing.assert_array_equal(getattr(short_cut, field), getattr(reduced, field))
