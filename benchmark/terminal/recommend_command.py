"""`fedbandit recommend` on a terminal: progress, the answer in plain words, one table, the next steps."""

import argparse
import math
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmark.recommend.recommend import recommend
from benchmark.recommend.recommendation import Line, Recommendation, limit_text, score_text, transfers_text
from benchmark.records.store import Store
from benchmark.terminal.import_command import import_options
from benchmark.terminal.sweep_display import SweepDisplay
from benchmark.terminal.text import BOLD, GREEN, WIDTH, YELLOW, coloured, wrapped

LABEL_WIDTH, BUDGET_WIDTH, SCORE_WIDTH, TRANSFERS_WIDTH = 36, 17, 21, 10


class StagedDisplay:
    """The progress of several sweeps, one after the other."""

    def __init__(self) -> None:
        self._current = SweepDisplay()

    def started(self, runs: int, skipped: int, seconds: float) -> None:
        """Begin a new display."""
        self._current = SweepDisplay()
        self._current.started(runs, skipped, seconds)

    def note(self, text: str) -> None:
        """Print a text that stays."""
        self._current.note(wrapped(text, ""))

    def __getattr__(self, name: str) -> Any:
        """Pass everything else on to the current display."""
        return getattr(self._current, name)


def recommended(arguments: argparse.Namespace) -> Recommendation | None:
    """Play what is missing; None if the user interrupted it."""
    try:
        return recommend(
            arguments.data,
            arguments.budget,
            arguments.jobs,
            Store(),
            observer=StagedDisplay(),
            configurations=arguments.configurations,
            options=import_options(arguments),
        )
    except KeyboardInterrupt:
        print("Interrupted. Finished runs are saved; run the same command again to continue.", file=sys.stderr)
        return None


def print_recommendation(answer: Recommendation, page: Path, words: Sequence[str]) -> None:
    """Print the answer; `words` are those of the command, to repeat it."""
    print()
    if answer.label:
        print(coloured(wrapped(f"{answer.profile.name}: {answer.label}"), YELLOW))
    if answer.budget is None:
        _print_notices(answer)
        print("\n".join([*budget_lines(answer), ""]))
        sentences = [f"At {limit_text(answer.limit)}: {answer.certainty()}"]
    else:
        print(coloured(wrapped(answer.answer(), ""), BOLD))
        _print_notices(answer)
        print("\n".join(["", *lines_of(answer), ""]))
        sentences = [answer.certainty(), *answer.other_budgets()]
    for warning in answer.warnings():
        print(coloured(wrapped(warning, ""), YELLOW))
    for sentence in (*sentences, "", *answer.profile.sentences(), "", answer.plan_text(), ""):
        print(wrapped(sentence, ""))
    print(f"repeat   {shlex.join(['fedbandit', *words])}")
    print(f"page     {page}")


def _print_notices(answer: Recommendation) -> None:
    for notice in answer.notices:
        print(coloured(wrapped(notice, ""), YELLOW))


def lines_of(answer: Recommendation) -> list[str]:
    """Return the table: the recommendation, the other methods, extremes and references."""
    header = f"{'':<{LABEL_WIDTH}}{'score':>{SCORE_WIDTH}}{'transfers':>{TRANSFERS_WIDTH}}  compared"
    rows = [_row(line.name, line, line.verdict) for line in answer.lines()]
    caption = f"score:{answer.unit}, with a 95 % interval; transfers: per client; compared: with the first row"
    return [coloured(header, BOLD), coloured(rows[0], GREEN), *rows[1:], wrapped(caption, "")]


def budget_lines(answer: Recommendation) -> list[str]:
    """Return the table over budgets: the best method and setting at each."""
    header = f"{'budget':<{BUDGET_WIDTH}}{'score':>{SCORE_WIDTH}}{'transfers':>{TRANSFERS_WIDTH}}  method"
    lines = [f"{answer.profile.name}: the best method at each budget", "", coloured(header, BOLD)]
    for limit, line in answer.over_budgets():
        lines.append(_row(limit_text(limit), line, line.name, BUDGET_WIDTH))
        lines.append(f"{'':<{BUDGET_WIDTH}}{line.setting:>{WIDTH - BUDGET_WIDTH}}")
    return [*lines, wrapped(f"score:{answer.unit}, with a 95 % interval; transfers: per client", "")]


def _row(name: str, line: Line, last: str, width: int = LABEL_WIDTH) -> str:
    transfers = "" if math.isnan(line.transfers) else transfers_text(line.transfers)
    score = line.setting if math.isnan(line.mean) else score_text(line)
    return f"{name[:width]:<{width}}{score:>{SCORE_WIDTH}}{transfers:>{TRANSFERS_WIDTH}}  {last}".rstrip()
