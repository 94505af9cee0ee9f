"""Counts of one kind of fault: injections, survived injections, and what was lost or different."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


@dataclass
class Tally:
    """Only faults that actually happened count as injected; `problems` describes what was wrong afterwards."""

    fault: str
    injected: int = 0
    failed: int = 0
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def survived(self) -> int:
        """Injections after which nothing was wrong."""
        return self.injected - self.failed

    @property
    def summary(self) -> str:
        """The result in a few words."""
        return f"{self.survived} of {self.injected} survived"

    def count(self, injections: int, problems: Iterable[str]) -> None:
        """Count injections into one sweep: if there is any problem, none of them counts as survived."""
        new_problems = list(problems)
        self.injected += injections
        self.failed += injections if new_problems else 0
        self.problems += new_problems


def table(tallies: Sequence[Tally]) -> str:
    """Return the rows and their sum as text."""
    head = ("fault", "injected", "survived", "seconds", "lost or different")
    rows = [
        (
            tally.fault,
            str(tally.injected),
            str(tally.survived),
            f"{tally.seconds:.0f}",
            "; ".join(tally.problems) or "nothing",
        )
        for tally in tallies
    ]
    total = Tally("all", sum(tally.injected for tally in tallies), sum(tally.failed for tally in tallies))
    kinds_with_problems = sum(bool(tally.problems) for tally in tallies)
    seconds = f"{sum(tally.seconds for tally in tallies):.0f}"
    verdict = f"{kinds_with_problems} kinds of fault" if kinds_with_problems else "nothing"
    rows.append((total.fault, str(total.injected), str(total.survived), seconds, verdict))
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(4)]
    return "\n".join(
        f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]:>{widths[3]}}  {row[4]}"
        for row in [head, *rows]
    )
