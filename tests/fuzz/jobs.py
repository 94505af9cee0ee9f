"""Run targets, each in its own process, several in parallel."""

import importlib.util
import subprocess
import sys
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.attempts import Failure, Report
from tests.fuzz.target import Target
from tests.fuzz.worker import GUIDED, read_report

MAX_SECONDS_WITHOUT_PROGRESS = 120.0
SECONDS_BETWEEN_LINES = 10.0


@dataclass
class Job:
    """One target in its own process."""

    name: str
    inputs: int
    arguments: list[str]
    path: Path
    process: "subprocess.Popen[bytes] | None" = None
    report: Report = field(default_factory=lambda: Report(""))
    last_progress: float = 0.0

    def start(self) -> None:
        """Start the process; the output of the worker goes to a file next to its report."""
        log = self.path.with_suffix(".log").open("wb")
        command = [sys.executable, "-W", "ignore", "-m", "tests.fuzz.worker", *self.arguments]
        self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.last_progress = time.monotonic()
        log.close()

    def is_over(self) -> bool:
        """Update the report; kill a worker without progress for too long, and count a dead one as a failure."""
        assert self.process is not None
        code = self.process.poll()
        report = read_report(self.path)
        if report is not None and report.inputs > self.report.inputs:
            self.report, self.last_progress = report, time.monotonic()
        if self.report.inputs >= self.inputs and code is not None:
            return True
        if code is None and time.monotonic() - self.last_progress > MAX_SECONDS_WITHOUT_PROGRESS:
            self.process.kill()
            code = self.process.wait()
        if code is None:
            return False
        last_line = self.path.with_suffix(".log").read_text(errors="replace").strip().rpartition("\n")[2]
        self.report.failed += 1
        self.report.failures.append(
            Failure(self.report.inputs, f"the process ended with code {code}: {last_line[:200]}", b"")
        )
        return True


def jobs_of(targets: "list[Target]", inputs: int, seed: int, folder: Path) -> "list[Job]":
    """Distribute the inputs over the targets; guided jobs come first, since they take longest."""
    has_atheris = importlib.util.find_spec("atheris") is not None
    if not has_atheris:
        print("atheris is not installed: no coverage-guided search, all inputs are random", file=sys.stderr)
    total = sum(target.share for target in targets)
    guided_jobs, random_jobs = [], []
    for number, target in enumerate(targets):
        count = -(-inputs * target.share // total)
        guided_count = count // 4 if has_atheris and target.seeds is not None else 0
        if guided_count:
            path, corpus = folder / f"{number}-guided.json", folder / f"{number}-corpus"
            corpus.mkdir()
            arguments = [target.name, str(seed), str(guided_count), str(path), str(corpus)]
            guided_jobs.append(Job(target.name + GUIDED, guided_count, arguments, path))
        path = folder / f"{number}.json"
        arguments = [target.name, str(seed), str(count - guided_count), str(path)]
        random_jobs.append(Job(target.name, count - guided_count, arguments, path))
    return [*guided_jobs, *random_jobs]


def run_jobs(jobs: "list[Job]", parallel: int) -> None:
    """Run the jobs, several in parallel, and print the progress."""
    waiting, running = deque(jobs), list[Job]()
    start_time = last_line = time.monotonic()
    total = sum(job.inputs for job in jobs)
    try:
        while waiting or running:
            while waiting and len(running) < parallel:
                running.append(waiting.popleft())
                running[-1].start()
            time.sleep(0.1)
            running = [job for job in running if not job.is_over()]
            if time.monotonic() - last_line > SECONDS_BETWEEN_LINES:
                last_line = time.monotonic()
                done = sum(job.report.inputs for job in jobs)
                remaining = (last_line - start_time) * (total - done) / max(done, 1)
                print(f"{done:,} of {total:,} inputs, about {remaining:,.0f} s left", file=sys.stderr, flush=True)
    finally:
        for job in running:
            if job.process is not None:
                job.process.kill()
