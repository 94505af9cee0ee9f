"""All texts can be stored, and a finished run has its files."""

import shutil
import sys
from pathlib import Path

import pytest

from benchmark.execution.run_result import RunResult
from benchmark.plan.experiment import Experiment, load_experiment
from benchmark.plan.method_names import parse_filter
from benchmark.plan.plan import RunOptions, make_plan
from benchmark.plan.runs import Run
from benchmark.records.artifacts import FILES
from benchmark.records.reader import finished_runs
from benchmark.records.store import MAX_DETAILS, MAX_TAG, Store
from data_pipelines.support.messages import one_line
from tests.benchmark.tiny_sweeps import RUNS, Command, artifact_folder, results, rows, statuses, write_tiny

HOSTILE = "NUL \0, surrogate \ud800, bell \a, escape \x1b[31m, C1 \x9b, no \uffff, tab\t, é 界 🙂\nsecond line"
ESCAPED = (
    "NUL \\x00, surrogate \\ud800, bell \\x07, escape \\x1b[31m, C1 \\x9b, no \\uffff, tab\t, é 界 🙂\nsecond line"
)


def hostile_run(folder: Path) -> tuple[Experiment, Run]:
    """A run with hostile texts in a parameter; an experiment file with such texts is refused."""
    write_tiny(folder, steps=50, seeds=1)
    file = folder / "tiny.toml"
    (folder / "hostile_parameter.py").write_text(
        "class Hostile:\n"
        "    def __init__(self, text='x'):\n        self.text = text\n"
        "    def choose(self, client, contexts, rng):\n        return 0\n"
        "    def learn(self, client, context, reward):\n        pass\n"
    )
    sys.modules.pop("hostile_parameter", None)  # imported by an earlier test from its own folder
    experiment = load_experiment(str(file))
    plan = make_plan([experiment], RunOptions(methods=(parse_filter("hostile_parameter:Hostile[text=a\0\ud800b]"),)))
    return experiment, next(run for run in plan.runs if run.info.name == "hostile_parameter:Hostile")


def record_failure(store: Store, folder: Path, error: str) -> str:
    experiment, run = hostile_run(folder)
    parent = store.begin_sweep(experiment.info, "quick", 1)
    failed = RunResult(1.0, 2.0, "host", error=error, details=f"Traceback\n{error}")
    return store.record(parent, experiment.info, run, failed).run_id


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_an_error_with_nul_and_lone_surrogates_is_stored(here: Path):
    write_tiny(here)
    store = Store(f"sqlite:///{here / 'mlflow.db'}")
    run_id = record_failure(store, here, HOSTILE)
    stored = store.client.get_run(run_id)
    assert stored.info.status == "FAILED"
    assert stored.data.tags["fedbandit.error"] == ESCAPED
    assert stored.data.params["text"] == "a\\x00\\ud800b"
    (artifact_uri,) = rows(here, f"select artifact_uri from runs where run_uuid = '{run_id}'")[0]
    assert (artifact_folder(here, artifact_uri) / "error.txt").read_text() == f"Traceback\n{ESCAPED}"
    texts = [
        text for table in ("tags", "params", "experiment_tags") for (text,) in rows(here, f"select value from {table}")
    ]
    assert not [text for text in texts if "\0" in text or "\x1b" in text]


def test_an_error_of_five_megabytes_is_shortened(here: Path):
    write_tiny(here)
    store = Store(f"sqlite:///{here / 'mlflow.db'}")
    run_id = record_failure(store, here, "begin" + "x" * 5_000_000 + "end")
    tag = store.client.get_run(run_id).data.tags["fedbandit.error"]
    assert tag.startswith("beginx")
    assert tag.endswith("xend")
    assert "characters omitted" in tag
    assert len(tag) < MAX_TAG + 100
    (artifact_uri,) = rows(here, f"select artifact_uri from runs where run_uuid = '{run_id}'")[0]
    assert (artifact_folder(here, artifact_uri) / "error.txt").stat().st_size < MAX_DETAILS + 100
    assert len(one_line("x" * 5_000_000)) < 2100


def files_of(folder: Path) -> list[Path]:
    """The artifact folders of all runs; those that summarise a setting have other files."""
    query = (
        "select artifact_uri from runs join tags using (run_uuid) "
        "where key = 'fedbandit.kind' and tags.value = 'run' order by run_uuid"
    )
    return [artifact_folder(folder, artifact_uri) for (artifact_uri,) in rows(folder, query)]


@pytest.fixture
def copied(swept: Path, tmp_path: Path) -> Path:
    """A store that was moved: its database still has the old paths of the files."""
    return Path(shutil.copytree(swept, tmp_path / "copied"))


def test_a_run_whose_artifacts_are_gone_is_run_again(tmp_path: Path, fedbandit_here: Command):
    """One without a folder, one without one of its files, one with an empty file; also if it would be reused."""
    assert fedbandit_here(tmp_path, "run", write_tiny(tmp_path), "--seeds", "1", "--jobs", "1").returncode == 0
    before = results(tmp_path)
    missing, without_curve, empty, *_ = files_of(tmp_path)
    shutil.rmtree(missing)
    (without_curve / "curve.parquet").unlink()
    (empty / "clients.parquet").write_bytes(b"")
    planned = fedbandit_here(tmp_path, "run", "tiny.toml", "--seeds", "1", "--dry-run")
    assert f"{RUNS // 2} runs: {RUNS // 2 - 3} done, 3 to do" in planned.stdout
    shutil.copy(tmp_path / "tiny.toml", tmp_path / "other.toml")
    other = fedbandit_here(tmp_path, "run", "other.toml", "tiny.toml", "--seeds", "1", "--jobs", "1")
    assert other.returncode == 0, other.stderr
    assert fedbandit_here(tmp_path, "run", "tiny.toml", "--seeds", "1").stdout.startswith(
        f"{RUNS // 2} runs, all finished"
    )
    assert not list(tmp_path.rglob("error.txt"))
    assert statuses(tmp_path) == {"FINISHED": RUNS + 3}
    finished = finished_runs(Store(f"sqlite:///{tmp_path / 'mlflow.db'}"), ["tiny", "other"])
    assert len(finished) == RUNS
    assert {run.key for run in finished} == before.keys()


def test_a_run_without_files_is_not_read_back(copied: Path, swept: Path):
    store = Store(f"sqlite:///{copied / 'mlflow.db'}")
    run = finished_runs(store, ["tiny"])[0]
    outcome = store.outcome_of(run.run_id)
    assert outcome is not None
    assert sorted(outcome.files) == sorted(FILES)
    folder = artifact_folder(copied, run.artifact_uri)
    folder.rename(folder.with_name("elsewhere"))
    try:
        assert store.outcome_of(run.run_id) is None
    finally:
        folder.with_name("elsewhere").rename(folder)


def test_finished_runs_of_a_store_that_was_moved_stay_finished(copied: Path, swept: Path):
    swept.rename(swept.with_name("away"))
    try:
        assert len(finished_runs(Store(f"sqlite:///{copied / 'mlflow.db'}"), ["tiny"])) == RUNS
    finally:
        swept.with_name("away").rename(swept)
