"""A data set is added by a single file, as in the example of docs/own_data.md."""

import sys
import zipfile
from pathlib import Path

import pytest

from benchmark.__main__ import main
from data_pipelines import datasets, load
from tests.readme import DOCS, commands, example_file


@pytest.fixture
def books(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Add the file to the other data sets, and an archive to a data folder."""
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "books.py").write_text(example_file("books.py"))
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
    (prepare,) = commands("data books", DOCS / "own_data.md")
    assert main(prepare) == 0
    assert "unverified: no hash is known" in capsys.readouterr().out
    assert main(["data", "show", "books"]) == 0
    assert load("books", seed=0, arms=10, folder=books).steps == 10
    assert main(["data", "books", "--stand-in", "--force"]) == 1
    assert "books has no stand-in" in capsys.readouterr().err
    assert main(["data", "nonsense"]) == 2
    assert "data set must be one of book-crossing, books, delicious, " in capsys.readouterr().err
