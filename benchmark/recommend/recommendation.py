"""The answer for given data: the decision, its evidence, how sure it is, and what readers should know."""

import math
from dataclasses import dataclass, replace

import pandas as pd

from benchmark.board.board import Board
from benchmark.board.entries import MethodRow, others_text
from benchmark.board.result import BoardResult
from benchmark.metrics import Goal
from benchmark.recommend.data import DataProfile
from benchmark.recommend.decision import (
    Decision,
    Dependence,
    Gain,
    Holdout,
    Option,
    Welcome,
    compared,
    percent,
    row_option,
    rule_option,
    shown_by,
)
from benchmark.recommend.log import Log
from benchmark.results.budget import Budget
from benchmark.statistics.intervals import Interval
from benchmark.statistics.verdicts import Verdict
from data_pipelines.support.messages import one_line

NOTHING: Interval = (math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class Line:
    """A row of the answer.

    Attributes:
        name: the rule, or the method.
        setting: the values of its parameters.
        mean: its mean score, with its interval over seeds, `low` to `high`.
        transfers: its needed messages per client; NaN for references.
        verdict: on its score, compared with the first row.
        hits: recommendations that were taken, per 100, with an interval.
        value: the value taken per 100 recommendations.
    """

    name: str
    setting: str
    mean: float
    low: float
    high: float
    transfers: float = math.nan
    verdict: str = ""
    hits: Interval = NOTHING
    value: Interval = NOTHING


@dataclass(frozen=True, repr=False)
class Recommendation:
    """The answer for one data set and budget, and the runs behind it.

    Attributes:
        data: as the user named it.
        budget: as the user gave it; None without one.
        limit: the budget in full messages per decision.
        profile: what the data are like.
        result: the board that was played.
        decision: a rule, learning alone or sharing: which of them, and the evidence.
        label: the notice on generated or reconstructed data; empty if there is none.
        notices: the remarks on leaks in the data.
        by: what decides: how many recommendations are taken, or what is taken is worth.
        log: what the interactions have; None for a task, whose stream states its choices.
        pools: how the pools were drawn, and from which events, in a sentence.
        depends: choices about the data that were also made otherwise.
        holdout: the check on the last part of the time; None where times are not known.
        welcome: what sending new clients the current model earns and costs; None without a method that can.
    """

    data: str
    budget: Budget | None
    limit: float
    profile: DataProfile
    result: BoardResult
    decision: Decision
    label: str = ""
    notices: tuple[str, ...] = ()
    by: Goal = "hits"
    log: Log | None = None
    pools: str = ""
    depends: tuple[Dependence, ...] = ()
    holdout: Holdout | None = None
    welcome: Welcome | None = None

    @property
    def best(self) -> str:
        """The best federated row: the best mean over the choosing seeds among settings within the budget."""
        return self.best_at(self.limit)

    def best_at(self, limit: float) -> str:
        """Return the best federated row at a budget, by its mean over the choosing seeds."""
        scores = {
            entry.name: choice.score
            for entry in self.result.contenders
            if entry.is_ranked and (choice := self.result.choice(entry.name, limit)) is not None
        }
        if not scores:
            raise ValueError(one_line(f"no method could be run on {self.data}: {self._problems()}"))
        return max(scores, key=lambda name: scores[name])

    def line(self, row: str, limit: float, name: str = "") -> Line:
        """Return a row of the answer at a budget."""
        entry = self._entry(row)
        if self.result.choice(row, limit) is None:
            return Line(name or entry.label, "none within it", math.nan, math.nan, math.nan)
        return _line(row_option(self.result, "share", entry, limit), name)

    @property
    def first(self) -> Option:
        """The option that is decided for; without a decision, the one with the highest mean."""
        if not self.decision.options:
            raise ValueError(one_line(f"no method could be run on {self.data}: {self._problems()}"))
        return self.decision.option or max(self.decision.options, key=lambda option: option.score[0])

    def lines(self) -> list[Line]:
        """Return the table: the decision, other rules that can be deployed, the methods, both extremes, references.

        Verdicts compare a row with the first one.
        """
        result, first = self.result, self.first
        rows: list[tuple[str, Option]] = [("", first), *(("", rule) for rule in self.decision.rules)]
        rows += [
            ("", row_option(result, "share", entry, self.limit))
            for entry in result.contenders
            if entry.is_ranked and result.choice(entry.name, self.limit) is not None
        ]
        reference = self._entry(result.board.protocol.comparison.reference)
        rows.append(("never communicating", row_option(result, "alone", reference, 0.0)))
        if always := next((entry for entry in result.contenders if entry.fixed), None):
            rows.append(("always communicating", row_option(result, "share", always, math.inf)))
        rows += [("", self._reference(entry)) for entry in result.references if not shown_by(entry)]
        own = first.configuration
        rows = [rows[0], *((name, row) for name, row in rows[1:] if name or row.configuration != own)]
        pairs = [(name, own) for name in dict.fromkeys(row.configuration for _, row in rows) if name != own]
        gains = compared(result, [row for _, row in rows], pairs)
        lines = [_line(first)]
        for name, row in rows[1:]:
            gain = gains.get((row.configuration, own))
            same = Verdict.IDENTICAL if row.configuration == own else Verdict.NONE
            verdict = gain.verdict if gain else same
            lines.append(replace(_line(row, name), verdict="" if verdict is Verdict.NONE else str(verdict)))
        if math.isfinite(self.profile.popularity) and self.by == "hits":
            lines.append(Line("popularity in hindsight", "", self.profile.popularity, math.nan, math.nan))
        return lines

    def over_budgets(self) -> list[tuple[float, Line]]:
        """Return the best federated row at each budget."""
        return [(limit, self.line(self.best_at(limit), limit)) for limit in self.result.budgets]

    @property
    def table(self) -> pd.DataFrame:
        """The best federated row at each budget, in messages per client, as a table."""
        columns = ["name", "setting", "mean", "low", "high", "transfers"]
        rows = [
            {"budget": self.result.board.per_client(limit)} | {name: getattr(line, name) for name in columns}
            for limit, line in self.over_budgets()
        ]
        return pd.DataFrame(rows)

    @property
    def random(self) -> Option:
        """Random choice, as an option."""
        chance = next((each for each in self.result.references if each.role == "baseline"), None)
        if chance is None:
            return Option("rule", "random choice", str(self.result.board.baseline), NOTHING)
        return rule_option(self.result, chance, "random choice")

    def rates(self) -> str:
        """Return what is taken per 100 recommendations, by random choice and with each option; empty in simulations."""
        named = [("random choice", self.random)]
        named += [(_option_name(option), option) for option in self.decision.options]
        hits = [f"{option.hits[0]:.3g} {name}" for name, option in named if not math.isnan(option.hits[0])]
        values = [f"{option.value[0]:,.4g} {name}" for name, option in named if not math.isnan(option.value[0])]
        text = f"Taken per 100 recommendations: {'; '.join(hits)}." if hits else ""
        return text + (f" Value taken per 100 recommendations: {'; '.join(values)}." if values else "")

    def certainty(self) -> list[str]:
        """Return how sure the decision is: what it earns more than each other option, over seeds and over clients."""
        if self.decision.option is None:
            return []
        seeds = f"On {len(self.result.board.seeds)} seeds that were not used for choosing"
        sentences = [f"{seeds}, it earns {_gain_sentence(gain)}." for gain in self.decision.gains]
        if not any(option.kind == "share" for option in self.decision.options):
            sentences.append(
                "On the seeds for choosing, no setting that communicates within the budget earned more than learning "
                "alone."
            )
        return sentences

    def footnotes(self) -> list[str]:
        """Return what is no option: rules that exploit the pools and earn more; and methods that do not take part."""
        above = []
        for entry in self.result.references:
            option = self._reference(entry)
            if not shown_by(entry) and entry.role == "reference" and option.score[1] > self.first.score[2]:
                above.append(f"{entry.label} ({score_text(_line(option))})")
        labels = {entry.name: entry.label for entry in self.result.board.entries}
        problems = self.result.problems
        sentences = [f"{labels[name]} does not take part: {problem}." for name, problem in problems.items()]
        if above:
            sentences.append(
                f"Not options, as they exploit how the pools are drawn or know more than a client can: "
                f"{'; '.join(above)}."
            )
        return sentences

    def needs(self) -> str:
        """Return what the option that is decided for would need, in the unit of the budget."""
        if math.isnan(self.first.transfers):
            return "It sends no models; counts over all clients, where it uses them, must be kept up to date."
        needed = self._in_unit(self.first.transfers)
        limit = "" if self.budget is None else f", of {self.budget} that are allowed"
        return f"It needs {needed}{limit}."

    def _in_unit(self, transfers: float) -> Budget:
        """Return transfers per client as a budget in the user's unit."""
        board, log = self.result.board, self.log
        clients = log.clients if log else board.clients
        sizes = {"steps": board.steps / board.clients * clients, "days": log.days if log else math.nan}
        return (self.budget or Budget(1.0)).needed(transfers, clients, self.profile.dimension, **sizes)

    def other_budgets(self) -> list[str]:
        """Return what a smaller and a larger budget would change for the best federated method."""
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
            sentences.append(f"With a {word} budget ({self.limit_text(limit)}): {change}.")
        return sentences

    def plan_text(self) -> str:
        """Return the plan that was played."""
        others = others_text({entry.method for entry in self.result.board.entries})
        return f"{plan_text(self.result.board)} {len(self.result.outcomes):,} runs. {others}".rstrip()

    def question(self) -> str:
        """Return the data and the budget."""
        return f"{self.profile.name}, {self.allowed()}"

    def allowed(self) -> str:
        """Return the budget in words."""
        if math.isinf(self.limit):
            return "unlimited communication"
        per_client = Budget(float(f"{self.result.board.per_client(self.limit):.10g}"))
        return f"at most {self.budget or per_client}"

    def answer(self) -> str:
        """Return the decision in one sentence."""
        return self.decision.headline

    def limit_text(self, limit: float) -> str:
        """Write a budget: as the user gives one, or in transfers per client."""
        if not limit:
            return "no communication"
        if math.isinf(limit):
            return "unlimited"
        per_client = self.result.board.per_client(limit)
        return f"{transfers_text(per_client)} per client" if self.budget is None else str(self._in_unit(per_client))

    @property
    def unit(self) -> str:
        """What scores are multiples of."""
        if self.result.board.scale != "reward":
            return " of the regret of random choice avoided"
        return " times random choice" if self.by == "hits" else " times the value of random choice"

    def sentences(self) -> list[str]:
        """Return the whole answer: the pools, the decision, what it depends on, and how sure it is."""
        sentences = [self.pools, self.answer(), *self.notices, self.rates()]
        sentences += [each.sentence() for each in sorted(self.depends, key=lambda each: not each.changes)]
        sentences += self.certainty()
        sentences += [self.holdout.sentence()] if self.holdout else []
        sentences += [self.needs(), self.welcome.sentence() if self.welcome else ""]
        return [sentence for sentence in [*sentences, *self.other_budgets(), *self.footnotes()] if sentence]

    def __str__(self) -> str:
        """Return the whole answer, one sentence or two per line."""
        return "\n".join(self.sentences())

    def __repr__(self) -> str:
        """Return the question and the decision."""
        return f"<Recommendation for {self.question()}: {self.answer()}>"

    def _repr_html_(self) -> str:
        import html

        texts = "".join(f"<p>{html.escape(text)}</p>" for text in self.sentences())
        return f"{texts}{self.table.to_html(index=False, float_format='{:.4g}'.format, border=0)}"

    def _entry(self, row: str) -> MethodRow:
        return next(entry for entry in self.result.contenders if entry.name == row)

    def _reference(self, entry: MethodRow) -> Option:
        return rule_option(self.result, entry, entry.label)

    def _problems(self) -> str:
        return "; ".join(self.result.problems.values()) or "no setting has a score"


def _line(option: Option, name: str = "") -> Line:
    label = name or option.name[:1].upper() + option.name[1:]
    return Line(label, option.setting, *option.score, option.transfers, "", option.hits, option.value)


def _option_name(option: Option) -> str:
    return {"rule": option.name, "alone": "learning alone", "share": "sharing"}[option.kind]


def _gain_sentence(gain: Gain) -> str:
    words = {Verdict.EQUIVALENT: "as much as, within 5 %,", Verdict.UNDECIDED: "not decidedly more or less than"}
    start = words.get(gain.verdict, "more than" if gain.mean > 0 else "less than")
    clients = ""
    if not math.isnan(gain.clients_low):
        clients = f", and {percent(gain.clients_low, gain.clients_high)} over clients"
    seeds = f"{percent(gain.mean)} % {percent(gain.low, gain.high)} over seeds"
    return f"{start} {_option_name(gain.other)}: {seeds}{clients}"


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
