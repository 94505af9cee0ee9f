"""The answer of a small board: which method and setting to use, how sure that is, and what readers should know."""

import math
from dataclasses import dataclass
from functools import cached_property

import pandas as pd

from benchmark.board.board import Board
from benchmark.board.entries import others_text
from benchmark.board.result import BoardResult
from benchmark.recommend.data import DataProfile
from benchmark.recommend.decision import Decision, Dependence, Holdout, decide
from benchmark.results.budget import Budget
from benchmark.statistics.comparison import NO_COMMUNICATION, compare
from benchmark.statistics.verdicts import Verdict
from data_pipelines.stream_spec import DatasetSpec
from data_pipelines.support.messages import one_line


@dataclass(frozen=True)
class Line:
    """A row of the answer: its name and setting, its mean score with interval, and its needed messages per client."""

    name: str
    setting: str
    mean: float
    low: float
    high: float
    transfers: float = math.nan
    verdict: str = ""


@dataclass(frozen=True)
class Recommendation:
    """The answer for one data set and budget, and the runs behind it.

    Attributes:
        data: as the user named it.
        budget: as the user gave it; None without one.
        limit: the budget in full messages per decision.
        profile: what the data are like.
        result: the board that was played.
        label: the notice on generated or reconstructed data; empty if there is none.
        notices: the remarks on leaks in the data.
        pools: how the pools were drawn, and from which events, in a sentence.
        depends: choices about the data that were also made otherwise.
        holdout: the check on the last part of the time; None where times are not known.
    """

    data: str
    budget: Budget | None
    limit: float
    profile: DataProfile
    result: BoardResult
    label: str = ""
    notices: tuple[str, ...] = ()
    pools: str = ""
    depends: tuple[Dependence, ...] = ()
    holdout: Holdout | None = None

    @cached_property
    def decision(self) -> Decision:
        """A rule, learning alone or sharing: which of them, and the evidence."""
        return decide(self.result, self.limit)

    @property
    def best(self) -> str:
        """The recommended row: the best mean over the choosing seeds among settings within the budget."""
        return self.best_at(self.limit)

    def best_at(self, limit: float) -> str:
        """Return the best row at a budget, by its mean over the choosing seeds."""
        scores = {
            entry.name: choice.score
            for entry in self.result.contenders
            if entry.is_ranked and (choice := self.result.choice(entry.name, limit)) is not None
        }
        if not scores:
            raise ValueError(one_line(f"no method could be run on {self.data}: {self._problems()}"))
        return max(scores, key=lambda name: scores[name])

    def line(self, row: str, limit: float, name: str = "", verdict: str = "") -> Line:
        """Return a row of the answer at a budget."""
        choice = self.result.choice(row, limit)
        label = name or self._label(row)
        if choice is None:
            return Line(label, "none within it", math.nan, math.nan, math.nan)
        transfers = self.result.board.per_client(self.result.needed(choice.configuration))
        return Line(label, setting_of(choice.configuration), *self.result.mean(row, limit), transfers, verdict)

    def lines(self) -> list[Line]:
        """Return the table: the recommendation, the other methods, both extremes, and reference lines.

        Verdicts compare a row with the recommendation.
        """
        ranked = [entry.name for entry in self.result.contenders if entry.is_ranked]
        rows = [self.line(self.best, self.limit)]
        rows += [self.line(name, self.limit, "", self._verdict(name)) for name in ranked if name != self.best]
        reference = self.result.board.protocol.comparison.reference
        rows.append(self.line(reference, 0.0, "never communicating", self._verdict(NO_COMMUNICATION)))
        always = next((entry.name for entry in self.result.contenders if entry.fixed), None)
        if always is not None:
            rows.append(self.line(always, math.inf, "always communicating"))
        rows += [Line(entry.label, "", *self.result.line(entry.name)) for entry in self.result.references]
        if math.isfinite(self.profile.popularity):
            rows.append(Line("popularity in hindsight", "", self.profile.popularity, math.nan, math.nan))
        return rows

    @cached_property
    def _verdicts(self) -> dict[str, Verdict]:
        """The verdicts on the other rows, compared with the recommended one, at its budget."""
        scores, board = self.result.scores, self.result.board
        if scores is None:
            return {}
        others = [name for name in scores.methods if name != self.best]
        table = compare(scores, [(name, self.best, self.limit) for name in others], board.protocol.rules())
        return dict(zip(others, map(Verdict, table["verdict"]), strict=True))

    def _verdict(self, other: str) -> str:
        verdict = self._verdicts.get(other, Verdict.NONE)
        return "" if verdict is Verdict.NONE else str(verdict)

    def over_budgets(self) -> list[tuple[float, Line]]:
        """Return the best row at each budget."""
        return [(limit, self.line(self.best_at(limit), limit)) for limit in self.result.budgets]

    @property
    def table(self) -> pd.DataFrame:
        """The best row at each budget, in messages per client, as a table."""
        rows = [{"budget": self.result.board.per_client(limit), **vars(line)} for limit, line in self.over_budgets()]
        return pd.DataFrame(rows).drop(columns="verdict")

    def certainty(self) -> str:
        """Return how sure the recommendation is, compared with never communicating."""
        seeds = f"On {len(self.result.board.seeds)} seeds that were not used for choosing"
        row = self.result.difference(self.best, NO_COMMUNICATION, self.limit)
        choice = self.result.choice(self.best, self.limit)
        if choice is not None and choice.communication == 0:
            return (
                "It does not communicate: on the seeds for choosing, no setting that communicates within the budget "
                "earned more."
            )
        if row is None or math.isnan(row["difference"]):
            return f"{seeds}: runs are missing, so the difference to never communicating is not known."
        band = f"{row['difference']:+.3g} [{row['low']:+.3g}; {row['high']:+.3g}]"
        words = {
            "better": "it earns more than never communicating",
            "worse": "it earns less than never communicating; the choice did not hold on new seeds",
            "equivalent": "it earns the same as never communicating, within 5 %",
            "identical": "it is the same as never communicating",
        }.get(str(row["verdict"]), "it is not decided whether it earns more or less than never communicating")
        return f"{seeds}, {words}: difference {band}."

    def warnings(self) -> list[str]:
        """Return warnings: methods without a result, and references that earn more than the recommended method."""
        above, undecided = [], []
        own = self.result.mean(self.best, self.limit)[0]
        for entry in self.result.references:
            _, low, _ = self.result.above(entry.name, self.best)
            line = Line(entry.label, "", *self.result.line(entry.name))
            if low > 0:
                above.append(f"{line.name} ({score_text(line)})")
            elif line.mean > own:
                undecided.append(f"{line.name} ({score_text(line)})")
        problems = self.result.problems
        labels = {entry.name: entry.label for entry in self.result.board.entries}
        sentences = [f"{labels[name]} does not take part: {problem}." for name, problem in problems.items()]
        if above:
            sentences.append(
                f"WARNING: references earn more than the recommended method on these data: {'; '.join(above)}. "
                "The recommendation is the best of the federated methods, and not the best rule for these data. "
                "If a rule without a model, which only counts or remembers items, is acceptable to you, test it with "
                "real users first: it learns nothing about what a single user likes."
            )
        if undecided:
            sentences.append(f"It is not decided whether these references earn more: {'; '.join(undecided)}.")
        if (above or undecided) and self.has_sampled_pools:
            sentences.append(
                "A rule that remembers items can use how the pools are drawn: an item that is offered to a client for "
                "the second time is rarely the rewarded one. With real users, this part of its reward may be missing."
            )
        return sentences

    @property
    def has_sampled_pools(self) -> bool:
        """Whether the other items of each pool were drawn at random from the data."""
        stream = self.result.board.task.stream
        return isinstance(stream, DatasetSpec) and stream.pools == "sampled"

    def other_budgets(self) -> list[str]:
        """Return what a smaller and a larger budget would change."""
        index = self.result.budgets.index(self.limit)
        own = self.line(self.best, self.limit)
        sentences = []
        for word, other in (("smaller", index - 1), ("larger", index + 1)):
            if not 0 <= other < len(self.result.budgets):
                continue
            limit = self.result.budgets[other]
            line = self.line(self.best_at(limit), limit)
            same = (line.name, line.setting) == (own.name, own.setting)
            change = "the same setting" if same else f"{line.name} {line.setting}, {score_text(line)}"
            sentences.append(f"A {word} budget ({self.limit_text(limit)}): {change}.")
        return sentences

    def plan_text(self) -> str:
        """Return the plan that was played."""
        others = others_text({entry.method for entry in self.result.board.entries})
        return f"{plan_text(self.result.board)} {len(self.result.outcomes):,} runs. {others}".rstrip()

    def answer(self) -> str:
        """Return the recommendation in one or two sentences."""
        line = self.line(self.best, self.limit)
        per_client = Budget(float(f"{self.result.board.per_client(self.limit):.10g}"))
        limit = "unlimited communication" if math.isinf(self.limit) else f"at most {self.budget or per_client}"
        start = "" if line.transfers else "Do not communicate: let each client learn alone. "
        return (
            f"{start}For {self.profile.name} with {limit}, use {line.name} with {line.setting or 'its defaults'}. It "
            f"earns {score_text(line)}{self.unit}, with {transfers_text(line.transfers)} needed transfers per client."
        )

    def limit_text(self, limit: float) -> str:
        """Write a budget in transfers per client."""
        if not limit:
            return "no communication"
        per_client = self.result.board.per_client(limit)
        return "unlimited" if math.isinf(limit) else f"{transfers_text(per_client)} per client"

    @property
    def unit(self) -> str:
        """What scores are multiples of."""
        return (
            " times random choice" if self.result.board.scale == "reward" else " of the regret of random choice avoided"
        )

    def __str__(self) -> str:
        """Return the answer, how sure it is, warnings, and what other budgets change."""
        return "\n".join([self.answer(), *self.notices, self.certainty(), *self.warnings(), *self.other_budgets()])

    def _repr_html_(self) -> str:
        import html

        texts = "".join(f"<p>{html.escape(text)}</p>" for text in str(self).splitlines())
        return f"{texts}{self.table.to_html(index=False, float_format='{:.4g}'.format, border=0)}"

    def _label(self, row: str) -> str:
        return next(entry.label for entry in self.result.contenders if entry.name == row)

    def _problems(self) -> str:
        return "; ".join(self.result.problems.values()) or "no setting has a score"


def plan_text(board: Board) -> str:
    """Return the plan of a board in words."""
    methods = [entry for entry in board.playing if entry.is_ranked]
    settings = max((len(entry.configurations) for entry in methods), default=0)
    choosing = sum(len(each.seeds) for each in board.protocol.halving())
    return (
        f"Plan: {len(methods)} methods with up to {settings} settings each, chosen on {choosing} seeds; the chosen "
        f"settings on {len(board.seeds)} other seeds, which are reported. This is smaller than the benchmark protocol."
    )


def setting_of(configuration: str) -> str:
    """Return the values of a configuration: `gamma=5, alpha=0.3` of `name[gamma=5,alpha=0.3]`."""
    return configuration.partition("[")[2].removesuffix("]").replace(",", ", ")


def score_text(line: Line) -> str:
    """Write a score with its interval."""
    interval = "" if math.isnan(line.low) else f" [{line.low:.3g}; {line.high:.3g}]"
    return f"{line.mean:.3g}{interval}"


def transfers_text(transfers: float) -> str:
    """Write a number of transfers."""
    return f"{transfers:,.0f}" if abs(transfers) >= 100 else f"{transfers:.3g}"
