"""List, archive or delete recorded runs, by filters.

Examples:
  fedbandit runs list --experiment fig_d
  fedbandit runs list --older-data              runs on data prepared before
  fedbandit runs archive --experiment "compare-*" --dry-run
  fedbandit runs restore --experiment fig_d
  fedbandit runs delete --dataset shop --older-data

An archived run is marked as deleted in MLflow: it is no longer shown, until
`restore` removes the mark. `delete` archives, and prints the command of MLflow,
`mlflow gc`, that permanently removes archived runs and their files.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from data_pipelines.support.text import BOLD, coloured, cut, number_of

if TYPE_CHECKING:
    from benchmark.records.record import RunRecord

ACTIONS = ("list", "archive", "restore", "delete")
WIDTHS = (20, 22, 22)
"""Of the columns experiment, data and method."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("action", choices=ACTIONS, metavar="ACTION", help=", ".join(ACTIONS))
    parser.add_argument("--experiment", metavar="NAME", help="only this experiment (or a pattern)")
    parser.add_argument("--dataset", metavar="NAME", help="only on this data set or simulation (or a pattern)")
    parser.add_argument("--method", metavar="NAME", help="only of this method (or a pattern)")
    parser.add_argument("--older-data", action="store_true", help="only on data other than those prepared now")
    parser.add_argument("--failed", action="store_true", help="only runs that failed")
    parser.add_argument("--dry-run", action="store_true", help="only count the runs")


def run(arguments: argparse.Namespace) -> int:
    """Do the action on the selected runs."""
    from benchmark.results.stored import archive_runs, gc_command, select_runs

    names = ("experiment", "dataset", "method", "older_data", "failed")
    filters = {name: value for name in names if (value := getattr(arguments, name))}
    if arguments.action != "list" and not filters:
        raise ValueError(f"`runs {arguments.action}` needs at least one filter, such as --experiment NAME; got none")
    selected = select_runs(**filters, archived=arguments.action == "restore")
    print("\n".join(run_lines(selected)))
    if not selected:
        return 0
    count = number_of(len(selected), "run")
    if arguments.action == "list" or arguments.dry_run:
        print(count if arguments.action == "list" else f"{count} would be changed; nothing was.")
        return 0
    archive_runs(selected, restore=arguments.action == "restore")
    print(f"{count} {'restored' if arguments.action == 'restore' else 'archived'}.")
    if arguments.action == "delete":
        print(f"To remove archived runs and their files permanently, run:\n  {gc_command()}", file=sys.stderr)
    return 0


def run_lines(records: "Sequence[RunRecord]") -> list[str]:
    """Return one line per experiment, data set, method and status; one sentence without runs."""
    if not records:
        return ["No recorded run matches."]
    counts = Counter((each.experiment, each.stream.name, each.method.name, each.status) for each in records)
    lines = [coloured(_line("experiment", "data", "method", "  runs"), BOLD)]
    return lines + [
        _line(experiment, data, method, f"{count:>6,}{'' if status == 'FINISHED' else f' {status}'}")
        for (experiment, data, method, status), count in sorted(counts.items())
    ]


def _line(*cells: str) -> str:
    parts = [f"{cut(cell, width - 1):<{width}}" for cell, width in zip(cells, WIDTHS, strict=False)]
    return "".join([*parts, cells[-1]]).rstrip()
