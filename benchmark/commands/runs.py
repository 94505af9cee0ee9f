"""List, archive or delete recorded runs, or add a metric to them, by filters.

Examples:
  fedbandit runs list --experiment fig_d
  fedbandit runs list --older-data              runs on data prepared before
  fedbandit runs archive --experiment "compare-*" --dry-run
  fedbandit runs restore --experiment fig_d
  fedbandit runs delete --experiment "board_sales*" --before 2026-03-01
  fedbandit runs delete --dataset shop --older-data --yes
  fedbandit runs fill my_module:MY_METRIC       add a metric of your own
  fedbandit runs fill my_module:MY_METRIC --experiment fig_d

An archived run is marked as deleted in MLflow: it is no longer shown, until
`restore` removes the mark. `delete` permanently removes runs, archived or not,
with their files, and experiments of which no run is left. It asks first, says
how much space it freed, and never runs beside a sweep.

`fill` computes a metric of finished runs from their stored steps; runs on seeds
that choose settings have none. No method is executed, and runs keep their keys.

After an interruption of `delete` or `fill`, the same command continues.

The exit code is 1 if a metric failed on a run, 2 for bad input, 130 after
Ctrl-C.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from data_pipelines.support.text import BOLD, RED, coloured, cut, number_of, wrapped

if TYPE_CHECKING:
    from benchmark.records.record import RunRecord

ORDER = 11

ACTIONS = ("list", "archive", "restore", "delete", "fill")
WIDTHS = (20, 22, 22)
"""Of the columns experiment, data and method."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("action", choices=ACTIONS, metavar="ACTION", help=", ".join(ACTIONS))
    parser.add_argument("metric", nargs="?", metavar="METRIC", help="of fill: module:NAME, or an installed metric")
    parser.add_argument("--experiment", metavar="NAME", help="only this experiment (or a pattern)")
    parser.add_argument("--dataset", metavar="NAME", help="only on this data set or simulation (or a pattern)")
    parser.add_argument("--method", metavar="NAME", help="only of this method (or a pattern)")
    parser.add_argument("--older-data", action="store_true", help="only on data other than those prepared now")
    parser.add_argument("--failed", action="store_true", help="only runs that failed")
    parser.add_argument("--before", metavar="DATE", help="only runs that ended before this day, such as 2026-03-01")
    parser.add_argument("--dry-run", action="store_true", help="only count the runs")
    parser.add_argument("--yes", action="store_true", help="delete without asking")


def run(arguments: argparse.Namespace) -> int:
    """Do the action on the selected runs."""
    from benchmark.results.stored import archive_runs, select_runs

    if arguments.action == "fill" and arguments.metric is None:
        raise ValueError("`runs fill` needs a METRIC: module:NAME, or an installed one")
    if arguments.action != "fill" and arguments.metric is not None:
        raise ValueError(f"METRIC must only be used with `runs fill`, got {arguments.metric!r}")
    names = ("experiment", "dataset", "method", "older_data", "failed", "before")
    filters = {name: value for name in names if (value := getattr(arguments, name))}
    if arguments.action not in ("list", "fill") and not filters:
        raise ValueError(f"`runs {arguments.action}` needs at least one filter, such as --experiment NAME; got none")
    if arguments.yes and arguments.action != "delete":
        raise ValueError("--yes must only be used with `runs delete`")
    if "before" in filters:
        filters["before"] = _date(filters["before"])
    if arguments.action == "fill":
        return _fill(arguments.metric, select_runs(**filters), is_dry_run=arguments.dry_run)
    if arguments.action == "delete":
        return _delete(filters, arguments)
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
    return 0


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"--before must be a date such as 2026-03-01, got {text!r}") from None


def _delete(filters: dict[str, Any], arguments: argparse.Namespace) -> int:
    """Delete the selected runs for good, and the experiments that have none afterwards."""
    from benchmark.records.size import megabytes, store_size
    from benchmark.records.store import Store
    from benchmark.results import deletion
    from benchmark.results.stored import select_runs
    from data_pipelines.support.progress import progress

    store, pattern = Store(), filters.get("experiment", "*")
    if store.uri.startswith(("http://", "https://")):
        raise ValueError(
            "a tracking server can only archive runs: use `fedbandit runs archive`, and then, where the server runs, "
            "mlflow gc --backend-store-uri DATABASE"
        )
    with deletion.no_sweep(store, pattern):
        active, archived = select_runs(**filters), select_runs(**filters, archived=True)
        runs = [*active, *archived]
        print("\n".join(run_lines(runs)))
        if not runs and not deletion.empty_experiments(store, pattern):
            return 0
        count, size = number_of(len(runs), "run"), megabytes(deletion.bytes_of_files(store, runs))
        if arguments.dry_run:
            print(f"{count} and {size} of files would be deleted; nothing was.")
            return 0
        if not arguments.yes and not _agrees(f"Delete {count} and {size} of files for good? [y/N] "):
            print("Nothing was deleted.")
            return 0
        before = store_size(store.uri)
        try:
            with progress("deleted", len(runs), unit="runs") as reporter:
                for _ in deletion.delete_runs(store, active, archived):
                    reporter.update(1)
            deletion.delete_experiments(store, deletion.empty_experiments(store, pattern))
            deletion.compact(store)
        except KeyboardInterrupt:
            print("Interrupted. Run the same command again to continue.", file=sys.stderr)
            return 130
        after = store_size(store.uri)
    freed = f"; {before - after} freed" if before and after else ""
    print(f"{count} deleted{freed}.")
    return 0


def _agrees(question: str) -> bool:
    """Ask the user; where there is no terminal to ask, `--yes` is required."""
    if not sys.stdin.isatty():
        raise ValueError("`runs delete` must have --yes where it cannot ask: standard input is not a terminal")
    return input(question).strip().lower() in ("y", "yes")


def _fill(name: str, runs: "Sequence[RunRecord]", *, is_dry_run: bool) -> int:
    """Add a metric to runs, and print what was done."""
    from benchmark.execution.own_metrics import find_metric
    from benchmark.records.store import Store
    from benchmark.results.fill import fill, to_fill

    planned = find_metric(name)
    finished = [run for run in runs if run.status == "FINISHED"]
    left = to_fill(planned, finished)
    if is_dry_run or not finished:
        print(f"{planned.name}: {len(left):,} of {number_of(len(finished), 'finished run')} without a value")
        return 0
    done = fill(planned, finished, Store())
    had = number_of(len(finished) - len(left), "run")
    print(f"{planned.name}: {number_of(done.count, 'run')} filled in; {had} had it already.")
    for line in done.left_out:
        print(wrapped(line), file=sys.stderr)
    for line in done.errors:
        print(coloured(wrapped(f"FAILED {line}"), RED), file=sys.stderr)
    return 1 if done.errors else 0


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
