"""Export finished runs as a table: CSV, Parquet or JSON.

Examples:
  fedbandit export                                   all runs, CSV on the screen
  fedbandit export fig_e --out fig_e.csv
  fedbandit export fig_d fig_e --format parquet --out runs.parquet
  fedbandit export fig_e --per setting               means over seeds, intervals

The same runs as in a report: for each data set, only those on the currently
prepared data, without seeds that choose settings. A CSV file has one header
line and no comments. The format follows from the name of --out, if it is not
given.
"""

import argparse
import sys
from pathlib import Path

ORDER = 10

FORMATS = ("csv", "parquet", "json")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("names", nargs="*", metavar="EXPERIMENT", help="experiments or patterns (default: all)")
    parser.add_argument("--format", choices=FORMATS, help="default: that of --out, or csv")
    parser.add_argument("--per", choices=("run", "setting"), default="run", help="one row per run (default) or setting")
    parser.add_argument("--out", metavar="FILE", help="default: standard output")


def run(arguments: argparse.Namespace) -> int:
    """Write the table."""
    from benchmark.results.results import as_bytes
    from benchmark.results.stored import exported

    suffix = Path(arguments.out).suffix.lower().removeprefix(".") if arguments.out else ""
    kind = arguments.format or (suffix if suffix in FORMATS else "csv")
    if kind == "parquet" and not arguments.out:
        raise ValueError("--format parquet needs --out FILE, because it is not text")
    out = Path(arguments.out).expanduser() if arguments.out else None
    if out is not None and (out.is_dir() or not out.parent.is_dir()):
        raise ValueError(f"--out must be a file in an existing folder, got {arguments.out!r}")
    table, notes = exported(arguments.names, arguments.per)
    content = as_bytes(table, kind)
    if out is None:
        sys.stdout.buffer.write(content)  # UTF-8, whatever the terminal has
    else:
        from data_pipelines.support.files import write_whole

        write_whole(out, content)
        print(f"{out}: {len(table):,} rows, {len(table.columns)} columns", file=sys.stderr)
    for note in notes:
        print(note, file=sys.stderr)
    return 0
