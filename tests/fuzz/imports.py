"""The user's own tables, CSV and Parquet: accepted tables have no empty, duplicate, unknown or invalid field."""

import csv
import datetime
import io
import random
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from data_pipelines.data_set import Contents
from data_pipelines.own_data import table as table_module
from data_pipelines.own_data.options import ImportOptions
from data_pipelines.own_data.read import OwnData, read_own_data
from data_pipelines.own_data.table import SEPARATORS
from data_pipelines.prepare.imported import import_table
from tests.fuzz.target import Target, damaged, require, require_one_line, scratch

ITEMS = [f"i{number}" for number in range(6)]
TOKENS = [
    b"a,i1,5\n",
    b"user,item,time\n",
    b"u,i1\n",
    b",",
    b'"',
    b"i9",
    b"i1",
    b"NaN",
    b"2024-05-31T12:00:00",
    b"time",
    b"item",
]
FULL_IMPORT_EVERY = 25
"""One of this many accepted inputs is imported completely, which writes files."""
NO_VALUES = {"", "nan", "NaN", "NaT", "<NA>", "inf", "-inf", "None", "Infinity", "-Infinity"}


def make_csv(draw: random.Random) -> bytes:
    users = [draw.choice(("a", "b", "7", "007", "ü")) for _ in range(draw.randint(1, 6))]
    times = [draw.choice(("", "0", "5", "1.5", "-3", "2024-05-31", "1e3")) for _ in users]
    rows = [
        ("user", "item", "time"),
        *((user, draw.choice(ITEMS), time) for user, time in zip(users, times, strict=True)),
    ]
    content = "".join(",".join(row) + "\n" for row in rows).encode()
    return damaged(draw, content, TOKENS, max_damages=2) if draw.random() < 0.85 else content


def make_parquet(draw: random.Random) -> bytes:
    count = draw.randint(1, 5)
    makers = [_column(draw) if draw.random() < 0.25 else draw.choice for _ in range(3)]
    valid_values = (("a", "b"), ITEMS, (5, 7))
    columns = {
        name: [maker(values) for _ in range(count)]
        for name, maker, values in zip(("user", "item", "time"), makers, valid_values, strict=True)
    }
    buffer = io.BytesIO()
    try:
        pq.write_table(pa.table(columns), buffer)
    except (pa.ArrowException, TypeError, OverflowError):  # values that cannot be in the same Parquet column
        return damaged(draw, _valid_parquet(), max_damages=4)
    content = buffer.getvalue()
    return damaged(draw, content, max_damages=3) if draw.random() < 0.3 else content


@cache
def _valid_parquet() -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"user": ["a"], "item": ["i1"], "time": [5]}), buffer)
    return buffer.getvalue()


def _column(draw: random.Random) -> Callable[[Sequence[Any]], Any]:
    """Return a function that draws values of one unusual type, some of them missing."""
    kinds: Sequence[Sequence[Any]] = (
        (1, 2, -1, 2**62),
        (1.0, 1.5, float("nan"), float("inf"), -0.0),
        ("i1", "", "NaN", "x" * 2000, "a\nb", "i1\0"),
        (b"i1", b"\xff"),
        (True, False),
        ([1], [], ["i1"]),
        ({"a": 1}, {"a": 2}),
        (datetime.date(2024, 5, 31), datetime.date(1, 1, 1)),
        (datetime.datetime(2024, 5, 31, 12), datetime.datetime(9999, 1, 1)),
        (datetime.time(12), datetime.time(0)),
        (datetime.timedelta(days=1), datetime.timedelta(-1)),
        (Decimal("1.5"), Decimal("-3")),
    )
    values = draw.choice(kinds)
    return lambda _: None if draw.random() < 0.1 else draw.choice(values)


def check_csv(content: bytes) -> bool:
    contents = _imported(content, "clicks.csv")
    if contents is None:
        return False
    if b'"' not in content and b"\r" not in content:  # else a plain reader and pandas may split fields differently
        rows = [row for row in csv.reader(io.StringIO(content.decode("utf-8-sig"))) if row]
        require(all(len(row) == len(rows[0]) for row in rows), "rows of different lengths")
        require(len(set(rows[0])) == len(rows[0]), "a duplicate column")
        user, item = rows[0].index("user"), rows[0].index("item")
        _require_pairs(contents, [(row[user], row[item]) for row in rows[1:]])
    return True


def check_parquet(content: bytes) -> bool:
    contents = _imported(content, "clicks.parquet")
    if contents is None:
        return False
    table = pq.read_table(io.BytesIO(content), columns=["user", "item"])  # other columns may be damaged
    for name in ("user", "item"):
        require(table.column(name).null_count == 0, f"an empty {name}")
        kind = table.schema.field(name).type
        require(
            not (pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_boolean(kind)), f"{name}: {kind}"
        )
    pairs = zip(table.column("user").to_pylist(), table.column("item").to_pylist(), strict=True)
    _require_pairs(contents, [(str(user), str(item)) for user, item in pairs])
    return True


def _require_pairs(contents: Contents, pairs: Sequence[tuple[str, str]]) -> None:
    require(len(set(pairs)) == len(contents.users), f"{len(contents.users)} interactions of {len(set(pairs))}")
    for user, item in pairs:
        require(user.strip() not in NO_VALUES, f"user {user!r}")
        require(item in ITEMS, f"item {item!r}")


def _imported(content: bytes, name: str) -> Contents | None:
    folder = scratch()
    items = folder / "items.csv"
    if not items.exists():
        items.write_text("item,words\n" + "".join(f"{item},red word{item}\n" for item in ITEMS))
    clicks = folder / name
    clicks.write_bytes(content)
    columns = {"user_column": "user", "item_column": "item"}
    formats = {"separator": ",", "encoding": "utf-8"}  # as `check_csv` reads them
    options = ImportOptions(items=items, dimension=3, **columns, **formats)
    try:
        contents = read_own_data(clicks, options).contents
        if len(content) % FULL_IMPORT_EVERY == 0:
            import_table(clicks, options, name="shop", folder=folder / "data")
    except ValueError as error:
        require_one_line(error, str(clicks), "no item has any words left", "the data set has no interactions")
        return None
    return contents


def make_any_format(draw: random.Random) -> bytes:
    """Make a table without items, in some encoding and with some separator, columns and dates, damaged or not."""
    header = (draw.choice(("user", "CustomerID", "who")), draw.choice(("item", "sku")), draw.choice(("date", "x")))
    dates = ("31.12.2024", "1/2/2024", "2024-05-31 12:00", "5/31/24 1:05 PM", "", "7", "1,5", "soon")
    kind = draw.choice(dates)
    rows = [
        (
            draw.choice(("a", "ü", "7", "", "nan")),
            draw.choice(ITEMS),
            draw.choice(dates) if draw.random() < 0.2 else kind,
        )
        for _ in range(draw.randint(1, 8))
    ]
    separator = draw.choice([*SEPARATORS])
    text = "".join(separator.join(row) + draw.choice(("\n", "\r\n")) for row in [header, *rows])
    content = text.encode(draw.choice(("utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le")))
    return damaged(draw, content, TOKENS, max_damages=2) if draw.random() < 0.5 else content


def check_any_format(content: bytes) -> bool:
    """Every row of an accepted table is stored, a repeat, or counted as bad; the profile fits a terminal."""
    table = scratch() / "any.csv"
    table.write_bytes(content)
    try:
        own_data = read_own_data(table, ImportOptions(skip_bad_rows=True))
    except ValueError as error:
        require_one_line(error, str(table), "user, item, time and rating must be different", "no item has any words")
        return False
    _require_consistent(own_data)
    return True


def _require_consistent(own_data: OwnData) -> None:
    contents, profile = own_data.contents, own_data.profile
    stored = len(contents.users)
    require(stored + profile.repeats + profile.bad_rows == profile.rows, "rows are missing")
    require(contents.items.min() >= 0 and contents.items.max() < len(contents.item_ids), "an item outside")
    require(not NO_VALUES & {str(item).strip() for item in contents.item_ids.tolist()}, "a missing id")
    require(all(line.isprintable() and len(line) <= 80 for line in profile.lines), "a line of the profile")


def csv_seeds() -> Sequence[bytes]:
    return [b"user,item,time\na,i1,5\nb,i2,\n", b"user,item\n007,i3\n", b'item,user\n"i1","x, y"\n']


def warm_up() -> None:
    """Run a complete valid import, which loads scikit-learn."""
    for check, content in ((check_csv, csv_seeds()[0]), (check_parquet, _valid_parquet())):
        check(content)
    items, clicks = scratch() / "items.csv", scratch() / "clicks.csv"
    import_table(clicks, ImportOptions(items=items, dimension=3), name="shop", folder=scratch() / "data")


CSV = Target("import of CSV", 12, make_csv, check_csv, csv_seeds, warm_up)
ANY_FORMAT = Target("import of any format", 8, make_any_format, check_any_format, csv_seeds, warm_up)
PARQUET = Target("import of Parquet", 8, make_parquet, check_parquet, warm_up=warm_up)

MAX_ROWS, MAX_BYTES = 2_000, 100_000
"""Limits of a Parquet file that is large when decompressed, here smaller so that many can be tried."""


def make_large_parquet(draw: random.Random) -> bytes:
    """Make a small file with many rows or long texts, around the limits or far above them."""
    rows = draw.choice((1, 10, MAX_ROWS, MAX_ROWS + 1, draw.randrange(1, 3 * MAX_ROWS)))
    size = draw.choice((1, 30, draw.randrange(1, 200), draw.randrange(1, 100_000)))
    users = [
        str(number % draw.choice((1, 7, rows))).rjust(min(size, 10_000_000 // rows), "x") for number in range(rows)
    ]
    table = pa.table({"user": users, "item": [ITEMS[number % len(ITEMS)] for number in range(rows)]})
    buffer = io.BytesIO()
    options = {"compression": draw.choice(("zstd", "gzip", "none")), "use_dictionary": draw.random() < 0.5}
    pq.write_table(table, buffer, row_group_size=draw.choice((rows, 500)), **options)
    content = buffer.getvalue()
    return damaged(draw, content, max_damages=2) if draw.random() < 0.2 else content


def check_large_parquet(content: bytes) -> bool:
    """A table within the limits is accepted; memory is bounded by the process of the target."""
    before = table_module.MAX_ROWS, table_module.MAX_BYTES
    table_module.MAX_ROWS, table_module.MAX_BYTES = MAX_ROWS, MAX_BYTES
    try:
        contents = _imported(content, "clicks.parquet")
    finally:
        table_module.MAX_ROWS, table_module.MAX_BYTES = before
    if contents is None:
        return False
    about = pq.read_metadata(io.BytesIO(content))
    groups = [about.row_group(number) for number in range(about.num_row_groups)]
    size = sum(group.column(number).total_uncompressed_size for group in groups for number in (0, 1))
    require(about.num_rows <= MAX_ROWS, f"{about.num_rows} rows")
    require(size <= MAX_BYTES, f"{size} bytes")
    return True


LARGE_PARQUET = Target("large Parquet", 2, make_large_parquet, check_large_parquet, warm_up=warm_up)
