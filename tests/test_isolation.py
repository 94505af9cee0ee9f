"""Nothing of the user's is read by a test: neither prepared data nor stored runs nor reports of the clone."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from benchmark.records.tracking import tracking_uri
from data_pipelines.prepare.prepared import data_folder, prepared_names
from reports.build import OUT
from tests.isolation import OF_THE_USER, opened
from tests.readme import ROOT

TESTS = """
from pathlib import Path
import pytest

def test_opens_a_file_of_the_user():
    with pytest.raises(OSError):
        open({path!r})

def test_leaves_a_store():
    Path("mlflow.db").touch()

def test_uses_a_folder_of_its_own(tmp_path):
    (tmp_path / "mlflow.db").touch()
"""


def test_the_defaults_of_the_product_lead_to_an_empty_folder():
    assert tracking_uri() == "sqlite:///mlflow.db"
    assert not data_folder().is_absolute()
    assert not OUT.is_absolute()
    assert ROOT not in (Path.cwd(), *Path.cwd().parents)
    assert [*Path().iterdir()] == []
    assert prepared_names() == []


@pytest.mark.parametrize("name", OF_THE_USER)
def test_a_file_of_the_user_that_a_test_opens_is_noted(name: str):
    path = ROOT / name / "no-such-file"
    with pytest.raises(OSError, match="no-such-file"):
        path.open()
    assert opened() == [str(path)]


def test_a_store_of_the_user_that_a_test_connects_to_is_noted():
    path = ROOT / "mlartifacts" / "no-such-folder" / "mlflow.db"
    with pytest.raises(sqlite3.OperationalError):
        sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    assert opened() == [str(path)]


def test_a_process_started_in_the_clone_is_watched_too():
    code = "from contextlib import suppress\nwith suppress(OSError): open('data/no-such-file')"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    assert opened() == [str(ROOT / "data" / "no-such-file")]


@pytest.mark.slow
def test_a_test_that_opens_files_of_the_user_or_leaves_files_to_others_fails(tmp_path: Path):
    path = ROOT / "data" / "no-such-file"
    (tmp_path / "test_some.py").write_text(TESTS.format(path=str(path)))
    folders = ("--rootdir", str(tmp_path), "--basetemp", str(tmp_path / "temporary"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conftest", "-p", "no:cacheprovider", *folders]
    done = subprocess.run([*command, str(tmp_path)], cwd=ROOT, capture_output=True, text=True)
    assert "3 passed, 2 errors" in done.stdout, done.stdout
    assert "test_uses_a_folder_of_its_own" not in done.stdout
    assert opened() == [str(path)]  # by the process that this test started
