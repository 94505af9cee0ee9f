"""Evidence for or against a direction that the paper states: an interval over seeds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.statistics.paired import mean_interval
from reports.write.table import interval_text

UNDECIDED = "undecided: the interval is compatible with no effect"


@dataclass(frozen=True)
class Evidence:
    """The result of a test: our value as text, the test, the number of seeds, and whether it supports the paper.

    `supports_paper` is None if the test is undecided; `why_not` then gives the reason.
    """

    ours: str = ""
    method: str = ""
    seeds: int = 0
    supports_paper: bool | None = None
    why_not: str = ""


def judge(values: Sequence[float], sign: int, before: str, method: str) -> Evidence:
    """Judge one number per seed; `sign` is the side of zero that the paper states."""
    mean, low, high = mean_interval(values)
    seeds = sum(not math.isnan(value) for value in values)
    if not seeds:
        return Evidence(why_not="the metric does not vary")
    ours = before + interval_text(mean, low, high)
    ends = sorted((sign * mean,) if math.isnan(low) else (sign * low, sign * high))
    if ends[0] <= 0 <= ends[-1]:
        return Evidence(
            ours, method, seeds, None, UNDECIDED if seeds > 1 else "undecided: no effect with the single seed"
        )
    return Evidence(ours, method, seeds, ends[0] > 0)
