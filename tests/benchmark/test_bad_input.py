"""Bad input to any command: one line that names it, exit code 2, and nothing is written."""

import json
import shlex
import subprocess
from pathlib import Path

import pytest

from algorithms import RandomChoice
from algorithms.method import MethodInfo
from benchmark.recommend.document import FORMAT
from benchmark.records.tracking import StoreError, patiently
from tests.benchmark.tiny_sweeps import Command, command, environment

ADDRESS = "tcp://127.0.0.1:9"


EARLIER = {
    "format": FORMAT,
    "date": "2026-03-01",
    "data": dict.fromkeys(("rows", "rows_used", "first_day", "last_day", "client_count", "pools"), 0)
    | {"given": "clicks.csv", "notes": []},
    "budget": {"given": None},
    "decision": {"kind": "undecided"},
    "options": [],
    "versions": {"fedbandit-bench": "0"},
}
"""An earlier answer, on other data."""


def files_in(folder: Path) -> set[Path]:
    """Return all files but the logs of a database that is in use."""
    return {path for path in folder.rglob("*") if not path.name.endswith(("-wal", "-shm"))}


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("run fig_aa", "unknown experiment 'fig_aa' (did you mean fig_a?)"),
        ("run tiny", "unknown experiment 'tiny'; did you mean the file tiny.toml?"),
        ("run missing.toml", "experiment 'missing.toml': no such file in "),
        (
            "run misspelt.toml",
            "unknown field profiles.quick.sedes (did you mean seeds?), got 2; expected one of: seeds",
        ),
        ("run fig_a --profile papr", "unknown profile of fig_a 'papr' (did you mean paper?)"),
        ("run fig_a --method sync-linuc", "unknown method 'sync-linuc' (did you mean sync-linucb?)"),
        ("run fig_a --algorithm sync-linuc", "unknown method 'sync-linuc' (did you mean sync-linucb?)"),
        ("run fig_a --method async-linucb[gamma=0]", "gamma must be a number from 1 to inf, got 0"),
        ("run fig_a --method async-linucb[gama=5]", "did you mean gamma?"),
        ("run fig_a --method async-linucb[gamma]", "expected parameter=value, got 'gamma'"),
        ("run fig_a --method async-linucb[gamma=5", "must be NAME, NAME[parameter=value,…] or module:Class"),
        ("run fig_a --method gone:Gone", "No module named 'gone' (searched "),
        ("run fig_a --method gone.py:Gone", "; write gone:Gone"),
        ("run fig_d --dataset lastfn", "unknown dataset 'lastfn' (did you mean lastfm?)"),
        ("run fig_a --seeds x", "at most 100,000 seeds, got 'x'"),
        ("run fig_a --jobs 0", "--jobs must be an integer from 1, got 0"),
        ("run fig_a --executor dask", "--executor dask requires --scheduler ADDRESS"),
        (f"run fig_a --executor dask --scheduler {ADDRESS} --jobs 2", "--jobs must only be used"),
        (f"run fig_a --scheduler {ADDRESS}", f"--scheduler must only be used with --executor dask, got '{ADDRESS}'"),
        (f"run fig_a --executor dask --scheduler {ADDRESS}", "no Dask scheduler responds there"),
        ("run fig_a --executor dask --scheduler tls://127.0.0.1:9", "; set Dask's distributed.comm.tls.ca-file"),
        ("run fig_a --run-timeout 0", "--run-timeout must be a number above 0, got '0'"),
        ("run fig_a --memory-limit much", "--memory-limit must be a number above 0, got 'much'"),
        ("board --run-timeout inf", "--run-timeout must be a number above 0, got 'inf'"),
        ("run deep.toml", "unknown field a, got a value that is nested too deeply"),
        ("run escape.toml", "title: must not have control characters, got 'a\\x1b[2JTiny'"),
        ("run overview.toml", "must not be one of overview, default, got 'overview.toml'"),
        ("run tiny.toml --on shopp", "unknown data set 'shopp'"),
        (
            "run tiny.toml --on bad.csv",
            "take such options; try: fedbandit recommend bad.csv --skip-bad-rows)",
        ),
        ("compare random --dataset lastfmm", "unknown data set or task 'lastfmm' (did you mean lastfm"),
        ("compare random --dataset nothing.csv", "got 'nothing.csv': no such file"),
        ("compare random --dataset empty.csv", "empty.csv"),
        ("compare random --dataset binary.csv", "binary.csv"),
        ("compare random --dataset ./folder.csv", "folder.csv"),
        ("compare random --dataset bad.csv", "line 3: user must be an id, got an empty field (1 row); --skip-"),
        ("compare random --dataset bad.csv --skip-bad-rows", "one user took every item"),
        ("compare async-linuc --dataset purchases.csv", "unknown method 'async-linuc' (did you mean async-linucb"),
        ("compare no_such:Class --dataset purchases.csv", "no_such"),
        ("compare random --dataset purchases.csv --budget ten", "budget must be 10/client"),
        ("compare random --dataset purchases.csv --seeds x", "--seeds must be a number"),
        ("compare random --dataset purchases.csv --seeds 10000-10001", "report seeds must be outside 10000 to 10009"),
        ("compare random --dataset purchases.csv --jobs 0", "--jobs must be an integer from 1, got 0"),
        ("recommend purchases.csv --budget -5/client", "budget must be above 0, got '-5/client'"),
        ("recommend purchases.csv --jobs 0", "--jobs must be an integer from 1, got 0"),
        ("recommend folder.csv", "folder.csv"),
        ("recommend missing.csv", "no such file"),
        ("recommend purchases.csv --out folder.csv", "--out must be a file that can be written, got 'folder.csv'"),
        ("recommend purchases.csv --out empty.csv/page.html", "--out must be a file that can be written"),
        (
            "recommend purchases.csv --json --out answer.json",
            "such as page.html, got 'answer.json'",
        ),
        ("recommend purchases.csv --since gone.json", "wrote, got 'gone.json': No such file or directory"),
        (
            "recommend purchases.csv --since purchases.csv",
            "--since must be a file that `fedbandit recommend --json` wrote",
        ),
        ("recommend purchases.csv --since last.json", "must be an answer on the same data, 'purchases.csv'; that in"),
        ("recommend bad.csv", "line 3: user must be an id, got an empty field (1 row); --skip-bad-rows leaves such"),
        ("recommend lastfm --skip-bad-rows", "--skip-bad-rows must only be used with a CSV or Parquet file, got data"),
        ("recommend simulated-zipf --items x.csv", "--items must only be used with a CSV or Parquet file"),
        ("recommend lastfmm", "unknown data set or task 'lastfmm' (did you mean lastfm"),
        ("board lastfm", "unknown task 'lastfm'"),
        ("board --seeds 9990-10005", "report seeds must be outside 10000 to 10009, got 10000"),
        ("board --configurations 0", "--configurations must be an integer from 1, got 0"),
        ("board --method nonsense", "unknown method 'nonsense'"),
        ("board --jobs 0", "--jobs must be an integer from 1, got 0"),
        ("ui --port 70000", "--port must be an integer from 1 to 65535, got 70000"),
        ("export", "there are no finished runs yet"),
        ("export --format parquet", "--format parquet needs --out FILE"),
        ("export --out no/such/folder.csv", "--out must be a file in an existing folder"),
        ("runs archive", "needs at least one filter"),
        ("runs delete --dry-run", "needs at least one filter"),
        ("runs delete --before 01.03.2026", "--before must be a date such as 2026-03-01, got '01.03.2026'"),
        ("runs archive --failed --yes", "--yes must only be used with `runs delete`"),
        ("new method json", "must not be that of an installed module, got 'json'"),
        ("new method my-method", "without -, got 'my-method'"),
        ("new dataset lastfm", "and not be one of"),
        ("new experiment ../x", "NAME must be at most 50 lower-case letters"),
        ("new experiment tiny", "tiny.toml exists"),
        ("data netflix", "data set must be one of book-crossing, delicious, delicious-tagged, lastfm, "),
        ("data lastfmm", "got 'lastfmm' (did you mean lastfm?)"),
        ("data shwo lastfm", "got 'shwo' (did you mean show?)"),
        ("data show lastfmm", "got 'lastfmm' (did you mean lastfm?)"),
        ("data lastfm --set x", "--set must be KEY=NUMBER with a finite, non-negative number, got 'x'"),
        ("data --set x=1", "--set must be used with exactly one data set, got 9"),
        ("data movielens --set x=1", "movielens has no parameter 'x'"),
        ("data lastfm --dimension 0", "dimension must be an integer from 1 to 1000, got 0"),
        ("data prepare", "got 'prepare'"),
        ("data lastfm show", "got 'show'"),
        ("data lastfm --size small", "--size must only be used with --stand-in, got --size small without it"),
        ("data show lastfm", "lastfm is not prepared; run: fedbandit data lastfm"),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(
    shop: Path, fedbandit_here: Command, command: str, message: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("benchmark.execution.dask_cluster.SECONDS_TO_CONNECT", 0.5)
    (shop / "empty.csv").write_text("")
    (shop / "bad.csv").write_text("user,item\n1,2\n,3\n")
    (shop / "binary.csv").write_bytes(bytes(range(256)) * 10)
    (shop / "folder.csv").mkdir()
    (shop / "misspelt.toml").write_text((shop / "tiny.toml").read_text().replace("seeds =", "sedes ="))
    (shop / "deep.toml").write_text(".".join("a" * 20_000) + " = 1")
    (shop / "escape.toml").write_text((shop / "tiny.toml").read_text().replace('title = "', 'title = "a\\u001b[2J'))
    (shop / "overview.toml").write_text((shop / "tiny.toml").read_text())
    (shop / "last.json").write_text(json.dumps(EARLIER))
    before = files_in(shop)
    done = fedbandit_here(shop, *shlex.split(command), FEDBANDIT_OFFLINE="1")
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("fedbandit: error: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert files_in(shop) == before


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        (
            "sqlite://",
            "MLFLOW_TRACKING_URI must name a file, such as sqlite:///mlflow.db, got sqlite://: results would be lost",
        ),
        ("sqlite:///:memory:", "got sqlite:///:memory:: results would be lost"),
        ("sqlite:///file:x?mode=memory&uri=true", "uri=true: results would be lost"),
        (
            "postgresql+psycopg2://u:secret@127.0.0.1:9/x",
            "the database postgresql+psycopg2://127.0.0.1:9/x does not respond",
        ),
    ],
)
def test_a_store_that_keeps_nothing_or_does_not_respond_is_one_line(
    shop: Path, fedbandit_here: Command, uri: str, message: str
):
    done = fedbandit_here(shop, "run", "tiny.toml", MLFLOW_TRACKING_URI=uri)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert "secret" not in done.stderr


def test_an_error_of_the_request_is_not_repeated(monkeypatch: pytest.MonkeyPatch):
    from mlflow.exceptions import MlflowException
    from mlflow.protos.databricks_pb2 import BAD_REQUEST, INTERNAL_ERROR

    monkeypatch.setattr("time.sleep", lambda seconds: None)
    for code, attempts in ((BAD_REQUEST, 1), (INTERNAL_ERROR, 2)):
        calls = []

        def fail(code: int = code, calls: list[int] = calls) -> None:
            calls.append(code)
            raise MlflowException("no", BAD_REQUEST if len(calls) == 2 else code)

        with pytest.raises(StoreError):
            patiently("http://127.0.0.1:9", fail)
        assert len(calls) == attempts


def test_a_terminal_that_is_not_utf_8_gets_question_marks_and_a_file_gets_utf_8(shop: Path):
    variables = {"PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(
        command("run", "tiny.toml", "--dry-run"), cwd=shop, env=environment(**variables), capture_output=True
    )
    assert done.returncode == 0, done.stderr
    assert b"async-linucb ?=1," in done.stdout


def test_a_label_with_control_characters_is_refused():
    class Strange(RandomChoice):
        name = "strange"
        label = "a\x1bb"
        reference = "none"

    with pytest.raises(ValueError, match="label of strange must have no control characters"):
        MethodInfo.of(Strange, "strange")
