"""Tables as people have them: any separator, encoding and date format, without items, with bad rows."""

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas
import pyarrow.parquet
import pytest

from data_pipelines import load
from data_pipelines.own_data.options import ImportOptions
from data_pipelines.own_data.read import OwnData, read_own_data
from data_pipelines.own_data.table import BadRowsError
from data_pipelines.own_data.values import parse_numbers, parse_times
from data_pipelines.prepare.imported import import_table
from data_pipelines.prepare.prepared import open_prepared, prepared_names
from data_pipelines.stream_spec import dataset_spec

HEADER = ("customer", "sku", "at", "stars")


def purchases(users: int = 4, each: int = 6, items: int = 40) -> list[tuple[str, ...]]:
    """Return the rows of a table of purchases with days after the twelfth, and ratings with a fraction."""
    return [
        (f"Kö{user}", f"s{(7 * user + 3 * n) % items:02}", f"{13 + n:02}.05.2024 08:0{n}", f"{1 + n % 5},5")
        for user in range(users)
        for n in range(each)
    ]


def write(path: Path, rows: list[tuple[str, ...]], separator: str = ";", encoding: str = "utf-8") -> Path:
    text = "".join(separator.join(row) + "\r\n" for row in [HEADER, *rows])
    path.write_bytes(text.encode(encoding))
    return path


def read(path: Path, **options: object) -> OwnData:
    return read_own_data(path, ImportOptions(**options))  # type: ignore[arg-type]


def error_of(path: Path, **options: object) -> str:
    with pytest.raises(ValueError, match=r".") as error:
        read(path, **options)
    assert str(error.value).isprintable()
    return str(error.value)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        ("utf-8", "UTF-8"),
        ("utf-8-sig", "UTF-8 with byte order mark"),
        ("cp1252", "Windows-1252"),
        ("utf-16", "UTF-16"),
        ("utf-16-le", "UTF-16"),
        ("utf-16-be", "UTF-16"),
    ],
)
def test_separator_and_encoding_are_detected_and_shown(tmp_path: Path, separator: str, encoding: str, name: str):
    rows = [(*row[:3], row[3].replace(",", ".")) for row in purchases()]
    data = read(write(tmp_path / "p.csv", rows, separator, encoding))
    assert data.contents.user_labels is not None
    assert data.contents.user_labels.tolist() == ["Kö0", "Kö1", "Kö2", "Kö3"]
    shown = "tab" if separator == "\t" else repr(separator)
    assert data.profile.files == (f"p.csv: CSV, separator {shown}, encoding {name}",)


def test_separator_and_encoding_can_be_given(tmp_path: Path):
    path = tmp_path / "p.csv"
    path.write_bytes("user:item\nЮ:1\nЯ:2\n".encode("cp1251"))
    data = read(path, encoding="cp1251", separator=":")
    assert data.contents.user_labels is not None
    assert data.contents.user_labels.tolist() == ["Ю", "Я"]
    assert "--encoding must be a text encoding such as utf-8, utf-16 or cp1252, got 'utf-99'" in error_of(
        path, encoding="utf-99"
    )
    assert "--separator must be one character or one of comma, semicolon," in error_of(path, separator="::")
    assert "is not utf-8; see --encoding" in error_of(path, encoding="utf-8")


@pytest.mark.parametrize(
    ("texts", "description", "first"),
    [
        (["31.12.2024", "1.2.2024 8:05"], "dates day.month.year", "2024-12-31T00:00:00"),
        (["12/31/2010 8:26", "1/2/2011 13:00"], "dates month/day/year", "2010-12-31T08:26:00"),
        (["31/12/10 8:26 PM", "1/2/11 1:00 AM"], "dates day/month/year", "2010-12-31T20:26:00"),
        (["1/13/2024 12:05 AM", "1/14/2024"], "dates month/day/year", "2024-01-13T00:05:00"),
        (["2024/05/31", "2024/05/30 12:00"], "dates year-month-day", "2024-05-31T00:00:00"),
        (["2024.5.31 1:05 PM", "2024.5.30 2:10 AM"], "dates year.month.day", "2024-05-31T13:05:00"),
        (["2024-05-31T12:00:00.25", "2024-05-31T14:00+02:00"], "dates year-month-day", "2024-05-31T12:00:00.250000"),
    ],
)
def test_dates_are_detected(texts: list[str], description: str, first: str):
    times = parse_times(pyarrow.array(texts), None)
    assert times.description == description
    assert not times.is_invalid.any()
    assert str(np.datetime64(int(times.values[0]), "us")).startswith(first)


@pytest.mark.parametrize("times", [["0", "1", "2", ""], ["1970-01-01", "1970-01-02", "1970-01-03", ""]])
def test_time_zero_is_the_earliest_and_only_an_empty_one_is_unknown(tmp_path: Path, times: list[str]):
    rows = [("a", f"s{n}", time, "1") for n, time in enumerate(times)] + [("b", f"s{n}", times[1], "1") for n in (4, 5)]
    imported = import_table(
        write(tmp_path / "p.csv", rows), ImportOptions(features="one-hot"), folder=tmp_path / "data"
    )
    assert "1 interaction without a time: put in random order" in imported.manifest["notes"]
    assert imported.manifest["parameters"]["formats"]["times"]["zero"] == "known"  # has another fingerprint than before
    orders = set()
    for seed in range(9):
        stream = load("p", seed=seed, arms=2, folder=tmp_path / "data")
        items = stream.pools[stream.rewards == 1][stream.clients == stream.clients.min()].tolist()
        assert [item for item in items if item < 3] == [0, 1, 2]
        orders.add(tuple(items))
    assert len(orders) > 1


def test_an_ambiguous_order_of_day_and_month_asks_for_the_option(tmp_path: Path):
    rows = [("a", "x", "03/04/2024", "1"), ("a", "y", "05/06/2024", "1")]
    path = write(tmp_path / "p.csv", rows)
    assert error_of(path) == (
        f"{path} column 'at': day and month cannot be told apart in dates such as '03/04/2024'; "
        "give --date-format day-first or --date-format month-first"
    )
    for option, month in (("day-first", "2024-04"), ("month-first", "2024-03"), ("%d/%m/%Y", "2024-04")):
        first = read(path, date_format=option).contents.times.min()
        assert str(np.datetime64(int(first), "us")).startswith(month)
    assert "--date-format must be one of number, iso, day-first" in error_of(path, date_format="german")


def test_the_decimal_mark_is_detected_unless_it_is_ambiguous():
    assert parse_numbers(pyarrow.array(["4,5", "3"]))[0].tolist() == [4.5, 3.0]
    assert parse_numbers(pyarrow.array(["4.5", "1e3"]))[0].tolist() == [4.5, 1000.0]
    with pytest.raises(ValueError, match=r"numbers such as '1,250' may have a decimal comma or separated thousands"):
        parse_numbers(pyarrow.array(["1,250", "3"]))
    assert parse_numbers(pyarrow.array(["1,250"]), ",")[0].tolist() == [1.25]


def test_columns_are_recognised_by_their_names_and_shown(tmp_path: Path):
    path = tmp_path / "sales.csv"
    path.write_text("InvoiceNo,StockCode,Description,InvoiceDate,CustomerID\n1,A,red cup,12/31/2010 8:26,7\n")
    data = read(path)
    assert data.profile.columns == (
        "user CustomerID, item StockCode, time InvoiceDate, words Description (recognised by name)",
    )
    assert list(data.contents.words.vocabulary) == ["cup", "red"]


def test_columns_that_cannot_be_recognised_name_the_option(tmp_path: Path):
    path = tmp_path / "p.csv"
    path.write_text("who,item,product\na,b,c\n")
    assert "has no column 'user' or similar; name it with --user-column; its columns are 'who', 'item'" in error_of(
        path
    )
    assert "no column 'Who' (did you mean who?), see --user-column" in error_of(path, user_column="Who")
    path.write_text("user,sku,product\na,b,c\n")
    assert "several columns that could be the item ('sku', 'product'); choose with --item-column" in error_of(path)
    path.write_text("user,item\na,b\n")
    assert "must be different columns, got item, item" in error_of(path, user_column="item")


def with_bad_rows(path: Path) -> Path:
    rows = purchases()
    rows += [("", "s01", "", "1"), ("nan", "s01", "", "1"), (" ", "s01", "", "1"), ("", "s02", "", "1")]
    rows += [("a", "", "", "1"), ("a", "s01", "soon", "1"), ("a", "s01", "", "good"), ("a", "s01")]
    return write(path, rows)


def test_all_kinds_of_bad_rows_are_counted_in_one_refusal(tmp_path: Path):
    path = with_bad_rows(tmp_path / "p.csv")
    with pytest.raises(BadRowsError) as caught:
        read(path, rating_column="stars")
    assert caught.value.lines() == [
        f"{path} has bad rows (--skip-bad-rows leaves them out):",
        "  line 33: a row must have 4 fields, as many as the header, got 2 fields (1 row)",
        "  line 26: customer must be an id, got an empty field (4 rows)",
        "  line 30: sku must be an id, got an empty field (1 row)",
        "  line 31: at must be like the other dates day.month.year, got 'soon' (1 row)",
        "  line 32: stars must be a number, got 'good' (1 row)",
    ]
    assert str(caught.value).endswith("got 'good' (1 row); --skip-bad-rows leaves such rows out")
    assert "\n" not in str(caught.value)


def test_bad_rows_are_left_out_by_option_with_counts_and_three_examples(tmp_path: Path):
    data = read(with_bad_rows(tmp_path / "p.csv"), rating_column="stars", skip_bad_rows=True)
    clean = read(write(tmp_path / "clean.csv", purchases()), rating_column="stars")
    for name in ("users", "items", "times", "ratings"):
        np.testing.assert_array_equal(getattr(data.contents, name), getattr(clean.contents, name))
    assert (data.profile.rows, data.profile.bad_rows, data.profile.interactions) == (32, 8, 24)
    text = " ".join(" ".join(data.profile.lines).split())
    assert (
        "4 rows of p.csv: customer must be an id, got an empty field (line 26), 'nan' (line 27), "
        "an empty field (line 28), …" in text
    )
    assert "4 bad rows left out: customer must be an id" in data.contents.notes


def test_a_bad_row_is_named_by_its_line_also_after_empty_lines_and_line_breaks_in_fields(tmp_path: Path):
    path = tmp_path / "p.csv"
    path.write_text('customer,sku\n\na,"s\n01"\n\n,s02\n')
    with pytest.raises(BadRowsError) as caught:
        read(path)
    lines = [problem.line() for problem in caught.value.problems]
    assert lines[0] == "line 6: customer must be an id, got an empty field (1 row)"
    assert lines[1].startswith("line 3: sku must be at most 500 printable characters")


def test_unknown_items_are_left_out_by_option(tmp_path: Path):
    path = write(tmp_path / "p.csv", [*purchases(), ("a", "ghost", "", "1")])
    items = tmp_path / "items.csv"
    items.write_text("sku,title\n" + "".join(f"s{n:02},word{n}\n" for n in range(40)) + "s00,again\n,none\n")
    message = error_of(path, items=items)
    assert f"line 26: sku must be an item of {items}, got 'ghost' (1 row)" in message
    assert "line 42: sku must not be an item of an earlier row, got 's00' (1 row)" in message
    assert "line 43: sku must be an id, got an empty field (1 row)" in message
    data = read(path, items=items, skip_bad_rows=True)
    assert (data.profile.items, data.profile.interactions) == (40, 24)
    assert "again" not in data.contents.words.vocabulary


def test_a_table_of_bad_rows_only_is_refused(tmp_path: Path):
    path = write(tmp_path / "p.csv", [("", "x", "", "")] * 3)
    assert "has no usable row: line 2: customer must be an id, got an empty field (3 rows)" in error_of(
        path, skip_bad_rows=True
    )


def test_repeats_are_kept_by_option(tmp_path: Path):
    rows = purchases()
    path = write(tmp_path / "p.csv", rows + rows[:5])
    once, kept = read(path), read(path, repeats="keep")
    assert (len(once.contents.users), len(kept.contents.users)) == (24, 29)
    assert once.profile.repeats == kept.profile.repeats == 5
    order = np.lexsort((kept.contents.times, kept.contents.items, kept.contents.users))
    assert order.tolist() == list(range(29))
    manifest = import_table(path, ImportOptions(repeats="keep"), name="kept", folder=tmp_path / "data").manifest
    assert manifest["parameters"]["repeats"] == "keep"
    assert load("kept", seed=0, arms=5, folder=tmp_path / "data").steps == 29


def test_features_from_co_occurrence_state_the_leak(tmp_path: Path):
    path = write(tmp_path / "p.csv", purchases())
    imported = import_table(path, ImportOptions(dimension=3), folder=tmp_path / "data")
    assert imported.name == "p"
    assert imported.manifest["parameters"]["features"] == "co-occurrence"
    assert any("a leak" in remark for remark in imported.manifest["remarks"])
    contents = read(path).contents
    dense = contents.words.counts.toarray()
    for item, row in enumerate(dense):
        assert set(np.flatnonzero(row)) == set(contents.users[contents.items == item].tolist())


def test_one_hot_features_are_the_identity(tmp_path: Path):
    path = write(tmp_path / "p.csv", purchases())
    imported = import_table(path, ImportOptions(features="one-hot"), folder=tmp_path / "data")
    components = open_prepared("p", tmp_path / "data").components
    assert components.tolist() == np.eye(imported.profile.items).tolist()
    spec = dataset_spec(dataset="p", arms=5).bound(tmp_path / "data")
    assert spec.scaling == "pca"
    assert spec.build(0).items.tolist() == components.tolist()
    assert spec.fingerprint(0) == load("p", seed=0, arms=5, folder=tmp_path / "data").fingerprint
    assert dataset_spec(dataset="p", scaling="standard").bound(tmp_path / "data").scaling == "standard"
    many = write(tmp_path / "many.csv", [("a", f"s{n}", "", "") for n in range(1001)])
    assert "must be used with at most 1,000 items, got 1,001" in error_of(many, features="one-hot")
    with pytest.raises(ValueError, match=r"--dimension must be the number of items"):
        import_table(path, ImportOptions(features="one-hot", dimension=2), folder=tmp_path / "data")


def test_ratings_are_stored_and_decide_what_is_positive(tmp_path: Path):
    rows = purchases()
    rows[0] = (*rows[0][:3], "")
    path = write(tmp_path / "p.csv", rows)
    options = ImportOptions(rating_column="stars", positive_from=4)
    imported = import_table(path, options, folder=tmp_path / "data")
    prepared = open_prepared("p", tmp_path / "data")
    assert prepared.ratings is not None
    assert np.isnan(prepared.ratings).sum() == 1
    expected = {(row[0], row[1]): float(row[3].replace(",", ".") or "nan") for row in rows}
    labels = np.load(tmp_path / "data" / "p" / "user_labels.npy")
    for user, item, rating in zip(prepared.users, prepared.items, prepared.ratings, strict=True):
        np.testing.assert_equal(rating, expected[labels[user], prepared.item_ids[item]])
    positives = sum(rating >= 4 for rating in expected.values())
    assert 0 < positives < len(rows)
    assert f"{positives} from 4 (reward 1)" in imported.profile.ratings
    assert load("p", seed=0, arms=5, folder=tmp_path / "data").steps == positives
    assert "--positive-from must be used with --rating-column" in error_of(path, positive_from=4)


def test_the_name_of_a_file_never_replaces_other_data(tmp_path: Path):
    (tmp_path / "x").mkdir()
    folder = tmp_path / "data"
    first = import_table(write(tmp_path / "My Shop (1).csv", purchases()), folder=folder)
    again = import_table(tmp_path / "My Shop (1).csv", folder=folder)
    other = import_table(write(tmp_path / "x" / "my-shop-1.csv", purchases(users=5)), folder=folder)
    reserved = import_table(write(tmp_path / "lastfm.csv", purchases()), folder=folder)
    assert first.name == again.name == "my-shop-1"
    assert re.fullmatch(r"my-shop-1-[0-9a-f]{8}", other.name)
    assert re.fullmatch(r"lastfm-[0-9a-f]{8}", reserved.name)
    assert prepared_names(folder) == sorted([first.name, other.name, reserved.name])


def test_a_plain_import_keeps_its_fingerprint(tmp_path: Path):
    clicks, items = tmp_path / "clicks.csv", tmp_path / "items.csv"
    clicks.write_text("user,item,time\n" + "".join(f"{n % 3},{n % 20},{n + 1}\n" for n in range(40)))
    items.write_text("item,words\n" + "".join(f"{n},word{n % 5} w{n}\n" for n in range(20)))
    manifest = import_table(clicks, ImportOptions(items=items), name="shop", folder=tmp_path / "data").manifest
    assert manifest["fingerprint"] == "d773c077c24c993e18e76f6e338642d5b8c58bd4ff9917c51e10ccc68ebe6aff"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty; expected a header and at least one row"),
        (b"user,item\n", "has no rows; expected at least one"),
        (b"user,item,user\na,b,c\n", "contains the column 'user' more than once"),
        (b"user,item\na,b\0\n", "line 2 contains a NUL byte"),
        (bytes(range(256)) * 4, "cannot be read: it is not text in UTF-8, UTF-16 or Windows-1252"),
        (b"PK\x03\x04rest", "it is an Excel or ZIP file; save it as CSV"),
        (b"\x1f\x8b\x08user,item\n1,2\n", "got unprintable characters (a binary file?)"),
        (b'user,item\na,"b\n', "line 2: unexpected end of data"),
        (b"PAR1 but not a Parquet file", "cannot be read: "),
        (b"user,item\n" + b"x" * 2_000_000, "line 2 must have fewer than 1,048,576 characters"),
    ],
)
def test_files_that_are_not_tables_are_refused_in_one_line(tmp_path: Path, content: bytes, message: str):
    path = tmp_path / "p.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r".") as error:
        import_table(path, folder=tmp_path / "data")
    assert str(error.value).startswith(str(path))
    assert message in str(error.value)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "data").exists()


def test_folders_and_missing_files_are_refused_in_one_line(tmp_path: Path):
    assert error_of(tmp_path) == f"{tmp_path} is a folder; expected a CSV or Parquet file"
    assert error_of(tmp_path / "x.csv") == f"{tmp_path / 'x.csv'} does not exist; expected a CSV or Parquet file"


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_table_with_too_many_rows_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str):
    monkeypatch.setattr("data_pipelines.own_data.table.MAX_ROWS", 20)
    path = tmp_path / f"p.{suffix}"
    table = pandas.DataFrame({"user": range(21), "item": range(21)})
    table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path)
    assert "it must have at most 20 rows, got" in error_of(path)
    table = table.head(20)
    table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path)
    assert read(path).profile.rows == 20


def test_a_parquet_file_that_is_large_when_decompressed_is_refused_by_its_metadata(tmp_path: Path, monkeypatch):
    path = tmp_path / "p.parquet"
    texts = pyarrow.array([str(n) + "x" * 5000 for n in range(1000)])
    table = pyarrow.table({"user": texts, "item": texts, "unused": texts})
    pyarrow.parquet.write_table(table, path, compression="zstd", use_dictionary=False)
    assert path.stat().st_size < 100_000
    monkeypatch.setattr("data_pipelines.own_data.table.MAX_BYTES", 9_000_000)
    monkeypatch.setattr("pyarrow.parquet.ParquetFile.read", lambda *arguments, **options: pytest.fail("read"))
    assert "the columns must have at most 9,000,000 bytes, got 10," in error_of(path)


def test_a_text_that_a_parquet_file_repeats_takes_memory_once(tmp_path: Path):
    path, count = tmp_path / "p.parquet", 1_000_000
    texts = pyarrow.DictionaryArray.from_arrays(np.zeros(count, dtype=np.int32), ["x" * 400]).cast("large_string")
    pyarrow.parquet.write_table(pyarrow.table({"user": texts, "item": texts}), path)
    del texts
    code = (
        "import pyarrow, sys; from pathlib import Path; from data_pipelines.own_data.table import *\n"
        "table = read_columns(read_header(Path(sys.argv[1])), ['user', 'item'])\n"
        "print(table.row_count, pyarrow.default_memory_pool().max_memory())"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    rows, max_bytes = map(int, done.stdout.split())
    assert rows == count
    assert max_bytes < 100e6  # the texts have 800 MB


def test_two_imports_of_files_with_one_name_at_once_have_two_names(tmp_path: Path):
    paths = []
    for number in (1, 2):
        (tmp_path / str(number)).mkdir()
        paths.append(write(tmp_path / str(number) / "shop.csv", purchases(users=3 + number)))
    with ThreadPoolExecutor(2) as pool:
        names = {result.name for result in pool.map(lambda path: import_table(path, folder=tmp_path / "data"), paths)}
    assert len(names) == 2
    assert {*prepared_names(tmp_path / "data")} == names


def test_data_of_other_files_are_replaced_only_if_the_user_says_so(tmp_path: Path):
    first, second = (write(tmp_path / f"{number}.csv", purchases(users=3 + number)) for number in (1, 2))
    options = {"name": "shop", "folder": tmp_path / "data", "replace": False}
    fingerprint = import_table(first, **options).manifest["fingerprint"]
    assert import_table(first, **options).manifest["fingerprint"] == fingerprint
    with pytest.raises(ValueError, match=r"^--name shop is a data set made from other files; .* or add --force$"):
        import_table(second, **options)
    assert open_prepared("shop", tmp_path / "data").manifest["fingerprint"] == fingerprint
    assert import_table(second, name="shop", folder=tmp_path / "data").manifest["fingerprint"] != fingerprint
