"""Recommend a method and its setting for your data and your budget.

Examples:
  fedbandit recommend purchases.csv --budget 10/client
  fedbandit recommend lastfm --budget 5000
  fedbandit recommend online-retail-matched --budget 1MB
  fedbandit recommend purchases.csv                     a table over budgets
  fedbandit recommend sales.csv --user-column who --skip-bad-rows

DATA is a prepared data set, a task of the board, or a CSV or Parquet file with
one row per interaction, which is imported first, with the options below if it
needs some (`fedbandit data import --interactions FILE --dry-run` shows how it
is read). A budget is a number of full
transfers per client (10/client) or in total (5000), or of bytes in total (1MB).

Settings are chosen on some seeds and reported on others. The runs are recorded
in MLflow; the same command continues after an interruption, and repeats nothing.

The exit code is 2 for bad input, 130 after Ctrl-C.
"""

import argparse
import os
from pathlib import Path

from benchmark.terminal.import_command import add_import_options


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("data", metavar="DATA", help="a prepared data set, a task, or a CSV or Parquet file")
    parser.add_argument("--budget", metavar="BUDGET", help="10/client, 5000 or 1MB (default: a table over budgets)")
    parser.add_argument("--out", metavar="FILE", help="the page (default: recommendations/DATA.html)")
    parser.add_argument("--jobs", type=int, metavar="N", help="number of processes (default: all cores)")
    parser.add_argument(
        "--configurations",
        type=int,
        metavar="N",
        help="settings per method (default: 48, or 16 for more than 50,000 decisions)",
    )
    add_import_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Play a small board, print the answer and write the page."""
    from benchmark.results.budget import as_budget
    from benchmark.terminal.recommend_command import print_recommendation, recommended

    for option in ("jobs", "configurations"):
        if (value := getattr(arguments, option)) is not None and value < 1:
            raise ValueError(f"--{option} must be at least 1, got {value}")
    if arguments.budget is not None:
        as_budget(arguments.budget)
    if arguments.out is not None:
        _check_page(Path(arguments.out).expanduser())
    recommendation = recommended(arguments)
    if recommendation is None:
        return 130
    from reports.page.recommendation import write_recommendation

    page = Path(arguments.out or Path("recommendations") / f"{recommendation.profile.name}.html").expanduser()
    write_recommendation(page, recommendation)
    print_recommendation(recommendation, page, arguments.words)
    return 0


def _check_page(path: Path) -> None:
    """Find out before the runs whether the page can be written after them."""
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise ValueError(f"--out must be a file that can be written, got {str(path)!r}")
