"""Compare methods on a data set or on your own file, without writing an experiment.

Examples:
  fedbandit compare async-linucb sync-linucb --dataset lastfm
  fedbandit compare async-linucb gossip:Gossip --dataset purchases.csv
  fedbandit compare "async-linucb[gamma=[1,10,inf]]" --dataset lastfm
  fedbandit compare async-linucb async-linucb-am --dataset lastfm \\
      --budget 10/client --seeds 10

A method without values for its threshold runs through six values of the grid
that it declares. The runs are recorded in MLflow as experiment compare-DATASET;
finished ones are skipped. The pools are those of `fedbandit recommend`, and are
named in the first line. The best setting is chosen on the same seeds whose
mean is shown; `fedbandit recommend` chooses on other seeds.

The exit code is 1 if runs failed, 2 for bad input, 130 after Ctrl-C.
"""

import argparse
import math
from typing import TYPE_CHECKING

from benchmark.commands import add_jobs_option, add_metric_option, check_minimum, interrupted
from benchmark.commands.data import add_import_options, import_options
from data_pipelines.support.text import RED, YELLOW, coloured, wrapped

if TYPE_CHECKING:
    from benchmark.results.results import Results

ORDER = 2


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "methods", nargs="+", metavar="METHOD", help="NAME, NAME[KEY=VALUE,…], or module:Class for your own"
    )
    parser.add_argument(
        "--dataset",
        required=True,
        metavar="DATA",
        help="a prepared data set, a task, a CSV or Parquet file, or module:NAME",
    )
    parser.add_argument(
        "--budget",
        metavar="BUDGET",
        help="10/client (transfers per client), 3/client/day, 5000 (transfers in total), 5MB/client or 1MB",
    )
    parser.add_argument("--seeds", default="5", metavar="SEEDS", help="number (5, the default), list or range")
    parser.add_argument("--points", type=int, default=6, metavar="N", help="thresholds per method (default: 6)")
    add_metric_option(parser)
    add_jobs_option(parser)
    add_import_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run what is not finished, print the table and the best setting."""
    from benchmark.execution.own_metrics import find_metrics
    from benchmark.observer import SweepDisplay
    from benchmark.plan.plan import parse_seeds
    from benchmark.plan.runs import settings_of
    from benchmark.recommend.compare import compare, seed_list
    from benchmark.recommend.log import cases_from
    from benchmark.records.store import Store
    from benchmark.results.budget import as_budget

    check_minimum(arguments, jobs=1, points=2)
    budget = as_budget(arguments.budget)
    seeds = seed_list(parse_seeds(arguments.seeds))
    settings_of(arguments.methods, points=arguments.points)  # bad methods are refused before a file is imported
    find_metrics(arguments.metric)
    log, (case, *_) = cases_from(arguments.dataset, import_options(arguments))
    spec, budget = case.task.stream, budget.in_all(log.days if log else math.nan)
    print(wrapped(case.pools, ""))
    try:
        comparison = compare(
            arguments.methods,
            spec,
            seeds,
            budget,
            arguments.jobs,
            Store(),
            points=arguments.points,
            metrics=arguments.metric,
            observer=SweepDisplay(),
        )
    except KeyboardInterrupt:
        return interrupted()
    print_comparison(comparison, f"compare-{spec.name}")
    return 1 if comparison.failures else 0


def print_comparison(comparison: "Results", experiment: str) -> None:
    """Print the table, the best setting within the budget, failures and the next steps."""
    from benchmark.results.budget import budget_lines, generated_in

    print("\n".join(["", *budget_lines(comparison.summary(), generated=generated_in(comparison.records)), ""]))
    for note in comparison.notes:
        print(coloured(wrapped(note), YELLOW))
    for failure in comparison.failures:
        print(coloured(wrapped(f"FAILED {failure}"), RED))
    if comparison.records:
        print(wrapped(f"best     {comparison.best()}", " " * 9))
    print(f"view     fedbandit ui    (its chart: fedbandit ui {experiment})")
    print(f"report   fedbandit report {experiment}")
    print(f"export   fedbandit export {experiment} --out runs.csv")
