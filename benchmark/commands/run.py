"""Run experiments: every run is recorded in MLflow, and none that is finished is ever run again.

Examples:
  fedbandit run                                     all experiments, profile quick
  fedbandit run fig_a fig_d --profile paper         two figures, full grids, 10 seeds
  fedbandit run fig_d --algorithm "async-linucb[gamma=5]" --seeds 0,1
  fedbandit run fig_d --algorithm my_module:MyAlgorithm      your own class beside the others
  fedbandit run --dry-run                           what would be run, what is done, how long it takes
  fedbandit run --executor dask --scheduler tcp://10.0.0.1:8786

Records go to mlflow.db and mlartifacts/ in the working directory, or where MLFLOW_TRACKING_URI points.
The exit code is 0 if all is done, 1 if runs failed or data sets are missing, 2 for bad input, 130 after Ctrl-C.
Run the same command again to go on where it ended.
"""

import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "experiments", nargs="*", metavar="EXPERIMENT", help="names, patterns or TOML files (none: all)"
    )
    parser.add_argument("--profile", default="quick", help="quick (default) or paper")
    parser.add_argument(
        "--algorithm",
        action="append",
        default=[],
        metavar="NAME[KEY=VALUE,…]",
        help="only this algorithm, with these values; module:Class adds your own; repeatable",
    )
    parser.add_argument("--dataset", action="append", default=[], metavar="NAME", help="only these streams; repeatable")
    parser.add_argument("--seeds", metavar="SEEDS", help="how many (3), or which (0,5 or 0-9)")
    parser.add_argument("--executor", choices=("local", "dask"), default="local", help="where to run (default: local)")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of the Dask cluster, such as tcp://10.0.0.1:8786")
    parser.add_argument("--jobs", type=int, metavar="N", help="processes (default: all cores)")
    parser.add_argument("--dry-run", action="store_true", help="list the runs, run nothing")


def run(arguments: argparse.Namespace) -> int:
    """Plan, run what is not done, record, sum up."""
    from benchmark.run_experiments import Request, run_experiments

    return run_experiments(
        Request(
            experiments=tuple(arguments.experiments),
            profile=arguments.profile,
            algorithms=tuple(arguments.algorithm),
            datasets=tuple(arguments.dataset),
            seeds=arguments.seeds,
            executor=arguments.executor,
            scheduler=arguments.scheduler,
            jobs=arguments.jobs,
            dry_run=arguments.dry_run,
        )
    )
