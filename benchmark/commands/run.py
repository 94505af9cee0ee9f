"""Run experiments and record every run in MLflow; finished runs are skipped.

Examples:
  fedbandit run                                all experiments, profile quick
  fedbandit run fig_a fig_d --profile paper    two figures, full grids, 10 seeds
  fedbandit run fig_d --algorithm "async-linucb[gamma=5]" --seeds 0,1
  fedbandit run fig_d --algorithm my_module:MyAlgorithm
                                               your class and the others
  fedbandit run fig_d --on purchases.csv       the algorithms of fig_d on your data
  fedbandit run --dry-run                      list the runs, estimate the time
  fedbandit run --executor dask --scheduler tcp://10.0.0.1:8786

Records are written to mlflow.db and mlartifacts/ in the working directory, or
to the store at MLFLOW_TRACKING_URI.

The exit code is 0 if all runs are finished, 1 if runs failed or data sets are
missing, 2 for bad input or an error that ends the sweep (such as a full disk),
130 after Ctrl-C. Run the same command again to continue.
"""

import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "experiments",
        nargs="*",
        metavar="EXPERIMENT",
        help="names, patterns or TOML files (default: all built-in experiments)",
    )
    parser.add_argument("--profile", default="quick", help="quick (default) or paper")
    parser.add_argument(
        "--algorithm",
        action="append",
        default=[],
        metavar="NAME[KEY=VALUE,…]",
        help="run only this algorithm, with these values if given; module:Class adds your own class (repeatable)",
    )
    parser.add_argument(
        "--dataset",
        action="append",
        default=[],
        metavar="NAME",
        help="run only on this data set or simulated stream (repeatable)",
    )
    parser.add_argument(
        "--on",
        metavar="DATA",
        help="replace the data set: a prepared one, or a CSV or Parquet file with one row per interaction",
    )
    parser.add_argument("--seeds", metavar="SEEDS", help="number of seeds (3), a list (0,5) or a range (0-9)")
    parser.add_argument(
        "--executor",
        choices=("local", "dask"),
        default="local",
        help="run in local processes or on a Dask cluster (default: local)",
    )
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="address of the Dask scheduler, such as tcp://10.0.0.1:8786"
    )
    parser.add_argument("--jobs", type=int, metavar="N", help="number of processes (default: all cores)")
    parser.add_argument("--dry-run", action="store_true", help="list the runs without running them")


def run(arguments: argparse.Namespace) -> int:
    """Plan, execute the unfinished runs, print a summary, and return the exit code."""
    from benchmark.terminal.run_command import run_command

    return run_command(arguments)
