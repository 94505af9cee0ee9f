"""Build figures, tables, a comparison with the paper and an HTML page.

Examples:
  fedbandit report                  all experiments
  fedbandit report fig_a fig_b      two experiments (or a pattern: 'fig_*')
  fedbandit report --out ~/report   write to another folder
  fedbandit report --only tables    no figures, no page, no record in MLflow

This command does not run experiments. It reads the data folder and the runs in
MLflow (at MLFLOW_TRACKING_URI, or in mlflow.db in the working directory). For
each data set, only runs on the currently prepared data are shown; the number
of runs on other data is reported. Missing runs do not prevent a report; they
are listed in it.

The report on all experiments is written to reports/output. A report on some
experiments is written to a sub-folder named after them, such as fig_a+fig_b,
and does not change other reports. Unchanged outputs are reused. Figures and
tables are also logged to MLflow, as one run of kind `analysis` per experiment.

The exit code is 1 if a table or figure could not be built, 2 for bad input.
"""

import argparse
import sys
import time
from pathlib import Path


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("names", nargs="*", metavar="EXPERIMENT", help="experiments or patterns (default: all)")
    parser.add_argument("--out", metavar="DIR", help="output folder (default: reports/output or a sub-folder)")
    parser.add_argument(
        "--only",
        choices=("tables", "figures"),
        help="build only the tables or only the figures: no HTML page, nothing logged to MLflow",
    )


def run(arguments: argparse.Namespace) -> int:
    """Build the report and print the locations of its parts."""
    from reports.build import build

    start = time.monotonic()
    out = Path(arguments.out).expanduser() if arguments.out else None
    if out is not None and out.exists() and not out.is_dir():
        raise ValueError(f"--out must be a folder, got the file {arguments.out!r}")
    report = build(names=arguments.names, out=out, only=arguments.only)
    seconds = time.monotonic() - start
    for label in report.labels:
        print(label)
    for sentence in report.left_out:
        print(f"note     {sentence}")
    for sentence in report.absent:
        print(f"missing  {sentence}")
    for failure in report.failures:
        print(f"FAILED   {failure}", file=sys.stderr)
    if report.is_unchanged:
        print(f"Nothing has changed since the last report ({seconds:.1f} s).")
    else:
        counts = {"tables": f"{report.tables} tables", "figures": f"{report.figures} figures ({report.drawn} redrawn)"}
        parts = [text for part, text in counts.items() if arguments.only in (part, None)]
        print(f"{', '.join(parts)}, {seconds:.1f} s")
    if arguments.only != "figures":
        print(f"tables   {report.out / 'tables'} (CSV, Markdown, LaTeX)")
    if arguments.only != "tables":
        print(f"figures  {report.out / 'figures'} (PNG, SVG, CSV, captions in Markdown)")
    if not arguments.only:
        print(f"page     {(report.out / 'report.html').absolute().as_uri()}")
        print("MLflow   a run `report` in each experiment, with its figures and tables: fedbandit ui")
        print('next     add your own algorithm (see "Add an algorithm" in README.md):')
        print("           fedbandit run fig_a --algorithm module:Class")
        print("         estimate how long the full `paper` profile takes:")
        print("           fedbandit run --profile paper --dry-run")
    return 1 if report.failures else 0
