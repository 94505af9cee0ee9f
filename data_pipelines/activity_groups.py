"""Users grouped by how active they are: in tens (Delicious, Table 2 of the paper) or by quantiles."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

QUANTILE_GROUPS = 10
TENS = tuple(range(0, 100, 10))
"""Lower ends of [0,10) … [80,90), [90,100]."""


@dataclass(frozen=True)
class Group:
    """Users with at least `least` interactions, and fewer than `end` (`closed`: at most `end`)."""

    least: int
    end: int
    closed: bool
    users: int
    interactions: int

    @property
    def label(self) -> str:
        """The interval of activity."""
        return f"[{self.least:,}, {self.end:,}{']' if self.closed else ')'}"


def group_users(activity: NDArray[np.int64], kind: str) -> list[Group]:
    """Group users by activity; equal quantiles fall together, so that fewer than ten groups may remain."""
    if kind == "tens":
        edges = [*TENS, 100]
        if activity.max() > edges[-1]:
            edges.append(int(activity.max()))
    else:
        shares = np.linspace(0, 1, QUANTILE_GROUPS + 1)
        edges = np.unique(np.quantile(activity, shares, method="lower")).tolist()
        if len(edges) == 1:
            edges *= 2
    groups = []
    for number, (least, end) in enumerate(zip(edges[:-1], edges[1:], strict=True)):
        # 100 closes its group even where more active users make another one after it.
        closed = number == len(edges) - 2 or (kind == "tens" and end == 100)
        after_closed = kind == "tens" and least == 100
        inside = (activity > least if after_closed else activity >= least) & (
            activity <= end if closed else activity < end
        )
        first = least + 1 if after_closed else least
        groups.append(Group(first, end, closed, int(inside.sum()), int(activity[inside].sum())))
    return groups
