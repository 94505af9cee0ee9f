"""Try the inputs of one target, each with a deadline, and count the results.

`python -m tests.fuzz.attempts TARGET SEED INPUTS REPORT [CORPUS]` does it in a process of its own: a crash, a hang in
compiled code or too much memory affects only one target, and the peak memory of each is known. With a folder CORPUS the
search is guided by coverage (atheris): inputs that reach new code are kept and varied further.
"""

import faulthandler
import json
import random
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType

from tests.fuzz.target import Target

SECONDS_PER_INPUT = 10.0
SECONDS_UNTIL_KILLED = 120.0
"""An input that hangs in compiled code ends the process."""
SPARE_MEMORY = 3 << 30
"""Bytes of address space that a target may use in addition to its libraries."""
MAX_FAILURES = 20
REPORT_EVERY = 50
WARM_UP = 40
MAX_INPUT_LENGTH = 4096
INSTRUMENTED = ["benchmark", "data_pipelines", "tomllib", "zipfile", "csv"]


class HangError(BaseException):
    """An input that took too long; not an Exception, so that no reader treats it as a damaged file."""


@dataclass
class Report:
    """The results of the inputs of one target; of each failure its number, its reason, and the input in hexadecimal."""

    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    failed: int = 0
    failures: list[tuple[int, str, str]] = field(default_factory=list)
    slowest: float = 0.0
    peak_mib: float = 0.0

    def write(self, path: Path) -> None:
        """Write it to a file, which another process reads."""
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.peak_mib = peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
        temporary = path.with_suffix(".new")
        temporary.write_text(json.dumps(asdict(self)))
        temporary.replace(path)


def input_of(target: Target, seed: int, number: int) -> bytes:
    """Make the input with this number; always the same."""
    return target.make(random.Random(f"{seed}/{target.name}/{number}"))


def attempt(report: Report, check: Callable[[bytes], bool], content: bytes) -> None:
    """Try one input and count the result."""
    start_time = time.perf_counter()
    try:
        with _deadline():
            if check(content):
                report.accepted += 1
            else:
                report.refused += 1
    except (Exception, HangError) as error:
        report.failed += 1
        if len(report.failures) < MAX_FAILURES:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            reason = f"{type(error).__name__}: {error}"[:400] + f" ({frame.filename.rpartition('/')[2]}:{frame.lineno})"
            report.failures.append((report.inputs, reason, content.hex()))
    report.inputs += 1
    report.slowest = max(report.slowest, time.perf_counter() - start_time)


@contextmanager
def _deadline() -> Iterator[None]:
    def end(number: int, frame: FrameType | None) -> None:
        raise HangError(f"more than {SECONDS_PER_INPUT:.0f} s")

    previous_handler = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, SECONDS_PER_INPUT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous_handler)


def attempt_many(
    target: Target, seed: int, inputs: int, notify: Callable[[Report], None] = lambda report: None
) -> Report:
    """Try `inputs` inputs of a target."""
    report = Report()
    for number in range(inputs):
        attempt(report, target.check, input_of(target, seed, number))
        notify(report)
    return report


def limit_memory() -> None:
    """Make excessive use of memory a MemoryError instead of exhausting the machine."""
    try:
        used_memory = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:
        return
    resource.setrlimit(resource.RLIMIT_AS, (used_memory + SPARE_MEMORY, resource.RLIM_INFINITY))


def main(name: str, seed: int, inputs: int, path: Path, corpus: Path | None) -> None:
    """Try the random inputs of a seed, or let atheris vary inputs, and write the report from time to time."""

    def notify(report: Report) -> None:
        faulthandler.dump_traceback_later(SECONDS_UNTIL_KILLED, exit=True)
        if report.inputs % REPORT_EVERY == 0 or report.inputs == inputs:
            report.write(path)

    if corpus is not None:
        search(name, seed, inputs, corpus, notify)
        return
    from tests.fuzz.targets import BY_NAME

    target = BY_NAME[name]
    target.warm_up()
    attempt_many(target, seed + 1, WARM_UP)  # load libraries before times are measured
    limit_memory()
    attempt_many(target, seed, inputs, notify)


def search(name: str, seed: int, inputs: int, corpus: Path, notify: Callable[[Report], None]) -> None:
    """Let atheris vary the inputs found so far; it ends this process itself."""
    import atheris

    with atheris.instrument_imports(include=INSTRUMENTED):
        from tests.fuzz.targets import BY_NAME

    target, report, draw = BY_NAME[name], Report(), random.Random(seed)
    assert target.seeds is not None
    target.warm_up()
    for number, content in enumerate([*target.seeds(), *(target.make(draw) for _ in range(20))]):
        (corpus / f"{number}").write_bytes(content)

    def try_input(content: bytes) -> None:
        if report.inputs < inputs:
            attempt(report, target.check, bytes(content))
            notify(report)

    options = [f"-runs={inputs}", f"-seed={seed + 1}", f"-max_len={MAX_INPUT_LENGTH}", "-rss_limit_mb=3000"]
    options += ["-timeout=60", "-verbosity=0", str(corpus)]
    atheris.Setup([sys.argv[0], *options], try_input, enable_python_coverage=True)
    atheris.Fuzz()


if __name__ == "__main__":
    name, seed, inputs, path, *folder = sys.argv[1:]
    main(name, int(seed), int(inputs), Path(path), Path(folder[0]) if folder else None)
