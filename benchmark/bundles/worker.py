"""The process in which `fedbandit verify` executes runs: without network and within limits, where the system can.

It reads a job, one line of JSON, and writes one line for each run. It is not told which results are expected.
"""

import ctypes
import json
import os
import resource
import signal
import struct
import sys
from collections.abc import Sequence
from typing import Any

MAX_MEMORY, MAX_WRITTEN = 8 << 30, 1 << 30
"""Bytes: of addresses, and of a file that is written."""

# Numbers of Linux: flags of `unshare`; the calls of Landlock, and the access to files that each of its versions knows.
NEW_USER, NEW_PROCESSES, NEW_NETWORK = 0x10000000, 0x20000000, 0x40000000
NEW_RULES, ADD_RULE, RESTRICT = 444, 445, 446
VERSION_ONLY, BELOW_FOLDER, NO_NEW_PRIVILEGES = 1, 1, 38
WRITING, RENAMING, TRUNCATING = 0b1111111110010, 1 << 13, 1 << 14


def main() -> None:
    """Execute a job."""
    job, answers = json.loads(sys.stdin.readline()), os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):  # what a method prints is no answer
        os.dup2(nowhere, descriptor)

    def answer(content: object) -> None:
        os.write(answers, json.dumps(content).encode() + b"\n")

    missing = limit(job["writable"])
    # The child is the first of its process numbers: it sees no other process, and with it end all that it started.
    if child := os.fork():
        signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGKILL))
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF)
    answer({"missing": missing})
    try:
        execute(job["runs"], job["reference"], job["code"], answer)
    except BaseException as error:  # also `sys.exit` in a stranger's module
        from data_pipelines.support.messages import error_text

        answer({"error": error_text(error)})


def limit(writable: Sequence[str]) -> list[str]:
    """Limit this process as far as the system can, and return what it cannot; it may write into some folders only."""
    libc, missing = ctypes.CDLL(None), []
    is_linux = sys.platform == "linux"
    spaces = NEW_PROCESSES | NEW_NETWORK
    if not (is_linux and (libc.unshare(spaces) == 0 or libc.unshare(NEW_USER | spaces) == 0)):
        missing += ["the network", "processes that outlive it"]
    if not (is_linux and _write_only_to(libc, writable)):
        missing.append("files outside the temporary folder")
    limits = {resource.RLIMIT_AS: MAX_MEMORY, resource.RLIMIT_FSIZE: MAX_WRITTEN, resource.RLIMIT_CORE: 0}
    for name, value in limits.items():
        try:
            hard = resource.getrlimit(name)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            resource.setrlimit(name, (value, value))
        except (ValueError, OSError):
            missing.append("memory")
    return list(dict.fromkeys(missing))


def _write_only_to(libc: ctypes.CDLL, folders: Sequence[str]) -> bool:
    """Let this process, and those that it starts, write into these folders only, by Landlock; False without it."""
    version = libc.syscall(NEW_RULES, None, 0, VERSION_ONLY)
    if version < 1:
        return False
    access = WRITING | (RENAMING if version > 1 else 0) | (TRUNCATING if version > 2 else 0)
    attributes = struct.pack("Q", access)
    rules = libc.syscall(NEW_RULES, attributes, len(attributes), 0)
    for folder in folders:
        place = os.open(folder, os.O_RDONLY)
        libc.syscall(ADD_RULE, rules, BELOW_FOLDER, struct.pack("=Qi", access, place), 0)
        os.close(place)
    is_on: bool = libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0 and libc.syscall(RESTRICT, rules, 0) == 0
    return is_on


def execute(runs: Sequence[str], reference: str, code: str, answer: Any) -> None:
    """Execute runs, each over its stream; a class that is not built in must have the code of its bundle."""
    from benchmark.bundles.bundle import spec_of
    from benchmark.execution.run_result import run_method
    from benchmark.plan.method_names import created, find_method, make_method, method_info
    from benchmark.plan.own_modules import own_source
    from benchmark.records.record import CHOICES, RunRecord
    from benchmark.records.tags import RECORD

    open_streams: dict[str, Any] = {}
    records = [RunRecord.from_mlflow({RECORD: run}, {}, run_id="", experiment="") for run in runs]
    if reference and own_source(find_method(reference)).hash != code:
        raise ValueError(f"{reference} is imported from another place on this machine, not from the bundle")
    for record in records:
        if record.stream.fingerprint not in open_streams:
            open_streams = {record.stream.fingerprint: spec_of(record).build(record.seed)}
        parameters = dict(record.method.parameters)
        method = (
            created(method_info(reference), parameters) if reference else make_method(record.method.name, parameters)
        )
        result = run_method(open_streams[record.stream.fingerprint], method, record.seed)
        answer({"metrics": result.metrics, CHOICES: result.facts.get(CHOICES, ""), "error": result.error})


if __name__ == "__main__":
    main()
