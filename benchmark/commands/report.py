"""Turn what is in MLflow into the paper's figures and tables, how we compare, and one page that opens anywhere.

Examples:
  fedbandit report                    all experiments: tables, figures, report.html
  fedbandit report fig_a fig_b        two of them, in reports/output/fig_a+fig_b; patterns such as 'fig_*' too
  fedbandit report --out ~/report     into another folder
  fedbandit report --only tables      no figures, no page, nothing in MLflow

No bandit is run: MLflow (MLFLOW_TRACKING_URI, or mlflow.db in the working directory) and the data folder are all that
is read. What has not changed is not made again. The report on all experiments is in reports/output; one on some of them
is in a folder there that is named after them, and changes no other report. The figures and tables go into MLflow too,
as one run of kind `analysis` in each experiment. What is missing is said in the report and breaks nothing; the exit
code is 1 if a table or figure could not be made, 2 for bad input.
"""

import argparse
import sys
import time
from pathlib import Path


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("names", nargs="*", metavar="EXPERIMENT", help="experiments or patterns (none: all)")
    parser.add_argument("--out", metavar="DIR", help="where to (default: reports/output, or reports/output/EXPERIMENT)")
    parser.add_argument("--only", choices=("tables", "figures"), help="make nothing else")


def run(arguments: argparse.Namespace) -> int:
    """Make the report and say where everything is."""
    from reports.build import build

    started = time.monotonic()
    out = Path(arguments.out).expanduser() if arguments.out else None
    if out is not None and out.exists() and not out.is_dir():
        raise ValueError(f"--out is {arguments.out!r}, a file; allowed is a folder, or a new name")
    made = build(names=arguments.names, out=out, only=arguments.only)
    seconds = time.monotonic() - started
    for label in made.labels:
        print(label)
    for sentence in made.absent:
        print(f"missing  {sentence}")
    for failure in made.failures:
        print(f"FAILED   {failure}", file=sys.stderr)
    if made.is_unchanged:
        print(f"Nothing has changed since the last report: nothing was made again ({seconds:.1f} s).")
    else:
        counts = {"tables": f"{made.tables} tables", "figures": f"{made.figures} figures ({made.drawn} drawn anew)"}
        said = [text for part, text in counts.items() if arguments.only in (part, None)]
        print(f"{', '.join(said)}, {seconds:.1f} s")
    if arguments.only != "figures":
        print(f"tables   {made.out / 'tables'} (CSV, Markdown, LaTeX)")
    if arguments.only != "tables":
        print(f"figures  {made.out / 'figures'} (PNG, SVG, CSV)")
    if not arguments.only:
        print(f"page     {(made.out / 'report.html').absolute().as_uri()}")
        print("MLflow   a run `report` in each experiment: fedbandit ui")
        print("next     your own algorithm beside these: fedbandit run fig_a --algorithm module:Class (README, `Add an")
        print("         algorithm`); full grids and 10 seeds: fedbandit run --profile paper --dry-run tells how long")
    return 1 if made.failures else 0
