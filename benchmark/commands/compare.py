"""Compare methods on a data set or on your own file, without writing an experiment.

Examples:
  fedbandit compare async-linucb sync-linucb --dataset lastfm
  fedbandit compare async-linucb gossip:Gossip --dataset purchases.csv
  fedbandit compare "async-linucb[gamma=[1,10,inf]]" --dataset lastfm
  fedbandit compare async-linucb async-linucb-am --dataset lastfm \\
      --budget 10/client --seeds 10

A method without values for its threshold runs through six values of the grid
that it declares. The runs are recorded in MLflow as experiment compare-DATASET;
finished ones are skipped. The best setting is chosen on the same seeds whose
mean is shown; `fedbandit recommend` chooses on other seeds.

The exit code is 1 if runs failed, 2 for bad input, 130 after Ctrl-C.
"""

import argparse

from benchmark.terminal.import_command import add_import_options


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "methods", nargs="+", metavar="METHOD", help="NAME, NAME[KEY=VALUE,…], or module:Class for your own"
    )
    parser.add_argument(
        "--dataset", required=True, metavar="DATA", help="a prepared data set, or a CSV or Parquet file"
    )
    parser.add_argument(
        "--budget",
        metavar="BUDGET",
        help="10/client (transfers per client), 5000 (transfers in total) or 1MB (bytes in total)",
    )
    parser.add_argument("--seeds", default="5", metavar="SEEDS", help="number (5, the default), list or range")
    parser.add_argument("--points", type=int, default=6, metavar="N", help="thresholds per method (default: 6)")
    parser.add_argument("--jobs", type=int, metavar="N", help="number of processes (default: all cores)")
    add_import_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run what is not finished, print the table and the best setting."""
    from benchmark.terminal.compare_command import compare_command

    return compare_command(arguments)
