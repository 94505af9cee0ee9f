"""A process of its own for each target: `python -m tests.fuzz.worker TARGET SEED INPUTS REPORT [CORPUS]`.

So that a crash, a hang in compiled code or too much memory costs one target, and its peak memory is known. With the
folder CORPUS the search is guided by coverage (atheris): inputs that reach new code are kept and varied further.
"""

import json
import random
import sys
from dataclasses import asdict
from pathlib import Path

from tests.fuzz.attempts import Failure, Report, attempt, input_of, limit_memory, peak_mib

TELL_EVERY = 50
WARM_UP = 40
LONGEST_INPUT = 4096
GUIDED = " (guided)"
WATCHED = ["benchmark", "data_pipelines", "tomllib", "zipfile", "csv"]


def work_through(name: str, seed: int, inputs: int, place: Path) -> None:
    """Try the inputs that the seed makes."""
    from tests.fuzz.targets import BY_NAME

    target, report = BY_NAME[name], Report(name)
    target.warm_up()
    for number in range(WARM_UP):  # libraries are loaded before the clock runs
        attempt(Report("warm-up"), target.check, input_of(target, seed + 1, number))
    limit_memory()
    for number in range(inputs):
        attempt(report, target.check, input_of(target, seed, number))
        if report.inputs % TELL_EVERY == 0:
            _write(report, place)
    _write(report, place)


def search(name: str, seed: int, inputs: int, place: Path, corpus: Path) -> None:
    """Let atheris vary what it has found so far; it ends this process itself."""
    import atheris

    with atheris.instrument_imports(include=WATCHED):
        from tests.fuzz.targets import BY_NAME

    target, report = BY_NAME[name], Report(name + GUIDED)
    assert target.seeds is not None
    target.warm_up()
    for number, content in enumerate(target.seeds()):
        (corpus / f"seed-{number}").write_bytes(content)
    draw = random.Random(seed)
    for number in range(20):
        (corpus / f"made-{number}").write_bytes(target.make(draw))

    def one(content: bytes) -> None:
        if report.inputs < inputs:
            attempt(report, target.check, bytes(content))
        if report.inputs % TELL_EVERY == 0 or report.inputs == inputs:
            _write(report, place)

    options = [f"-runs={inputs}", f"-seed={seed + 1}", f"-max_len={LONGEST_INPUT}", "-rss_limit_mb=3000", "-timeout=60"]
    atheris.Setup([sys.argv[0], *options, "-verbosity=0", str(corpus)], one, enable_python_coverage=True)
    atheris.Fuzz()


def _write(report: Report, place: Path) -> None:
    report.peak_mib = peak_mib()
    beside = place.with_suffix(".new")
    beside.write_text(json.dumps(asdict(report), default=bytes.hex))
    beside.replace(place)


def read_report(place: Path) -> Report | None:
    """Return the latest report of a worker, if there is one yet."""
    if not place.is_file():
        return None
    content = json.loads(place.read_text())
    failures = [Failure(each["number"], each["what"], bytes.fromhex(each["content"])) for each in content["failures"]]
    return Report(**{**content, "failures": failures})


if __name__ == "__main__":
    given, seed_text, inputs_text, report_place, *folder = sys.argv[1:]
    if folder:
        search(given, int(seed_text), int(inputs_text), Path(report_place), Path(folder[0]))
    else:
        work_through(given, int(seed_text), int(inputs_text), Path(report_place))
