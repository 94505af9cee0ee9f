"""The chosen α of each setting in the matrix of claims, with its reward on seeds that were not used for choosing."""

from typing import Any

import pandas as pd

from benchmark.statistics.paired import mean_interval
from reports.labels import algorithm_label, dataset_label, front_text
from reports.read.context import Context
from reports.read.results import Results
from reports.read.tuned import EDGE, TunedSetting, choosing_seeds, grid_of, tuned_experiment, tuned_settings
from reports.subjects import PAPER
from reports.write.table import Table

ORDER = 13


def tables(results: Results, context: Context) -> list[Table]:
    """Return one table; none if α has not been tuned."""
    if results.tuning.empty:
        return []
    settings = tuned_settings(results.tuning)
    frame = pd.DataFrame([_row(setting) for setting in settings])
    grids = {", ".join(f"{value:g}" for value in grid_of(setting.algorithm)) for setting in settings}
    seeds = choosing_seeds()
    caption = (
        f"α with the best mean normalised reward on {len(seeds)} seeds for choosing ({seeds[0]} to {seeds[-1]}), among "
        f"{'; '.join(sorted(grids))}; {EDGE}: at the edge of the grid. Choosing: the mean on these seeds. Normalised "
        "reward: the mean on the report seeds with a 95 % Student t interval."
    )
    labels, name = context.labels(results.tuning), tuned_experiment()
    return [Table("tuned", "The chosen α", caption, frame, labels, (name,), subject=PAPER)]


def _row(setting: TunedSetting) -> dict[str, Any]:
    rewards = setting.runs["normalised_reward"] if setting.runs is not None else pd.Series(dtype=float)
    mean, low, high = mean_interval(rewards) if len(rewards) else (float("nan"),) * 3
    return {
        "data": dataset_label(setting.stream),
        "algorithm": algorithm_label(setting.algorithm),
        "threshold": front_text(setting.algorithm, setting.threshold),
        "α": setting.missing or setting.alpha_text,
        "choosing": setting.score,
        "normalised_reward": mean,
        "normalised_reward_low": low,
        "normalised_reward_high": high,
        "seeds": len(rewards) or None,
    }
