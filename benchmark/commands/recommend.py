"""Recommend a method and its setting for your data and your budget.

Examples:
  fedbandit recommend purchases.csv --budget 10/client
  fedbandit recommend lastfm --budget 5000
  fedbandit recommend online-retail-profile --budget 1MB
  fedbandit recommend purchases.csv                     a table over budgets
  fedbandit recommend sales.csv --user-column who --skip-bad-rows

DATA is a prepared data set, a task of the board, or a CSV or Parquet file with
one row per interaction, which is imported first, with the options below if it
needs some (`fedbandit data import --interactions FILE --dry-run` shows how it
is read). A budget is a number of full
transfers per client (10/client), per client and day, week or month
(3/client/day), per decision (0.1/decision) or in total (5000), or of bytes per
client (5MB/client) or in total (1MB).
Counted are the transfers that are needed for the same choices.

The usual methods take part, and others that you name with --method (`fedbandit
list` shows all; module:Class is your own).

Settings are chosen on some seeds and reported on others. The runs are recorded
in MLflow; the same command continues after an interruption, and repeats nothing.

The exit code is 2 for bad input, 130 after Ctrl-C.
"""

import argparse
import math
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmark.commands import add_jobs_option, add_method_option, check_minimum, interrupted
from benchmark.commands.data import add_import_options, import_options
from data_pipelines.support.text import BOLD, GREEN, WIDTH, YELLOW, coloured, wrapped

if TYPE_CHECKING:
    from benchmark.recommend.recommendation import Line, Recommendation

NEEDED = "transfers: those needed for the same choices, per client"
LABEL_WIDTH, BUDGET_WIDTH, SCORE_WIDTH, TRANSFERS_WIDTH = 36, 17, 21, 10


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "data", metavar="DATA", help="a prepared data set, a task, a CSV or Parquet file, or module:NAME"
    )
    parser.add_argument("--budget", metavar="BUDGET", help="10/client, 5000 or 1MB (default: a table over budgets)")
    parser.add_argument("--out", metavar="FILE", help="the page (default: recommendations/DATA.html)")
    add_method_option(parser, "a further method beside the usual ones; module:Class is your own (repeatable)")
    add_jobs_option(parser)
    parser.add_argument(
        "--configurations",
        type=int,
        metavar="N",
        help="settings per method, at most (default: 48, or 16 for more than 50,000 decisions)",
    )
    parser.add_argument(
        "--by",
        choices=("hits", "value"),
        default="hits",
        help="what decides: how many recommendations are taken (the default), or their value (see --value-column)",
    )
    add_import_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Play a small board, print the answer and write the page."""
    from benchmark.observer import SweepDisplay
    from benchmark.recommend.recommend import recommend
    from benchmark.records.store import Store
    from benchmark.results.budget import as_budget
    from reports.page.recommendation import write_recommendation

    check_minimum(arguments, jobs=1, configurations=1)
    if arguments.budget is not None:
        as_budget(arguments.budget)
    if arguments.out is not None:
        _check_page(Path(arguments.out).expanduser())
    try:
        answer = recommend(
            arguments.data,
            arguments.budget,
            arguments.jobs,
            Store(),
            observer=SweepDisplay(),
            configurations=arguments.configurations,
            options=import_options(arguments),
            methods=arguments.method,
            by=arguments.by,
        )
    except KeyboardInterrupt:
        return interrupted()
    page = Path(arguments.out or Path("recommendations") / f"{answer.profile.name}.html").expanduser()
    write_recommendation(page, answer)
    print_recommendation(answer, page, arguments.words)
    return 0


def _check_page(path: Path) -> None:
    """Find out before the runs whether the page can be written after them."""
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise ValueError(f"--out must be a file that can be written, got {str(path)!r}")


def print_recommendation(answer: "Recommendation", page: Path, words: Sequence[str]) -> None:
    """Print the answer; `words` are those of the command, to repeat it."""
    print()
    if answer.label:
        print(coloured(wrapped(f"{answer.profile.name}: {answer.label}"), YELLOW))
    for sentence in answer.sentences():
        print(wrapped(sentence, ""))
    print("\n".join(["", *(budget_lines(answer) if answer.budget is None else lines_of(answer)), ""]))
    for sentence in (*answer.profile.sentences(), "", answer.plan_text(), ""):
        print(wrapped(sentence, ""))
    print(f"repeat   {shlex.join(['fedbandit', *words])}")
    print(f"page     {page}")


def lines_of(answer: "Recommendation") -> list[str]:
    """Return the table: the recommendation, the other methods, extremes and references."""
    header = f"{'':<{LABEL_WIDTH}}{'score':>{SCORE_WIDTH}}{'transfers':>{TRANSFERS_WIDTH}}  compared"
    rows = [_row(line.name, line, line.verdict) for line in answer.lines()]
    caption = f"score:{answer.unit}, with a 95 % interval; {NEEDED}; compared: with the first row"
    return [coloured(header, BOLD), coloured(rows[0], GREEN), *rows[1:], wrapped(caption, "")]


def budget_lines(answer: "Recommendation") -> list[str]:
    """Return the table over budgets: the best method and setting at each."""
    header = f"{'budget':<{BUDGET_WIDTH}}{'score':>{SCORE_WIDTH}}{'transfers':>{TRANSFERS_WIDTH}}  method"
    lines = [f"{answer.profile.name}: the best method at each budget", "", coloured(header, BOLD)]
    for limit, line in answer.over_budgets():
        lines.append(_row(answer.limit_text(limit), line, line.name, BUDGET_WIDTH))
        lines.append(f"{'':<{BUDGET_WIDTH}}{line.setting:>{WIDTH - BUDGET_WIDTH}}")
    return [*lines, wrapped(f"score:{answer.unit}, with a 95 % interval; {NEEDED}", "")]


def _row(name: str, line: "Line", last: str, width: int = LABEL_WIDTH) -> str:
    from benchmark.recommend.recommendation import score_text, transfers_text

    transfers = "" if math.isnan(line.transfers) else transfers_text(line.transfers)
    score = line.setting if math.isnan(line.mean) else score_text(line)
    return f"{name[:width]:<{width}}{score:>{SCORE_WIDTH}}{transfers:>{TRANSFERS_WIDTH}}  {last}".rstrip()
