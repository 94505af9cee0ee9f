"""What one kind of fault did: how often it was injected, how often survived, what was lost or different."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field


@dataclass
class Tally:
    """A fault counts as injected only if it was; whatever is wrong afterwards is a line in `trouble`."""

    fault: str
    injected: int = 0
    failed: int = 0
    trouble: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def survived(self) -> int:
        """Injections after which nothing was wrong."""
        return self.injected - self.failed

    @property
    def said(self) -> str:
        """How it went, in a few words."""
        return f"{self.survived} of {self.injected} survived"

    def count(self, injections: int, problems: Iterable[str]) -> None:
        """Count injections that shared one sweep: with a single problem none of them was survived."""
        found = list(problems)
        self.injected += injections
        self.failed += injections if found else 0
        self.trouble += found


def table(tallies: Sequence[Tally]) -> str:
    """Return the rows, and the sum, as text."""
    head = ("fault", "injected", "survived", "seconds", "lost or different")
    rows = [
        (
            each.fault,
            str(each.injected),
            str(each.survived),
            f"{each.seconds:.0f}",
            "; ".join(each.trouble) or "nothing",
        )
        for each in tallies
    ]
    total = Tally("all", sum(each.injected for each in tallies), sum(each.failed for each in tallies))
    troubled = sum(bool(each.trouble) for each in tallies)
    seconds = f"{sum(each.seconds for each in tallies):.0f}"
    verdict = f"{troubled} kinds of fault" if troubled else "nothing"
    rows.append((total.fault, str(total.injected), str(total.survived), seconds, verdict))
    wide = [max(len(row[column]) for row in [head, *rows]) for column in range(4)]
    return "\n".join(
        f"{row[0]:<{wide[0]}}  {row[1]:>{wide[1]}}  {row[2]:>{wide[2]}}  {row[3]:>{wide[3]}}  {row[4]}"
        for row in [head, *rows]
    )
