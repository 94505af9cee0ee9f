"""The files of tasks: valid, versioned, and the same names as in the protocol."""

from pathlib import Path

import pytest

from benchmark.board.task import FOLDER, board_fingerprint, experiment_name, load_task, read_task, task_names, task_of
from benchmark.protocol import load_protocol
from data_pipelines.stream_spec import simulated_spec
from tests.benchmark.board.tiny_boards import small_protocol, tiny_task


def test_every_task_of_the_protocol_has_a_file_and_no_other_file_exists():
    assert sorted(task_names()) == sorted(path.stem for path in FOLDER.glob("*.toml"))
    assert all(load_task(name).version >= 1 for name in task_names())


def test_the_pools_of_tasks_do_not_reveal_the_positive_by_its_popularity():
    streams = {name: load_task(name).stream for name in task_names()}
    rated = {name for name, stream in streams.items() if getattr(stream, "pools", "") == "rated"}
    matched = {name for name, stream in streams.items() if getattr(stream, "negatives", "") == "popularity"}
    simulated = {name for name, stream in streams.items() if hasattr(stream, "simulated")}
    assert rated | matched | simulated == set(streams)
    assert all(streams[name].has_separate_generators for name in rated | matched)


def test_the_fingerprint_follows_from_name_version_and_stream_alone():
    task = tiny_task()
    assert task.fingerprint == task.model_copy(update={"title": "Other", "description": "Other"}).fingerprint
    for change in ({"name": "other"}, {"version": 2}, {"stream": tiny_task(steps=301).stream}):
        assert task.model_copy(update=change).fingerprint != task.fingerprint


def test_another_protocol_or_task_has_another_experiment():
    task, protocol = load_task("simulated-uniform"), load_protocol()
    assert experiment_name(task, protocol) == "board_simulated-uniform"
    smaller = small_protocol()
    assert experiment_name(task, smaller) == f"board_simulated-uniform_{board_fingerprint(task, smaller)[:8]}"
    own = task_of(simulated_spec("uniform", steps=10))
    assert experiment_name(own, protocol).startswith("board_simulated-uniform_")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("version = 1", "required field title is missing"),
        ('version = 0\ntitle = "t"\nstream = { simulated = "uniform" }', "version must be greater than or equal to 1"),
        ('version = 1\ntitle = "t"\nstream = { dataset = "lastfm", negative = "popularity" }', "stream.negative"),
        ('version = 1\ntitle = "t"\nstream = { dataset = "lastfm" }\nseeds = 3', "seeds"),
        ("version = ", "is not valid TOML"),
    ],
)
def test_a_task_that_is_not_valid_is_one_clear_line(tmp_path: Path, content: str, message: str):
    file = tmp_path / "mine.toml"
    file.write_text(content)
    with pytest.raises(ValueError, match=message) as error:
        read_task(file)
    assert "\n" not in str(error.value)


def test_an_unknown_task_is_answered_with_the_known_ones():
    with pytest.raises(
        ValueError, match=r"unknown task 'lastfm-match' \(did you mean lastfm-matched\?\); expected one of: "
    ):
        load_task("lastfm-match")
