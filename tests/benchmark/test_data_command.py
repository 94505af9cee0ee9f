"""The command `fedbandit data`, as a user types it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmark.__main__ import main

GIVEN_MIRROR = os.environ.get("FEDBANDIT_MIRROR")
STAND_IN = ("--stand-in", "--size", "small")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder, no mirror, and nobody to ask: every name fails to resolve at once."""
    monkeypatch.setenv("FEDBANDIT_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("FEDBANDIT_MIRROR", raising=False)
    for proxy in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(proxy, raising=False)
    monkeypatch.setattr("socket.getaddrinfo", _no_network)
    return tmp_path / "data"


def _no_network(*arguments: object, **options: object) -> None:
    import socket

    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


def test_it_ends_with_one_table_and_success(capsys):
    assert main(["data", *STAND_IN]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["data", "set", "source", "users", "items", "interactions", "verified", "path"]
    assert [line.split()[:2] for line in lines[2:5]] == [
        ["delicious", "stand-in"],
        ["lastfm", "stand-in"],
        ["movielens", "stand-in"],
    ]


def test_only_the_data_sets_named_are_prepared(folder: Path, capsys):
    assert main(["data", "lastfm", *STAND_IN]) == 0
    assert (folder / "lastfm" / "manifest.json").is_file()
    assert not (folder / "movielens").exists()


def test_a_second_time_it_does_nothing_and_imports_nothing_heavy(folder: Path):
    assert main(["data", "lastfm", *STAND_IN]) == 0
    before = {path: path.stat().st_mtime_ns for path in (folder / "lastfm").iterdir()}
    code = (
        "import sys; from benchmark.__main__ import main\n"
        "code = main(['data', 'lastfm', '--stand-in', '--size', 'small'])\n"
        "heavy = {'pandas', 'sklearn', 'matplotlib', 'requests', 'pyarrow'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {path: path.stat().st_mtime_ns for path in (folder / "lastfm").iterdir()} == before


def test_offline_every_data_set_is_missing_with_the_ways_on(capsys):
    assert main(["data"]) == 1
    captured = capsys.readouterr()
    assert captured.out.count("MISSING") == 3
    for name, archive in (("lastfm", "hetrec2011-lastfm-2k.zip"), ("movielens", "ml-20m.zip")):
        assert f"{name} is MISSING. Tried: " in captured.err
        assert f"a mirror that has {archive}: --mirror DIR_OR_URL or FEDBANDIT_MIRROR" in captured.err
        assert f"fedbandit data {name} --stand-in" in captured.err
    assert captured.err.count("DNS") == 4  # three official addresses and a copy
    assert "Traceback" not in captured.err


def test_the_exit_code_tells_if_one_of_several_is_missing(capsys):
    assert main(["data", "lastfm", *STAND_IN]) == 0
    assert main(["data", "lastfm", "movielens"]) == 1


def test_the_mirror_may_come_from_the_environment(folder: Path, monkeypatch, tmp_path: Path, capsys):
    assert main(["data", "lastfm", *STAND_IN]) == 0
    archive = folder / "stand-ins" / "small"
    monkeypatch.setenv("FEDBANDIT_DATA", str(tmp_path / "other"))
    monkeypatch.setenv("FEDBANDIT_MIRROR", str(archive))
    assert main(["data", "lastfm"]) == 0
    assert main(["data", "lastfm", "--force", "--mirror", str(tmp_path)]) == 1


def test_real_archives_of_a_mirror(real_mirror: Path, capsys):
    assert main(["data", "--mirror", str(real_mirror)]) == 1
    captured = capsys.readouterr()
    assert "1,855 of 1,867" in captured.out
    assert "103,876 of 104,799" in captured.out
    assert "movielens is MISSING" in captured.err
    assert main(["data", "lastfm", "delicious"]) == 0


@pytest.fixture
def real_mirror() -> Path:
    """The folder with the real archives; without it the test says that it did not run."""
    folder = Path(GIVEN_MIRROR) if GIVEN_MIRROR else Path(__file__).parents[3] / "shared" / "datasets"
    if not (folder / "hetrec2011-lastfm-2k.zip").is_file():
        pytest.skip("NOT RUN: the real archives are neither in FEDBANDIT_MIRROR nor in ../shared/datasets")
    return folder


def test_thresholds_and_dimension_are_options(folder: Path, capsys):
    arguments = ["data", "movielens", *STAND_IN, "--set", "least_rating=0.5", "--dimension", "7"]
    assert main(arguments) == 0
    manifest = (folder / "movielens" / "manifest.json").read_text()
    assert '"least_rating": 0.5' in manifest
    assert '"dimension": 7' in manifest


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["netflix"], "data set is 'netflix'; allowed are delicious, lastfm, movielens"),
        (["lastfm", "--set", "x"], "--set is 'x'; allowed is KEY=NUMBER"),
        (["--set", "x=1"], "--set is given for 3 data sets; allowed is one"),
        (["movielens", "--set", "x=1"], "parameter 'x' is unknown to movielens"),
        (["lastfm", "--dimension", "0"], "dimension is 0; allowed are integers from 1"),
        (["lastfm", "--name", "x"], "--name is given; allowed only with: fedbandit data import"),
        (["lastfm", "--picture", "x.png"], "--picture is given; allowed only with: fedbandit data show"),
        (["show", "lastfm", "--force"], "--force is given; allowed only with: fedbandit data [NAME"),
        (["lastfm", "--size", "small"], "--size is given; allowed only with --stand-in"),
        (["show"], "show is given 0 names; allowed is one"),
        (["show", "lastfm"], "lastfm is not prepared; run: fedbandit data lastfm"),
        (["import"], "--name is missing; needed are --name, --interactions and --items"),
    ],
)
def test_bad_input_ends_in_one_clear_line(arguments: list[str], complaint: str, capsys):
    assert main(["data", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("fedbandit: error: ")
    assert complaint in error
    assert error.count("\n") == 1


def test_show_prints_and_draws(folder: Path, tmp_path: Path, capsys):
    assert main(["data", "lastfm", *STAND_IN]) == 0
    assert main(["data", "show", "lastfm"]) == 0
    assert "activity of users" in capsys.readouterr().out
    assert (folder / "pictures" / "lastfm.png").is_file()
    assert main(["data", "show", "lastfm", "--picture", str(tmp_path / "x.svg")]) == 0
    assert (tmp_path / "x.svg").is_file()


def test_import_makes_a_data_set_that_can_be_shown(folder: Path, tmp_path: Path, capsys):
    rows = "".join(f"{n % 3},{n},{n + 1}\n" for n in range(30))
    (tmp_path / "clicks.csv").write_text("customer,sku,at\n" + rows)
    (tmp_path / "items.csv").write_text("code,title\n" + "".join(f"{n},word{n % 9}\n" for n in range(60)))
    arguments = ["data", "import", "--name", "shop", "--interactions", str(tmp_path / "clicks.csv")]
    arguments += ["--items", str(tmp_path / "items.csv"), "--user-column", "customer", "--item-column", "sku"]
    arguments += ["--time-column", "at", "--id-column", "code", "--words-column", "title"]
    assert main(arguments) == 0
    assert "shop: imported, 3 users, 60 items, 30 interactions" in capsys.readouterr().out
    assert main(["data", "show", "shop"]) == 0
    assert "source         imported" in capsys.readouterr().out


def test_the_help_has_examples():
    environment = {**os.environ, "COLUMNS": "100"}
    command = [sys.executable, "-m", "benchmark", "data", "--help"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "fedbandit data import --name shop" in done.stdout
