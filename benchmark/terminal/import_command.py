"""`fedbandit data import` on a terminal: options, profile, refusals."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from data_pipelines.own_data.options import ImportOptions

HELP = """Import your own data: a CSV or Parquet file with one row per interaction.

Columns, separator, encoding, decimal mark and date format are detected and
shown; options override them.

Examples:
  fedbandit data import --interactions purchases.csv --dry-run
  fedbandit data import --interactions purchases.csv --skip-bad-rows
  fedbandit data import --name shop --interactions clicks.csv --items items.csv
  fedbandit data import --interactions sales.csv --user-column CustomerID \\
      --item-column StockCode --words-column Description
  fedbandit data import --interactions stars.csv --rating-column stars \\
      --positive-from 4
"""
COLUMNS = {
    "user": "user column of the interactions (default: user, or a similar name)",
    "item": "item column of the interactions (default: item, or a similar name)",
    "time": "time column of the interactions (default: time, or a similar name, if there is one)",
    "id": "id column of the items (default: item, or a similar name)",
    "rating": "column of the interactions with ratings (default: none)",
}
WORDS_HELP = "column with text that describes the items; repeatable (default: words, or a similar name)"
OPTIONS = (
    *(f"{role}_column" for role in COLUMNS),
    *("words_column", "positive_from", "features", "repeats", "skip_bad_rows"),
    *("encoding", "separator", "decimal", "date_format", "dimension"),
)


def configure_import(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `fedbandit data import`."""
    parser.add_argument("--name", help="name of the new data set (default: that of the file)")
    parser.add_argument(
        "--interactions", required=True, metavar="FILE", help="CSV or Parquet file with one row per interaction"
    )
    parser.add_argument("--dry-run", action="store_true", help="print a profile of the data; write nothing")
    add_import_options(parser)


def add_import_options(parser: argparse.ArgumentParser) -> None:
    """Declare how a file is read, for every command that imports one."""
    _add_columns(parser.add_argument_group("columns of a file"))
    _add_content(parser.add_argument_group("content of a file"))
    _add_formats(parser.add_argument_group("format of CSV files (default: detected)"))


def _add_columns(group: Any) -> None:
    for role, text in COLUMNS.items():
        group.add_argument(f"--{role}-column", metavar="NAME", help=text)
    group.add_argument("--words-column", metavar="NAME", action="append", help=WORDS_HELP)


def _add_content(group: Any) -> None:
    group.add_argument(
        "--items",
        metavar="FILE",
        help="CSV or Parquet file with one row per item (default: the items of the interactions)",
    )
    group.add_argument(
        "--skip-bad-rows",
        action="store_true",
        help="leave out rows with missing or unknown ids, invalid times or ratings, or too few or many fields, "
        "and show how many (default: refuse the file)",
    )
    group.add_argument(
        "--repeats", choices=("once", "keep"), default="once", help="repeats of a (user, item) pair (default: once)"
    )
    group.add_argument(
        "--features",
        choices=("words", "co-occurrence", "one-hot"),
        help="how items are described (default: words if there is such a column, else co-occurrence)",
    )
    group.add_argument(
        "--positive-from", type=float, metavar="RATING", help="the lowest rating that counts as reward 1"
    )
    group.add_argument("--dimension", type=int, metavar="D", help="number of principal components (default: 25)")


def _add_formats(group: Any) -> None:
    group.add_argument("--separator", metavar="CHAR", help="a character, or comma, semicolon, tab, vertical-bar")
    group.add_argument("--encoding", metavar="NAME", help="for example utf-8, utf-16, cp1252, latin-1")
    group.add_argument(
        "--decimal", choices=(".", ","), metavar="MARK", help="decimal mark of ratings and times: . or ,"
    )
    group.add_argument(
        "--date-format",
        metavar="FORMAT",
        help="day-first, month-first, year-first, iso, number, or a pattern such as %%d.%%m.%%Y",
    )


def run_import(arguments: argparse.Namespace) -> int:
    """Import, or print a profile; return the exit code."""
    from data_pipelines.own_data.problems import BadRowsError

    try:
        return _profile(arguments) if arguments.dry_run else _import(arguments)
    except BadRowsError as error:
        if len(error.problems) == 1:
            raise
        print("\n".join([f"fedbandit: error: {error.lines()[0]}", *error.lines()[1:]]), file=sys.stderr)
        return 2


def import_options(arguments: argparse.Namespace) -> "ImportOptions":
    """Return how the user wants a file to be read."""
    from data_pipelines.own_data.options import ImportOptions

    items = None if arguments.items is None else Path(arguments.items)
    return ImportOptions(items=items, **{key: getattr(arguments, key) for key in OPTIONS})


def _profile(arguments: argparse.Namespace) -> int:
    from data_pipelines.prepare.imported import profile_table

    options = replace(import_options(arguments), skip_bad_rows=True)
    profile = profile_table(Path(arguments.interactions), options, name=arguments.name)
    print("\n".join([*profile.lines, "", "Dry run: nothing was written."]))
    if profile.problems and not arguments.skip_bad_rows:
        print("The import refuses these files unless it is given --skip-bad-rows.")
    return 0


def _import(arguments: argparse.Namespace) -> int:
    from data_pipelines.own_data.problems import number_of
    from data_pipelines.prepare.imported import import_table
    from data_pipelines.prepare.prepared import data_folder

    imported = import_table(Path(arguments.interactions), import_options(arguments), name=arguments.name)
    profile = imported.profile
    print("\n".join(profile.lines))
    counts = (profile.users, "user"), (profile.items, "item"), (profile.interactions, "interaction")
    print(f"\n{imported.name}: imported, {', '.join(number_of(*count) for count in counts)}")
    print(f"Stored in {data_folder() / imported.name}.")
    print(f"next     fedbandit recommend {imported.name} --budget 10/client")
    return 0
