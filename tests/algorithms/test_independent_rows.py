"""Results from a client's few rows equal those of the pseudo-inverse of their Gram matrix."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from algorithms import AsyncLinUCBAM
from algorithms.alternating import alternation
from algorithms.literal.async_linucb_am import pseudo_inverse
from algorithms.numerics import independent_rows
from algorithms.numerics.independent_rows import IndependentRows, new_independent_rows
from data_pipelines import simulate
from tests.algorithms.inspection import python_callable

try_row, keep_row = python_callable(independent_rows.try_row), python_callable(independent_rows.keep_row)
solve_for = python_callable(independent_rows.solve_for)
line_of_newest = python_callable(alternation.line_of_newest)

SEEDS = st.integers(0, 2**32 - 1)


def filled(items: np.ndarray, targets: np.ndarray) -> tuple[IndependentRows, int]:
    """Append items, each with its target, until one is refused; return the rows and their number."""
    rows = new_independent_rows(0, items.shape[1], 2)
    for count, target in enumerate(targets):
        if not try_row(rows, 1, count, items, count):
            return rows, count
        keep_row(rows, 1, count, count, target)
    return rows, len(targets)


@given(SEEDS, st.integers(1, 30), st.integers(0, 30))
def test_the_line_is_that_of_the_pseudo_inverse(seed: int, d: int, n: int) -> None:
    n = min(n, d - 1)
    rng = np.random.default_rng(seed)
    items, targets = rng.standard_normal((n + 1, d)), rng.standard_normal(n)
    rows, count = filled(items, targets)
    if count < n or not try_row(rows, 1, n, items, n):
        assert n > 0  # badly conditioned by chance: the row is rightly refused
        assert np.linalg.cond(items @ items.T) > 1e3
        return
    x, P = items[n], pseudo_inverse(items.T @ items)
    u, w = P @ items[:n].T @ targets, P @ x
    line = line_of_newest(rows, 1, n)
    np.testing.assert_allclose(line, [u @ u, u @ w, w @ w, x @ u, x @ w], rtol=1e-6, atol=1e-6 * max(1.0, u @ u, w @ w))


@given(SEEDS, st.integers(2, 30), st.integers(1, 29))
def test_estimates_are_those_of_the_pseudo_inverse(seed: int, d: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    items, targets = rng.standard_normal((min(n, d), d)), rng.standard_normal(min(n, d))
    rows, count = filled(items, targets)
    X, t, theta = items[:count], targets[:count], np.zeros(d)
    solve_for(rows, 1, count, t, items, theta)
    expected = pseudo_inverse(X.T @ X) @ X.T @ t
    np.testing.assert_allclose(theta, expected, rtol=0, atol=1e-7 * max(1.0, np.abs(expected).max(initial=0)))


def test_rows_that_may_be_dependent_are_refused() -> None:
    rng = np.random.default_rng(0)
    items = rng.standard_normal((6, 4))
    for bad in (
        items[0],
        3 * items[0] - items[1],
        items[0] + 1e-6 * items[1],
        np.zeros(4),
        1e6 * items[2],
        items[2] * np.nan,
    ):
        table = np.vstack([items[:2], bad])
        assert filled(table, np.ones(3))[1] == 2
    assert filled(items, np.ones(6))[1] == 4  # no more than dimensions


def test_clients_with_few_observations_need_no_matrix() -> None:
    steps = simulate(seed=0, steps=1_500, clients=1, arms=4, dimension=12, table=300)
    stream = replace(steps, clients=np.arange(1_500) % 500)
    for gamma in (1.0, 5.0, np.inf):
        run = AsyncLinUCBAM(gamma=gamma, alpha="theory", ridge=0.1).start(stream, 0)
        run.advance()
        assert (run.state.models.own.slot < 0).all()
        assert run.state.models.local_part.inverses.used[0] == 1
        assert run.state.models.global_part.inverses.used[0] < 50  # those that download before the server has full rank
