"""The table of a board on a terminal, within 80 columns: methods × budgets with verdicts."""

import math
import textwrap
from collections.abc import Sequence

from benchmark.board.result import BoardResult
from benchmark.statistics.verdicts import Verdict, rank_text

WIDTH = 80
NAME_WIDTH, CELL_WIDTH = 26, 9
MARKS = {
    Verdict.BETTER: "+",
    Verdict.WORSE: "-",
    Verdict.EQUIVALENT: "=",
    Verdict.IDENTICAL: "=",
    Verdict.UNDECIDED: "?",
    Verdict.NONE: " ",
}
LEGEND = "compared with tuned no communication: + better, - worse, = equivalent, ? undecided"
OVER = "!"
"""In a cell: the mean over the report seeds exceeds the budget; a note on the row has the factor."""

SCORES = {
    "reward": "normalised reward (random choice: 1)",
    "regret": "1 - regret / regret of random choice",
}


def board_lines(result: BoardResult) -> list[str]:
    """Return the lines of a task: scores and verdicts, ranks, reference lines, and notes on rows."""
    board = result.board
    lines = [f"{board.task.name}: {board.task.title}"[:WIDTH]]
    seeds = f"{len(board.seeds)} report seed{'s' * (len(board.seeds) > 1)}"
    lines += [f"{SCORES[board.scale]}, mean of {seeds}", f"{'transfers per client':<{NAME_WIDTH}}{_heads(result)}"]
    for entry in result.contenders:
        cells = [_cell(result, entry.name, budget) for budget in result.budgets]
        lines.append((_cut(entry.label) + "".join(cells)).rstrip())
    lines += [
        f"{_cut(entry.label)}{_number(result.line(entry.name)[0]):>{CELL_WIDTH - 1}}" for entry in result.references
    ]
    if label := board.task.stream.bound().data_label() if board.source != "simulated" else "":
        lines += _wrapped(label)
    lines += _verdict_lines(result)
    if any(_is_over(result, entry.name, budget) for entry in result.contenders for budget in result.budgets):
        lines.append(f"{OVER} over its budget on the report seeds")
    for entry in board.entries:
        if entry.is_contender and (notes := result.notes(entry)):
            lines += _wrapped(f"{entry.label}: {'; '.join(notes)}")
    return lines


def summary_lines(results: Sequence[BoardResult]) -> list[str]:
    """Return one line per task: the ranks of its methods."""
    lines = ["ranks by the mean score at 2, 10, 100 and 1,000 transfers per client"]
    for result in results:
        labels = {entry.name: entry.label for entry in result.contenders}
        ranks = {} if _is_open(result) else result.ranks
        texts = [f"{labels[name]} {rank_text(rank)}" for name, rank in ranks.items()]
        lines += _wrapped(f"{result.board.task.name}: {', '.join(texts) or 'no verdicts'}")
    return lines


def _verdict_lines(result: BoardResult) -> list[str]:
    needed = result.board.protocol.comparison.min_report_seeds
    if _is_open(result):
        return [f"No verdicts: they need at least {needed} report seeds, got {len(result.board.seeds)}."]
    if result.comparisons.empty:
        return ["No verdicts: the reference method has no scores."]
    labels = {entry.name: entry.label for entry in result.contenders}
    ranks = [f"{labels[name]} {rank_text(rank)}" for name, rank in result.ranks.items()]
    return [*_wrapped(LEGEND), *_wrapped(f"rank: {', '.join(ranks)}")]


def _is_open(result: BoardResult) -> bool:
    return len(result.board.seeds) < result.board.protocol.comparison.min_report_seeds


def _heads(result: BoardResult) -> str:
    texts = ["unlimited" if math.isinf(budget) else f"{budget:,.0f} " for budget in result.budgets]
    return "".join(f"{text:>{CELL_WIDTH}}" for text in texts)


def _cell(result: BoardResult, name: str, budget: float) -> str:
    if result.choice(name, budget) is None:
        return f"{'none ':>{CELL_WIDTH}}"
    mark = MARKS[result.verdict(name, budget)]
    mark += OVER if _is_over(result, name, budget) else ""
    return f"{_number(result.mean(name, budget)[0]) + mark:>{CELL_WIDTH}}"


def _is_over(result: BoardResult, name: str, budget: float) -> bool:
    return result.overruns(name, budget).factor is not None


def _number(value: float) -> str:
    return "failed" if math.isnan(value) else f"{value:.3f}"


def _cut(label: str) -> str:
    text = label if len(label) < NAME_WIDTH else f"{label[: NAME_WIDTH - 2]}…"
    return f"{text:<{NAME_WIDTH}}"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent="  ", break_on_hyphens=False)
