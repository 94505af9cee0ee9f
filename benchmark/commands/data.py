"""Prepare the data sets: from archive, mirror or stand-in to items and interactions.

Examples:
  fedbandit data                                      all data sets
  fedbandit data lastfm delicious --mirror ~/mirror   two of them, from a folder or an https address
  fedbandit data movielens --stand-in                 generated data in the official format, offline
  fedbandit data movielens --set observations_above=2000
  fedbandit data show delicious                       what it holds, and a picture
  fedbandit data import --name shop --interactions clicks.csv --items items.csv

For each data set, in order: already prepared; an archive you put into the data folder; the mirror; the
official address; further known copies. The exit code is 0 only if every data set asked for is ready.
Environment: FEDBANDIT_MIRROR (a mirror), FEDBANDIT_DATA (the data folder, otherwise `data`).
"""

import argparse
import sys
from pathlib import Path

COLUMN_OPTIONS = ("user_column", "item_column", "time_column", "id_column", "words_column")
OPTIONS = {
    "[NAME ...]": ("mirror", "stand_in", "size", "force", "set", "dimension"),
    "show NAME": ("picture",),
    "import": ("name", "interactions", "items", "dimension", *COLUMN_OPTIONS),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments; `show` and `import` are told apart from names of data sets in `run`."""
    parser.add_argument("names", nargs="*", metavar="NAME", help="data sets (none: all), or `show NAME`, or `import`")
    parser.add_argument("--mirror", metavar="DIR_OR_URL", help="a folder or https address with the archives")
    parser.add_argument("--stand-in", action="store_true", help="generate data in the official formats")
    parser.add_argument("--size", choices=("full", "small"), help="of a stand-in (default: full)")
    parser.add_argument("--force", action="store_true", help="prepare again what is prepared already")
    parser.add_argument("--dimension", type=int, metavar="D", help="principal components (default: 25)")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=NUMBER", help="a threshold of a single data set"
    )
    shown = parser.add_argument_group("fedbandit data show NAME")
    shown.add_argument("--picture", metavar="FILE", help=".png, .svg or .pdf (default: pictures/NAME.png)")
    own = parser.add_argument_group("fedbandit data import", "your own CSV or Parquet files")
    own.add_argument("--name", help="what the data set shall be called")
    own.add_argument("--interactions", metavar="FILE", help="one row an interaction")
    own.add_argument("--items", metavar="FILE", help="one row an item, with its words")
    own.add_argument("--user-column", metavar="NAME", help="in the interactions (default: user)")
    own.add_argument("--item-column", metavar="NAME", help="in the interactions (default: item)")
    own.add_argument("--time-column", metavar="NAME", help="in the interactions (default: time, if there is one)")
    own.add_argument("--id-column", metavar="NAME", help="in the items (default: item)")
    own.add_argument(
        "--words-column", metavar="NAME", action="append", help="in the items; repeatable (default: words)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Prepare, show or import."""
    first = arguments.names[0] if arguments.names else ""
    action = {"show": "show NAME", "import": "import"}.get(first, "[NAME ...]")
    _refuse_options_of_others(arguments, action)
    if action == "import":
        return _import(arguments)
    return _prepare(arguments) if action == "[NAME ...]" else _show(arguments)


def _refuse_options_of_others(arguments: argparse.Namespace, action: str) -> None:
    """An option that would do nothing is a mistake that somebody wants to know of."""
    for other, options in OPTIONS.items():
        for option in options:
            if option not in OPTIONS[action] and getattr(arguments, option):
                flag = option.replace("_", "-")
                raise ValueError(f"--{flag} is given; allowed only with: fedbandit data {other}")
    if arguments.size and not arguments.stand_in:
        raise ValueError("--size is given; allowed only with --stand-in")


def _prepare(arguments: argparse.Namespace) -> int:
    from data_pipelines.catalogue import data_set_names, find_data_set
    from data_pipelines.prepared import DEFAULT_DIMENSION, data_folder
    from data_pipelines.readiness import make_ready
    from data_pipelines.sources import Wishes, mirror_from_environment
    from data_pipelines.status_table import status_table, ways_on

    names = list(dict.fromkeys(arguments.names)) or data_set_names()
    for name in names:
        find_data_set(name)
    if arguments.set and len(names) != 1:
        raise ValueError(f"--set is given for {len(names)} data sets; allowed is one")
    folder = data_folder()
    wishes = Wishes(
        folder=folder,
        mirror=arguments.mirror or mirror_from_environment(),
        stand_in=(arguments.size or "full") if arguments.stand_in else None,
        force=arguments.force,
    )
    dimension = DEFAULT_DIMENSION if arguments.dimension is None else arguments.dimension
    parameters = dict(parse_setting(text) for text in arguments.set)
    dead_hosts: dict[str, str] = {}
    outcomes = [
        make_ready(name, wishes, parameters=parameters, dimension=dimension, dead_hosts=dead_hosts) for name in names
    ]
    print(status_table(outcomes))
    missing = [outcome for outcome in outcomes if outcome.manifest is None]
    for outcome in missing:
        print(ways_on(outcome, folder), file=sys.stderr)
    return 1 if missing else 0


def parse_setting(text: str) -> tuple[str, float]:
    """Read KEY=NUMBER; whether the key is known is for the data set to say."""
    key, _, value = text.partition("=")
    try:
        number = float(value)
    except ValueError:
        number = -1
    if not key or not 0 <= number < float("inf"):
        raise ValueError(f"--set is {text!r}; allowed is KEY=NUMBER, a finite number from 0")
    return key, int(number) if number.is_integer() else number


def _show(arguments: argparse.Namespace) -> int:
    from data_pipelines.overview import describe, draw
    from data_pipelines.prepared import data_folder, open_prepared, prepared_names

    names = arguments.names[1:]
    if len(names) != 1:
        prepared_so_far = ", ".join(prepared_names()) or "none so far"
        raise ValueError(f"show is given {len(names)} names; allowed is one, of: {prepared_so_far}")
    prepared = open_prepared(names[0])
    picture = Path(arguments.picture or data_folder() / "pictures" / f"{names[0]}.png")
    print(describe(prepared))
    draw(prepared, picture)
    print(f"picture        {picture}")
    return 0


def _import(arguments: argparse.Namespace) -> int:
    from data_pipelines.imported import ImportRequest, import_data_set
    from data_pipelines.prepared import DEFAULT_DIMENSION, data_folder

    for option in ("name", "interactions", "items"):
        if getattr(arguments, option) is None:
            raise ValueError(f"--{option} is missing; needed are --name, --interactions and --items")
    if len(arguments.names) > 1:
        raise ValueError(f"import is given {arguments.names[1]!r}; allowed are options only, such as --name")
    columns = {key: getattr(arguments, key) for key in COLUMN_OPTIONS if getattr(arguments, key) is not None}
    request = ImportRequest(
        name=arguments.name,
        interactions=Path(arguments.interactions),
        items=Path(arguments.items),
        dimension=DEFAULT_DIMENSION if arguments.dimension is None else arguments.dimension,
        **columns,
    )
    manifest = import_data_set(request, data_folder())
    counts = manifest["counts"]["observed"]
    print(
        f"{request.name}: imported, {counts['users']:,} users, {counts['items']:,} items, "
        f"{counts['interactions']:,} interactions, in {data_folder() / request.name}"
    )
    for note in manifest["notes"]:
        print(f"  {note}")
    print(f'next: in an experiment\'s file, [[streams]] with dataset = "{request.name}"; README, `Add an experiment`')
    return 0
