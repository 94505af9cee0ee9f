"""Ranks as intervals, from the verdicts on all pairs of methods."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmark.statistics.verdicts import Verdict

PairVerdicts = Mapping[tuple[str, str], Verdict]
"""Verdicts on pairs, each pair in one order."""

DEPENDS_ON_BUDGET = "depends on the budget"


@dataclass(frozen=True)
class Rank:
    """The best and the worst rank that the verdicts allow a method; 1 is the best method."""

    best: int
    worst: int

    def __str__(self) -> str:
        return str(self.best) if self.best == self.worst else f"{self.best}–{self.worst}"


def rank_text(rank: Rank | None) -> str:
    """Return a rank as text; None is a rank that depends on the budget."""
    return DEPENDS_ON_BUDGET if rank is None else str(rank)


def rank_intervals(methods: Sequence[str], verdicts: PairVerdicts) -> dict[str, Rank]:
    """Return the rank of each method as an interval.

    The best rank counts the methods that are better; the worst rank also counts those that may be. Equivalent and
    identical methods do not count against each other, so they share a rank.
    """
    ranks = {}
    for method in methods:
        against = [verdict_on(method, other, verdicts) for other in methods if other != method]
        worse = against.count(Verdict.WORSE)
        open_pairs = sum(verdict in (Verdict.UNDECIDED, Verdict.NONE) for verdict in against)
        ranks[method] = Rank(1 + worse, 1 + worse + open_pairs)
    return ranks


def verdict_on(method: str, other: str, verdicts: PairVerdicts) -> Verdict:
    """Return the verdict on a method, compared with another, in whichever order the pair is listed."""
    if (method, other) in verdicts:
        return verdicts[method, other]
    return verdicts[other, method].reversed


def contradict(verdicts: Iterable[Verdict]) -> bool:
    """Whether verdicts on one pair at different budgets contradict each other: better at one, worse at another."""
    return {Verdict.BETTER, Verdict.WORSE} <= set(verdicts)


def ranks_over_budgets(
    methods: Sequence[str], primary: PairVerdicts, by_budget: Iterable[PairVerdicts]
) -> dict[str, Rank | None]:
    """Return the rank of each method at the primary endpoint; None where it depends on the budget.

    That is so for both methods of a pair whose verdicts at different budgets contradict each other.
    """
    budgets = list(by_budget)
    contradicting = {
        method for pair in primary if contradict(verdicts[pair] for verdicts in budgets) for method in pair
    }
    ranks = rank_intervals(methods, primary)
    return {method: None if method in contradicting else rank for method, rank in ranks.items()}
