"""Experiment files: an independent check of the TOML confirms that accepted values are in range and bounded."""

import math
import random
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmark.plan.experiment import FOLDER, Experiment, load_experiment
from benchmark.plan.method_names import method_names
from benchmark.plan.plan import RunOptions, make_plan
from tests.fuzz.target import Target, damaged, require, require_one_line, scratch

BAD = ["0", "-1", "true", '"3"', "nan", "-inf", "inf", "1e400", "9999999999999999999", "[]", "[[1]]", "{}", '""']
BAD += ['"../x"', "2024-05-31", "3.5", '"grid"', "[nan]", '["a"]', "[1, true]", '"a\\nb"', "1_000_000_000", "'\\'"]
BAD += ['{a = "b"}']
GOOD = {
    "title": ('"A title"', '"Größe"'),
    "description": ('"text"', '""'),
    "simulated": ('"uniform"', '"non-uniform"'),
    "dataset": ('"lastfm"', '"shop-2"'),
    "steps": ("10", "30_000"),
    "clients": ("1", "1_000_000"),
    "arms": ("2", "25"),
    "dimension": ("4", "25"),
    "global_dim": ("[1]", "[2, 4]"),
    "noise": ("0", "0.1"),
    "table": ("100",),
    "clients_drawn": ('"dirichlet"', '"zipf"', '"uniform-weights"'),
    "exponent": ("1", "2.0"),
    "scaling": ('"unit"', '"pca"'),
    "negatives": ('"uniform"', '"popularity"'),
    "pools": ('"sampled"', '"rated"'),
    "repeats": ('"keep"', '"once"'),
    "order": ('"users"', '"shuffled"'),
    "min_interactions": ("1", "600"),
    "name": ('"async-linucb"', '"async-linucb"', '"sync-linucb"', '"async-linucb-am"', '"random"', '"os:path"'),
    "gamma": ("5", '"grid"', "[1, 5, inf]", "1.5"),
    "threshold": ("1", '"grid"', "[0.5]"),
    "alpha": ("0.3", '"theory"'),
    "ridge": ("0.1", "[0.1, 1]"),
    "warm_start": ("true", "false"),
    "seeds": ("1", "10", "[0, 5]"),
    "grid": ("[0, 1.5]", "{ start = 1e-2, stop = 1e3, points = 5 }", "{ start = 1, stop = 2, points = 1 }"),
    "gammas": ("[1, inf]", "[]"),
    "values": ("{ gamma = [1, inf] }", "{}", "{ threshold = [0] }"),
}
OF_SIMULATIONS = ("steps", "clients", "arms", "dimension", "global_dim", "noise", "table", "clients_drawn", "exponent")
OF_DATA_SETS = ("arms", "scaling", "negatives", "pools", "repeats", "order", "min_interactions")
TABLES = {
    "streams": (*OF_SIMULATIONS, *OF_DATA_SETS),
    "algorithms": ("gamma", "threshold", "alpha", "ridge", "global_dim", "warm_start"),
    "profiles": ("seeds", "grid", "gammas", "values"),
}
PARAMETERS_OF = {
    '"async-linucb"': ("gamma", "alpha", "ridge"),
    '"async-linucb-am"': ("gamma", "warm_start"),
    '"sync-linucb"': ("threshold", "alpha"),
}
TOKENS = [f"{field} = ".encode() for field in GOOD] + [value.encode() for value in BAD]
TOKENS += [b"[[streams]]\n", b"[profiles.quick]\n", b'"""', b"=", b"[", b"]"]


def make(draw: random.Random) -> bytes:
    if draw.random() < 0.15:
        return damaged(draw, draw.choice(seeds()), TOKENS, max_damages=5)
    error_rate = draw.choice((0.0, 0.0, 0.05, 0.3))
    kind = draw.choice(("simulated", "simulated", "dataset"))
    fields_of_stream = (
        TABLES["streams"] if draw.random() < 0.2 else OF_SIMULATIONS if kind == "simulated" else OF_DATA_SETS
    )
    lines = [_line(draw, "title", error_rate)]
    lines += [_line(draw, "description", error_rate)] if draw.random() < 0.3 else []
    lines += ["[[streams]]", _line(draw, kind, error_rate), *_some(draw, fields_of_stream, error_rate, 0.3)]
    for _ in range(draw.choice((1, 1, 2))):
        name = _line(draw, "name", error_rate)
        fitting_fields = next((fields for key, fields in PARAMETERS_OF.items() if key in name), ())
        fields = TABLES["algorithms"] if draw.random() < 0.2 else fitting_fields
        lines += ["[[algorithms]]", name, *_some(draw, fields, error_rate, 0.7)]
    lines += [
        "[profiles.quick]",
        _line(draw, "seeds", error_rate),
        *_some(draw, TABLES["profiles"][1:], error_rate, 0.7),
    ]
    content = "\n".join(lines).encode() + b"\n"
    return damaged(draw, content, TOKENS, max_damages=2) if draw.random() < 0.2 else content


def _some(draw: random.Random, fields: Sequence[str], error_rate: float, probability: float) -> list[str]:
    return [_line(draw, field, error_rate) for field in fields if draw.random() < probability]


def _line(draw: random.Random, field: str, error_rate: float) -> str:
    return f"{field} = {draw.choice(BAD if draw.random() < error_rate else GOOD[field])}"


def seeds() -> Sequence[bytes]:
    return [path.read_bytes() for path in sorted(FOLDER.glob("*.toml"))]


def check(content: bytes) -> bool:
    path = scratch() / "fuzzed.toml"
    path.write_bytes(content)
    try:
        experiment = load_experiment(str(path))
    except ValueError as error:
        require_one_line(error, str(path))
        return False
    for mistake in mistakes(tomllib.loads(content.decode())):
        require(False, mistake)
    _plan(experiment)
    return True


def _plan(experiment: Experiment) -> None:
    """Make the plan of the first seed, which must work or give a one-line error."""
    profile = next(iter(experiment.profiles))
    try:
        make_plan([experiment], RunOptions(profile=profile, seeds=(0,)))
    except ValueError as error:
        require_one_line(error)


def mistakes(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield the mistakes in an experiment, found by a second, independent implementation of the rules."""
    if set(content) - FIELDS:
        yield "an unknown field"
    if not isinstance(content["title"], str) or not content["title"]:
        yield "title"
    for stream in content["streams"]:
        yield from _stream_mistakes(stream)
    for algorithm in content["algorithms"]:
        if algorithm["name"] not in method_names():
            yield f"algorithm {algorithm['name']!r}"
        for value in algorithm.values():
            if isinstance(value, float) and math.isnan(value):
                yield f"{algorithm} contains nan"
    for profile in content["profiles"].values():
        yield from _profile_mistakes(profile)


FIELDS = {"title", "description", "streams", "algorithms", "profiles", "effects_of", "words", "name", "counts"}
FIELDS |= {"of_the_paper", "is_compared"}
CHOICES = {
    "clients_drawn": ("dirichlet", "uniform-weights", "zipf"),
    "scaling": ("standard", "pca", "unit"),
    "negatives": ("uniform", "popularity"),
    "pools": ("sampled", "rated"),
    "repeats": ("keep", "once"),
    "order": ("users", "shuffled"),
}


def _stream_mistakes(stream: Mapping[str, Any]) -> Iterator[str]:
    if ("dataset" in stream) == ("simulated" in stream):
        yield "neither or both of dataset and simulated"
    if not re.fullmatch(r"[A-Za-z0-9_-]+", stream.get("dataset", "x")):
        yield f"dataset {stream['dataset']!r}"
    for field in ("steps", "clients", "arms", "dimension", "table", "min_interactions"):
        if not _is_count(stream.get(field, 1)):
            yield f"{field} is {stream[field]!r}"
    dims = stream.get("global_dim", 1)
    if not all(_is_count(dimension) for dimension in (dims if isinstance(dims, list) else [dims])):
        yield f"global_dim is {stream['global_dim']!r}"
    if not _is_number(stream.get("noise", 0), minimum=0, maximum=1e308):
        yield f"noise is {stream['noise']!r}"
    if not _is_number(stream.get("exponent", 1), minimum=0, maximum=10):
        yield f"exponent is {stream['exponent']!r}"
    for field, values in CHOICES.items():
        if stream.get(field, values[0]) not in values:
            yield f"{field} is {stream[field]!r}"
    for fields, other in ((OF_SIMULATIONS, "dataset"), (OF_DATA_SETS, "simulated")):
        if other in stream and (set(fields) - {"arms", "dimension"}) & set(stream):
            yield f"fields of a {other} and others"


def _profile_mistakes(profile: Mapping[str, Any]) -> Iterator[str]:
    seed_list = profile["seeds"]
    if not (
        _is_count(seed_list)
        or (isinstance(seed_list, list) and seed_list and all(_is_seed(seed) for seed in seed_list))
    ):
        yield f"seeds is {seed_list!r}"
    grid = profile.get("grid", [])
    numbers = [grid["start"], grid["stop"], grid["points"]] if isinstance(grid, dict) else grid
    if not all(_is_number(number, minimum=0, maximum=math.inf) for number in numbers):
        yield f"grid is {grid!r}"
    if not all(_is_number(gamma, minimum=1, maximum=math.inf) for gamma in profile.get("gammas", [])):
        yield f"gammas is {profile['gammas']!r}"
    further = [number for numbers in profile.get("values", {}).values() for number in numbers]
    if not all(_is_number(number, minimum=-math.inf, maximum=math.inf) for number in further):
        yield f"values is {profile['values']!r}"


def _is_count(value: object) -> bool:
    return type(value) is int and 1 <= value < 2**31


def _is_seed(value: object) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _is_number(value: object, *, minimum: float, maximum: float) -> bool:
    return type(value) in (int, float) and minimum <= value <= maximum  # type: ignore[operator]


TARGET = Target("experiment files", 12, make, check, seeds)
