"""Evidence for or against a claim of the paper: our values, one per seed, and how they were obtained."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.statistics.paired import mean_interval
from benchmark.statistics.verdicts import ClaimVerdict
from reports.write.table import interval_text


@dataclass(frozen=True)
class Evidence:
    """The result of a test: our value as text, the number of seeds, and the method in words.

    `values` has one number per seed, above zero where the runs agree with the paper: all directions are judged together
    by these. A test that does not vary over seeds has its `verdict` instead. `why_not` says why there is neither.
    """

    ours: str = ""
    method: str = ""
    values: tuple[float, ...] = ()
    verdict: ClaimVerdict | None = None
    why_not: str = ""

    @property
    def seeds(self) -> int:
        """The number of seeds with a value."""
        return len(self.values)


def evidence(values: Sequence[float], sign: int, before: str, method: str, bound: float = math.inf) -> Evidence:
    """Return the evidence of one number per seed; `sign` is the side of zero that the paper states.

    No value can exceed `bound` on either side, so the interval ends there.
    """
    numbers = [value for value in values if not math.isnan(value)]
    if not numbers:
        return Evidence(why_not="the metric does not vary")
    ours = before + interval_text(*(min(max(end, -bound), bound) for end in mean_interval(numbers)))
    return Evidence(ours, method, tuple(sign * value for value in numbers))
