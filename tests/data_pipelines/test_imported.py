import json
from pathlib import Path

import numpy as np
import pandas
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from data_pipelines import load
from data_pipelines.imported import ImportRequest, import_data_set
from data_pipelines.prepared import open_prepared

ITEMS = 60


def tables(*, users: tuple[str, ...] = ("ann", "bob"), times: bool = True) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """A shop of sixty items, two customers and ten clicks each."""
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


def complaint(tmp_path: Path, clicks: pandas.DataFrame, items: pandas.DataFrame, **options: object) -> str:
    with pytest.raises(ValueError, match=r".") as caught:
        import_data_set(request(tmp_path, clicks, items, **options), tmp_path / "data")
    assert "\n" not in str(caught.value)
    return str(caught.value)


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
    renamed = request(
        tmp_path,
        clicks,
        items,
        user_column="customer",
        item_column="sku",
        time_column="at",
        id_column="code",
        words_column=("title", "brand"),
    )
    assert import_data_set(renamed, tmp_path / "renamed")["arrays"] == expected["arrays"]


def test_numeric_user_ids_are_kept(tmp_path: Path):
    import_data_set(request(tmp_path, *tables(users=("17", "4"))), tmp_path / "data")
    assert load("shop", seed=0, folder=tmp_path / "data").client_ids.tolist() == [4, 17]


def test_ids_stay_as_they_are_written(tmp_path: Path):
    import_data_set(request(tmp_path, *tables(users=("007", "7"))), tmp_path / "data")
    assert np.load(tmp_path / "data" / "shop" / "user_labels.npy").tolist() == ["007", "7"]


def test_interactions_go_by_time_whether_numbers_or_dates(tmp_path: Path):
    clicks, items = tables()
    dated = clicks.assign(time=[f"2024-05-{n % 28 + 1:02}T12:00:00" for n in clicks["time"]])
    for number, table in enumerate((clicks, dated)):
        import_data_set(request(tmp_path, table, items), tmp_path / str(number))
        prepared = open_prepared("shop", tmp_path / str(number))
        assert (prepared.times > 0).all()


def test_a_missing_time_means_random_order_and_is_said(tmp_path: Path):
    clicks, items = tables(times=False)
    manifest = import_data_set(request(tmp_path, clicks, items), tmp_path / "data")
    assert manifest["notes"] == ["no time column: interactions go in random order"]
    clicks = clicks.assign(time=["", *range(1, 20)])
    manifest = import_data_set(request(tmp_path, clicks, items), tmp_path / "data")
    assert manifest["notes"] == ["1 interactions have no time: they go in random order"]


def test_fractions_of_a_second_count_and_impossible_times_are_refused(tmp_path: Path):
    clicks, items = tables()
    import_data_set(request(tmp_path, clicks.assign(time=[n + 0.25 for n in range(20)]), items), tmp_path / "data")
    assert sorted(open_prepared("shop", tmp_path / "data").times.tolist())[:2] == [250_000, 1_250_000]
    for wrong in ("inf", "9" * 30, "1e300"):
        times = clicks.astype({"time": str}).assign(time=[wrong, *["1.5"] * 19])
        assert "row 1: time is" in complaint(tmp_path, times, items)


def test_repeated_interactions_count_once_and_that_is_said(tmp_path: Path):
    clicks, items = tables()
    manifest = import_data_set(request(tmp_path, pandas.concat([clicks, clicks]), items), tmp_path / "data")
    assert manifest["counts"]["observed"]["interactions"] == 20
    assert manifest["notes"] == ["20 interactions repeat a (user, item) and count once"]


def test_importing_again_gives_the_same_bytes(tmp_path: Path):
    for folder in ("one", "two"):
        import_data_set(request(tmp_path, *tables()), tmp_path / folder)
    for path in (tmp_path / "one" / "shop").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / "shop" / path.name).read_bytes()
    assert json.loads((tmp_path / "one" / "shop" / "manifest.json").read_text())["source"] == "imported"


@pytest.mark.parametrize("name", ["lastfm", "show", "Shop", "../shop", "", "a b"])
def test_a_name_that_cannot_be_used_is_refused(tmp_path: Path, name: str):
    clicks, items = tables()
    files = {"interactions": tmp_path / "clicks.csv", "items": tmp_path / "items.csv"}
    request(tmp_path, clicks, items)
    with pytest.raises(ValueError, match=r"name is .*; allowed are small letters"):
        import_data_set(ImportRequest(name=name, **files), tmp_path / "data")


def test_wrong_tables_are_refused_in_one_line(tmp_path: Path):
    clicks, items = tables()
    unknown = clicks.assign(item=["sku-99", *clicks["item"][1:]])
    assert "row 1: item is 'sku-99'; allowed are the items of" in complaint(tmp_path, unknown, items)
    assert "lists item 'sku-00' twice" in complaint(tmp_path, clicks, pandas.concat([items, items]))
    assert "row 2: user is empty" in complaint(tmp_path, clicks.assign(user=["a", "", *["b"] * 18]), items)
    assert "row 1: time is 'soon'" in complaint(tmp_path, clicks.assign(time="soon"), items)
    assert "has no column 'words'; allowed are 'item', 'text'" in complaint(
        tmp_path, clicks, items.rename(columns={"words": "text"})
    )
    assert "has no column 'when'" in complaint(tmp_path, clicks, items, time_column="when")
    assert "has no rows" in complaint(tmp_path, clicks.head(0), items)
    assert "no item has a single word" in complaint(tmp_path, clicks, items.assign(words=""))
    assert "is not there" in complaint(tmp_path, clicks, items, interactions=tmp_path / "none.csv")
    assert "dimension is 0" in complaint(tmp_path, clicks, items, dimension=0)


def test_files_that_are_no_tables_are_refused_in_one_line(tmp_path: Path):
    clicks, items = tables()
    for name, content in (
        ("x.parquet", b"no parquet"),
        ("x.csv", b'a,b\n1,"2\n'),
        ("y.csv", b""),
        ("z.csv", b"\xff\n\xfe"),
    ):
        (tmp_path / name).write_bytes(content)
        assert complaint(tmp_path, clicks, items, interactions=tmp_path / name)


def test_ids_of_different_length_or_kind_are_never_taken_for_each_other(tmp_path: Path):
    clicks, items = tables()
    longer = clicks.assign(item=[f"{clicks['item'][0]}-and-more", *clicks["item"][1:]])
    assert "row 1: item is 'sku-00-and-more'" in complaint(tmp_path, longer, items)
    numbered = items.assign(item=range(ITEMS))
    assert "row 1: item is 'sku-00'" in complaint(tmp_path, clicks, numbered)
    assert "row 1: item is '1234567'" in complaint(tmp_path, clicks.assign(item=1234567), items)


def test_rows_longer_than_the_header_are_refused(tmp_path: Path):
    clicks, items = tables()
    (tmp_path / "long.csv").write_text("user,item\n" + "a,sku-01,7\n" * 3)
    assert "more columns than its header" in complaint(tmp_path, clicks, items, interactions=tmp_path / "long.csv")


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
def test_rubbish_is_refused_in_one_line_or_read_within_bounds(tmp_path: Path, suffix: str, content: bytes):
    path = tmp_path / f"rubbish{suffix}"
    path.write_bytes(content)
    _, items = tables()
    items.to_csv(tmp_path / "items.csv", index=False)
    wanted = ImportRequest(name="shop", interactions=path, items=tmp_path / "items.csv")
    try:
        manifest = import_data_set(wanted, tmp_path / "data")
    except ValueError as error:
        assert "\n" not in str(error)  # noqa: PT017
    else:
        assert 1 <= manifest["counts"]["observed"]["interactions"] <= content.count(b"sku-01")
