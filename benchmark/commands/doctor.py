"""Check the installation, memory, disk, data, store and cluster; suggest fixes.

Examples:
  fedbandit doctor
  fedbandit doctor --scheduler tcp://10.0.0.1:8786

The exit code is 1 if a check finds a problem that prevents runs (FAIL).
"""

import argparse

MARKS = {"ok": "ok  ", "warn": "warn", "fail": "FAIL"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--scheduler", metavar="ADDRESS", help="address of a Dask scheduler to check")


def run(arguments: argparse.Namespace) -> int:
    """Print one line per check, with the advice below it."""
    from benchmark.terminal.check_up import check_all

    exit_code = 0
    for check in check_all(arguments.scheduler):
        print(f"{MARKS[check.state]}  {check.subject:<20}{check.result}")
        if check.advice:
            print(f"      {'':<20}-> {check.advice}")
        if check.state == "fail":
            exit_code = 1
    return exit_code
