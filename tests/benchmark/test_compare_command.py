"""`fedbandit compare`, `fedbandit run --on` and `fedbandit new`, as a user types them."""

import runpy
from pathlib import Path

import pytest

from benchmark.__main__ import main
from data_pipelines.prepare.prepared import read_manifest
from tests.benchmark.conftest import Command
from tests.benchmark.tiny_sweeps import rows, write_tiny


def write_purchases(folder: Path) -> Path:
    """Twelve users and forty items, 300 rows."""
    lines = [f"u{row % 12},i{(row * row + row // 12) % 40},2024-01-{1 + row % 28:02}" for row in range(300)]
    path = folder / "purchases.csv"
    path.write_text("\n".join(["customer,sku,date", *lines]) + "\n")
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FEDBANDIT_DATA", str(tmp_path / "data"))
    write_tiny(tmp_path)
    write_purchases(tmp_path)
    return tmp_path


def test_compare_imports_a_file_records_its_runs_and_answers_in_80_columns(folder: Path, fedbandit_here: Command):
    arguments = ("compare", "async-linucb[gamma=[2,inf]]", "random", "--dataset", "purchases.csv")
    done = fedbandit_here(folder, *arguments, "--seeds", "2", "--jobs", "1", "--budget", "10/client")
    assert done.returncode == 0, done.stderr
    assert "purchases: normalised reward, higher is better (2 seeds)" in done.stdout
    assert "chosen on these seeds" in done.stdout
    assert "LEAK: Features were made of the same interactions" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    experiments = "select e.name from experiments e join runs r on r.experiment_id = e.experiment_id"
    assert ("compare-purchases",) in rows(folder, experiments)
    again = fedbandit_here(folder, *arguments, "--seeds", "2", "--jobs", "1")
    table = "transfers per client"
    assert again.stdout.partition("best")[0] == done.stdout.partition("best")[0]
    assert again.stdout.count(table) == 1


def test_an_experiment_runs_on_other_data(folder: Path, fedbandit_here: Command):
    done = fedbandit_here(folder, "run", "tiny.toml", "--on", "purchases.csv", "--seeds", "1", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    assert "tiny-on-purchases  Tiny, on purchases  (8 runs finished)" in done.stdout
    datasets = "select distinct value from params where key = 'dataset'"
    assert rows(folder, datasets) == [("purchases",)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "random", "--dataset", "lastfmm"], "unknown data set 'lastfmm' (did you mean lastfm"),
        (["compare", "random", "--dataset", "nothing.csv"], "got 'nothing.csv': no such file"),
        (["compare", "random", "--dataset", "empty.csv"], "empty.csv"),
        (["compare", "random", "--dataset", "binary.csv"], "binary.csv"),
        (["compare", "random", "--dataset", "./data.csv"], "data.csv"),
        (["compare", "async", "--dataset", "purchases.csv"], "unknown method 'async' (did you mean async-linucb"),
        (["compare", "random", "--dataset", "purchases.csv", "--budget", "0"], "budget must be above 0"),
        (["compare", "random", "--dataset", "purchases.csv", "--budget", "ten"], "budget must be 10/client"),
        (["compare", "random", "--dataset", "purchases.csv", "--seeds", "x"], "--seeds must be a number"),
        (["compare", "random", "--dataset", "purchases.csv", "--seeds", "10000-10001"], "seeds"),
        (
            ["compare", "random", "--dataset", "bad.csv"],
            "line 3: user must be an id, got an empty field (1 row); --skip-",
        ),
        (["compare", "random", "--dataset", "bad.csv", "--skip-bad-rows"], "one user took every item"),
        (
            ["run", "tiny.toml", "--on", "bad.csv"],
            "(`fedbandit recommend bad.csv` and `fedbandit compare METHOD --dataset bad.csv` take the file with such",
        ),
        (["compare", "no_such:Class", "--dataset", "purchases.csv"], "no_such"),
        (["compare", "random", "--dataset", "purchases.csv", "--jobs", "0"], "--jobs must be an integer from 1, got 0"),
        (["run", "tiny.toml", "--on", "shopp"], "unknown data set 'shopp'"),
        (["new", "method", "json"], "must not be that of an installed module, got 'json'"),
        (["new", "method", "my-method"], "without -, got 'my-method'"),
        (["new", "dataset", "lastfm"], "and not be one of"),
        (["new", "experiment", "../x"], "NAME must be at most 50 lower-case letters"),
        (["new", "experiment", "tiny"], "tiny.toml exists"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(
    folder: Path, fedbandit_here: Command, arguments: list[str], message: str
):
    (folder / "empty.csv").write_text("")
    (folder / "bad.csv").write_text("user,item\n1,2\n,3\n")
    (folder / "binary.csv").write_bytes(bytes(range(256)) * 10)
    (folder / "data.csv").mkdir()
    before = {*folder.rglob("*")}
    done = fedbandit_here(folder, *arguments)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
    assert {*folder.rglob("*")} == before


def test_a_new_experiment_runs(folder: Path, fedbandit_here: Command):
    assert fedbandit_here(folder, "new", "experiment", "patience").stdout.endswith("fedbandit run patience.toml\n")
    done = fedbandit_here(folder, "run", "patience.toml", "--seeds", "1", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    assert "Patience" in done.stdout


def test_a_new_method_runs(folder: Path, fedbandit_here: Command):
    assert fedbandit_here(folder, "new", "method", "my_gossip").returncode == 0
    done = fedbandit_here(folder, "compare", "my_gossip:MyGossip", "--dataset", "purchases.csv", "--seeds", "1")
    assert done.returncode == 0, done.stderr
    assert "MyGossip (my_gossip)" in done.stdout


def test_a_new_data_set_is_imported(
    folder: Path, fedbandit_here: Command, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    assert fedbandit_here(folder, "new", "dataset", "shop").returncode == 0
    monkeypatch.chdir(folder)
    runpy.run_path("shop.py", run_name="__main__")
    assert "40" in capsys.readouterr().out
    assert read_manifest(folder / "data" / "shop")["source"] == "imported"
    assert main(["data", "show", "shop"]) == 0
