"""Users grouped by activity: in steps of ten (Delicious, Table 2 of the paper) or by quantile."""

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

QUANTILE_GROUPS = 10
TENS = tuple(range(0, 100, 10))
"""Lower ends of [0,10) … [80,90), [90,100]."""


@dataclass(frozen=True)
class ActivityGroup:
    """Users with at least `least` interactions, and fewer than `end` (`closed`: at most `end`)."""

    least: int
    end: int
    closed: bool
    users: int
    interactions: int

    @property
    def label(self) -> str:
        """The interval of activity, as text."""
        return f"[{self.least:,}, {self.end:,}{']' if self.closed else ')'}"


def group_users(activity: NDArray[np.int64], kind: str) -> list[ActivityGroup]:
    """Group users by activity; equal quantiles are merged, so there may be fewer than ten groups."""
    if kind == "tens":
        groups = _groups(activity[activity <= 100], [*TENS], 100)
        above = activity[activity > 100]
        return groups + (_groups(above, [101], int(above.max())) if len(above) else [])
    shares = np.arange(QUANTILE_GROUPS) / QUANTILE_GROUPS
    starts = np.unique(np.quantile(activity, shares, method="lower"))
    return _groups(activity, starts.tolist(), int(activity.max()))


def _groups(activity: NDArray[np.int64], starts: list[int], last: int) -> list[ActivityGroup]:
    groups = []
    for least, end in itertools.zip_longest(starts, starts[1:]):
        inside = activity >= least if end is None else (activity >= least) & (activity < end)
        closed = end is None
        total = int(activity[inside].sum())
        groups.append(ActivityGroup(least, last if closed else end, closed, int(inside.sum()), total))
    return groups
