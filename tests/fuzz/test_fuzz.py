"""A short version of `make fuzz`, tests that it detects failures, and every bug that it found."""

import gzip
import hashlib
import io
import json
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.plan.experiment import load_experiment
from data_pipelines.fetch.archive import Archive
from data_pipelines.own_data.table import read_header
from tests.fuzz import attempts, bundles
from tests.fuzz.__main__ import main
from tests.fuzz.attempts import Report, attempt, attempt_many, input_of
from tests.fuzz.target import Target, require
from tests.fuzz.targets import BY_NAME, TARGETS

SHORT = 120
MANY = list(range(1, 2000))
VALID = {"streams": '[{ simulated = "uniform" }]', "algorithms": '[{ name = "async-linucb", gamma = 5 }]', "seeds": "1"}


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_hostile_input_is_accepted_correctly_or_refused_with_a_one_line_error(target: Target):
    target.warm_up()
    report = attempt_many(target, 0, SHORT)
    assert [reason for _, reason, _ in report.failures] == []
    assert report.accepted > 0
    assert report.refused > 0
    assert report.accepted + report.refused == SHORT
    assert [input_of(target, 3, number) for number in range(5)] == [input_of(target, 3, number) for number in range(5)]


def crash(content: bytes) -> bool:
    raise KeyError("not one of our messages")


def hang(content: bytes) -> bool:
    while True:
        time.sleep(0.01)


def accept_wrongly(content: bytes) -> bool:
    require(False, "a wrong acceptance")
    return True


@pytest.mark.parametrize("check", [crash, hang, accept_wrongly])
def test_crashes_hangs_and_wrong_acceptance_are_counted(
    check: Callable[[bytes], bool], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(attempts, "SECONDS_PER_INPUT", 0.2)
    report = Report()
    attempt(report, check, b"input")
    assert (report.inputs, report.accepted, report.refused, report.failed) == (1, 0, 0, 1)
    assert bytes.fromhex(report.failures[0][2]) == b"input"


def test_the_command_prints_a_table_and_fails_for_an_unknown_target(capsys: pytest.CaptureFixture[str]):
    assert main(["--inputs", "200", "--only", "tables of numbers"]) == 0
    table = capsys.readouterr().out
    assert "| target " in table
    assert "| all " in table
    with pytest.raises(SystemExit, match="2"):
        main(["--only", "no such target"])


def parquet(*columns: tuple[str, list[object]]) -> bytes:
    """Return a Parquet file with one item, and further columns."""
    names, values = zip(*columns, ("item", ["i1"]), strict=True)
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([pa.array(each) for each in values], names=list(names)), buffer)
    return buffer.getvalue()


def link_in_an_archive() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        info = zipfile.ZipInfo("a.dat")
        info.create_system, info.external_attr = 3, 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    return buffer.getvalue()


def bundle_with_damaged_metrics() -> bytes:
    contents = bundles.members(bundles.valid())
    metrics = contents["metrics.parquet"]
    contents["metrics.parquet"] = metrics[:8] + bytes(8) + metrics[16:]
    about = json.loads(contents["bundle.json"])
    about["sha256"]["metrics.parquet"] = hashlib.sha256(contents["metrics.parquet"]).hexdigest()
    return bundles.zipped(contents | {"bundle.json": json.dumps(about).encode()})


BUGS = {
    "filters": [
        b"algorithm\0sync-linucb[threshold=[',2.5],alpha=theory]",
        b"algorithm\0\0sync-l:t",
        b"algorithm\0async-linue\xd1:u",
        b"algorithm\0async-linucb[gamma=5,gamma=6]",
        b"algorithm\0async-linucb[]",
        b"algorithm\0async-linucb[gamma=5,,]",
        b"algorithm\0async-linucb[gamma=[]]",
        b"seeds\x0099999999999999",
        b"seeds\x000-99999999999999",
        b"set\0=1",
        b"set\0least_rating=nan",
        b"set\0least_rating=-1",
    ],
    "import of CSV": [
        b"user,item,time]b,i4,2024-05-31\n\xc3\xbc,i1,-3\n",
        b"user,user,item\na,b,i1\n",
        b"user,item\nNaN,i1\n",
        b"user,item\n \t ,i1\n",
        b"user,item\n" + b"x" * 200_000 + b",i1\n",
        gzip.compress(b"user,item\na,i1\n", mtime=0),
    ],
    "import of Parquet": [
        *(parquet(("user", [user])) for user in ([1], b"a", True, float("nan"), float("inf"), {"a": 1}, None)),
        parquet(("user", [1]), ("user", [2])),
    ],
    "zip archives": [link_in_an_archive()],
    "bundles": [bundle_with_damaged_metrics()],
    "command lines": [b"run\x1fx\x1b[2J\ny.toml"],
}


@pytest.mark.parametrize(
    ("name", "content"),
    [pytest.param(name, each, id=f"{name} {i}") for name in BUGS for i, each in enumerate(BUGS[name])],
)
def test_inputs_that_once_failed_are_refused_with_a_one_line_error(name: str, content: bytes):
    assert BY_NAME[name].check(content) is False


def test_a_member_without_a_name_is_ignored(tmp_path: Path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.dat", b"1")
        archive.writestr("!", b"")
    content = bytearray(buffer.getvalue())
    # A directory entry with an empty name: its length is 0, and its one character becomes a comment.
    start = content.rindex(b"PK\x01\x02")
    content[start + 28 : start + 30], content[start + 32 : start + 34] = b"\0\0", b"\1\0"
    path = tmp_path / "a.zip"
    path.write_bytes(content)
    with Archive(path, {"a.dat": 10}) as archive:
        assert archive.read("a.dat") == b"1"


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("seeds", "true", "got True"),
        ("seeds", '"3"', "got '3'"),
        ("seeds", "999999999999", "got 999999999999"),
        ("seeds", "1\ngrid = { start = 1, stop = 2, points = 9999999999 }", "points must be less than"),
        ("seeds", "1\ngrid = { start = 1, stop = inf, points = 3 }", "stop must be a finite number, got inf"),
        ("streams", '[{ simulated = "uniform", steps = 2_000_000_000, arms = 100 }]', "must be at most 2,147,483,647"),
        ("streams", '[{ simulated = "uniform", global_dim = [26] }]', "global_dim must be from 1 to dimension"),
        ("algorithms", f'[{{ name = "async-linucb", gamma = {MANY}, ridge = {MANY} }}]', "must have at most"),
        ("algorithms", '[{ name = "async-linucb", gamma = [] }]', "has no parameter values in profile"),
        ("algorithms", '[{ name = "async-linucb", gamma = "grid" }]', "has no parameter values in profile"),
        ("streams", "[" * 5000, "is not valid TOML"),
    ],
)  # fmt: skip
def test_an_experiment_file_cannot_request_unbounded_work(tmp_path: Path, field: str, value: str, message: str):
    parts = {**VALID, field: value}
    path = tmp_path / "mine.toml"
    path.write_text(
        f'title = "x"\nstreams = {parts["streams"]}\nalgorithms = {parts["algorithms"]}\n'
        f"[profiles.quick]\nseeds = {parts['seeds']}\n"
    )
    start_time = time.monotonic()
    with pytest.raises(ValueError, match=r"mine\.toml") as caught:
        load_experiment(str(path))
    assert message in str(caught.value)
    assert str(caught.value).isprintable()
    assert time.monotonic() - start_time < 5


def test_an_experiment_file_of_many_megabytes_is_not_read(tmp_path: Path):
    (tmp_path / "big.toml").write_bytes(b"#" * 3_000_000)
    with pytest.raises(ValueError, match=r"larger than 1,000,000 bytes"):
        load_experiment(str(tmp_path / "big.toml"))


def test_a_parquet_file_with_too_many_rows_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("data_pipelines.own_data.table.MAX_ROWS", 1_000_000)
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"user": np.zeros(5_000_000, dtype=np.int8)}), path)
    assert path.stat().st_size < 20_000
    with pytest.raises(ValueError, match=r"it must have at most 1,000,000 rows, got 5,000,000"):
        read_header(path)
