"""Simultaneous bands: against a plain bootstrap, and their coverage in simulations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from benchmark.statistics.intervals import (
    resample_counts,
    t_quantile,
)
from tests.benchmark.statistics.shipped import simultaneous_bands

PAIRS = [(0, 1), (0, 2), (1, 2)]
"""Three methods with each other."""

REFERENCES = [(0, 3), (1, 3), (2, 3), (1, 4), (2, 5)]
"""The methods with "no communication" (3), and two of them with their own ends (4, 5)."""


def simulated_task(random: np.random.Generator, pairs: list[tuple[int, int]]) -> NDArray[np.float64]:
    """Differences, pairs × budgets × 20 seeds, of methods whose true scores are all equal.

    Streams have an effect on all methods; scores at neighbouring budgets are correlated.
    """
    correlations = 0.8 ** np.abs(np.subtract.outer(range(6), range(6)))
    scores = np.linalg.cholesky(correlations) @ random.normal(size=(3, 6, 20)) + 2 * random.normal(size=20)
    scores = np.concatenate([scores, np.repeat(scores[:, :1], 6, axis=1)])
    first, second = np.transpose(pairs)
    return np.asarray(scores[first] - scores[second])


def coverage(pairs: list[tuple[int, int]], tasks: int, seed: int) -> float:
    """Return the share of simulated tasks in which all bands contain the true difference, which is zero."""
    random = np.random.default_rng(seed)
    covered = 0
    for task in range(tasks):
        # New resamples now and then: all tasks would share the error of the same ones.
        bands = simultaneous_bands(simulated_task(random, pairs), repetitions=1_000, seed=task // 30)
        covered += bool(((bands.low <= 0) & (bands.high >= 0)).all())
    return covered / tasks


def plain_critical(cells: NDArray[np.float64], repetitions: int, seed: int) -> float:
    """The quantile of the largest |t*|, resample by resample and cell by cell."""
    counts = resample_counts(cells.shape[1], repetitions, seed)
    largest = []
    for row in counts.astype(int):
        chosen = np.repeat(np.arange(cells.shape[1]), row)
        values = []
        for cell in cells:
            resample = cell[chosen]
            values.append(abs(resample.mean() - cell.mean()) / (resample.std(ddof=1) / len(resample) ** 0.5))
        largest.append(max(values))
    return sorted(largest)[int(np.ceil(0.95 * (repetitions - 1)))]


def test_the_bands_are_those_of_a_plain_bootstrap():
    random = np.random.default_rng(3)
    cells = 1 + random.normal(size=20) * [[1], [2], [5]] + random.normal(0, 0.3, size=(3, 20))  # alike: no Bonferroni
    bands = simultaneous_bands(cells, repetitions=300, seed=7)
    assert bands.critical == pytest.approx(plain_critical(cells, 300, 7))
    half = bands.critical * cells.std(axis=1, ddof=1) / 20**0.5
    assert bands.mean == pytest.approx(cells.mean(axis=1))
    assert bands.low == pytest.approx(cells.mean(axis=1) - half)
    assert bands.high == pytest.approx(cells.mean(axis=1) + half)


@pytest.mark.parametrize(("pairs", "low", "high"), [(PAIRS, 0.93, 0.97), (PAIRS + REFERENCES, 0.95, 0.99)])
def test_bands_have_the_stated_coverage_at_20_seeds(pairs: list[tuple[int, int]], low: float, high: float):
    assert low <= coverage(pairs, tasks=1_000, seed=13) <= high


def test_a_cell_without_spread_has_a_band_without_width_and_does_not_disturb_the_others():
    cells = np.random.default_rng(5).normal(size=(2, 20))
    alone = simultaneous_bands(cells, repetitions=500)
    together = simultaneous_bands(np.vstack([cells, np.zeros(20), np.full(20, 0.3)]), repetitions=500)
    assert together.critical == alone.critical
    assert (together.low[2], together.high[2]) == (0, 0)
    assert (together.low[3], together.high[3]) == pytest.approx((0.3, 0.3))
    only = simultaneous_bands(np.zeros((1, 20)))
    assert (only.low[0], only.high[0], only.critical) == (0, 0, 0)


def test_a_cell_with_one_seed_that_differs_gets_students_band_with_bonferronis_correction():
    cells = np.random.default_rng(6).normal(size=(3, 20))
    nearly_equal = np.zeros(20)
    nearly_equal[4] = 1.0
    alone = simultaneous_bands(cells, repetitions=500)
    together = simultaneous_bands(np.vstack([cells, nearly_equal]), repetitions=500)
    assert together.critical == alone.critical
    error = nearly_equal.std(ddof=1) / 20**0.5
    assert together.high[3] == pytest.approx(0.05 + t_quantile(19, 1 - 0.05 / 4) * error)
    assert simultaneous_bands(nearly_equal[None]).high[0] == pytest.approx(0.05 + t_quantile(19) * error)


def test_the_critical_value_is_the_smaller_of_the_bootstraps_and_bonferronis():
    many = np.random.default_rng(10).normal(size=(470, 10))
    assert simultaneous_bands(many, repetitions=500).critical == t_quantile(9, 1 - 0.05 / 470)
    few = np.random.default_rng(10).normal(size=(1, 10)) * np.arange(1, 4)[:, None]  # three times the same
    assert simultaneous_bands(few, repetitions=500).critical < t_quantile(9, 1 - 0.05 / 3)


def test_a_missing_value_leaves_its_cell_without_a_band_and_the_others_as_they_are():
    cells = np.random.default_rng(8).normal(size=(3, 20))
    alone = simultaneous_bands(cells[:2], repetitions=500)
    cells[2, 3] = np.nan
    together = simultaneous_bands(cells, repetitions=500)
    assert np.isnan([together.mean[2], together.low[2], together.high[2]]).all()
    assert together.high[:2] == pytest.approx(alone.high)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.permutations(range(5)), st.sampled_from([0.0, -3.0, 0.5, 20.0]))
def test_permuting_cells_permutes_bands_and_a_constant_moves_them(seed: int, order: list[int], shift: float):
    cells = np.random.default_rng(seed).normal(size=(5, 12))
    bands = simultaneous_bands(cells, repetitions=200)
    moved = simultaneous_bands(cells[order] + shift, repetitions=200)
    assert moved.low == pytest.approx(bands.low[order] + shift)
    assert moved.high == pytest.approx(bands.high[order] + shift)
