"""Compare all methods, tuned in the same way, to find out which one to use.

Examples:
  fedbandit board --quick                 a first look at one task, a minute
  fedbandit board lastfm-matched          one task by the protocol
  fedbandit board                         all tasks
  fedbandit board --dry-run               number of runs and estimated time
  fedbandit board simulated-uniform --algorithm my_module:MyAlgorithm
                                          your class beside the others
  fedbandit board lastfm-matched --algorithm "async-linucb[alpha=0.3]"
                                          a value that is fixed, not tuned

Each method is tuned on the seeds for choosing, for each budget of communication
per client. The chosen configurations are then run on the report seeds and
compared; docs/protocol.md has the rules. Runs are recorded in MLflow, one
experiment per task, and finished runs are not repeated. `fedbandit report`
builds figures and tables of the boards.

The exit code is 0 if all tasks are complete, 1 if runs failed or data sets are
missing, 2 for bad input or a fatal error, 130 after Ctrl-C. Run the
same command again to continue.
"""

import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("tasks", nargs="*", metavar="TASK", help="names or patterns (default: all tasks)")
    parser.add_argument(
        "--algorithm",
        action="append",
        default=[],
        metavar="NAME[KEY=VALUE,…]",
        help="only this method and the reference; with values, a further row that is not tuned; "
        "module:Class adds your own class (repeatable)",
    )
    parser.add_argument("--quick", action="store_true", help="one task, few seeds and configurations, no verdicts")
    parser.add_argument("--fixed", action="store_true", help="also run each method with the paper's α and λ, not tuned")
    parser.add_argument(
        "--configurations", type=int, metavar="N", help="at most N configurations per method, instead of 144"
    )
    parser.add_argument("--seeds", metavar="SEEDS", help="report seeds: a number (20), a list (0,5) or a range (0-9)")
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
    parser.add_argument("--dry-run", action="store_true", help="print the number of runs and the estimated time")


def run(arguments: argparse.Namespace) -> int:
    """Play the boards, print their tables, and return the exit code."""
    from benchmark.terminal.board_command import board_command

    return board_command(arguments)
