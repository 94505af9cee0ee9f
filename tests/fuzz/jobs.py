"""Targets at work, each in a process of its own, some at once."""

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

SECONDS_WITHOUT_NEWS = 120.0
SECONDS_BETWEEN_LINES = 10.0


@dataclass
class Job:
    """One target in a process of its own."""

    name: str
    inputs: int
    arguments: list[str]
    place: Path
    process: "subprocess.Popen[bytes] | None" = None
    report: Report = field(default_factory=lambda: Report(""))
    last_news: float = 0.0

    def start(self) -> None:
        """Begin; what a worker says goes to a file beside its report."""
        log = self.place.with_suffix(".log").open("wb")
        command = [sys.executable, "-W", "ignore", "-m", "tests.fuzz.worker", *self.arguments]
        self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self.last_news = time.monotonic()
        log.close()

    def is_over(self) -> bool:
        """Look how far it is; a worker that is silent for too long is ended, one that died is a failure."""
        assert self.process is not None
        code = self.process.poll()
        news = read_report(self.place)
        if news is not None and news.inputs > self.report.inputs:
            self.report, self.last_news = news, time.monotonic()
        if self.report.inputs >= self.inputs and code is not None:
            return True
        if code is None and time.monotonic() - self.last_news > SECONDS_WITHOUT_NEWS:
            self.process.kill()
            code = self.process.wait()
        if code is None:
            return False
        last = self.place.with_suffix(".log").read_text(errors="replace").strip().rpartition("\n")[2]
        self.report.failed += 1
        self.report.failures.append(
            Failure(self.report.inputs, f"the process ended with code {code}: {last[:200]}", b"")
        )
        return True


def jobs_of(targets: "list[Target]", inputs: int, seed: int, folder: Path) -> "list[Job]":
    """Share the inputs out among the targets; guided ones go first, as they take longest."""
    has_atheris = importlib.util.find_spec("atheris") is not None
    if not has_atheris:
        print("atheris is not installed: no search guided by coverage, all inputs are drawn", file=sys.stderr)
    total = sum(target.share for target in targets)
    guided, drawn = [], []
    for number, target in enumerate(targets):
        count = -(-inputs * target.share // total)
        searched = count // 4 if has_atheris and target.seeds is not None else 0
        if searched:
            place, corpus = folder / f"{number}-guided.json", folder / f"{number}-corpus"
            corpus.mkdir()
            arguments = [target.name, str(seed), str(searched), str(place), str(corpus)]
            guided.append(Job(target.name + GUIDED, searched, arguments, place))
        place = folder / f"{number}.json"
        arguments = [target.name, str(seed), str(count - searched), str(place)]
        drawn.append(Job(target.name, count - searched, arguments, place))
    return [*guided, *drawn]


def carry_out(jobs: "list[Job]", at_once: int) -> None:
    """Run the jobs, some at once, and say how far they are."""
    waiting, running = deque(jobs), list[Job]()
    started = last_line = time.monotonic()
    total = sum(job.inputs for job in jobs)
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                running.append(waiting.popleft())
                running[-1].start()
            time.sleep(0.1)
            running = [job for job in running if not job.is_over()]
            if time.monotonic() - last_line > SECONDS_BETWEEN_LINES:
                last_line = time.monotonic()
                done = sum(job.report.inputs for job in jobs)
                left = (last_line - started) * (total - done) / max(done, 1)
                print(f"{done:,} of {total:,} inputs, about {left:,.0f} s left", file=sys.stderr, flush=True)
    finally:
        for job in running:
            if job.process is not None:
                job.process.kill()
