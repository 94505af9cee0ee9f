"""A data set is added by a single file, as in the example of docs/own_data.md: of the user, or built in."""

import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmark.__main__ import main
from benchmark.plan.own_data_sets import find_any_data_set
from benchmark.recommend.data import data_from, leak_notices
from benchmark.recommend.log import cases_from
from data_pipelines import datasets, load
from data_pipelines.data_set import stream_label
from data_pipelines.prepare.prepared import prepared_names, read_manifest
from data_pipelines.stream_spec import dataset_spec
from tests.benchmark.test_list import install
from tests.benchmark.tiny_sweeps import Command, unloaded
from tests.readme import DOCS, commands, example_file


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory with the archive in its data folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FEDBANDIT_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("FEDBANDIT_OFFLINE", "1")
    (tmp_path / "data").mkdir()
    with zipfile.ZipFile(tmp_path / "data" / "books.zip", "w") as archive:
        titles = "".join(f"{n}\tbook {'abcdefgh'[n % 8]}{n % 5}\n" for n in range(40))
        archive.writestr("books.tsv", "id\ttitle\n" + titles)
        loans = "".join(f"{n % 2}\t{3 * n}\t{n + 1}\n" for n in range(10))
        archive.writestr("loans.tsv", "reader\tbook\ttime\n" + loans)
    with unloaded(tmp_path):
        yield tmp_path


def declare(folder: Path, old: str = "", new: str = "", name: str = "books") -> Path:
    """Write the example into the working directory, with a change."""
    (folder / f"{name}.py").write_text(example_file("books.py").replace(old, new))
    return folder / "data"


def prepare(folder: Path, *arguments: str) -> int:
    with unloaded(folder):
        return main(["data", *arguments])


def test_a_built_in_data_set_is_one_file(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    (folder / "more").mkdir()
    declare(folder / "more")
    monkeypatch.setattr(datasets, "__path__", [*datasets.__path__, str(folder / "more")])
    monkeypatch.delitem(sys.modules, "data_pipelines.datasets.books", raising=False)
    assert prepare(folder, "books", "--verbose") == 0
    assert "unverified: no hash is known" in capsys.readouterr().out
    assert prepare(folder, "books", "--stand-in", "--force") == 1
    assert "books has no stand-in" in capsys.readouterr().out
    assert prepare(folder, "nonsense") == 2
    assert "data set must be one of book-crossing, books, delicious, " in capsys.readouterr().err


def test_a_data_set_of_the_user_is_prepared_listed_shown_and_loaded_by_its_name(folder: Path, capsys):
    data = declare(folder)
    (first,) = commands("data books", DOCS / "own_data.md")
    assert prepare(folder, *first[1:], "--verbose") == 0
    assert "unverified: no hash is known" in capsys.readouterr().out
    manifest = data / "books" / "manifest.json"
    before = manifest.stat().st_mtime_ns
    (show,) = commands("data show books", DOCS / "own_data.md")
    for command in (show, ["data", "books"], ["list"]):
        assert main(command) == 0
        assert "books" in capsys.readouterr().out
    assert manifest.stat().st_mtime_ns == before
    (folder / "books.py").unlink()
    assert load("books", seed=0, arms=10, folder=data).steps == 10
    assert stream_label("books") == "Books of a library"
    assert data_from("books").fingerprint(0) == dataset_spec(dataset="books").fingerprint(0)


def test_changed_source_prepares_it_again_as_other_data(folder: Path):
    data = declare(folder, "import numpy as np", "import numpy as np\nimport shelf")
    (folder / "shelf.py").write_text("SHELVES = 3\n")
    assert prepare(folder, "books:DATA_SET") == 0
    first = read_manifest(data / "books")
    (folder / "shelf.py").write_text("SHELVES = 4\n")
    assert prepare(folder, "books") == 0
    second = read_manifest(data / "books")
    assert first["code"] != second["code"]
    assert first["fingerprint"] != second["fingerprint"]
    assert first["members"] == second["members"]


def test_what_it_declares_holds_without_its_source(folder: Path):
    declare(
        folder,
        "read=read,",
        'read=read, leak="titles tell", stream_defaults={"order": "shuffled", "negatives": "popularity"},',
    )
    with unloaded(folder):
        spec = data_from("books:DATA_SET")  # prepared on the fly, as a file is imported
        assert cases_from("books:DATA_SET")[1][0].task.stream.name == "books"
    (folder / "books.py").unlink()
    bound = spec.bound()
    assert (bound.order, bound.negatives) == ("shuffled", "popularity")
    assert dataset_spec(dataset="books", order="users").bound().order == "users"
    assert leak_notices(spec) == ("LEAK: titles tell",)


WRONG = {
    ('name="books"', 'name="lastfm"'): "data set 'books:DATA_SET': name must consist of lower-case letters",
    ('name="books"', 'name="my books"'): "data set 'books:DATA_SET': name must consist of lower-case letters",
    ("read=read,", 'read=read, stream_defaults={"order": "up"},'): "data set 'books:DATA_SET': order must be",
    ("DATA_SET = ", "OTHER = "): "unknown DataSet in books 'DATA_SET'; expected one of: OTHER",
    ("import numpy", "import numpi"): "data set 'books:DATA_SET': books cannot be imported: No module named 'numpi'",
}


@pytest.mark.parametrize("change", WRONG)
def test_a_wrong_declaration_is_one_line(folder: Path, capsys, change: tuple[str, str]):
    declare(folder, *change)
    assert prepare(folder, "books:DATA_SET") == 2
    error = capsys.readouterr().err
    assert error.startswith("fedbandit: error: ")
    assert WRONG[change] in error
    assert error.count("\n") == 1
    assert prepared_names() == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("    rows = {", "    rows = {}['x']\n    rows = {"), "books:DATA_SET: KeyError: 'x'"),
        (("return Contents", "return 3 or Contents"), "read must return Contents, got 3"),
        (("return Contents", "raise SystemExit(0)\n    return Contents"), "books:DATA_SET: SystemExit: 0"),
    ],
)
def test_a_function_that_fails_to_read_is_one_reason_and_nothing_is_written(folder: Path, capsys, change, reason):
    declare(folder, *change)
    assert prepare(folder, "books:DATA_SET") == 1
    assert reason in " ".join(capsys.readouterr().out.split())
    assert prepared_names() == []


def test_other_data_of_the_same_name_are_never_replaced(folder: Path, capsys):
    data = declare(folder)
    rows = "".join(f"{n % 5},{n},word{n % 7}\n" for n in range(60))
    (folder / "loans.csv").write_text("user,item,words\n" + rows)
    assert main(["data", "import", "--name", "books", "--interactions", "loans.csv"]) == 0
    before = read_manifest(data / "books")
    capsys.readouterr()
    assert prepare(folder, "books:DATA_SET", "--force") == 2
    error = capsys.readouterr().err
    assert "name of books:DATA_SET must not be that of other data, got 'books'" in error
    assert "are imported; rename one of them, or remove that folder" in error
    assert read_manifest(data / "books") == before


def test_an_installed_data_set_has_a_name_and_a_broken_one_is_named(folder: Path, capsys, monkeypatch):
    points = "[fedbandit.datasets]\nlibrary = theirs_of_books:DATA_SET\nbroken-books = theirs_of_books:NONE"
    install(folder, "theirs_of_books", example_file("books.py"), f"x = theirs_of_books:X\n{points}")
    monkeypatch.syspath_prepend(str(folder))
    assert prepare(folder, "broken-books") == 2
    reason = "data set broken-books of the package theirs_of_books 1.0 cannot be loaded from theirs_of_books:NONE"
    assert reason in capsys.readouterr().err
    assert main(["list"]) == 0
    shown = capsys.readouterr()
    assert "books is not prepared; run: fedbandit data theirs_of_books:DATA_SET" in shown.out
    assert f"warning: {reason}" in shown.err
    assert prepare(folder, "library") == 0
    assert find_any_data_set("books").declared_in == "theirs_of_books:DATA_SET"


def test_own_data_become_a_task_of_the_board(folder: Path, fedbandit_here: Command):
    declare(folder)
    page = DOCS / "own_data.md"
    (first,) = commands("data books", page)
    done = fedbandit_here(folder, *first)
    assert done.returncode == 0, done.stderr
    (folder / "books-once.toml").write_text(example_file("books-once.toml"))
    quick, _ = commands("board books-once", page)
    (folder / "fair.py").write_text(example_file("fair.py"))
    done = fedbandit_here(folder, *quick, "--configurations", "1", "--metric", "fair:WORST")
    assert done.returncode == 0, done.stderr
    exported = fedbandit_here(folder, "export", "board_books-once*", "--per", "setting")
    assert ",worst_client,worst_client_low,worst_client_high\n" in exported.stdout
    assert "The protocol: fedbandit board books-once.toml" in done.stdout
    assert "books-once: Books of a library, nothing offered twice" in done.stdout
    (report,) = commands("report", page)[-1:]
    done = fedbandit_here(folder, *report, "--only", "tables")
    assert done.returncode == 0, done.stderr
    (folder / "lastfm-once.toml").write_text(example_file("books-once.toml"))
    done = fedbandit_here(folder, "board", "lastfm-once.toml", "--quick")
    assert done.returncode == 2
    assert "the file of a task must not have the name of a built-in one, got lastfm-once" in done.stderr
