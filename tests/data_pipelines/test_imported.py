from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from data_pipelines import load
from data_pipelines.own_data.options import ImportOptions
from data_pipelines.prepare.imported import import_table
from data_pipelines.prepare.prepared import open_prepared

ITEM_COUNT = 60
CLICKS = pandas.DataFrame(
    {
        "user": ["ann"] * 10 + ["bob"] * 10,
        "item": [f"sku-{(3 * n) % ITEM_COUNT:02}" for n in range(20)],
        "time": list(range(100, 120))[::-1],
    }
)
ITEMS = pandas.DataFrame(
    {
        "item": [f"sku-{n:02}" for n in range(ITEM_COUNT)],
        "words": [f"colour{n % 7} shape{n % 5}, size{n % 3}" if n % 10 else "" for n in range(ITEM_COUNT)],
    }
)


def import_shop(
    folder: Path,
    clicks: pandas.DataFrame = CLICKS,
    items: pandas.DataFrame = ITEMS,
    *,
    suffix: str = "csv",
    name: str = "shop",
    **options: object,
) -> dict[str, Any]:
    """Import a shop with sixty items and two customers with ten clicks each into `folder/data`."""
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{table}.{suffix}" for table in ("clicks", "items")]
    for table, path in zip((clicks, items), paths, strict=True):
        table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path)
    import_options = ImportOptions(**{"items": paths[1], **options})  # type: ignore[arg-type]
    return import_table(paths[0], import_options, name=name, folder=folder / "data").manifest


def test_an_import_is_a_prepared_data_set_like_the_others(tmp_path: Path):
    manifest = import_shop(tmp_path, dimension=5)
    assert manifest["counts"]["observed"] == {"users": 2, "items": 60, "interactions": 20}
    assert manifest["items_without_words"] == 6
    stream = load("shop", seed=0, folder=tmp_path / "data")
    assert (stream.steps, stream.arms, stream.dimension, stream.source) == (20, 25, 5, "imported")
    assert stream.client_ids.tolist() == [0, 1]
    assert np.load(tmp_path / "data" / "shop" / "user_labels.npy").tolist() == ["ann", "bob"]


def test_csv_parquet_and_other_names_of_columns_give_the_same_arrays(tmp_path: Path):
    first, parquet = import_shop(tmp_path), import_shop(tmp_path / "parquet", suffix="parquet")
    renamed = import_shop(
        tmp_path / "renamed",
        CLICKS.rename(columns={"user": "customer", "item": "sku", "time": "at"}),
        ITEMS.rename(columns={"item": "code", "words": "title"}).assign(brand=""),
        user_column="customer",
        item_column="sku",
        time_column="at",
        id_column="code",
        words_column=("title", "brand"),
    )
    assert first["arrays"] == parquet["arrays"] == renamed["arrays"]
    assert len({manifest["fingerprint"] for manifest in (first, parquet, renamed)}) == 3


def test_ids_that_are_whole_numbers_are_kept_as_such_and_others_as_written(tmp_path: Path):
    for users, ids, labels in ((("17", "4"), [4, 17], None), (("007", "7"), [0, 1], ["007", "7"])):
        import_shop(tmp_path, CLICKS.assign(user=[users[0]] * 10 + [users[1]] * 10))
        assert load("shop", seed=0, folder=tmp_path / "data").client_ids.tolist() == ids
        path = tmp_path / "data" / "shop" / "user_labels.npy"
        assert (np.load(path).tolist() if path.exists() else None) == labels


@pytest.mark.parametrize(
    ("times", "first"),
    [
        ([f"2024-05-{n + 1:02}T12:00:00" for n in range(20)], [1_714_564_800_000_000, 1_714_651_200_000_000]),
        ([n + 0.25 for n in range(20)], [250_000, 1_250_000]),
        ([1_700_000_000_000_000_001 + n for n in range(20)], [1_700_000_000_000_000_001, 1_700_000_000_000_000_002]),
    ],
    ids=["dates", "fractions", "nanoseconds"],
)
def test_times_are_dates_or_numbers_with_all_their_digits(tmp_path: Path, times: list[object], first: list[int]):
    import_shop(tmp_path, CLICKS.assign(time=times))
    assert sorted(open_prepared("shop", tmp_path / "data").times.tolist())[:2] == first


@pytest.mark.parametrize(
    ("clicks", "note"),
    [
        (CLICKS.drop(columns="time"), "no time column: interactions are put in random order"),
        (CLICKS.assign(time=["", *range(1, 20)]), "1 interaction without a time: put in random order"),
        (
            pandas.concat([CLICKS, CLICKS]),
            "20 repeated interactions (same user and item): counted once; "
            "20 of the repeats have the same time, too: they may be duplicate rows",
        ),
    ],
    ids=["no time column", "an empty time", "repeats"],
)
def test_the_manifest_notes_missing_times_and_repeats(tmp_path: Path, clicks: pandas.DataFrame, note: str):
    manifest = import_shop(tmp_path, clicks)
    assert "; ".join(manifest["notes"]) == note
    assert manifest["counts"]["observed"]["interactions"] == 20


def first_is(column: str, value: object) -> pandas.DataFrame:
    return CLICKS.astype({column: object}).assign(**{column: [value, *CLICKS[column][1:]]})


@pytest.mark.parametrize(
    ("tables", "options", "message"),
    [
        ([first_is("item", "sku-99")], {}, "line 2: item must be an item of .*, got 'sku-99'"),
        ([first_is("item", "sku-00-and-more")], {}, "items.csv, got 'sku-00-and-more'"),
        ([CLICKS, ITEMS.assign(item=range(ITEM_COUNT))], {}, "items.csv, got 'sku-00'"),
        ([CLICKS.assign(item=1234567)], {}, "items.csv, got '1234567'"),
        (
            [CLICKS, pandas.concat([ITEMS, ITEMS])],
            {},
            r"line 62: item must not be an item of an earlier row, got 'sku-00' \(60 rows\)",
        ),
        ([first_is("user", "")], {}, "line 2: user must be an id, got an empty field"),
        ([CLICKS.assign(time="soon")], {}, "line 2: time must be a number or a date such as 2024-05-31T12:00:00, got"),
        ([first_is("time", "inf")], {}, "line 2: time must be a number below 9e12, got"),
        ([first_is("time", "9" * 30)], {}, "line 2: time must be a number below 9e12, got"),
        ([first_is("time", "1e300")], {}, "line 2: time must be a number below 9e12, got"),
        (
            [CLICKS, ITEMS.rename(columns={"words": "x"})],
            {},
            "has no column 'words' or similar; name it with --words-column; its columns are 'item', 'x'",
        ),
        ([], {"time_column": "when"}, "has no column 'when'"),
        ([CLICKS.head(0)], {}, "has no rows"),
        ([CLICKS, ITEMS.assign(words="")], {}, "no item has any words left"),
        ([], {"dimension": 0}, "dimension must be an integer from 1 to 1000, got 0"),
        *(
            ([], {"name": name}, "name must consist of lower-case letters, .*, got ")
            for name in ("lastfm", "show", "Shop", "../shop", "", "a b")
        ),
    ],
)
def test_invalid_tables_options_and_names_give_a_one_line_error(
    tmp_path: Path, tables: list[pandas.DataFrame], options: dict[str, Any], message: str
):
    with pytest.raises(ValueError, match=message) as error:
        import_shop(tmp_path, *tables, **options)
    assert "\n" not in str(error.value)
    assert not (tmp_path / "data" / "shop").exists()
