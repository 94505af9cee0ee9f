"""What the runs on a stream say about communication and about rules without a model; nothing beyond their evidence."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from benchmark.metrics import Metric, objective
from benchmark.protocol import load_protocol
from benchmark.results.frames import COST, PREFIX, best_within, setting_frame, setting_text, variants
from benchmark.statistics.intervals import number_of_seeds, paired_interval
from benchmark.statistics.verdicts import Verdict, equivalence_margin, no_statement, verdict
from reports.labels import Methods, dataset_label, variant_text

FEW = 10.0
"""Transfers per client: what so few of them give is said, too."""

Stream = tuple[str, str, frozenset[tuple[str, Any]]]
Leader = Mapping[str, Any]
"""The row of the best setting, as `settings_of` has it."""


def streams_of(runs: pd.DataFrame) -> list[Stream]:
    """Return the stream of each run: data set, source and all options, so other pools are another stream."""
    columns = zip(runs["dataset"], runs["source"], runs["configuration"], strict=True)
    return [
        (dataset, source, frozenset((name, value) for name, value in each.items() if name.startswith(PREFIX)))
        for dataset, source, each in columns
    ]


def on_same_streams(runs: pd.DataFrame, all_runs: pd.DataFrame) -> pd.DataFrame:
    """Return all runs on the streams of some runs, from every experiment, each once."""
    streams = {*streams_of(runs)}
    same = all_runs[[stream in streams for stream in streams_of(all_runs)]]
    same = same.drop_duplicates(["dataset", "source", "algorithm", "configuration", "seed"], keep="last")
    same = same.assign(experiment="")  # no study, whose effects are always named
    return same.assign(variant=variants(same))


def settings_of(runs: pd.DataFrame, methods: Methods) -> pd.DataFrame:
    """Return the settings of each contender, see `setting_frame`, with the label of its method."""
    contenders = runs[[methods.info(str(name)).role == "contender" for name in runs["algorithm"]]]
    columns = (contenders[name] for name in ("algorithm", "threshold", "variant"))
    texts = [
        setting_text(methods.front_text(str(name), float(threshold)), variant_text(str(variant)))
        for name, threshold, variant in zip(*columns, strict=True)
    ]
    named = contenders.assign(dataset="", setting=texts).sort_values(["algorithm", "configuration"], kind="stable")
    settings = setting_frame(named, by=("dataset", "algorithm", "configuration"))
    return settings.assign(label=settings["algorithm"].map(methods.label))


def short(value: float) -> str:
    """Return a mean with three digits, also if the last are zeros (1.10), or a whole number above 100."""
    return f"{value:,.0f}" if abs(value) >= 99.95 else f"{round(value, 9):#.3g}"  # equal but for rounding: the same


def effect_sentences(runs: pd.DataFrame, settings: pd.DataFrame, methods: Methods) -> str:
    """Return first which rule without a model has the best mean, if any, then what communication changes."""
    goal = objective(runs["source"])
    sentences = (
        rule_sentence(runs, settings, methods),
        _communication(settings, goal, _by_chance(runs, goal, methods)),
    )
    return " ".join(filter(None, sentences))


def rule_sentence(runs: pd.DataFrame, settings: pd.DataFrame, methods: Methods, where: str = "") -> str:
    """Return which rule without a model has a better mean than every setting of every method; empty if none has."""
    goal, best = objective(runs["source"]), _leader(settings, math.inf)
    pairs = zip(runs["algorithm"], runs["configuration"], strict=True)
    is_rule = [methods.info(str(name)).is_rule(configuration) for name, configuration in pairs]
    rules = runs[is_rule].dropna(subset=[goal.name])
    if rules.empty or best is None:
        return ""
    means = rules.groupby(["algorithm", "variant"], as_index=False)[goal.name].mean()
    rule = means.loc[(goal.sign * means[goal.name]).idxmax()]
    if not goal.sign * rule[goal.name] > goal.sign * best["mean"]:
        return ""
    label = methods.reference_label(str(rule["algorithm"]), str(rule["variant"]))
    seeds = number_of_seeds([rules.loc[rules["algorithm"] == rule["algorithm"], "seed"].nunique()])
    value = f"{short(rule[goal.name])}{_unit(goal)} ({seeds})"
    method_text = f"the best mean of a method is {short(best['mean'])} ({_named(best)})"
    return f"A rule without a model has the best mean{where}: {label} with {value}; {method_text}."


def rule_sentences(all_runs: pd.DataFrame, shown: set[Stream], methods: Methods) -> Iterator[str]:
    """Yield such a sentence for each stream that is not shown; none on generated data."""
    streams = pd.Series(streams_of(all_runs), index=all_runs.index, dtype=object)
    for stream, runs in all_runs.groupby(streams, sort=False):
        if stream not in shown and "stand-in" not in set(runs["source"]):
            same = on_same_streams(runs, runs)
            where = f" on {dataset_label(str(same['stream'].iloc[0]))}"
            if sentence := rule_sentence(same, settings_of(same, methods), methods, where):
                yield sentence


def _by_chance(runs: pd.DataFrame, goal: Metric, methods: Methods) -> float:
    """Return what random choice earns or loses: known for rewards, otherwise from its runs; NaN without any."""
    if goal.by_chance is not None:
        return goal.by_chance
    is_baseline = [methods.info(str(name)).role == "baseline" for name in runs["algorithm"]]
    return float(runs.loc[is_baseline, goal.name].mean())


def _communication(settings: pd.DataFrame, goal: Metric, by_chance: float) -> str:
    """Return the best means without and with communication, and the verdict on their difference."""
    if settings.empty:
        return ""
    alone, few, best = (_leader(settings, budget) for budget in (0.0, FEW, math.inf))
    shared = _leader(settings[settings[COST] > 0], math.inf)
    if alone is None or shared is None:
        return (
            "" if best is None else f"The best mean is {short(best['mean'])}{_unit(goal)} ({_named_with_cost(best)})."
        )
    without = f"{short(alone['mean'])}{_unit(goal)}"
    sentence = (
        f"{_verdict_text(alone, shared, goal, by_chance)}. The best mean is {without} without communication "
        f"({_named(alone)}) and {short(shared['mean'])} with it ({_named_with_cost(shared)})."
    )
    if few is None or _named(few) in (_named(alone), _named(shared)):
        return sentence
    return f"{sentence} At most {FEW:g} transfers per client give {short(few['mean'])} ({_named(few)})."


def _verdict_text(alone: Leader, shared: Leader, goal: Metric, by_chance: float) -> str:
    seeds = alone["values"].dropna().index.intersection(shared["values"].dropna().index)
    ends = paired_interval(goal.sign * shared["values"][seeds], goal.sign * alone["values"][seeds])[1:]
    rules = load_protocol().comparison
    gain = goal.sign * (alone["mean"] - by_chance)
    # As a score of regret, 0 is by chance.
    margin = 0.0 if math.isnan(gain) else equivalence_margin(gain, "regret", rules.margin)
    verb = "raises" if goal.sign > 0 else "lowers"
    texts = {
        Verdict.NONE: no_statement([len(seeds)], rules.min_report_seeds),
        Verdict.BETTER: f"Communication {verb} {goal.label} by {abs(shared['mean'] / alone['mean'] - 1):.0%}",
        Verdict.WORSE: "Communication does not help",
        Verdict.EQUIVALENT: f"Communication changes little (by less than {rules.margin:.0%} of the gain over chance)",
        Verdict.UNDECIDED: "Whether communication helps is undecided",
    }
    found = verdict(*ends, margin, same_configuration=False, seeds=len(seeds), min_seeds=rules.min_report_seeds)
    return texts[found]


def _leader(settings: pd.DataFrame, budget: float) -> Leader | None:
    """Return the setting with the best mean within a budget; None if there is none."""
    best = best_within(settings, budget) if len(settings) else settings
    return None if best.empty else {str(name): value for name, value in best.iloc[0].items()}


def _unit(goal: Metric) -> str:
    return " times a random choice" if goal.by_chance == 1 else ""


def _named(leader: Leader) -> str:
    return " ".join(filter(None, (leader["label"], leader["setting"])))


def _named_with_cost(leader: Leader) -> str:
    cost = leader[COST]
    text = f"{cost:.3g}" if cost < 1000 else f"{float(f'{cost:.2g}'):,.0f}"
    return f"{_named(leader)}, {text} transfers per client"
