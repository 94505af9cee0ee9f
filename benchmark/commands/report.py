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

from data_pipelines.support.text import fitted, number_of

ORDER = 7

INDENT = " " * 9


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
    from data_pipelines.data_label import is_provenance
    from reports.build import build

    start = time.monotonic()
    out = Path(arguments.out).expanduser() if arguments.out else None
    if out is not None and out.exists() and not out.is_dir():
        raise ValueError(f"--out must be a folder, got the file {arguments.out!r}")
    report = build(names=arguments.names, out=out, only=arguments.only)
    seconds = time.monotonic() - start
    for label in report.labels:
        if not is_provenance(label):
            print(fitted(label))
    for sentence in report.left_out:
        print(fitted(f"note     {sentence}", INDENT))
    for sentence in report.absent:
        print(fitted(f"missing  {sentence}", INDENT))
    for failure in report.failures:
        print(fitted(f"FAILED   {failure}", INDENT), file=sys.stderr)
    if report.is_unchanged:
        print(f"Nothing has changed since the last report ({seconds:.1f} s).")
    else:
        figures = f"{number_of(report.figures, 'figure')} ({report.drawn} redrawn)"
        counts = {"tables": number_of(report.tables, "table"), "figures": figures}
        parts = [text for part, text in counts.items() if arguments.only in (part, None)]
        print(f"{', '.join(parts)}, {seconds:.1f} s")
    if arguments.only != "figures":
        print(fitted(f"tables   {report.out / 'tables'} (CSV, Markdown, LaTeX)", INDENT))
    if arguments.only != "tables":
        print(fitted(f"figures  {report.out / 'figures'} (PNG, SVG, CSV, captions in Markdown)", INDENT))
    if not arguments.only:
        print(f"page     {(report.out / 'report.html').absolute().as_uri()}")
        print("view     fedbandit ui    (a run `report` has figures, tables and the page)")
        print("compare  fedbandit compare METHOD module:Class --dataset NAME")
        print("choose   fedbandit recommend YOUR-FILE.csv --budget 10/client")
    return 1 if report.failures else 0
