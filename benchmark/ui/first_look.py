"""The metric and the experiment to show first."""

from collections.abc import Iterable, Sequence

SIMULATED = "simulated"
FIGURES = ("fig_e", "fig_d", "fig_f", "fig_a", "fig_b", "fig_c")
"""The main results, those on real data first."""


def objective(sources: Iterable[str]) -> str:
    """Return the metric by which runs are judged: regret for simulations, normalised reward if any data are real.

    Args:
        sources: the sources of the runs' streams, the values of the tag `fedbandit.source`.
    """
    return "regret" if set(sources) == {SIMULATED} else "normalised_reward"


def first_to_show(experiments: Sequence[str]) -> str:
    """Return the experiment to open after a sweep over several: a figure if there is one, otherwise the last."""
    return next((name for name in FIGURES if name in experiments), experiments[-1])
