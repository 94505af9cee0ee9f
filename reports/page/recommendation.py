"""The page of a recommendation, to send on: the decision for a manager, what was used, and the details; one file."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal

from benchmark.recommend.decision import UNDECIDED, Decision, Gain, Option
from benchmark.recommend.document import DataUsed, data_used, versions
from benchmark.recommend.recommendation import Line, Recommendation, score_text, setting_of, transfers_text
from benchmark.statistics.intervals import Interval
from benchmark.statistics.verdicts import Verdict
from benchmark.styles import style
from data_pipelines.support.files import write_whole
from reports.page.page import asset, environment, in_script, packed, plotly_script

PERCENT = 100
RANDOM = "random choice"

Measure = Literal["hits", "value", "score"]
"""What a manager reads: hits or value per 100 recommendations; in simulations there is only the score."""

TITLES: Mapping[Measure, str] = {
    "hits": "Taken of 100 recommendations",
    "value": "Value taken per 100 recommendations",
    "score": "Losses avoided",
}
RATES: Mapping[Measure, str] = {
    "hits": "Of 100 recommendations in the test, were taken",
    "value": "100 recommendations in the test had a taken value of",
    "score": "Share of the losses avoided",
}


@dataclass(frozen=True)
class Bar:
    """A bar of the first chart: a name, a value as text, its length in percent, and whether it is decided for."""

    name: str
    text: str
    length: float
    is_decided: bool = False


@dataclass(frozen=True)
class Summary:
    """What a manager reads first; `is_sure` says that nothing that was tested speaks for another decision."""

    title: str
    reason: str
    rates: str
    certainty: str
    is_sure: bool


def write_recommendation(
    path: Path, answer: Recommendation, used: DataUsed | None = None, command: str = "", changes: Sequence[str] = ()
) -> None:
    """Write the page; `command` repeats the answer, and `changes` is what has changed since an earlier one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, recommendation_page(answer, used, command, changes).encode())


def recommendation_page(
    answer: Recommendation, used: DataUsed | None = None, command: str = "", changes: Sequence[str] = ()
) -> str:
    """Return the whole page."""
    board, points, used = answer.result.board, front_points(answer), used or data_used(answer)
    return (
        environment()
        .get_template("recommendation.html")
        .render(
            answer=answer,
            used=used,
            summary=summary_of(answer),
            bars=bars_of(answer),
            measure=_measure(answer),
            titles=TITLES,
            changes=changes,
            depends=depends_of(answer),
            today=date.today(),
            facts=facts_of(answer, used, command),
            options=[
                (option_name(each), _scored(each.score), _messages(each.transfers), each.configuration)
                for each in answer.decision.options
            ],
            budgets=[
                (answer.limit_text(limit), line.name, score_text(line), line.setting)
                for limit, line in answer.over_budgets()
            ],
            lines=[
                (line.name, *_score_and_setting(line, _messages(line.transfers), line.verdict))
                for line in answer.lines()
            ],
            style=asset("page.css"),
            points=in_script(json.dumps(points, allow_nan=False, ensure_ascii=False)),
            references=in_script(json.dumps(reference_levels(answer), allow_nan=False, ensure_ascii=False)),
            limit=board.per_client(answer.limit)
            if math.isfinite(answer.limit)
            else max(each["cost"] for each in points),
            script=asset("unpack.js"),
            plotly=packed(plotly_script()),
        )
    )


def option_name(option: Option) -> str:
    """Return what is done with an option, in words without names of methods."""
    return {
        "rule": option.name,
        "alone": "each client learning on its own",
        "share": "clients sharing what they learn",
    }[option.kind]


def advice(decision: Decision) -> str:
    """Return the decision as one says it to somebody who decides: without names of methods and settings."""
    option = decision.option
    if option is None:
        return "No decision yet"
    if option.kind == "rule":
        return f"Show {option.name}"
    return "Let each client learn on its own" if option.kind == "alone" else "Let the clients share what they learn"


def summary_of(answer: Recommendation) -> Summary:
    """Return the lines for a manager: the decision, how often recommendations are taken, and how sure that is."""
    doubts = _doubts(answer)
    sure = f"Not sure: {'; '.join(doubts)}." if doubts else "Sure, for these data."
    certainty = " ".join([f"How sure? {sure}", *_compared(answer), *_checked(answer)])
    return Summary(advice(answer.decision), _reason(answer), _rates(answer), certainty, is_sure=not doubts)


def _reason(answer: Recommendation) -> str:
    decision = answer.decision
    option = decision.option
    if option is None:
        reason = decision.headline.removeprefix("No decision").lstrip(".: ")
        return f"{reason[:1].upper()}{reason[1:]}"
    if option.kind == "rule":
        is_open = any(gain.verdict is Verdict.UNDECIDED and gain.mean < 0 for gain in decision.gains)
        was = "is shown to be" if is_open else "was"
        return f"No method that learns from the clients {was} better on these data."
    if option.kind == "alone":
        return "It is not shown that sharing what they learn would be better."
    return in_messages(answer.needs())


def in_messages(text: str) -> str:
    """Return a text with the word that readers know for a full transfer."""
    return re.sub(r"\btransfer", "message", text)


def _rates(answer: Recommendation) -> str:
    """Return how many of 100 recommendations are taken, with each option and at random."""
    decided = answer.decision.option
    names = [option_name(each) for each in sorted(answer.decision.options, key=lambda each: each != decided)]
    bars = {bar.name: bar for bar in bars_of(answer)}
    texts = [f"{bars[name].text} with {name}" for name in names if name in bars]
    texts += [f"{bars[RANDOM].text} at random"] if RANDOM in bars else []
    return f"{RATES[_measure(answer)]}: {', '.join(texts)}."


def _measure(answer: Recommendation) -> Measure:
    if answer.result.board.scale != "reward":
        return "score"
    return answer.by


def bars_of(answer: Recommendation) -> list[Bar]:
    """Return a bar for random choice, each rule and each other option, the longest first."""
    decision, measure = answer.decision, _measure(answer)
    options = [*decision.rules, *(option for option in decision.options if option.kind != "rule")]
    values = [(RANDOM, getattr(answer.random, measure)[0], False)]
    values += [(option_name(each), getattr(each, measure)[0], each == decision.option) for each in options]
    known = sorted((each for each in values if math.isfinite(each[1])), key=lambda each: -each[1])
    most = max([value for _, value, _ in known], default=0.0) or 1.0
    form = ".3g" if measure == "score" else ",.1f"
    return [Bar(name, f"{value:{form}}", max(0.0, PERCENT * value / most), decided) for name, value, decided in known]


def _doubts(answer: Recommendation) -> list[str]:
    """Return why the decision may be another one; none if nothing that was tested says so."""
    decision, holdout = answer.decision, answer.holdout
    if decision.kind == UNDECIDED:
        return ["the test does not allow a decision"]
    doubts = [f"it depends on {each.choice}, see below" for each in answer.depends if each.changes]
    if holdout is not None and holdout.was_right is False:
        doubts.append("decided on the first part of the time, it would have been wrong on the rest, see below")
    if answer.notices:
        doubts.append("the test is too easy, see the warning")
    for gain in decision.gains:
        if gain.verdict is Verdict.UNDECIDED:
            doubts.append(f"{option_name(gain.other)} may be better")
        elif gain.verdict is Verdict.BETTER and gain.clients_low < 0:
            doubts.append(f"with other clients, {option_name(gain.other)} may be better")
    return doubts


def _compared(answer: Recommendation) -> list[str]:
    """Return how the decision compares with the best other option."""
    best = max(answer.decision.gains, key=lambda gain: gain.other.score[0], default=None)
    if best is None:
        return []
    if _measure(answer) == "hits":
        return [f"With what is advised, recommendations were taken {_more(best, ' often')}."]
    return [f"What is advised earned {_more(best, '')}."]


def _more(gain: Gain, often: str) -> str:
    """Return a gain in words: `24 % more often than with bestsellers (20 to 28 %)`."""
    other = f"with {option_name(gain.other)}"
    if gain.verdict in (Verdict.EQUIVALENT, Verdict.IDENTICAL):
        return f"about as{often or ' much'} as {other}"
    if gain.mean > 1:
        return f"{1 + gain.mean:.1f} times as{often or ' much'} as {other} ({1 + gain.low:.1f} to {1 + gain.high:.1f})"
    low, mean, high = (PERCENT * each for each in (gain.low, gain.mean, gain.high))
    word = "less" if mean < 0 else "more"
    if gain.verdict is Verdict.UNDECIDED:
        return f"{abs(mean):.0f} % {word}{often} than {other}, which may be chance ({low:+.0f} to {high:+.0f} %)"
    return f"{mean:.0f} % more{often} than {other} ({low:.0f} to {high:.0f} %)"


def _checked(answer: Recommendation) -> list[str]:
    """Return the check on the last part of the time."""
    holdout = answer.holdout
    if holdout is None or not holdout.was_right:
        return []
    share = PERCENT * (1 - holdout.share)
    return [f"Decided on the first {share:.0f} % of the time, it would have been right on the rest."]


def depends_of(answer: Recommendation) -> tuple[list[str], list[str]]:
    """Return what would change the decision, and what was tried and would not, in sentences."""
    changing = [
        f"It depends on {each.choice}. Here: {each.used}. With {each.other}, the advice would be: "
        f"{advice(each.decision)}."
        for each in answer.depends
        if each.changes
    ]
    others = [each.sentence() for each in answer.depends if not each.changes]
    if (holdout := answer.holdout) is not None:
        since = f", since {holdout.since}" if holdout.since else ""
        right = {True: "right", False: f"wrong; right was: {advice(holdout.later)}", None: "too few data to say"}
        others.append(
            f"Decided on the first {PERCENT * (1 - holdout.share):.0f} % of the time: {advice(holdout.chosen)}. On the "
            f"last {PERCENT * holdout.share:.0f} %{since}: {right[holdout.was_right]}."
        )
    return changing, others


def facts_of(answer: Recommendation, used: DataUsed, command: str) -> list[tuple[str, str, list[str]]]:
    """Return what the answer is based on: a heading, a text and further texts."""
    profile = answer.profile
    left_out = [note.removesuffix(".") for note in used.notes]
    rows = f"{used.rows_used:,} used" + ("" if used.rows is None else f" of {used.rows:,} in the file")
    clients = f"{profile.clients:,}" + (f", one for each value of the column {used.clients}" if used.clients else "")
    test = f"{profile.steps:,} decisions among {profile.arms} items each"
    facts = [
        ("file" if used.rows is not None else "data", used.shown, []),
        ("sha256", ", ".join(used.files.values()), []),
        ("rows", rows, left_out),
        ("dates", used.days or "not known", []),
        ("clients", clients, [profile.sentences()[1]]),
        ("test", test, [answer.pools] if answer.pools else []),
        ("budget", in_messages(answer.allowed()), [in_messages(answer.needs())]),
        ("made on", str(date.today()), []),
        ("versions", ", ".join(f"{name} {number}" for name, number in versions().items()), []),
        ("command", command, []),
    ]
    return [fact for fact in facts if fact[1]]


def _score_and_setting(line: Line, *between: str) -> tuple[str, ...]:
    """Return score, further cells and setting of a row; without a score, why there is none."""
    return (score_text(line), *between, line.setting) if math.isfinite(line.mean) else (line.setting, *between, "")


def _messages(transfers: float) -> str:
    return "" if math.isnan(transfers) else transfers_text(transfers)


def _scored(interval: Interval) -> str:
    mean, low, high = interval
    if math.isnan(mean):
        return "–"
    return f"{mean:.3g}" + ("" if math.isnan(low) else f" [{low:.3g}; {high:.3g}]")


def reference_levels(answer: Recommendation) -> list[dict[str, Any]]:
    """Return the mean score of random choice and of each rule that can be deployed, from the highest to the lowest."""
    random = 1.0 if answer.result.board.scale == "reward" else 0.0
    levels = {"at random": random, **{rule.name: rule.score[0] for rule in answer.decision.rules}}
    return [
        {"label": label, "score": level}
        for label, level in sorted(levels.items(), key=lambda item: -item[1])
        if math.isfinite(level)
    ]


def front_points(answer: Recommendation) -> list[dict[str, Any]]:
    """Return every setting that was tried: its method, transfers per client and mean score over the choosing seeds.

    Only those that were tried on all choosing seeds can be the best (`is_complete`): the others were left out earlier,
    and their means are not comparable. `reported` is the score on the report seeds, for settings that were chosen.
    """
    board = answer.result.board
    reported = {
        choice.configuration: score_text(answer.line(entry.name, limit))
        for entry in answer.result.contenders
        for limit in answer.result.budgets
        if (choice := answer.result.choice(entry.name, limit)) is not None
    }
    seed_count = sum(len(each.seeds) for each in board.protocol.halving())
    choosing, _ = board.protocol.seeds.split(answer.result.runs)
    groups = choosing.dropna().groupby("configuration")
    scores, communication, seeds = (
        {str(name): float(value) for name, value in column.items()}
        for column in (groups["score"].mean(), groups["communication"].mean(), groups["seed"].nunique())
    )
    return [
        {
            "method": entry.label,
            "colour": style(entry.style).colour,
            "symbol": style(entry.style).symbol,
            "setting": setting_of(name),
            "cost": board.per_client(communication[name]),
            "score": scores[name],
            "seeds": int(seeds[name]),
            "is_complete": seeds[name] == seed_count,
            "reported": reported.get(name, ""),
        }
        for entry in board.playing
        if entry.is_ranked
        for name in entry.configurations
        if name in scores
    ]
