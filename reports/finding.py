"""What came of testing a direction, judged by an interval over seeds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from reports.seeds import mean_interval
from reports.table import interval_text

UNDECIDED = "undecided: the interval includes no difference"


@dataclass(frozen=True)
class Finding:
    """What a test found: in words, how it was tested, over how many seeds, and whether it is as the paper says.

    `as_stated` is None where nothing can be said; `why_not` then says why.
    """

    ours: str = ""
    how: str = ""
    seeds: int = 0
    as_stated: bool | None = None
    why_not: str = ""


def judged(values: Sequence[float], sign: int, before: str, how: str) -> Finding:
    """Judge one number a seed; `sign` says which side of zero is as the paper states."""
    mean, low, high = mean_interval(values)
    seeds = sum(not math.isnan(value) for value in values)
    if not seeds:
        return Finding(why_not="the metric does not vary")
    ours = before + interval_text(mean, low, high)
    ends = sorted((sign * mean,) if math.isnan(low) else (sign * low, sign * high))
    if ends[0] <= 0 <= ends[-1]:
        return Finding(ours, how, seeds, None, UNDECIDED if seeds > 1 else "undecided: no difference in its one seed")
    return Finding(ours, how, seeds, ends[0] > 0)
