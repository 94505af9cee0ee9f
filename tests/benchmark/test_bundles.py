"""Bundles: the same bytes everywhere, runs that agree, and files of strangers that are changed or hostile."""

import hashlib
import io
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmark.bundles import verify
from benchmark.bundles.bundle import ABOUT, BOARDS, CARD, METRICS, RUNS, Bundle, Source, read_bundle
from benchmark.bundles.make import make_bundle
from benchmark.bundles.verify import Check, checks, sample
from benchmark.plan.run_key import run_key
from benchmark.records.record import RunRecord
from benchmark.records.store import Store
from tests.benchmark.tiny_sweeps import RUNS as NUMBER_OF_RUNS
from tests.benchmark.tiny_sweeps import Command, command, environment, fedbandit, write_tiny

FIRST = """from helper import first
from algorithms import Transfers

class First:
    def choose(self, client, contexts, rng):
        return first()

    def learn(self, client, context, reward):
        return Transfers(uploads=[client])
"""
HELPER = "def first():\n    return 0\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the runs of two built-in methods and of a user's class, and their bundle."""
    folder = tmp_path_factory.mktemp("bundled")
    (folder / "mine.py").write_text(FIRST)
    (folder / "helper.py").write_text(HELPER)
    done = fedbandit(folder, "run", write_tiny(folder, steps=60), "--method", "mine:First", "--jobs", "1")
    assert done.returncode == 0, done.stderr
    done = fedbandit(folder, "bundle", "tiny", "-o", "tiny.zip")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def bundle(made: Path) -> Bundle:
    return read_bundle(made / "tiny.zip")


def rewritten(file: Path, target: Path, changes: dict[str, bytes], *, rehash: bool) -> Path:
    """Write a bundle in which members are changed or added, with their hashes as in the original or as they are now."""
    with zipfile.ZipFile(file) as original:
        members = {name: original.read(name) for name in original.namelist()} | changes
    if rehash:
        about = json.loads(members[ABOUT])
        hashes = {name: hashlib.sha256(content).hexdigest() for name, content in members.items() if name != ABOUT}
        members[ABOUT] = json.dumps({**about, "sha256": hashes}).encode()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as changed:
        for name, content in members.items():
            changed.writestr(name, content)
    return target


def member(file: Path, name: str) -> bytes:
    with zipfile.ZipFile(file) as original:
        return original.read(name)


def source_of(file: Path) -> str:
    with zipfile.ZipFile(file) as original:
        return next(name for name in original.namelist() if name.endswith("mine.py"))


def with_other_choices(file: Path) -> bytes:
    content = json.loads(member(file, RUNS))
    for run in content["runs"]:
        run[3] = "0" * 64
    return json.dumps(content).encode()


def with_source(bundle: Bundle, text: str) -> Bundle:
    """The runs of the user's class, as if they had been made by another source."""
    source = Source("mine:First", {"mine.py": text.encode()}, [])
    runs = []
    for run in bundle.runs:
        if run.method.code:
            method = replace(run.method, code=source.hash)
            identity = f"{method.name}@{source.hash}"
            key = run_key(run.stream.fingerprint, identity, method.parameters, run.seed)
            runs.append(replace(run, method=method, key=key))
    return replace(bundle, runs=runs, sources={source.hash: source})


def only(results: list[Check | str]) -> list[Check]:
    return [each for each in results if isinstance(each, Check)]


def test_all_runs_of_a_bundle_agree_and_the_source_is_asked_for(made: Path, tmp_path: Path, fedbandit_here: Command):
    file = shutil.copy(made / "tiny.zip", tmp_path)
    asked = fedbandit_here(tmp_path, "verify", file, "--all")
    assert asked.returncode == 2
    assert "  | class First:" in asked.stdout
    assert asked.stderr.count("\n") == 1
    assert "add --trust" in asked.stderr
    done = fedbandit_here(tmp_path, "verify", file, "--all", "--trust")
    assert done.returncode == 0, done.stdout
    runs = NUMBER_OF_RUNS + 2
    assert done.stdout.count("reward agree, transfers agree, choices agree") == runs
    assert f"{runs} of {runs} runs agree" in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.zip"]


def test_the_verifier_draws_the_sample_by_a_seed(bundle: Bundle):
    drawn = [[run.key for run in sample(bundle, 5, seed)] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(drawn[0]) == 5
    assert len(sample(bundle, None, 1)) == len(bundle.runs)


def test_a_method_has_its_runs_only_and_a_record_has_no_time_and_no_path(made: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(made)
    store = Store(f"sqlite:///{made / 'mlflow.db'}")
    runs = make_bundle("sync-linucb", store).runs
    assert {run.method.name for run in runs} == {"sync-linucb"}
    assert all(run.choices and "kernel_seconds" not in run.metrics for run in runs)
    assert str(made).encode() not in b"".join(member(made / "tiny.zip", name) for name in (RUNS, ABOUT, BOARDS))
    with pytest.raises(ValueError, match="did you mean sync-linucb"):
        make_bundle("sync-linucbb", store)


def test_source_that_has_changed_since_its_runs_is_not_bundled(made: Path, tmp_path: Path):
    for name in ("mlflow.db", "mine.py", "helper.py"):
        shutil.copy(made / name, tmp_path)
    (tmp_path / "helper.py").write_text("def first():\n    return 1\n")
    done = fedbandit(tmp_path, "bundle", "mine:First")
    assert done.returncode == 2
    assert "is not that of its runs" in done.stderr


def test_a_card_is_written_to_be_filled_in_and_checked(made: Path, tmp_path: Path, fedbandit_here: Command):
    shutil.copy(made / "mlflow.db", tmp_path)
    done = fedbandit_here(tmp_path, "bundle", "sync-linucb", "--card", "card.toml")
    assert "fill it in" in done.stdout
    card = tmp_path / "card.toml"
    card.write_text(card.read_text().replace('name = ""', 'name = "Sync"'))
    fedbandit_here(tmp_path, "bundle", "sync-linucb", "--card", "card.toml")
    assert 'name = "Sync"' in read_bundle(tmp_path / "sync-linucb.zip").card.decode()
    card.write_text("name = 3\n")
    wrong = fedbandit_here(tmp_path, "bundle", "sync-linucb", "--card", "card.toml")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)


@pytest.mark.slow
def test_two_kinds_of_processors_give_the_same_bytes(tmp_path: Path):
    kernels = "import numpy, threadpoolctl; print({each['architecture'] for each in threadpoolctl.threadpool_info()})"
    contents, architectures = [], set[str]()
    for core in ("Haswell", "Sandybridge"):
        folder, variables = tmp_path / core, environment(OPENBLAS_CORETYPE=core)
        folder.mkdir()
        write_tiny(folder, steps=200)
        for words in (command("run", "tiny.toml", "--jobs", "1"), command("bundle", "tiny")):
            done = subprocess.run(words, cwd=folder, env=variables, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
        used = subprocess.run(
            [sys.executable, "-c", kernels], env=variables, capture_output=True, text=True, check=True
        )
        architectures.add(used.stdout)
        contents.append((folder / "tiny.zip").read_bytes())
    assert len(architectures) == 2
    assert contents[0] == contents[1]


TAMPERED: dict[str, tuple[Callable[[Path], dict[str, bytes]], bool, str]] = {
    "record": (lambda file: {RUNS: with_other_choices(file)}, False, "wrong hash of runs.json"),
    "metrics": (lambda file: {METRICS: member(file, METRICS)[:-1] + b"x"}, False, "wrong hash of metrics.parquet"),
    "source": (lambda file: {source_of(file): b"import os\n"}, False, "wrong hash of mine.py"),
    "card": (lambda file: {CARD: b'name = "other"\n'}, False, "wrong hash of card.toml"),
    "hash": (lambda file: {ABOUT: member(file, ABOUT).replace(b'":"', b'":"0', 1)}, False, "is not a valid bundle"),
    "source with its hash": (lambda file: {source_of(file): b"import os\n"}, True, "has the hash"),
    "seed with its hash": (
        lambda file: {RUNS: member(file, RUNS).replace(b'",0,"', b'",7,"')},
        True,
        "does not follow from its record",
    ),
    "protocol": (
        lambda file: {ABOUT: member(file, ABOUT).replace(b'"fingerprint":"', b'"fingerprint":"0')},
        False,
        "of the protocol, expected",
    ),
    "traversal": (lambda file: {"../evil.py": b"import os\n"}, True, "points outside the archive"),
    "name of a source": (lambda file: {"source/0123456789abcdef/a b.py": b""}, True, "members must be"),
    "bomb": (lambda file: {RUNS: b" " * 150_000_000}, True, "must unpack to at most"),
    "bomb of sources": (lambda file: {source_of(file): b" " * 2_000_000}, True, "must unpack to at most"),
    "bomb in a table": (lambda file: {METRICS: texts_in_parquet()}, True, "must have numbers only"),
    "no JSON": (lambda file: {RUNS: b"["}, True, "is not valid JSON"),
    "wrong JSON": (lambda file: {RUNS: b'{"sources": []}'}, True, "is not a valid bundle"),
    "deep JSON": (lambda file: {RUNS: b"[" * 100_000}, True, "is not valid JSON"),
    "card with its hash": (lambda file: {CARD: b"name = 3\n"}, True, "name must be a valid string, got 3"),
}


def texts_in_parquet() -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table({"reward": ["x" * 1000] * 100}), buffer)
    return buffer.getvalue()


@pytest.mark.parametrize("kind", TAMPERED)
def test_a_changed_or_hostile_bundle_is_one_line_and_nothing_is_executed_or_written(
    made: Path, tmp_path: Path, fedbandit_here: Command, kind: str
):
    changes, rehash, message = TAMPERED[kind]
    file = rewritten(made / "tiny.zip", tmp_path / "b.zip", changes(made / "tiny.zip"), rehash=rehash)
    done = fedbandit_here(tmp_path, "verify", str(file), "--trust")
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert "checks" not in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["b.zip"]
    assert not (tmp_path.parent / "evil.py").exists()


def test_results_that_were_made_up_differ_when_they_are_run_again(
    made: Path, tmp_path: Path, fedbandit_here: Command, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(made)
    bundle = make_bundle("sync-linucb", Store(f"sqlite:///{made / 'mlflow.db'}"))
    first, second, third, *_ = bundle.runs
    forged = [
        replace(first, metrics={**first.metrics, "regret": first.metrics["regret"] * 0.99}),
        replace(second, choices="0" * 64),
        replace(third, metrics={**third.metrics, "uploads": 1.0}, choices=""),
    ]
    (tmp_path / "b.zip").write_bytes(replace(bundle, runs=forged).to_bytes())
    done = fedbandit_here(tmp_path, "verify", "b.zip")
    assert done.returncode == 1
    assert "reward DIFFER, transfers agree, choices agree" in done.stdout
    assert "reward agree, transfers agree, choices DIFFER" in done.stdout
    assert "reward agree, transfers DIFFER, choices not recorded" in done.stdout
    assert "0 of 3 runs agree" in done.stdout


ANSWERING = """
import os
for number in range(3, 20):
    try:
        os.write(number, b"[]]\\n")
    except OSError:
        pass
"""
HOSTILE = {
    "imports what is missing": ("import nothing_of_this_name\n", "nothing_of_this_name"),
    "ends the process": ("import os\nos._exit(3)\n", "exit code 3"),
    "exits": ("raise SystemExit(4)\n", "SystemExit"),
    "loops for ever": ("while True:\n    pass\n", "no answer within"),
    "takes all memory": ("x = bytearray(1 << 40)\n", "cannot be imported"),
    "gives answers of its own": (ANSWERING, "cannot be read"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_source_that_fails_is_one_line_per_run(bundle: Bundle, monkeypatch: pytest.MonkeyPatch, kind: str):
    text, message = HOSTILE[kind]
    monkeypatch.setattr(verify, "MAX_SECONDS", 10.0 if "loops" in kind else verify.MAX_SECONDS)
    changed = with_source(bundle, text + FIRST.replace("from helper import first\n", "").replace("first()", "0"))
    results = only([*checks(changed, sample(changed, None, 0))])
    assert len(results) == 2
    assert not any(each.agrees for each in results)
    assert all(message in each.error and "\n" not in each.error for each in results)


WRITING = """
import socket
from pathlib import Path
Path("inside").touch()
found = []
try:
    Path(OUTSIDE).touch()
    found.append("wrote")
except OSError:
    pass
try:
    socket.create_connection(("127.0.0.1", PORT), 5)
    found.append("connected")
except OSError:
    pass
if found:
    raise ValueError(" and ".join(found))
"""


def test_a_source_has_no_network_and_writes_to_a_temporary_folder_only(bundle: Bundle, tmp_path: Path):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        text = WRITING.replace("OUTSIDE", repr(str(tmp_path / "x"))).replace("PORT", str(server.getsockname()[1]))
        changed = with_source(bundle, text + FIRST.replace("from helper import first\n", "").replace("first()", "0"))
        results = [*checks(changed, sample(changed, 1, 0))]
    missing = " ".join(each for each in results if isinstance(each, str))
    expected = [("the network", "connected"), ("files outside", "wrote")]
    allowed = {word for name, word in expected if name in missing}
    (check,) = only(results)
    assert check.agrees or all(word in allowed for word in check.error.partition(": ")[2].split(" and ")), check.error
    assert not (tmp_path / "x").exists() or "wrote" in allowed


LEAVING = """
import subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", MARK], start_new_session=True)
"""


def test_a_process_that_a_source_starts_ends_with_it(bundle: Bundle, tmp_path: Path):
    import psutil

    text = LEAVING.replace("MARK", repr(str(tmp_path)))
    changed = with_source(bundle, text + FIRST.replace("from helper import first\n", "").replace("first()", "0"))
    results = [*checks(changed, sample(changed, 1, 0))]
    assert all(each.agrees for each in only(results))
    is_limited = "this system cannot limit processes that outlive it" not in results
    left = [each for each in psutil.process_iter(["cmdline"]) if str(tmp_path) in (each.info["cmdline"] or ())]
    for process in left:
        process.kill()
    assert not (left and is_limited)


def test_an_older_record_without_choices_stays_readable(bundle: Bundle):
    run = replace(bundle.runs[0], choices="")
    again = RunRecord.from_mlflow({"fedbandit.record": run.to_json()}, {}, run_id="", experiment="tiny")
    assert "choices" not in json.loads(run.to_json())
    assert again.choices == ""
