"""The decision for given data: a rule without a model, each client alone, or sharing; and how sure that is.

The three options are compared on the report seeds by the statistics of the board. The simplest option that no other one
is shown to beat is the decision: a rule before learning alone, and learning alone before sharing.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from benchmark.board.entries import MethodRow
from benchmark.board.result import BoardResult
from benchmark.metrics import goal_metric
from benchmark.plan.method_names import make_method
from benchmark.statistics.budgets import Scores
from benchmark.statistics.comparison import NO_COMMUNICATION, compare
from benchmark.statistics.intervals import Floats, Interval, mean_interval, t_quantile
from benchmark.statistics.verdicts import Verdict, no_statement
from data_pipelines.event_stream import EARLIER

Kind = Literal["rule", "alone", "share"]
UNDECIDED: Literal["undecided"] = "undecided"
"""The kind of a decision without the runs, or on fewer report seeds, than a verdict needs."""

MIN_CLIENTS = 3
"""With fewer clients there is no interval over them."""

Totals = Mapping[int, float]
"""What each client earns with an option, by its id."""

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
        kind: the option that is decided for, or `undecided` with too few seeds or runs.
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
        share: the share of the decisions in the last part of the time.
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


@dataclass(frozen=True)
class Welcome:
    """What it earns, and costs, to send new clients the current model.

    Attributes:
        option: the best sharing with it.
        gain: compared with the best setting of the same method without it, within the same budget.
        messages: the further full transfers per client that it needs; negative if it needs fewer.
    """

    option: Option
    gain: Gain
    messages: float

    def sentence(self) -> str:
        """Return what it is, what it earns and what it costs, in two sentences."""
        sure = {Verdict.BETTER: "", Verdict.WORSE: ""}.get(self.gain.verdict, ", which is not shown to be a difference")
        more = "more" if self.messages >= 0 else "fewer"
        return (
            "Send new clients the current model when they join (welcome: one message down, before their first "
            f"decision): {gain_text(self.gain)} over the same method without it{sure}, for {abs(self.messages):.2g} "
            f"{more} messages per client in all."
        )


def decide(result: BoardResult, limit: float) -> Decision:
    """Compare the best rule, learning alone and sharing within a budget, which the board must have."""
    rules = sorted(_rules(result), key=lambda rule: -rule.score[0])
    options = (*rules[:1], *_methods(result, limit))
    verdicts = compared(result, [*rules, *options[len(rules[:1]) :]])
    pairs = [(one.configuration, other.configuration) for one, other in itertools.permutations(options, 2)]
    if not result.board.has_enough_seeds:
        needed = result.board.protocol.comparison.min_report_seeds
        reason = no_statement([len(result.board.seeds)], needed)
        return Decision(UNDECIDED, f"No decision. {reason}.", options, (), (*rules,))
    if len(options) < 2 or any(pair not in verdicts or verdicts[pair].verdict is Verdict.NONE for pair in pairs):
        return Decision(UNDECIDED, "No decision: runs are missing, or failed.", options, (), (*rules,))
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


def check(earlier: BoardResult, later: BoardResult, limit: float, since: str = "") -> Holdout:
    """Check the choice on the first part of the time on the last one, where the same options and settings play."""
    chosen, then = decide(earlier, limit), decide(later, limit)
    was_right = None
    if chosen.option is not None and then.option is not None:
        own = chosen.option.configuration
        options = [*_rules(later), *_methods(later, limit)]
        verdicts = compared(later, options)
        others = [option.configuration for option in options if option.configuration != own]
        was_right = not any(verdicts[other, own].verdict is Verdict.BETTER for other in others)
    return Holdout(1 - EARLIER, since, chosen, then, was_right)


def welcome(result: BoardResult, limit: float) -> Welcome | None:
    """Price sending new clients the current model, with the method that earns most by it; None if none does it."""
    rows = [
        entry
        for entry in result.contenders
        if entry.method in result.selections and all(each.get("welcome") for each in entry.configurations.values())
    ]
    best = _best(result, rows, limit, communicates=True)
    if best is None or result.choice(best.method, limit) is None:
        return None
    base = next(entry for entry in result.contenders if entry.name == best.method)
    options = [row_option(result, "share", entry, limit) for entry in (best, base)]
    verdicts = compared(result, options)
    gain = verdicts.get((options[0].configuration, options[1].configuration))
    return (
        None
        if gain is None or gain.verdict is Verdict.NONE
        else Welcome(options[0], gain, options[0].transfers - options[1].transfers)
    )


def over_clients(gain: Gain, own: Totals, other: Totals) -> Gain:
    """Add the 95 % interval over clients: that of a ratio of means, of what each client earns more by what it earns."""
    clients = sorted({*own, *other})
    base = np.array([other.get(client, 0.0) for client in clients])
    more = np.array([own.get(client, 0.0) for client in clients]) - base
    if len(clients) < MIN_CLIENTS or not base.sum():
        return gain
    ratio = more.sum() / base.sum()
    half = t_quantile(len(clients) - 1) * np.std(more - ratio * base, ddof=1) * len(clients) ** 0.5 / base.sum()
    return replace(gain, clients_low=float(ratio - half), clients_high=float(ratio + half))


def differs(first: Decision, second: Decision) -> bool:
    """Whether two decisions are for different options: another kind, another rule, or another method to share with."""
    one, other = first.option, second.option
    if one is None or other is None or one.kind != other.kind:
        return one is not other
    return one.kind != "alone" and one.name != other.name


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
    return f"{percent(gain.mean)} % {percent(gain.low, gain.high)}"


def percent(*shares: float) -> str:
    """Write a share in percent without the unit, or the ends of an interval: `[+2; +8]`."""
    texts = [f"{100 * share:+.3g}" for share in shares]
    return texts[0] if len(texts) == 1 else f"[{'; '.join(texts)}]"


def shown_by(entry: MethodRow) -> str:
    """Return what a rule shows that can be deployed as it is, in words; empty if a row is not such a rule."""
    methods = (make_method(entry.method, values) for values in entry.configurations.values())
    return next((str(getattr(method, "shows", "")) for method in methods), "")


def _rules(result: BoardResult) -> list[Option]:
    """Return the rules that can be deployed: those that say what to show."""
    rules = [(entry, shown) for entry in result.references if (shown := shown_by(entry))]
    return [rule_option(result, entry, shown) for entry, shown in rules]


def rule_option(result: BoardResult, entry: MethodRow, name: str) -> Option:
    """Return a reference as an option; of several configurations, the one that was chosen."""
    values = tuple(result.lines[entry.name].get(seed, math.nan) for seed in result.board.seeds)
    played = [each for each in entry.configurations if (each, result.board.seeds[0]) in result.outcomes]
    return measured(result, Option("rule", name, (played or [entry.name])[0], NOTHING, values=values))


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
            options.append(row_option(result, kind, entry, budget))
    return options


def row_option(result: BoardResult, kind: Kind, entry: MethodRow, budget: float) -> Option:
    """Return a row with its choice within a budget."""
    choice = result.choice(entry.name, budget)
    assert choice is not None, "the row has a choice"
    transfers = result.board.per_client(result.needed(choice.configuration))
    values = tuple(result.values(entry.name, budget).tolist())
    return measured(
        result, Option(kind, entry.label, choice.configuration, NOTHING, transfers=transfers, values=values)
    )


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


def measured(result: BoardResult, option: Option) -> Option:
    """Add the intervals of the score, of the hits and of the value."""
    score = _interval(option.values)
    if result.board.goal not in (goal_metric("hits"), goal_metric("value")):
        return replace(option, score=score)
    steps = result.board.steps / 100
    hits, value = (
        _interval([total / steps for total in result.reported(option.configuration, metric).values()])
        for metric in ("reward", "value")
    )
    return replace(option, score=score, hits=hits, value=value)


def _interval(values: Sequence[float]) -> Interval:
    return mean_interval(values if np.isfinite(values).all() else [])


def compared(
    result: BoardResult, options: Sequence[Option], pairs: Sequence[tuple[str, str]] | None = None
) -> dict[tuple[str, str], Gain]:
    """Return what options earn more than others, with one bootstrap: for all pairs, or some of configurations."""
    reference = result.board.protocol.comparison.reference
    by_name = {option.configuration: option for option in options}
    pairs = [*itertools.combinations(by_name, 2)] if pairs is None else pairs
    if result.scores is None or not pairs:
        return {}
    values: dict[str, Floats] = {name: np.array(option.values) for name, option in by_name.items()}
    values[NO_COMMUNICATION] = result.values(reference, 0.0)
    limit = 0.0
    scores = Scores(
        {name: {limit: name} for name in values},
        result.board.seeds,
        np.stack([*values.values()])[:, None, :],
        result.board.scale,
    )
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
