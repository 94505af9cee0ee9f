"""Bundles: a damaged or changed one is refused; one that is accepted has keys that follow from its records."""

import hashlib
import io
import json
import random
import zipfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from benchmark.bundles.bundle import ABOUT, Bundle, portable, read_bundle
from benchmark.plan.experiment import load_experiment
from benchmark.plan.method_names import method_info
from benchmark.plan.plan import RunOptions, make_plan
from benchmark.plan.run_key import run_key
from benchmark.records.record import record_of
from tests.benchmark.recorded import result_of
from tests.benchmark.tiny_sweeps import TINY
from tests.fuzz.target import Target, damaged, require, require_one_line, scratch

TOKENS = (b'"key"', b'"gamma"', b"null", b"[]", b"{}", b"source/x/y.py", b"../x", b"\\u0000", b"async-linucb", b"[[[[")


@cache
def valid() -> bytes:
    """A bundle of the runs of a tiny experiment, with made-up results."""
    file = scratch() / "tiny.toml"
    file.write_text(TINY.replace("STEPS", "40").replace("SEEDS", "1"))
    plan = make_plan([load_experiment(str(file))], RunOptions(seeds=(0,)))
    return Bundle([portable(record_of(run, result_of(run))) for run in plan.runs]).to_bytes()


def members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return {name: file.read(name) for name in file.namelist()}


def zipped(contents: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in contents.items():
            file.writestr(name, content)
    return buffer.getvalue()


def make(draw: random.Random) -> bytes:
    """Damage the file, or one of its members; then mostly with the right hashes, as whoever changes it would do."""
    if draw.random() < 0.3:
        return damaged(draw, valid())
    contents = members(valid())
    name = draw.choice([*contents])
    contents[name] = damaged(draw, contents[name], TOKENS, max_damages=2)
    if name != ABOUT and draw.random() < 0.8:
        about = json.loads(contents[ABOUT])
        about["sha256"][name] = hashlib.sha256(contents[name]).hexdigest()
        contents[ABOUT] = json.dumps(about).encode()
    return zipped(contents)


def check(content: bytes) -> bool:
    path = Path(scratch() / "fuzzed.zip")
    path.write_bytes(content)
    try:
        bundle = read_bundle(path)
    except ValueError as error:
        require_one_line(error)
        return False
    for run in bundle.runs:
        method = run.method
        about = {"version": method.version, "added": method_info(method.name).added}
        key = run_key(run.stream.fingerprint, method.name, method.parameters, run.seed, **about)
        require(key == run.key, "a key that does not follow from the record")
        require(not method.code, "source that is not in the file")
    return True


def seeds() -> Sequence[bytes]:
    return [valid()]


TARGET = Target("bundles", 6, make, check, warm_up=lambda: check(valid()))
