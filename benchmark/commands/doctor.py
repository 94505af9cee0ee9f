"""Check Python, memory, compiler cache, disk, data, store and cluster, and say what to do about each.

Examples:
  fedbandit doctor
  fedbandit doctor --scheduler tcp://10.0.0.1:8786

The exit code is 1 if something will not work.
"""

import argparse

MARKS = {"ok": "ok  ", "look": "look", "bad": "BAD "}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask cluster to look at")


def run(arguments: argparse.Namespace) -> int:
    """Print a line for each finding, with its advice below."""
    from benchmark.check_up import check_all

    worst = 0
    for finding in check_all(arguments.scheduler):
        print(f"{MARKS[finding.state]}  {finding.subject:<20}{finding.what}")
        if finding.advice:
            print(f"      {'':<20}-> {finding.advice}")
        worst = max(worst, finding.state == "bad")
    return int(worst)
