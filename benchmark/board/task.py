"""A task of the board: a stream specification with a name and a version, one TOML file each."""

import hashlib
import json
from pathlib import Path
from typing import Annotated

from pydantic import Field

from benchmark.protocol import BenchmarkProtocol, Count, load_protocol
from data_pipelines.stream_spec import StreamSpec, Strict, TaggedSpec
from data_pipelines.support.messages import load_toml, one_line, unknown_name

FOLDER = Path(__file__).parents[1] / "tasks"
MAX_BYTES = 100_000

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]


class Task(Strict):
    """A task; any change of its stream is a new version."""

    name: Name
    version: Count
    title: Annotated[str, Field(min_length=1, max_length=200)]
    description: Annotated[str, Field(max_length=4000)] = ""
    stream: TaggedSpec

    @property
    def fingerprint(self) -> str:
        """The hash of name, version and stream; title and description do not matter."""
        stream = {"name": self.stream.name, **self.stream.settings()}
        return _hash({"name": self.name, "version": self.version, "stream": stream})


def task_names() -> list[str]:
    """Return the names of the tasks, in the order of the protocol."""
    return list(load_protocol().tasks)


def playable_names() -> list[str]:
    """Return the names of the tasks and of the retired ones, which are not ranked."""
    return [*task_names(), *load_protocol().retired]


def load_task(name: str) -> Task:
    """Read a task by name."""
    if name not in playable_names():
        raise unknown_name("task", name, playable_names())
    return read_task(FOLDER / f"{name}.toml")


def own_task(path: Path) -> Task:
    """Read the file of a user's task; its name is that of the file, and no built-in task has it."""
    if path.stem in playable_names():
        raise ValueError(
            one_line(f"{path}: the file of a task must not have the name of a built-in one, got {path.stem}")
        )
    return read_task(path)


def read_task(path: Path) -> Task:
    """Read the file of a task; one that is not valid raises ValueError with one line."""
    return load_toml(path, Task, MAX_BYTES, name=path.stem)


def task_of(stream: StreamSpec) -> Task:
    """Return a custom task with any stream."""
    return Task(name=stream.name, version=1, title=stream.name, stream=stream)


def board_fingerprint(task: Task, protocol: BenchmarkProtocol) -> str:
    """Return the hash of a task and a protocol: rows with different ones are never mixed."""
    return _hash({"task": task.fingerprint, "protocol": protocol.fingerprint})


def is_shipped(task: Task, protocol: BenchmarkProtocol) -> bool:
    """Whether these are the task and the protocol as they are shipped."""
    is_same_task = task.name in task_names() and load_task(task.name).fingerprint == task.fingerprint
    return is_same_task and protocol.fingerprint == load_protocol().fingerprint


def experiment_name(task: Task, protocol: BenchmarkProtocol) -> str:
    """Return the name of the MLflow experiment; another task or protocol has another one."""
    versions = (("", task.version), ("protocol", protocol.version))
    if is_shipped(task, protocol):
        return "_".join(["board", task.name, *(f"{name}v{version}" for name, version in versions if version > 1)])
    return f"board_{task.name}_{board_fingerprint(task, protocol)[:8]}"


def _hash(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
