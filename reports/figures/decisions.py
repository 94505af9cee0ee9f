"""For whom sharing pays: the score by a client's decision number, and the shares of users better and worse off."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchmark.board.result import BoardResult
from benchmark.charts.chart import GREY, INK, Axis, Level, Panel, Series, drawn_values, numbers, span
from benchmark.statistics.verdicts import Verdict
from benchmark.styles import Style, distinct_styles
from reports.analysis.board import ALL, budget_text, primary_text, user_rows
from reports.analysis.decisions import ALONE, KINDS, RULE, alone_sentence, best_of_kind, decision_rows
from reports.figures.board import LOOKS, SCORES, labels_of
from reports.read.boards import StoredBoard
from reports.read.results import Results
from reports.subjects import BOARD
from reports.write.figure import Figure, make_figure
from reports.write.table import mean_text

ORDER = 6
SHIFT = 0.09
"""Between the marks of two lines, as a share of the distance between groups, so that their bars can be told apart."""

HALF_BAR = 0.36
SHARES = ["better", "worse", "equal"]


def figures(results: Results) -> list[Figure]:
    """Return for each board the scores by decision number, and on real data the users better and worse off."""
    all_figures = []
    for board in results.boards:
        rows, shares = decision_rows(board.result), share_rows(board, results)
        all_figures += [_decisions(board, results, rows)] if len(rows) else []
        all_figures += [_shares(board, results, shares)] if len(shares) else []
    return all_figures


def _decisions(board: StoredBoard, results: Results, rows: pd.DataFrame) -> Figure:
    result = board.result
    seeds, comparison = len(result.board.seeds), result.board.protocol.comparison
    facts, answer = result.board.facts, alone_sentence(result)
    assert facts is not None, "the rows are made from them"
    first, median, third = facts.decisions
    bands = f"{comparison.confidence * 100:g} % bands"
    caption = (
        f"{result.board.task.title}. Score by the number of the client's decision (left), and its paired difference to "
        f"tuned “no communication”, a client alone (right); {_primary(result)}. Of each kind of sharing "
        f"({', '.join(KINDS)}), the method with the highest mean of these on the report seeds is drawn, to describe "
        "them; nothing is selected by it. Hollow marks: the same method with, or without, a download on joining "
        f"(welcome). Bars: 95 % Student t intervals over {seeds} report seeds (left); {bands} that hold for all "
        "methods and groups at once (right), none with too few seeds. A client alone is worse where a band lies above "
        f"zero. A client makes {median:,} decisions in the median, half of the clients {first:,} to {third:,}. {answer}"
    ).strip()
    styles = distinct_styles((row.method, row.style) for row in result.contenders)  # one for both forms of a method
    looks = {row.name: styles[row.method] for row in result.contenders}
    lines = [part for _, part in rows.groupby("entry", sort=False)]
    methods = [part for part in lines if part["kind"].iloc[0] in KINDS]
    zero = Level(0.0, GREY, line="-", width=2.0)
    by_score = tuple(_series(part, "score", 0.0, looks) for part in lines)
    shifts = SHIFT * (np.arange(len(methods)) - (len(methods) - 1) / 2)
    by_difference = tuple(
        _series(part, "difference", float(shift), looks) for part, shift in zip(methods, shifts, strict=True)
    )
    groups = list(dict.fromkeys(rows["decisions"]))
    x = Axis("decision of the client", (-0.5, len(groups) - 0.5), ticks=tuple(enumerate(groups)), has_grid=False)
    y = Axis(SCORES[result.board.scale], span(drawn_values(by_score)))
    y_difference = Axis("difference to alone", span(drawn_values((zero, *by_difference))))
    has_bands = rows["difference_low"].notna().any()
    panels = [
        Panel(x, y, by_score, title=f"{seeds} report seeds; bars: 95 % intervals"),
        Panel(x, y_difference, (zero, *by_difference), title=f"bars: {bands}, simultaneous" if has_bands else ""),
    ]
    return make_figure(
        f"{board.experiment}_decisions",
        f"Board {result.board.task.name}: from which decision on does a client need nobody else?",
        caption,
        panels,
        short_caption=f"{answer} The best method of each kind; hollow: the same with, or without, welcome.".strip(),
        labels=labels_of([board], results),
        experiments=[board.experiment],
        subject=BOARD,
        data=rows,
        height=3.4,
    )


def _primary(result: BoardResult) -> str:
    return f"{primary_text(result.board.protocol.budgets.primary)} full messages per decision"


def _series(part: pd.DataFrame, value: str, shift: float, looks: Mapping[str, Style]) -> Series:
    """Return a line over the groups; the form of a method that is not the best of its kind is dashed and hollow."""
    name, kind, label = (str(part[column].iloc[0]) for column in ("entry", "kind", "method"))
    x = numbers(np.arange(len(part)) + shift)
    low, high = (numbers(part[f"{value}_{end}"]) for end in ("low", "high"))
    texts = [mean_text(*mean) for mean in zip(part[value], low, high, strict=True)]
    hover = tuple((label, f"decision {group}", text) for group, text in zip(part["decisions"], texts, strict=True))
    look: dict[str, Any] = {"hover": hover, "y_interval": (low, high)}
    if kind in (ALONE, RULE):
        look |= {"line": "-", "width": 2.0} if kind == ALONE else {"line": "--", "width": 1.0}
        return Series(x, numbers(part[value]), GREY, label, **look)
    style, is_best = looks[name], bool(part["is_best"].iloc[0])
    look |= {"size": 9.5 if style.marker == "*" else 6.5, "width": 1.2, "is_hollow": not is_best}
    return Series(
        x, numbers(part[value]), style.colour, f"{label}: {kind}", style.marker, "-" if is_best else "--", **look
    )


def share_rows(board: StoredBoard, results: Results) -> pd.DataFrame:
    """Return the rows of `user_rows` by activity of the best method of each kind, at the largest primary budget."""
    rows, budget = user_rows(board, results), budget_text(max(board.result.board.protocol.budgets.primary))
    if rows.empty:
        return rows
    at_budget = rows[rows["budget"].map(lambda texts: budget in texts.split(", ")) & (rows["activity"] != ALL)]
    best = {kind: row.label for kind in KINDS if (row := best_of_kind(board.result, kind)) is not None}
    parts = [at_budget[at_budget["method"] == method].assign(kind=kind, budget=budget) for kind, method in best.items()]
    return pd.concat(parts)[["kind", "method", "budget", "activity", "users", *SHARES]] if parts else pd.DataFrame()


def _shares(board: StoredBoard, results: Results, rows: pd.DataFrame) -> Figure:
    result = board.result
    budget, names = rows["budget"].iloc[0], dict.fromkeys(zip(rows["kind"], rows["method"], strict=True))
    caption = (
        f"{result.board.task.title}. Shares of users whose mean reward over the {len(result.board.seeds)} report seeds "
        "is better (up) and worse (down) than alone (tuned “no communication”), by activity; the others earn the same. "
        f"Of each kind of sharing, the method with the highest score is drawn ({_primary(result)}), as chosen for a "
        f"budget of {budget} ({'; '.join(f'{kind}: {method}' for kind, method in names)})."
    )
    ends = span([-rows["worse"].max(), 0.0, rows["better"].max()])
    ticks = tuple((tick / 5, f"{abs(tick) * 20} %") for tick in range(-5, 6) if ends[0] <= tick / 5 <= ends[1])
    panels = [
        _bars(part, Axis(f"{kind}: worse | better", ends, ticks=ticks))
        for kind, part in rows.groupby("kind", sort=False)
    ]
    return make_figure(
        f"{board.experiment}_users",
        f"Board {result.board.task.name}: who is better and worse off than alone",
        caption,
        panels,
        labels=labels_of([board], results),
        experiments=[board.experiment],
        subject=BOARD,
        data=rows,
        height=2.8,
    )


def _bars(part: pd.DataFrame, y: Axis) -> Panel:
    """Return the bars of a method, those of better users up and of worse ones down, and marks at the difference."""
    items: list[Series | Level] = [Level(0.0, GREY, line="-")]
    rows: Sequence[Any] = list(part.itertuples(index=False))
    for place, row in enumerate(rows):
        ends = (place - HALF_BAR, place + HALF_BAR)
        for verdict, share in ((Verdict.BETTER, row.better), (Verdict.WORSE, -row.worse)):
            interval = ((min(share, 0.0),) * 2, (max(share, 0.0),) * 2)
            label = f"{verdict} than alone"
            items.append(Series(ends, (share, share), LOOKS[verdict].colour, label, y_interval=interval, has_band=True))
        shares = f"better {row.better:.0%}, worse {row.worse:.0%}, equal {row.equal:.0%}"
        hover = ((f"{row.activity} interactions, {row.users:,} users", shares),)
        balance = "better minus worse"
        items.append(Series((float(place),), (row.better - row.worse,), INK, balance, "D", size=5.0, hover=hover))
    names = [f"{row.activity}: {row.users:,}" for row in rows]
    x = Axis("interactions: users", (-0.6, len(names) - 0.4), ticks=tuple(enumerate(names)), angle=40, has_grid=False)
    return Panel(x, y, tuple(items), title=str(part["method"].iloc[0]))
