"""Verify a bundle: execute a sample of its runs in a process of their own, and compare."""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from algorithms.kernel_cache import CACHE_FOLDER
from benchmark.bundles.bundle import Bundle, Source, spec_of
from benchmark.execution.local import ONE_THREAD
from benchmark.records.record import CHOICES, RunRecord, comparable
from data_pipelines.prepare.prepared import NotPreparedError, data_folder
from data_pipelines.support.messages import one_line

MAX_SECONDS = 300.0
"""Without an answer: of a run with its stream."""

MAX_ANSWER = 100_000
"""Bytes."""

REWARDS = ("reward", "normalised_reward", "regret")
KEPT = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT", "NUMBA_DISABLE_JIT", "OPENBLAS_CORETYPE")
"""The variables of the environment that a stranger's source sees."""


@dataclass(frozen=True)
class Check:
    """A run that was executed again: for reward, transfers and choices, whether they agree; None if not recorded."""

    run: RunRecord
    agreement: Mapping[str, bool | None]
    error: str = ""

    @property
    def agrees(self) -> bool:
        """Whether nothing differs."""
        return not self.error and all(same is not False for same in self.agreement.values())


def sample(bundle: Bundle, count: int | None, seed: int) -> list[RunRecord]:
    """Return runs drawn by a seed, or all; each key once, and runs over the same stream one after the other.

    The methods take turns, so that a method with few runs is drawn as often as one with many.
    """
    runs = list({run.key: run for run in bundle.runs}.values())
    shuffled = [runs[number] for number in np.random.default_rng(seed).permutation(len(runs))]
    turns: Counter[str] = Counter()
    order = {}
    for run in shuffled:
        order[run.key] = turns[run.method.name]
        turns[run.method.name] += 1
    drawn = sorted(shuffled, key=lambda run: order[run.key])[:count]
    return sorted(drawn, key=lambda run: (run.method.code, run.stream.fingerprint, run.key))


def check_streams(runs: Sequence[RunRecord]) -> None:
    """Check that the streams of runs can be built here: other data or another generator is one line."""
    for run in runs:
        name, spec = run.stream.name, spec_of(run)
        try:
            spec = spec.bound()
        except NotPreparedError as error:
            raise ValueError(f"{error.reason}; prepare it with `fedbandit data {name}`") from None
        copies = [
            f"{source} {(prepared or '')[:16]}"
            for source, prepared in ((run.stream.source, run.stream.prepared), (spec.source, spec.prepared()))
        ]
        if copies[0] != copies[1]:
            raise ValueError(f"data copy differs: {name} is {copies[0]} in the bundle, {copies[1]} here")
        if spec.fingerprint(run.seed) != run.stream.fingerprint:
            raise ValueError(f"stream differs: the fingerprint of {name} with seed {run.seed} is another one here")


def checks(bundle: Bundle, runs: Sequence[RunRecord]) -> Iterator[Check | str]:
    """Execute runs and yield how each agrees, and a sentence on each limit that this system does not have.

    The runs of one source share a process; if it ends or hangs, its further runs fail.
    """
    said: set[str] = set()
    for code in dict.fromkeys(run.method.code for run in runs):
        left = [run for run in runs if run.method.code == code]
        for answer in _answers(left, bundle.sources.get(code)):
            for name in answer.get("missing", ()) if code else ():
                if name not in said:
                    said.add(name)
                    yield f"this system cannot limit {name}"
            if "metrics" in answer:
                yield _check(left.pop(0), answer)
            elif error := answer.get("error"):
                yield from (Check(run, {}, one_line(error)) for run in left)
                left = []
            if not left:
                break


def _check(run: RunRecord, answer: Mapping[str, Any]) -> Check:
    if error := answer.get("error"):
        return Check(run, {}, one_line(error))
    metrics, choices = answer["metrics"], answer.get(CHOICES)
    same = {name: comparable(metrics.get(name)) == comparable(value) for name, value in run.metrics.items()}
    agreement = {
        "reward": all(same.get(name, True) for name in REWARDS),
        "transfers": all(is_same for name, is_same in same.items() if name not in REWARDS),
        "choices": choices == run.choices if run.choices else None,
    }
    return Check(run, agreement)


def _answers(runs: Sequence[RunRecord], source: Source | None) -> Iterator[dict[str, Any]]:
    """Execute runs in a new process and yield its answers; the last one is an error if it ended before its runs did."""
    with tempfile.TemporaryDirectory(prefix="fedbandit-verify-") as name:
        folder = Path(name)
        environment = {"FEDBANDIT_DATA": str(data_folder().resolve()), **dict.fromkeys(ONE_THREAD, "1")}
        if source is None:
            with suppress(OSError):  # without it, every process compiles the kernels
                CACHE_FOLDER.mkdir(parents=True, exist_ok=True)
            environment, writable = {**os.environ, **environment}, [name, *filter(os.path.isdir, [str(CACHE_FOLDER)])]
        else:
            kept = {key: os.environ[key] for key in KEPT if key in os.environ}
            caches = dict.fromkeys(("HOME", "TMPDIR", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME"), name)
            environment, writable = {**kept, **environment, **caches}, [name]
            for path, content in source.files.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(content)
        job = {
            "runs": [run.to_json() for run in runs],
            "reference": source.reference if source else "",
            "code": source.hash if source else "",
            "writable": writable,
        }
        # -P: a module in the folder must not hide one of Python or of this project.
        command = [sys.executable, "-P", "-m", "benchmark.bundles.worker"]
        with subprocess.Popen(
            command,
            cwd=name,
            env=environment,
            start_new_session=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            assert process.stdin is not None
            try:
                with suppress(BrokenPipeError):
                    process.stdin.write(json.dumps(job).encode() + b"\n")
                    process.stdin.close()
                yield from _lines(process)
            finally:
                process.terminate()
                process.wait()
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)


def _lines(process: "subprocess.Popen[bytes]") -> Iterator[dict[str, Any]]:
    """Yield the answers of a process, and an error when it ends or takes too long."""
    assert process.stdout is not None
    rest, deadline = b"", time.monotonic() + MAX_SECONDS
    while True:
        ready, _, _ = select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))
        block = os.read(process.stdout.fileno(), MAX_ANSWER) if ready else None
        if block is None:
            yield {"error": f"no answer within {MAX_SECONDS:.0f} s; the process was ended"}
            return
        *lines, rest = (rest + block).split(b"\n")
        for line in lines:
            try:
                answer = dict(json.loads(line))
            except (ValueError, TypeError, RecursionError):
                answer = {"error": "the process gave an answer that cannot be read"}
            deadline = time.monotonic() + MAX_SECONDS if "metrics" in answer else deadline
            yield answer
        if not block:
            yield {"error": f"the process ended by itself (exit code {process.wait()})"}
            return
        if len(rest) > MAX_ANSWER:
            yield {"error": "the process gave an answer that is too long"}
            return
