"""Adding a data set is adding a file that nothing else mentions."""

import sys
import zipfile
from pathlib import Path

import pytest

from benchmark.__main__ import main
from data_pipelines import datasets, load

FILE = '''
"""Books: a fourth data set."""

import numpy as np

from data_pipelines.data_set import Contents, Counts, DataSet, distinct_pairs, unique_ids
from data_pipelines.number_tables import read_numbers
from data_pipelines.text_tables import read_tab_rows, whole_number
from data_pipelines.words import count_words, split_into_words


def read(archive, parameters):
    rows = list(read_tab_rows(archive, "books.tsv", ("id", "title"), free_text="title"))
    books = unique_ids([whole_number(row[0], "books.tsv", line, "id") for line, row in rows], "books.tsv")
    loans = read_numbers(archive, "loans.tsv", ("reader", "book", "time"))
    users, items, times = distinct_pairs(
        loans["reader"], np.searchsorted(books, loans["book"]), loans["time"]
    )
    everything = np.arange(len(books))
    words = count_words(
        everything,
        everything,
        np.ones(len(books), dtype=int),
        item_count=len(books),
        words_of_tags=[split_into_words(row[1]) for _, row in rows],
    )
    counted = {"books.tsv": len(books), "loans.tsv": len(loans["time"])}
    return Contents(users=users, items=items, times=times, item_ids=books, words=words, rows=counted)


DATA_SET = DataSet(
    name="books",
    archive="books.zip",
    official_url="https://no-such-host.invalid/books.zip",
    limits={"books.tsv": 10_000, "loans.tsv": 10_000},
    licence="free",
    citation="none",
    published=Counts(users=2, items=40, interactions=10),
    read=read,
)
'''


@pytest.fixture
def books(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the file among the others, and an archive into a data folder."""
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "books.py").write_text(FILE)
    monkeypatch.setattr(datasets, "__path__", [*datasets.__path__, str(tmp_path / "more")])
    monkeypatch.setenv("FEDBANDIT_DATA", str(tmp_path / "data"))
    monkeypatch.delitem(sys.modules, "data_pipelines.datasets.books", raising=False)
    (tmp_path / "data").mkdir()
    with zipfile.ZipFile(tmp_path / "data" / "books.zip", "w") as archive:
        titles = "".join(f"{n}\tbook {'abcdefgh'[n % 8]}{n % 5}\n" for n in range(40))
        archive.writestr("books.tsv", "id\ttitle\n" + titles)
        loans = "".join(f"{n % 2}\t{3 * n}\t{n + 1}\n" for n in range(10))
        archive.writestr("loans.tsv", "reader\tbook\ttime\n" + loans)
    return tmp_path / "data"


def test_a_fourth_data_set_is_found_prepared_shown_and_loaded(books: Path, capsys):
    assert main(["data", "books"]) == 0
    assert "unverified: no hash is known" in capsys.readouterr().out
    assert main(["data", "show", "books"]) == 0
    assert load("books", seed=0, arms=10, folder=books).steps == 10
    assert main(["data", "books", "--stand-in", "--force"]) == 1
    assert "no stand-in is stated for books" in capsys.readouterr().err
    assert main(["data", "nonsense"]) == 2
    assert "allowed are books, delicious, lastfm, movielens" in capsys.readouterr().err
