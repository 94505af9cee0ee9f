"""Communication budgets: as users write them (`10/client`, `3/client/day`), and the best settings within them."""

import math
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from benchmark.metrics import BYTES_PER_NUMBER, Metric, metric
from benchmark.protocol import load_protocol
from benchmark.records.record import RunRecord, dataset_label
from benchmark.results.frames import NEEDED, best_within
from benchmark.statistics.budgets import full_transfer
from benchmark.statistics.intervals import number_of_seeds
from benchmark.statistics.verdicts import no_statement
from data_pipelines.data_label import STAND_IN
from data_pipelines.support.text import BOLD, GREEN, coloured, wrapped

MAX_AMOUNT = 1e15
UNITS = {"b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12}
NUMBER = r"[-+]?(?:[0-9]+(?:[,_][0-9]{3})*\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?"
"""A number, with `,` or `_` between groups of three digits only."""

PERIODS = {"day": 1.0, "week": 7.0, "month": 365.25 / 12}
"""Days of each period of a budget."""

PATTERN = re.compile(
    rf"\s*({NUMBER})\s*(?:([kmgt]?b)\b)?\s*(?:/\s*(client)(?:\s*/\s*({'|'.join(PERIODS)}))?|/\s*(decision))?\s*",
    re.IGNORECASE,
)
EXAMPLES = (
    "10/client (transfers per client), 3/client/day (or week, month), 0.1/decision, 5000 (transfers in total), "
    "5MB/client or 1MB (bytes in total)"
)
BUDGETS = (0.0, 10.0, 100.0, math.inf)
"""Transfers per client: the columns of a table of settings."""

HEADER = ("none", "≤ 10", "≤ 100", "unlimited")
LABEL_WIDTH, CELL_WIDTH = 20, 15
MARK = "*"
CAPTION = "* best mean in its column; settings chosen on these seeds, see fedbandit board"
NEEDED_CAPTION = "messages: those that are needed for the same choices, in full {V, b} per client"
FOUND = {0.0: "none", 10.0: "≤\u00a010", math.inf: "any number"}
"""The budgets that a sentence names, in words."""

FOUND_HEADER = "What was found: best means by transfers per client (1 is random choice)"


@dataclass(frozen=True)
class Budget:
    """An upper limit of communication: an amount of transfers or bytes, in total, or per client, period or decision.

    A transfer is a full {V, b}: d (d + 1) / 2 + d numbers of 8 bytes, 350 numbers for d = 25.

    Args:
        amount: how many of them.
        unit: `transfers` or `bytes`, with `/client` or `/decision` if it is not in total.
        period: `day`, `week` or `month`; empty for the whole time of the data.
    """

    amount: float
    unit: str = "transfers/client"
    period: str = ""

    def per_client(self, clients: int, dimension: int, *, steps: float = math.nan, days: float = math.nan) -> float:
        """Return the full transfers per client that the budget allows.

        `steps` are the decisions of all clients, and `days` is the time of the data, NaN if it is not known.
        """
        what, _, per = self.unit.partition("/")
        amount = self.in_all(days).amount
        amount /= 1.0 if what == "transfers" else BYTES_PER_NUMBER * full_transfer(dimension)
        return amount * {"client": 1.0, "decision": steps / clients, "": 1 / clients}[per]

    def in_all(self, days: float) -> "Budget":
        """Return the budget for the whole time of the data; one that has no period is the same."""
        if not self.period:
            return self
        if math.isnan(days):
            raise ValueError(
                f"a budget per {self.period} must be used with data whose times are dates, got {self}; "
                "give it per client, such as 10/client"
            )
        return replace(self, amount=self.amount * days / PERIODS[self.period], period="")

    def needed(self, transfers: float, clients: int, dimension: int, **sizes: float) -> "Budget":
        """Return the budget in the same unit that allows so many transfers per client, to three digits."""
        allowed = replace(self, amount=1.0).per_client(clients, dimension, **sizes)
        return replace(self, amount=float(f"{transfers / allowed:.3g}"))

    def __str__(self) -> str:
        """Return the budget in words."""
        if math.isinf(self.amount):
            return "unlimited communication"
        what, _, per = self.unit.partition("/")
        noun = "transfer" if self.amount == 1 else "transfers"
        amount = f"{self.amount:,g} {noun}" if what == "transfers" else _bytes_text(self.amount)
        return f"{amount} {f'per {per}' if per else 'in total'}" + f" and {self.period}" * bool(self.period)


UNLIMITED = Budget(math.inf)


def as_budget(value: Any) -> Budget:
    """Return a budget from a text, from a number of transfers in total, or from None for no limit."""
    if isinstance(value, Budget):
        return value
    return UNLIMITED if value is None else parse_budget(str(value))


def parse_budget(text: str) -> Budget:
    """Read `10/client`, `3/client/day`, `0.1/decision`, `5000`, `5MB/client` or `1MB`."""
    match = PATTERN.fullmatch(text) if len(text) <= 100 else None
    if match is None:
        raise ValueError(f"budget must be {EXAMPLES}, got {text[:100]!r}")
    amount = float(re.sub("[,_]", "", match[1]))
    per_client, period, per_decision = (text and text.lower() for text in match.group(3, 4, 5))
    unit = (match[2] or "").lower()
    per = per_client or per_decision
    if not amount > 0:
        raise ValueError(
            f"budget must be above 0, got {text!r}; the result without communication is part of every answer"
        )
    amount *= UNITS.get(unit, 1.0)
    if amount > MAX_AMOUNT:
        raise ValueError(f"budget must be at most {MAX_AMOUNT:g}, got {text!r}; for no limit, leave the budget out")
    return Budget(amount, ("bytes" if unit else "transfers") + (f"/{per}" if per else ""), period or "")


def _bytes_text(amount: float) -> str:
    unit, size = next(((unit, size) for unit, size in reversed(UNITS.items()) if amount >= size), ("b", 1.0))
    return f"{amount / size:g} {unit.upper()}"


def budget_lines(
    settings: pd.DataFrame,
    rules: pd.DataFrame | None = None,
    generated: Collection[str] = (),
) -> list[str]:
    """Return the lines of one table, methods × budgets, for all data sets of these settings; none without settings.

    `rules` are the settings of rules without a model: the best of them is named where it has a better mean than every
    method. Results on `generated` data sets have a label, and none of them is marked as the best.
    """
    if settings.empty:
        return []
    is_needed = NEEDED in settings
    first = "messages per client" if is_needed else "transfers per client"
    lines = [coloured(first.ljust(LABEL_WIDTH) + "".join(cell.rjust(CELL_WIDTH) for cell in HEADER), BOLD)]
    for dataset, part in settings.groupby("dataset", sort=False):
        goal = metric(part["objective"].iloc[0])
        is_generated = dataset in generated
        label = f" – {STAND_IN}" if is_generated else ""
        heading = (
            f"{dataset_label(str(dataset))}: {goal.label}, {goal.direction} ({number_of_seeds(part['seeds'])}){label}"
        )
        lines.append(wrapped(heading, "    "))
        if rules is not None and not is_generated:
            lines += _rule(part, rules[rules["dataset"] == dataset], goal)
        lines += _rows(part, can_lead=not is_generated)
    lines += [CAPTION, *([NEEDED_CAPTION] if is_needed else [])]
    needed = load_protocol().comparison.min_report_seeds
    few = settings.loc[settings["seeds"] < needed, "seeds"]
    return lines if few.empty else [*lines, no_statement(few, needed)]


def finding_lines(settings: pd.DataFrame, rules: pd.DataFrame) -> list[str]:
    """Return a sentence for each data set: the best means within three budgets, and a rule that beats all methods."""
    return [
        wrapped(_finding(str(dataset), part, rules[rules["dataset"] == dataset]))
        for dataset, part in settings.groupby("dataset", sort=False)
    ]


def _finding(dataset: str, settings: pd.DataFrame, rules: pd.DataFrame) -> str:
    goal = metric(settings["objective"].iloc[0])
    found: dict[tuple[str, str], list[str]] = {}
    for budget, words in FOUND.items():
        best = best_within(settings, budget)
        if len(best):
            found.setdefault((short(best["mean"].iloc[0]), str(best["method"].iloc[0])), []).append(words)
    parts = (
        f"{mean} with {' or '.join(words) if len(words) < len(FOUND) else FOUND[math.inf]} ({method})"
        for (mean, method), words in found.items()
    )
    unit = "" if goal.sign > 0 else f"{goal.label} "
    rule = _best_rule(settings, rules, goal)
    better = "" if rule is None else f"; better, without a model: {rule['method']}, {short(rule['mean'])}"
    return f"{dataset_label(dataset)}: {unit}{', '.join(parts)}{better}"


def generated_in(records: Iterable[RunRecord]) -> set[str]:
    """Return the names of the generated data sets among these runs."""
    return {record.stream.name for record in records if record.stream.source == "stand-in"}


def _best_rule(settings: pd.DataFrame, rules: pd.DataFrame, goal: Metric) -> "pd.Series[Any] | None":
    """Return the best rule without a model if its mean is better than that of every setting."""
    ranked = rules.assign(score=goal.sign * rules["mean"]).sort_values("score", ascending=False)
    best = (goal.sign * settings["mean"]).max()
    return None if ranked.empty or not ranked["score"].iloc[0] > best else ranked.iloc[0]


def _rule(settings: pd.DataFrame, rules: pd.DataFrame, goal: Metric) -> list[str]:
    """Return a line on that rule."""
    rule = _best_rule(settings, rules, goal)
    if rule is None:
        return []
    best = abs((goal.sign * settings["mean"]).max())
    means = f"{rule['method']} {short(rule['mean'])}, methods {short(best)}"
    return [wrapped(f"a rule without a model has the best mean: {means}", "    ", "  ")]


def _rows(settings: pd.DataFrame, *, can_lead: bool) -> list[str]:
    best = [best_within(settings, budget).set_index("algorithm") for budget in BUDGETS]
    leaders = [short(column["mean"].iloc[0]) if len(column) else "" for column in best]
    methods = settings.drop_duplicates("algorithm").set_index("algorithm")["method"]
    lines = []
    for algorithm, label in methods.items():
        cells = [
            _cell(column, str(algorithm), leader if can_lead and len(methods) > 1 else "")
            for column, leader in zip(best, leaders, strict=True)
        ]
        name = f"  {label}"
        if len(name) > LABEL_WIDTH:  # a line of its own
            lines.append(name)
            name = ""
        lines.append(name.ljust(LABEL_WIDTH) + "".join(cells).rstrip())
    return lines


def _cell(column: pd.DataFrame, algorithm: str, leader: str) -> str:
    """Return a cell; it is marked if its mean has the digits of the leader of its column."""
    if algorithm not in column.index:
        return "– ".rjust(CELL_WIDTH)
    mean, setting = column["mean"][algorithm], column["setting"][algorithm]
    is_best = short(mean) == leader
    parts = str(setting).split(", ")
    texts = (f"{short(mean)} {', '.join(parts[:count])}".strip() for count in range(len(parts), -1, -1))
    text = next(each for each in texts if len(each) <= CELL_WIDTH - 2 or each == short(mean))  # whole values only
    cell = f"{text}{MARK if is_best else ' '}".rjust(CELL_WIDTH)
    return coloured(cell, BOLD, GREEN) if is_best else cell


def short(value: float) -> str:
    """Write a mean in at most six characters."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
