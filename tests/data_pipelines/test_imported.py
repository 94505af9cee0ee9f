import json
import re
from pathlib import Path

import numpy as np
import pandas
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from data_pipelines import load
from data_pipelines.prepare.imported import ImportRequest, import_data_set
from data_pipelines.prepare.prepared import open_prepared

ITEMS = 60


def tables(*, users: tuple[str, ...] = ("ann", "bob"), times: bool = True) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """Return the tables of a shop with sixty items and two customers with ten clicks each."""
    clicks = pandas.DataFrame(
        {
            "user": [user for user in users for _ in range(10)],
            "item": [f"sku-{(3 * n) % ITEMS:02}" for n in range(10 * len(users))],
            "time": list(range(100, 100 + 10 * len(users)))[::-1],
        }
    )
    if not times:
        clicks = clicks.drop(columns="time")
    items = pandas.DataFrame(
        {
            "item": [f"sku-{n:02}" for n in range(ITEMS)],
            "words": [f"colour{n % 7} shape{n % 5}, size{n % 3}" if n % 10 else "" for n in range(ITEMS)],
        }
    )
    return clicks, items


def request(tmp_path: Path, clicks: pandas.DataFrame, items: pandas.DataFrame, **options: object) -> ImportRequest:
    clicks.to_csv(tmp_path / "clicks.csv", index=False)
    items.to_csv(tmp_path / "items.csv", index=False)
    files = {"interactions": tmp_path / "clicks.csv", "items": tmp_path / "items.csv"}
    return ImportRequest(**{"name": "shop", **files, **options})  # type: ignore[arg-type]


def error_message(tmp_path: Path, clicks: pandas.DataFrame, items: pandas.DataFrame, **options: object) -> str:
    with pytest.raises(ValueError, match=r".") as error:
        import_data_set(request(tmp_path, clicks, items, **options), tmp_path / "data")
    assert "\n" not in str(error.value)
    return str(error.value)


def test_an_import_is_a_prepared_data_set_like_the_others(tmp_path: Path):
    manifest = import_data_set(request(tmp_path, *tables(), dimension=5), tmp_path / "data")
    assert manifest["counts"]["observed"] == {"users": 2, "items": 60, "interactions": 20}
    assert manifest["items_without_words"] == 6
    stream = load("shop", seed=0, folder=tmp_path / "data")
    assert (stream.steps, stream.arms, stream.dimension, stream.source) == (20, 25, 5, "imported")
    assert stream.client_ids.tolist() == [0, 1]
    labels = np.load(tmp_path / "data" / "shop" / "user_labels.npy")
    assert labels.tolist() == ["ann", "bob"]


def test_parquet_gives_the_same_as_csv(tmp_path: Path):
    clicks, items = tables()
    first = import_data_set(request(tmp_path, clicks, items), tmp_path / "csv")
    clicks.to_parquet(tmp_path / "clicks.parquet")
    items.to_parquet(tmp_path / "items.parquet")
    files = {"interactions": tmp_path / "clicks.parquet", "items": tmp_path / "items.parquet"}
    second = import_data_set(ImportRequest(name="shop", **files), tmp_path / "parquet")
    assert first["arrays"] == second["arrays"]
    assert first["fingerprint"] != second["fingerprint"]


def test_the_columns_are_named_by_options(tmp_path: Path):
    clicks, items = tables()
    expected = import_data_set(request(tmp_path, clicks, items), tmp_path / "plain")
    clicks = clicks.rename(columns={"user": "customer", "item": "sku", "time": "at"})
    items = items.rename(columns={"item": "code", "words": "title"}).assign(brand="")
    renamed_request = request(
        tmp_path,
        clicks,
        items,
        user_column="customer",
        item_column="sku",
        time_column="at",
        id_column="code",
        words_column=("title", "brand"),
    )
    assert import_data_set(renamed_request, tmp_path / "renamed")["arrays"] == expected["arrays"]


def test_numeric_user_ids_are_kept(tmp_path: Path):
    import_data_set(request(tmp_path, *tables(users=("17", "4"))), tmp_path / "data")
    assert load("shop", seed=0, folder=tmp_path / "data").client_ids.tolist() == [4, 17]


def test_ids_are_kept_as_written(tmp_path: Path):
    import_data_set(request(tmp_path, *tables(users=("007", "7"))), tmp_path / "data")
    assert np.load(tmp_path / "data" / "shop" / "user_labels.npy").tolist() == ["007", "7"]


def test_times_may_be_numbers_or_dates(tmp_path: Path):
    clicks, items = tables()
    clicks_with_dates = clicks.assign(time=[f"2024-05-{n % 28 + 1:02}T12:00:00" for n in clicks["time"]])
    for number, table in enumerate((clicks, clicks_with_dates)):
        import_data_set(request(tmp_path, table, items), tmp_path / str(number))
        prepared = open_prepared("shop", tmp_path / str(number))
        assert (prepared.times > 0).all()


def test_interactions_without_a_time_are_put_in_random_order_with_a_note(tmp_path: Path):
    clicks, items = tables(times=False)
    manifest = import_data_set(request(tmp_path, clicks, items), tmp_path / "data")
    assert manifest["notes"] == ["no time column: interactions are put in random order"]
    clicks = clicks.assign(time=["", *range(1, 20)])
    manifest = import_data_set(request(tmp_path, clicks, items), tmp_path / "data")
    assert manifest["notes"] == ["1 interaction without a time: put in random order"]


def test_fractions_of_a_second_are_kept_and_invalid_times_are_refused(tmp_path: Path):
    clicks, items = tables()
    import_data_set(request(tmp_path, clicks.assign(time=[n + 0.25 for n in range(20)]), items), tmp_path / "data")
    assert sorted(open_prepared("shop", tmp_path / "data").times.tolist())[:2] == [250_000, 1_250_000]
    for invalid in ("inf", "9" * 30, "1e300"):
        times = clicks.astype({"time": str}).assign(time=[invalid, *["1.5"] * 19])
        assert "line 2: time must be a number below 9e12, got" in error_message(tmp_path, times, items)


def test_repeated_interactions_are_counted_once_with_a_note(tmp_path: Path):
    clicks, items = tables()
    manifest = import_data_set(request(tmp_path, pandas.concat([clicks, clicks]), items), tmp_path / "data")
    assert manifest["counts"]["observed"]["interactions"] == 20
    assert manifest["notes"] == ["20 repeated interactions (same user and item): counted once"]


def test_importing_again_gives_the_same_bytes(tmp_path: Path):
    for folder in ("one", "two"):
        import_data_set(request(tmp_path, *tables()), tmp_path / folder)
    for path in (tmp_path / "one" / "shop").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / "shop" / path.name).read_bytes()
    assert json.loads((tmp_path / "one" / "shop" / "manifest.json").read_text())["source"] == "imported"


@pytest.mark.parametrize("name", ["lastfm", "show", "Shop", "../shop", "", "a b"])
def test_an_invalid_name_is_refused(tmp_path: Path, name: str):
    clicks, items = tables()
    files = {"interactions": tmp_path / "clicks.csv", "items": tmp_path / "items.csv"}
    request(tmp_path, clicks, items)
    with pytest.raises(ValueError, match=r"name must consist of lower-case letters, .*, got "):
        import_data_set(ImportRequest(name=name, **files), tmp_path / "data")


def test_invalid_tables_give_a_one_line_error(tmp_path: Path):
    clicks, items = tables()
    clicks_on_unknown_item = clicks.assign(item=["sku-99", *clicks["item"][1:]])
    assert re.search(
        r"line 2: item must be an item of .*, got 'sku-99'", error_message(tmp_path, clicks_on_unknown_item, items)
    )
    assert "line 62: item must not be an item of an earlier row, got 'sku-00' (60 rows)" in error_message(
        tmp_path, clicks, pandas.concat([items, items])
    )
    assert "line 3: user must be an id, got an empty field" in error_message(
        tmp_path, clicks.assign(user=["a", "", *["b"] * 18]), items
    )
    assert "line 2: time must be a number or a date such as 2024-05-31T12:00:00, got 'soon'" in error_message(
        tmp_path, clicks.assign(time="soon"), items
    )
    assert "has no column 'words' or similar; name it with --words-column; its columns are 'item', 'x'" in (
        error_message(tmp_path, clicks, items.rename(columns={"words": "x"}))
    )
    assert "has no column 'when'" in error_message(tmp_path, clicks, items, time_column="when")
    assert "has no rows" in error_message(tmp_path, clicks.head(0), items)
    assert "no item has any words left" in error_message(tmp_path, clicks, items.assign(words=""))
    assert "does not exist" in error_message(tmp_path, clicks, items, interactions=tmp_path / "none.csv")
    assert "dimension must be an integer from 1 to 1000, got 0" in error_message(tmp_path, clicks, items, dimension=0)


def test_files_that_are_not_tables_give_a_one_line_error(tmp_path: Path):
    clicks, items = tables()
    for name, content in (
        ("x.parquet", b"no parquet"),
        ("x.csv", b'a,b\n1,"2\n'),
        ("y.csv", b""),
        ("z.csv", b"\xff\n\xfe"),
    ):
        (tmp_path / name).write_bytes(content)
        assert error_message(tmp_path, clicks, items, interactions=tmp_path / name)


def test_ids_of_different_length_or_type_are_never_confused(tmp_path: Path):
    clicks, items = tables()
    clicks_on_longer_ids = clicks.assign(item=[f"{clicks['item'][0]}-and-more", *clicks["item"][1:]])
    assert "items.csv, got 'sku-00-and-more'" in error_message(tmp_path, clicks_on_longer_ids, items)
    items_with_numbers = items.assign(item=range(ITEMS))
    assert "items.csv, got 'sku-00'" in error_message(tmp_path, clicks, items_with_numbers)
    assert "items.csv, got '1234567'" in error_message(tmp_path, clicks.assign(item=1234567), items)


def test_rows_longer_than_the_header_are_refused(tmp_path: Path):
    clicks, items = tables()
    (tmp_path / "long.csv").write_text("user,item\n" + "a,sku-01,7\n" * 3)
    message = error_message(tmp_path, clicks, items, interactions=tmp_path / "long.csv")
    assert "line 2: a row must have 2 fields, as many as the header, got 3 fields (3 rows)" in message


PIECES = [
    b"user,item,time\n",
    b"a,sku-01,5\n",
    b"a",
    b",",
    b'"',
    b"\n",
    b"\r\n",
    b"\0",
    b"\xff",
    b"9" * 30,
    b"-1",
]


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(content=st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join) | st.binary(max_size=80))
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_random_bytes_give_a_one_line_error_or_are_read_within_bounds(tmp_path: Path, suffix: str, content: bytes):
    path = tmp_path / f"random{suffix}"
    path.write_bytes(content)
    _, items = tables()
    items.to_csv(tmp_path / "items.csv", index=False)
    import_request = ImportRequest(name="shop", interactions=path, items=tmp_path / "items.csv")
    try:
        manifest = import_data_set(import_request, tmp_path / "data")
    except ValueError as error:
        assert "\n" not in str(error)  # noqa: PT017
    else:
        assert 1 <= manifest["counts"]["observed"]["interactions"] <= content.count(b"sku-01")
