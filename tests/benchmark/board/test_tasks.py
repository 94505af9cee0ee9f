"""The files of tasks: valid, versioned, and the same names as in the protocol; their streams fit into memory."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmark.board.task import (
    FOLDER,
    board_fingerprint,
    experiment_name,
    load_task,
    playable_names,
    read_task,
    task_names,
    task_of,
)
from benchmark.protocol import load_protocol
from data_pipelines.stream_spec import simulated_spec
from tests.benchmark.board.tiny_boards import small_protocol, tiny_task


def test_every_task_of_the_protocol_has_a_file_and_no_other_file_exists():
    assert sorted(playable_names()) == sorted(path.stem for path in FOLDER.glob("*.toml"))
    assert all(load_task(name).version >= 1 for name in playable_names())


def test_nothing_is_offered_twice_in_the_tasks_on_real_data_with_learned_features():
    streams = {name: load_task(name).stream for name in task_names()}
    learned = [stream for stream in streams.values() if getattr(stream, "features", "words") != "words"]
    assert [stream.dataset for stream in learned] == ["movielens-1m", "lastfm", "online-retail"]
    assert all(stream.pools == "rated" or not stream.repeats_offered for stream in learned)
    simulated = {name for name, stream in streams.items() if hasattr(stream, "simulated")}
    assert {*streams} - simulated == {"movielens-1m-svd", "lastfm-once", "online-retail-profile", "delicious-matched"}


# A started program inherits the peak of the one that started it, a fork does not.
BUILD = """
import os, resource, sys
if os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
from benchmark.board.task import load_task
for name in sys.argv[1:]:
    stream = load_task(name).stream.build(10000)
    stream.offered_items, stream.client_numbers, stream.client_random_rewards
    print(stream.steps)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_the_streams_of_tasks_without_an_archive_take_at_most_one_gib():
    names = [name for name in task_names() if hasattr(load_task(name).stream, "simulated")]
    assert len(names) >= 2
    command = [sys.executable, "-c", BUILD, *names]
    *steps, kib = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert steps == ["30000"] * len(names)
    assert int(kib) * 1024 <= 2**30


def test_the_fingerprint_follows_from_name_version_and_stream_alone():
    task = tiny_task()
    assert task.fingerprint == task.model_copy(update={"title": "Other", "description": "Other"}).fingerprint
    for change in ({"name": "other"}, {"version": 2}, {"stream": tiny_task(steps=301).stream}):
        assert task.model_copy(update=change).fingerprint != task.fingerprint


def test_another_protocol_or_task_has_another_experiment():
    task, protocol = load_task("simulated-uniform"), load_protocol()
    assert experiment_name(task, protocol) == "board_simulated-uniform_protocolv2"
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
        ValueError, match=r"unknown task 'lastfm-onc' \(did you mean lastfm-once\?\); expected one of: "
    ):
        load_task("lastfm-onc")
