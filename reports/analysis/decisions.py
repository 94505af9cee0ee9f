"""The score by a client's decision number, alone and with what others share: from when on a client needs nobody else.

    print(alone_sentence(result), decision_rows(result))

All scores are means over the primary budgets, and are compared with tuned "no communication" on the same seeds.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from benchmark.board.entries import MethodRow, entry_name
from benchmark.board.result import BoardResult
from benchmark.plan.method_names import MethodFilter
from benchmark.statistics.comparison import NO_COMMUNICATION, band_ends
from benchmark.statistics.intervals import Floats, mean_interval
from reports.analysis.board import ranked_entries
from reports.write.table import interval_columns

ALONE, RULE = "alone", "rule"
"""Kinds of lines that share nothing: tuned "no communication", and a reference."""

KINDS = ("one model", "personal", "clustered")
"""The kinds of methods that are compared with a client alone; the fourth is the first with noise."""


@dataclass(frozen=True)
class Line:
    """A row of the board with its scores, report seeds × groups of decision numbers, NaN where they are not known.

    `kind` is that of the row, `alone` or `rule`; `is_best` is whether it has the highest mean of its kind; `is_silent`
    is whether it is tuned "no communication" itself at all primary budgets.
    """

    row: MethodRow
    kind: str
    scores: Floats
    is_best: bool = False
    is_silent: bool = False


def best_of_kind(result: BoardResult, kind: str) -> MethodRow | None:
    """Return the tuned method of a kind with the highest mean score at the primary endpoint; None without one."""
    rows = [row for row in ranked_entries(result) if row.kind == kind and not math.isnan(result.mean(row.name)[0])]
    return max(rows, key=lambda row: result.mean(row.name)[0], default=None)


def _lines(result: BoardResult) -> list[Line]:
    """Return "no communication", the best method of each kind, the same with or without `welcome`, and the best rule.

    A rule is a reference with a single configuration. Without recorded choices, or without a method, there is no line.
    """
    if result.scores is None:
        return []
    choices, budgets = result.scores.choices, result.board.protocol.budgets.primary
    chosen = {name: [str(of_row[budget]) for budget in budgets] for name, of_row in choices.items()}
    lines = [Line(MethodRow(NO_COMMUNICATION, "", "Alone"), ALONE, _scores(result, chosen[NO_COMMUNICATION]))]
    for kind in KINDS:
        best = best_of_kind(result, kind)
        for row in ranked_entries(result):
            if best is not None and row.name in (best.name, _other_form(best)):
                is_silent = chosen[row.name] == chosen[NO_COMMUNICATION]
                lines.append(Line(row, kind, _scores(result, chosen[row.name]), row is best, is_silent))
    earned = {row.name: result.line(row.name)[0] for row in result.references if len(row.configurations) == 1}
    best_rule = max(earned, key=lambda name: np.nan_to_num(earned[name], nan=-math.inf), default="")
    lines += [
        Line(row, RULE, _scores(result, [*row.configurations])) for row in result.references if row.name == best_rule
    ]
    known = [line for line in lines if np.isfinite(line.scores).any()]
    return known if any(line.is_best for line in known) and known[0].kind == ALONE else []


def _scores(result: BoardResult, configurations: Sequence[str]) -> Floats:
    """Return the mean scores of configurations, report seeds × groups."""
    groups, scores = result.board.protocol.facts.groups, result.board.facts.scores if result.board.facts else {}
    unknown = np.full((len(result.board.seeds), len(groups)), math.nan)
    mean: Floats = np.mean([np.asarray(scores.get(name, unknown)) for name in configurations], axis=0)
    return mean


def _other_form(row: MethodRow) -> str:
    """Return the name of the same method with `welcome`, or without it; empty for other variants."""
    with_welcome = entry_name(MethodFilter(row.method, {"welcome": (True,)}))
    return {row.method: with_welcome, with_welcome: row.method}.get(row.name, "")


def decision_rows(result: BoardResult) -> pd.DataFrame:
    """Return one row per line and group of decision numbers; `first` is the first number of the group.

    Scores have 95 % intervals over seeds. The differences of methods to "no communication" have bands that hold for all
    methods and groups at once, and none with too few seeds. Groups without decisions on some seed are left out.
    """
    lines, rules = _lines(result), result.board.protocol.facts
    if not lines:
        return pd.DataFrame()
    alone = lines[0].scores
    groups = np.flatnonzero(np.isfinite(alone).all(axis=0))
    differences = np.array([(line.scores - alone).T[groups] for line in lines])
    bands = np.full((2, *differences.shape[:2]), math.nan)
    is_method = [line.kind in KINDS for line in lines]
    bands[:, is_method] = band_ends(differences[is_method], result.board.protocol.rules())
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(lines):
        about: dict[str, Any] = {"entry": line.row.name, "method": line.row.label, "kind": line.kind}
        about |= {"is_best": line.is_best, "is_silent": line.is_silent}
        for place, group in enumerate(groups):
            scores, difference = line.scores[:, group], float(differences[number, place].mean())
            row = about | {"decisions": rules.groups[group], "first": rules.first_decisions[group]}
            row |= interval_columns("score", mean_interval(scores if np.isfinite(scores).all() else []))
            rows.append(row | interval_columns("difference", (difference, *bands[:, number, place])))
    return pd.DataFrame(rows)


def first_not_worse(first: Sequence[int], low: Sequence[float]) -> int | None:
    """Return from which decision number on a client alone is not worse than a method; None if it is in the last group.

    Args:
        first: the first decision number of each group.
        low: the lower end of the band of the difference, method − alone, in each group; alone is worse where it is > 0.
    """
    start = max((place for place, end in enumerate(low, start=1) if end > 0), default=0)
    return first[start] if start < len(first) else None


def alone_from(result: BoardResult) -> tuple[int | None, int]:
    """Return from which decision on a client alone is not worse than the best method of any kind, and the last group.

    The first is None if it is worse even in the last group of decisions, which begins at the second number. Without
    enough report seeds or known scores it is (None, 0).
    """
    rows = decision_rows(result)
    if rows.empty or not result.board.has_enough_seeds:
        return None, 0
    low = rows[rows["is_best"]].groupby("first")["difference_low"].max()
    return first_not_worse(low.index.tolist(), low.tolist()), int(low.index.max())


def alone_sentence(result: BoardResult) -> str:
    """Return from which decision number on a client alone is not worse than the best method of each kind.

    It is empty with fewer report seeds than a verdict needs.
    """
    rows = decision_rows(result)
    answers: dict[int | None, list[str]] = {}
    if rows.empty or not result.board.has_enough_seeds:
        return ""
    for _, part in rows[rows["is_best"]].groupby("entry", sort=False):
        row = part.iloc[0]
        name = f"the best {row['kind'].replace(' ', '-')} method, {row['method']}"
        start = first_not_worse(part["first"].tolist(), part["difference_low"].tolist())
        answers.setdefault(start, []).append(f"{name}, which is best without messages" if row["is_silent"] else name)
    texts = []
    for start, names in sorted(answers.items(), key=lambda answer: answer[0] or math.inf):
        methods = ", and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
        if start is None:
            texts.append(f"even from decision {rows['first'].max()} on, a client alone is worse than {methods}")
        elif start == 1:
            texts.append(f"at no decision number is a client alone worse than {methods}")
        else:
            texts.append(f"from decision {start} on, a client alone is not worse than {methods}")
    text = "; ".join(texts)
    return f"{text[0].upper()}{text[1:]}."
