"""What a board shows, in sentences and counts: claims about methods follow from verdicts and ranks alone.

A sentence is made only where its evidence is there: `judged` selects the boards that have verdicts. "First" is a method
with rank 1 at the primary endpoint: it has the highest mean, or is not worse than the one that has.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from algorithms.registry import built_in_methods
from benchmark.board.entries import MethodRow
from benchmark.board.result import BoardResult
from benchmark.statistics.budgets import random_score
from benchmark.statistics.comparison import NO_COMMUNICATION, PRIMARY, Column
from benchmark.statistics.verdicts import Verdict, no_statement
from reports.analysis.board import budget_text, factor_over, has_verdicts, ranked_entries, score_text
from reports.analysis.decisions import alone_from, alone_sentence
from reports.write.table import interval_text

MAX_NAMED = 3
"""Methods that a sentence lists by name."""


def judged(results: Iterable[BoardResult]) -> list[BoardResult]:
    """Return the boards that have verdicts and ranks."""
    return [result for result in results if has_verdicts(result) and result.ranks]


def firsts(result: BoardResult, column: Column = PRIMARY) -> list[MethodRow]:
    """Return the methods that are first in a column; none without verdicts."""
    ranks = result.ranks.get(column, {})
    return [entry for entry in result.contenders if entry.name in ranks and ranks[entry.name].place == 1]


def better(result: BoardResult, column: Column = PRIMARY) -> list[MethodRow]:
    """Return the methods that are better than no communication in a column, the highest mean first."""
    entries = [entry for entry in ranked_entries(result) if result.verdict(entry.name, column) == Verdict.BETTER]
    return sorted(entries, key=lambda entry: -result.mean(entry.name, column)[0])


def in_short(results: Sequence[BoardResult]) -> list[str]:
    """Return the sentences on all tasks, each with its number, of one or two lines."""
    with_verdicts = judged(results)
    if not with_verdicts:
        return ["No board here has enough report seeds for a verdict."]
    makers = (sharing_sentence, budget_sentence, kind_sentence, alone_by_task, reference_sentence)
    return [text for maker in makers if (text := maker(with_verdicts))]


def sharing_sentence(results: Sequence[BoardResult]) -> str:
    """Return on how many tasks a method is better than no communication at the primary endpoint, and from which budget.

    The largest gain is that of a mean at one of the primary budgets.
    """
    paying, tasks = [result for result in results if pays(result)], tasks_count(results)
    if not paying:
        return f"**Sharing is not shown to pay** on any of {tasks}: no method is better than no communication."
    gain, most, budget = max(
        (
            (_gain(result, entry, budget), result, budget)
            for result in paying
            for budget in result.board.protocol.budgets.primary
            for entry in better(result, budget)[:1]
        ),
        key=lambda gained: gained[0],
    )
    starts = [min(budget for budget in sharing_budgets(result) if better(result, budget)) for result in paying]
    return (
        f"**Sharing pays on {len(paying)} of {tasks}**, from a budget of {_ends(map(budget_text, sorted(starts)))} on; "
        f"most on `{task_of(most)}`: at a budget of {budget_text(budget)}, a method earns {percent(gain, 0)} more "
        "above random choice than no communication."
    )


def sharing_budgets(result: BoardResult) -> list[float]:
    """Return the budgets that allow messages: what is better without any is no gain of sharing."""
    return [budget for budget in result.budgets if budget > 0]


def _ends(texts: Iterable[str]) -> str:
    """Return the first and the last of some texts, or the only one."""
    first, *_, last = [*texts] * 2
    return first if first == last else f"{first} to {last}"


def _gain(result: BoardResult, entry: MethodRow, budget: float) -> float:
    """Return by which share a method earns more above random choice than no communication does."""
    by_chance, alone = random_score(result.board.scale), result.mean(NO_COMMUNICATION)[0]
    return (result.mean(entry.name, budget)[0] - by_chance) / (alone - by_chance) - 1 if alone > by_chance else math.inf


def budget_sentence(results: Sequence[BoardResult]) -> str:
    """Return which methods are first on most tasks by budget, where a method is better than no communication.

    Where several are, one is named that is also first at the next budgets.
    """
    paying, parts = [result for result in results if pays(result)], list[tuple[list[str], list[float]]]()
    for budget in sharing_budgets(paying[0]) if paying else ():
        counts = Counter(
            entry.label for result in paying for entry in firsts(result, budget) if entry in better(result, budget)
        )
        names = [label for label, count in counts.items() if count == max(counts.values())]
        if common := [name for name in parts[-1][0] if name in names] if parts else []:
            parts[-1] = common, [*parts[-1][1], budget]
        elif names:
            parts.append((names, [budget]))
    if not parts:
        return ""
    what = "The best method depends on the budget" if len(parts) > 1 else "One method is among the first at each budget"
    texts = [f"*{names[0]}* at {_ends(map(budget_text, budgets))}" for names, budgets in parts]
    return f"**{what}.** Most often first there, or not worse than the first: {', '.join(texts)}."


def alone_by_task(results: Sequence[BoardResult]) -> str:
    """Return on how many tasks a client alone is, from some decision on, not worse than the best method of any kind."""
    starts = [start for result in results if pays(result) for start, last in (alone_from(result),) if start or last]
    known = [start for start in starts if start is not None]
    if not starts:
        return ""
    where = f", from decision {_ends(map(str, sorted(known)))} on" if known else ""
    return (
        "**Can a client do without the others later on?** Where sharing pays, its own model becomes as good as the "
        f"best method on {len(known)} of {tasks_count(starts)}{where}."
    )


def kind_sentence(results: Sequence[BoardResult]) -> str:
    """Return on how many tasks a method of each kind is first, where a method is better than no communication."""
    paying, texts = [result for result in results if pays(result)], list[str]()
    for kind in dict.fromkeys(entry.kind for result in paying for entry in ranked_entries(result) if entry.kind):
        playing = [result for result in paying if any(entry.kind == kind for entry in ranked_entries(result))]
        count = sum(any(entry.kind == kind for entry in firsts(result)) for result in playing)
        texts.append(f"{kind} on {count} of {len(playing)}")
    if not texts:
        return ""
    return f"**What to share:** where sharing pays, a method is first, or not worse, with {', '.join(texts)} tasks."


def reference_sentence(results: Sequence[BoardResult]) -> str:
    """Return on which tasks a rule without a model, which a reader can use, earns more than every method."""
    above = {task_of(result): rules[0].label for result in results if (rules := [*filter(is_rule, above_all(result))])}
    if not above:
        return f"**No rule without a model earns more than every method** on any of {tasks_count(results)}."
    texts = [f"`{task}` (*{label}*)" for task, label in above.items()]
    return (
        f"**A rule without a model earns more than every method** on {len(above)} of {tasks_count(results)}, in the "
        f"mean over the budgets: {_listed(texts[:MAX_NAMED], len(texts))}."
    )


def is_rule(entry: MethodRow) -> bool:
    """Whether a reference line is a rule without a model, and does not know the future either."""
    info = built_in_methods().get(entry.method)
    return info is not None and info.is_rule(info.parameters)


def above_all(result: BoardResult) -> list[MethodRow]:
    """Return the reference lines that every tuned method is below, the highest mean first."""
    below = [set(result.below(entry.name)) for entry in ranked_entries(result)]
    above = [each for each in result.references if below and all(each.label in labels for labels in below)]
    return sorted(above, key=lambda each: -result.line(each.name)[0])


def can_show(result: BoardResult) -> str:
    """Return a sentence on what the task can show; empty if its facts are not known."""
    facts = result.board.facts
    if facts is None:
        return ""
    first, median, third = facts.decisions
    parts = [f"half of the clients make {first:,} to {third:,} decisions, the median is {median:,}"]
    if not math.isnan(facts.ceiling):
        parts.append(f"one ranking for all, made in hindsight, earns {score_text(facts.ceiling)}")
    if result.scores is not None:
        parts.append(f"no communication, tuned, earns {score_text(result.mean(NO_COMMUNICATION)[0])}")
    if not math.isnan(facts.exploration):
        change = f"{abs(facts.exploration):.3f} {'more' if facts.exploration >= 0 else 'less'}"
        parts.append(f"no communication with the best α above 0 earns {change} than with α = 0, on one seed")
    return f"What it can show: {'; '.join(parts)}."


def found(result: BoardResult) -> str:
    """Return what was found, from ranks and verdicts; without them, that there is no statement."""
    if not judged([result]) or result.best is None:
        needed = result.board.protocol.comparison.min_report_seeds
        return f"What was found: {no_statement([len(result.board.seeds)], needed)}."
    best = next(entry for entry in result.contenders if entry.name == result.best)
    others = [entry.label for entry in firsts(result) if entry is not best]
    behind = f"; not worse: {names_text(others)}" if others else ", and all others are worse than it"
    budgets = [budget_text(budget) for budget in result.budgets if best in better(result, budget)]
    than = "better than no communication at"
    against = f"{than} the budgets {', '.join(budgets)}" if budgets else f"not shown to be {than} any budget"
    counts = Counter(result.verdict(entry.name, PRIMARY) for entry in ranked_entries(result))
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in Verdict if counts[verdict])
    text = (
        f"What was found: *{best.label}* has the highest score, {interval_text(*result.mean(best.name))} "
        f"{primary(result)}{behind}. It is {against}. Verdicts on all {counts.total()} methods, compared with no "
        f"communication: {verdicts}."
    )
    if references := above_all(result):
        shown = [f"*{each.label}* {score_text(result.line(each.name)[0])}" for each in references[:MAX_NAMED]]
        text = f"References that earn more than every method in that mean: {_listed(shown, len(references))}. {text}"
    return f"{text} {alone_sentence(result)}".strip()


@dataclass(frozen=True)
class Expectation:
    """What was expected of a task when the protocol was fixed, and whether a result is so."""

    task: str
    text: str
    is_met: Callable[[BoardResult], bool]


def pays(result: BoardResult) -> bool:
    """Whether a method is better than no communication."""
    return bool(better(result))


def has_first(kind: str) -> Callable[[BoardResult], bool]:
    """Return a function that tells whether a method of a kind is first, and better than no communication."""
    return lambda result: any(entry.kind == kind for entry in firsts(result) if entry in better(result))


EXPECTED = (
    Expectation("movielens-1m-svd", "users are much alike: sharing pays", pays),
    Expectation(
        "lastfm-once", "a shared and a personal part: ranks depend on the budget", lambda each: bool(each.depending)
    ),
    Expectation("online-retail-profile", "what is to be learned is about equal for all: sharing pays", pays),
    Expectation("delicious-matched", "not communicating is right", lambda result: not pays(result)),
    Expectation("simulated-uniform", "one θ for all: sharing pays", pays),
    Expectation("simulated-zipf", "one θ for all: sharing pays", pays),
    Expectation(
        "simulated-clusters",
        "ten θ: a clustered method is first, and better than no communication",
        has_first("clustered"),
    ),
    Expectation("simulated-spread", "between alike and different: so is a personal method", has_first("personal")),
)


def expectations(results: Sequence[BoardResult]) -> list[dict[str, str]]:
    """Return the rows of a table: what was expected, what was found, and whether it is so."""
    with_verdicts = judged(results)
    rows = [
        _row(f"`{each.task}`", each.text, _found_text(result), is_so=each.is_met(result))
        for each in EXPECTED
        for result in with_verdicts
        if task_of(result) == each.task
    ]
    of_all = (
        ("a method that may communicate is at no budget worse than no communication", worse_cells(with_verdicts)),
        ("what is chosen within a budget stays within it on the report seeds", overruns(with_verdicts)),
        ("a variant is first only where the method itself is", variants_ahead(with_verdicts)),
        ("no row with the paper's α and λ is as good as the tuned method", fixed_ahead(with_verdicts)),
    )
    for text, (count, cases, details) in of_all:
        if cases:
            otherwise = f"otherwise in {count:,} of {cases:,} cases{f': {details}' if details else ''}"
            rows.append(_row("all", text, otherwise, is_so=not count))
    return rows


def _row(task: str, expected: str, text: str, *, is_so: bool) -> dict[str, str]:
    return {"task": task, "expected": expected, "found": text, "as expected": "yes" if is_so else "**no**"}


def _found_text(result: BoardResult) -> str:
    first, depending = firsts(result), len(result.depending)
    kinds = Counter(entry.kind for entry in first if entry.kind)
    shared = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    return (
        f"{len(better(result))} of {len(ranked_entries(result))} methods better than no communication; first: "
        f"{names_text([entry.label for entry in first])} ({shared}); ranks that depend on the budget: {depending}"
    )


Counts = tuple[int, int, str]
"""In how many cases it is otherwise than expected, of how many, and in which."""


def worse_cells(results: Sequence[BoardResult]) -> Counts:
    """Count methods × tasks × budgets above 0 that are worse than no communication."""
    verdicts = [
        (entry.label, result.verdict(entry.name, budget)) for result, entry, budget in _choices(results) if budget > 0
    ]
    worse = Counter(label for label, verdict in verdicts if verdict == Verdict.WORSE)
    return worse.total(), sum(verdict != Verdict.NONE for _, verdict in verdicts), _most(worse)


def overruns(results: Sequence[BoardResult]) -> Counts:
    """Count choices whose mean over the report seeds exceeds their budget."""
    factors = [
        (entry.label, factor_over(result, entry, budget))
        for result, entry, budget in _choices(results)
        if math.isfinite(budget)
    ]
    over = Counter(label for label, factor in factors if factor is not None)
    largest = max((factor for _, factor in factors if factor is not None), default=0.0)
    return over.total(), len(factors), f"{_most(over)}, by a factor of at most {largest:.3g}" if over else ""


def variants_ahead(results: Sequence[BoardResult]) -> Counts:
    """Count variants that are first where the method itself is not."""
    cases, ahead = 0, Counter[str]()
    for result in results:
        names = {entry.name for entry in firsts(result)}
        methods = {entry.name for entry in ranked_entries(result)}
        variants = [each for each in ranked_entries(result) if each.name != each.method and each.method in methods]
        cases += len(variants)
        ahead.update(each.label for each in variants if each.name in names and each.method not in names)
    return ahead.total(), cases, _most(ahead)


def fixed_ahead(results: Sequence[BoardResult]) -> Counts:
    """Count rows with fixed values that are better than, or equivalent to, the tuned method."""
    verdicts = [
        (entry.label, result.verdict(entry.name, PRIMARY, entry.method))
        for result in results
        for entry in result.contenders
        if entry.fixed
    ]
    good = (Verdict.BETTER, Verdict.EQUIVALENT, Verdict.IDENTICAL)
    others = Counter(f"{label}, {verdict}" for label, verdict in verdicts if verdict in good)
    return others.total(), sum(verdict != Verdict.NONE for _, verdict in verdicts), _most(others)


def _choices(results: Sequence[BoardResult]) -> list[tuple[BoardResult, MethodRow, float]]:
    """Return tuned methods and budgets for which a configuration was chosen."""
    return [
        (result, entry, budget)
        for result in results
        for entry in ranked_entries(result)
        for budget in result.budgets
        if result.choice(entry.name, budget) is not None
    ]


def task_of(result: BoardResult) -> str:
    """Return the name of the task."""
    return result.board.task.name


def tasks_text(results: Iterable[BoardResult]) -> str:
    """Return names of tasks as code."""
    return ", ".join(f"`{task_of(result)}`" for result in results)


def tasks_count(results: Sequence[object]) -> str:
    """Return the number of tasks as text."""
    return f"{len(results)} task{'s' * (len(results) != 1)}"


def names_text(names: Sequence[str]) -> str:
    """Return names of methods: a few of them, and how many more; some of the names have commas."""
    return _listed([f"*{name}*" for name in names[:MAX_NAMED]], len(names))


def _listed(shown: Sequence[str], count: int) -> str:
    return ", ".join(shown) + (f" and {count - len(shown)} more" if count > len(shown) else "")


def primary(result: BoardResult) -> str:
    """Return in which mean methods are ranked."""
    *others, last = map(budget_text, result.board.protocol.budgets.primary)
    return f"in the mean over the budgets {', '.join(others)} and {last}" if others else f"at a budget of {last}"


def percent(share: float, decimals: int) -> str:
    """Return a share as text."""
    return f"{100 * share:.{decimals}f} %".replace("-", "−")


def _most(counts: "Counter[str]") -> str:
    return _listed([f"*{label}* ({count})" for label, count in counts.most_common(MAX_NAMED)], len(counts))
