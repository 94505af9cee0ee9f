"""The experiment to show first."""

from collections.abc import Sequence

FIGURES = ("fig_e", "fig_d", "fig_f", "fig_a", "fig_b", "fig_c")
"""The main results, those on real data first."""


def first_to_show(experiments: Sequence[str]) -> str:
    """Return the experiment to open after a sweep over several: a figure if there is one, otherwise the last."""
    return next((name for name in FIGURES if name in experiments), experiments[-1])
