"""The process of one target: `python -m tests.fuzz.worker TARGET SEED INPUTS REPORT [CORPUS]`.

With separate processes, a crash, a hang in compiled code or too much memory affects only one target, and the peak
memory of each is known. With a folder CORPUS the search is guided by coverage (atheris): inputs that reach new code are
kept and varied further.
"""

import json
import random
import sys
from dataclasses import asdict
from pathlib import Path

from tests.fuzz.attempts import Failure, Report, attempt, input_of, limit_memory, peak_mib

REPORT_EVERY = 50
WARM_UP = 40
MAX_INPUT_LENGTH = 4096
GUIDED = " (guided)"
INSTRUMENTED = ["benchmark", "data_pipelines", "tomllib", "zipfile", "csv"]


def run_random(name: str, seed: int, inputs: int, path: Path) -> None:
    """Try the random inputs of a seed."""
    from tests.fuzz.targets import BY_NAME

    target, report = BY_NAME[name], Report(name)
    target.warm_up()
    for number in range(WARM_UP):  # load libraries before times are measured
        attempt(Report("warm-up"), target.check, input_of(target, seed + 1, number))
    limit_memory()
    for number in range(inputs):
        attempt(report, target.check, input_of(target, seed, number))
        if report.inputs % REPORT_EVERY == 0:
            _write(report, path)
    _write(report, path)


def run_guided(name: str, seed: int, inputs: int, path: Path, corpus: Path) -> None:
    """Let atheris vary the inputs found so far; it ends this process itself."""
    import atheris

    with atheris.instrument_imports(include=INSTRUMENTED):
        from tests.fuzz.targets import BY_NAME

    target, report = BY_NAME[name], Report(name + GUIDED)
    assert target.seeds is not None
    target.warm_up()
    for number, content in enumerate(target.seeds()):
        (corpus / f"seed-{number}").write_bytes(content)
    draw = random.Random(seed)
    for number in range(20):
        (corpus / f"made-{number}").write_bytes(target.make(draw))

    def try_input(content: bytes) -> None:
        if report.inputs < inputs:
            attempt(report, target.check, bytes(content))
        if report.inputs % REPORT_EVERY == 0 or report.inputs == inputs:
            _write(report, path)

    options = [
        f"-runs={inputs}",
        f"-seed={seed + 1}",
        f"-max_len={MAX_INPUT_LENGTH}",
        "-rss_limit_mb=3000",
        "-timeout=60",
    ]
    atheris.Setup([sys.argv[0], *options, "-verbosity=0", str(corpus)], try_input, enable_python_coverage=True)
    atheris.Fuzz()


def _write(report: Report, path: Path) -> None:
    report.peak_mib = peak_mib()
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(asdict(report), default=bytes.hex))
    temporary.replace(path)


def read_report(path: Path) -> Report | None:
    """Return the latest report of a worker, or `None` if there is none yet."""
    if not path.is_file():
        return None
    content = json.loads(path.read_text())
    failures = [
        Failure(failure["number"], failure["reason"], bytes.fromhex(failure["content"]))
        for failure in content["failures"]
    ]
    return Report(**{**content, "failures": failures})


if __name__ == "__main__":
    target_name, seed_text, inputs_text, report_path, *folder = sys.argv[1:]
    if folder:
        run_guided(target_name, int(seed_text), int(inputs_text), Path(report_path), Path(folder[0]))
    else:
        run_random(target_name, int(seed_text), int(inputs_text), Path(report_path))
