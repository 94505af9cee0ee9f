"""The decision for given data: a rule without a model, each client alone, or sharing; and how sure that is.

The three options are compared on the report seeds by the statistics of the board. The simplest option that no other one
is shown to beat is the decision: a rule before learning alone, and learning alone before sharing.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from benchmark.board.entries import MethodRow
from benchmark.board.result import BoardResult
from benchmark.plan.method_names import make_method
from benchmark.statistics.budgets import Scores
from benchmark.statistics.comparison import NO_COMMUNICATION, compare
from benchmark.statistics.intervals import Floats, Interval, mean_interval
from benchmark.statistics.verdicts import Verdict, no_statement

Kind = Literal["rule", "alone", "share"]
UNDECIDED: Literal["undecided"] = "undecided"
"""The kind of a decision on fewer report seeds than a verdict needs."""

NOTHING: Interval = (math.nan, math.nan, math.nan)


@dataclass(frozen=True)
class Option:
    """What can be done: show what a rule says, let each client learn alone, or share.

    Attributes:
        kind: which of the three it is.
        name: the name of the rule or of the method, for people.
        configuration: the rule or the method with its setting, as `--method` takes it.
        score: times random choice, or in simulations the share of its regret that is avoided; with a 95 % interval.
        hits: recommendations that were taken, per 100; NaN in simulations.
        value: the value taken per 100 recommendations; NaN without a value column.
        transfers: the needed full transfers per client; NaN for a rule.
        values: its score on each report seed.
    """

    kind: Kind
    name: str
    configuration: str
    score: Interval
    hits: Interval = NOTHING
    value: Interval = NOTHING
    transfers: float = math.nan
    values: tuple[float, ...] = ()

    @property
    def setting(self) -> str:
        """The values of the setting: `gamma=5, alpha=0.3`."""
        return self.configuration.partition("[")[2].removesuffix("]").replace(",", ", ")


@dataclass(frozen=True)
class Gain:
    """What the decision earns more than another option, as a share of what that one earns: 0.05 is +5 %.

    `low` and `high` are the simultaneous 95 % band over seeds; `clients_low` and `clients_high` the 95 % interval over
    clients.
    """

    other: Option
    mean: float
    low: float
    high: float
    verdict: Verdict
    clients_low: float = math.nan
    clients_high: float = math.nan


@dataclass(frozen=True)
class Decision:
    """The decision on one stream within one budget, and its evidence.

    Attributes:
        kind: the option that is decided for, or `undecided` with too few seeds.
        headline: the decision in one sentence.
        options: the best rule, learning alone, and sharing, where there are such; from the simplest.
        gains: the decision compared with each other option, in the same order; empty if undecided.
        rules: all deployable rules, the best first.
    """

    kind: Kind | Literal["undecided"]
    headline: str
    options: tuple[Option, ...]
    gains: tuple[Gain, ...] = ()
    rules: tuple[Option, ...] = ()

    @property
    def option(self) -> Option | None:
        """The option that is decided for."""
        return next((option for option in self.options if option.kind == self.kind), None)


@dataclass(frozen=True)
class Dependence:
    """A choice about the data that was also made otherwise, and the decision then.

    Attributes:
        choice: what was chosen, such as `repeats`.
        used: the value behind the decision, in words.
        other: the other value, in words.
        decision: the decision with the other value.
        changes: whether it is another one.
    """

    choice: str
    used: str
    other: str
    decision: Decision
    changes: bool

    def sentence(self) -> str:
        """Return the dependence in one or two sentences."""
        if self.changes:
            return f"IT DEPENDS on {self.choice} ({self.used}). With {self.other}: {self.decision.headline}"
        return f"The same with {self.other} instead of {self.used}."


@dataclass(frozen=True)
class Holdout:
    """The choice on the first part of the time, checked on the last part.

    Attributes:
        share: the share of the decisions in the last part.
        since: the first day of the last part; empty if times are not dates.
        chosen: the decision on the first part.
        later: the decision on the last part, among the same options and settings.
        was_right: whether no other option is shown to earn more in the last part; None with too few seeds.
    """

    share: float
    since: str
    chosen: Decision
    later: Decision
    was_right: bool | None

    def sentence(self) -> str:
        """Return the check in two sentences."""
        since = f", since {self.since}" if self.since else ""
        start = f"Chosen on the first {1 - self.share:.0%} of the time: {self.chosen.headline}"
        end = f"on the last {self.share:.0%}{since}"
        if self.was_right is None:
            return f"{start} It could not be checked {end}."
        if self.was_right:
            return f"{start} It would have been right {end}: no other option earns more there."
        return f"{start} It would have been WRONG {end}: {self.later.headline}"


def decide(result: BoardResult, limit: float) -> Decision:
    """Compare the best rule, learning alone and sharing within a budget, which the board must have."""
    rules = sorted(_rules(result), key=lambda rule: -rule.score[0])
    options = (*rules[:1], *_methods(result, limit))
    verdicts = _verdicts(result, [*rules, *options[len(rules[:1]) :]])
    if not result.board.has_enough_seeds or not verdicts:
        needed = result.board.protocol.comparison.min_report_seeds
        return Decision(
            UNDECIDED, f"No decision. {no_statement([len(result.board.seeds)], needed)}.", options, (), (*rules,)
        )
    advised = next(
        option
        for option in options
        if not any(
            verdicts[other.configuration, option.configuration].verdict is Verdict.BETTER
            for other in options
            if other != option
        )
    )
    gains = tuple(verdicts[advised.configuration, other.configuration] for other in options if other != advised)
    return Decision(advised.kind, _headline(advised, gains), options, gains, (*rules,))


def _headline(advised: Option, gains: Sequence[Gain]) -> str:
    """Return the decision in one sentence."""
    if advised.kind == "rule":
        is_open = any(gain.verdict is Verdict.UNDECIDED and gain.mean < 0 for gain in gains)
        earns = "is shown to earn" if is_open else "earns"
        return f"Show {advised.name}: no federated method {earns} more on these data."
    rivals = [gain for gain in gains if gain.verdict in (Verdict.BETTER, Verdict.WORSE)]
    over = max(rivals, key=lambda gain: gain.other.score[0], default=None)
    more = "" if over is None else f": {gain_text(over)} over {_rival(over.other)}"
    if advised.kind == "share":
        return f"Share with {advised.name}, {advised.setting}{more}."
    return f"Let each client learn alone, with {advised.name}, {advised.setting}{more}."


def _rival(option: Option) -> str:
    return {"rule": option.name, "alone": "learning alone", "share": "sharing"}[option.kind]


def gain_text(gain: Gain) -> str:
    """Write a gain in percent with its band over seeds: `+5 % [+2; +8]`."""
    return f"{100 * gain.mean:+.3g} % [{100 * gain.low:+.3g}; {100 * gain.high:+.3g}]"


def _rules(result: BoardResult) -> list[Option]:
    """Return the rules that can be deployed: those that say what to show."""
    rules = []
    for entry in result.references:
        for configuration, parameters in entry.configurations.items():
            shown = getattr(make_method(entry.method, parameters), "shows", "")
            if shown:
                values = tuple(result.lines[entry.name].get(seed, math.nan) for seed in result.board.seeds)
                rules.append(_measured(result, Option("rule", shown, configuration, NOTHING, values=values)))
    return rules


def _methods(result: BoardResult, limit: float) -> list[Option]:
    """Return learning alone, and sharing if a method that communicates stays within the budget.

    Each is the method and setting with the best mean over the choosing seeds.
    """
    ranked = [entry for entry in result.contenders if entry.is_ranked]
    alone = _best(result, ranked, 0.0)
    sharing = _best(result, ranked, limit, communicates=True)
    kinds: tuple[tuple[Kind, MethodRow | None, float], ...] = (("alone", alone, 0.0), ("share", sharing, limit))
    options = []
    for kind, entry, budget in kinds:
        choice = result.choice(entry.name, budget) if entry else None
        if entry is not None and choice is not None:
            transfers = result.board.per_client(result.needed(choice.configuration))
            values = tuple(result.values(entry.name, budget).tolist())
            option = Option(kind, entry.label, choice.configuration, NOTHING, transfers=transfers, values=values)
            options.append(_measured(result, option))
    return options


def _best(
    result: BoardResult, entries: Sequence[MethodRow], limit: float, *, communicates: bool = False
) -> MethodRow | None:
    """Return the row with the best choice within a budget, by the choosing seeds; None if there is none."""
    choices = {entry.name: result.choice(entry.name, limit) for entry in entries}
    scores = {
        name: choice.score
        for name, choice in choices.items()
        if choice is not None and (choice.communication > 0 or not communicates)
    }
    return max((entry for entry in entries if entry.name in scores), key=lambda entry: scores[entry.name], default=None)


def _measured(result: BoardResult, option: Option) -> Option:
    """Add the intervals of the score, of the hits and of the value."""
    score = _interval(option.values)
    if result.board.scale != "reward":
        return replace(option, score=score)
    steps = result.board.steps / 100
    hits, value = (
        _interval([total / steps for total in result.reported(option.configuration, metric).values()])
        for metric in ("reward", "value")
    )
    return replace(option, score=score, hits=hits, value=value)


def _interval(values: Sequence[float]) -> Interval:
    return mean_interval(values if np.isfinite(values).all() else [])


def _verdicts(result: BoardResult, options: Sequence[Option]) -> dict[tuple[str, str], Gain]:
    """Return what each option earns more than each other one, with one bootstrap for all of them."""
    reference = result.board.protocol.comparison.reference
    if result.scores is None or len(options) < 2:
        return {}
    by_name = {option.configuration: option for option in options}
    values: dict[str, Floats] = {name: np.array(option.values) for name, option in by_name.items()}
    values[NO_COMMUNICATION] = result.values(reference, 0.0)
    limit = 0.0
    scores = Scores(
        {name: {limit: name} for name in values},
        result.board.seeds,
        np.stack([*values.values()])[:, None, :],
        result.board.scale,
    )
    pairs = [*itertools.combinations(by_name, 2)]
    rules = replace(result.board.protocol.rules(), primary_budgets=(limit,))
    table = compare(scores, [(first, second, limit) for first, second in pairs], rules)
    gains = {}
    for row in table.to_dict("records"):
        first, second = by_name[row["first"]], by_name[row["second"]]
        mean, low, high, verdict = row["difference"], row["low"], row["high"], Verdict(row["verdict"])
        gains[row["first"], row["second"]] = _gain(second, mean, low, high, verdict)
        gains[row["second"], row["first"]] = _gain(first, -mean, -high, -low, OPPOSITE.get(verdict, verdict))
    return gains


OPPOSITE = {Verdict.BETTER: Verdict.WORSE, Verdict.WORSE: Verdict.BETTER}


def _gain(other: Option, mean: float, low: float, high: float, verdict: Verdict) -> Gain:
    scale = other.score[0] or math.nan
    return Gain(other, mean / scale, low / scale, high / scale, verdict)
