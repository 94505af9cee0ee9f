"""`fedbandit compare`, `fedbandit run --on` and `fedbandit new`, as a user types them."""

import runpy
from pathlib import Path

import pytest

from benchmark.__main__ import main
from data_pipelines.prepare.prepared import read_manifest
from tests.benchmark.tiny_sweeps import Command, rows


def test_compare_imports_a_file_records_its_runs_and_answers_in_80_columns(shop: Path, fedbandit_here: Command):
    arguments = ("compare", "async-linucb[gamma=[2,inf]]", "random", "--dataset", "purchases.csv")
    done = fedbandit_here(shop, *arguments, "--seeds", "2", "--jobs", "1", "--budget", "10/client")
    assert done.returncode == 0, done.stderr
    assert "purchases: normalised reward, higher is better (2 seeds)" in done.stdout
    assert "chosen on these seeds" in done.stdout
    assert "LEAK: Features were made of the same interactions" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    experiments = "select e.name from experiments e join runs r on r.experiment_id = e.experiment_id"
    assert ("compare-purchases",) in rows(shop, experiments)
    again = fedbandit_here(shop, *arguments, "--seeds", "2", "--jobs", "1")
    table = "messages: those that are needed for the same choices, in full {V, b} per client"
    assert again.stdout.partition("best")[0] == done.stdout.partition("best")[0]
    assert again.stdout.count(table) == 1


def test_an_experiment_runs_on_other_data(shop: Path, fedbandit_here: Command):
    done = fedbandit_here(shop, "run", "tiny.toml", "--on", "purchases.csv", "--seeds", "1", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    assert "tiny-on-purchases  Tiny, on purchases  (8 runs finished)" in done.stdout
    datasets = "select distinct value from params where key = 'dataset'"
    assert rows(shop, datasets) == [("purchases",)]


def test_a_new_experiment_runs(shop: Path, fedbandit_here: Command):
    assert fedbandit_here(shop, "new", "experiment", "patience").stdout.endswith("fedbandit run patience.toml\n")
    done = fedbandit_here(shop, "run", "patience.toml", "--seeds", "1", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    assert "Patience" in done.stdout


def test_a_new_method_runs(shop: Path, fedbandit_here: Command):
    assert fedbandit_here(shop, "new", "method", "my_gossip").returncode == 0
    done = fedbandit_here(shop, "compare", "my_gossip:MyGossip", "--dataset", "purchases.csv", "--seeds", "1")
    assert done.returncode == 0, done.stderr
    assert "MyGossip (my_gossip)" in done.stdout


def test_a_new_data_set_is_imported(
    shop: Path, fedbandit_here: Command, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    assert fedbandit_here(shop, "new", "dataset", "shop").returncode == 0
    monkeypatch.chdir(shop)
    runpy.run_path("shop.py", run_name="__main__")
    assert "40" in capsys.readouterr().out
    assert read_manifest(shop / "data" / "shop")["source"] == "imported"
    assert main(["data", "show", "shop"]) == 0
