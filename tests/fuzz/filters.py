"""Values of the options --method, --seeds, --dataset and --set."""

import random
from collections.abc import Sequence
from functools import cache

from benchmark.commands.data import parse_parameter
from benchmark.plan.experiment import MAX_SEEDS, Experiment, load_experiment
from benchmark.plan.method_names import method_info, method_names, parse_filter
from benchmark.plan.plan import RunOptions, make_plan, parse_seeds
from tests.fuzz.target import Target, damaged, require, require_one_line

VALID = {
    "algorithm": (
        "async-linucb",
        "async-linucb[gamma=5]",
        "sync-linucb[threshold=[1,2.5],alpha=theory]",
        "async-linucb[gamma=[1,inf], ridge = 0.5]",
    ),
    "seeds": ("3", "0,5", "0-9", "0-0", "7,1-3"),
    "dataset": ("simulated-uniform", "simulated-*", "*"),
    "set": ("observations_above=2000", "least_rating=1.5"),
}
TOKENS = [*b"[ ] , = gamma =inf =nan [1, - 0-99999999999 : .. * ? [!a] async-linucb alpha=theory gamma=5,".split()]
TOKENS += ["٣".encode(), "²".encode(), b"1_0", b" ", b"none", b"true", b"'", b"tests.fuzz:X"]


@cache
def experiment() -> Experiment:
    return load_experiment("fig_a")


def make(draw: random.Random) -> bytes:
    kind = draw.choice(("algorithm", "algorithm", "seeds", "dataset", "set"))
    text = draw.choice(VALID[kind]).encode()
    if draw.random() < 0.9:
        text = damaged(draw, text, TOKENS, max_damages=3)
    return kind.encode() + b"\0" + text


def seeds() -> Sequence[bytes]:
    return [f"{kind}\0{text}".encode() for kind, texts in VALID.items() for text in texts]


def check(content: bytes) -> bool:
    kind, _, rest = content.partition(b"\0")
    text = rest.decode(errors="surrogateescape")  # as Python decodes a command line
    checks = {b"seeds": _seeds, b"dataset": _dataset, b"set": _set}
    try:
        checks.get(kind, _algorithm)(text)
    except ValueError as error:
        require_one_line(error)
        return False
    return True


def _algorithm(text: str) -> None:
    algorithm_filter = parse_filter(text)
    if not algorithm_filter.is_own:
        require(algorithm_filter.name in method_names(), f"the name {algorithm_filter.name!r}")
        require(
            set(algorithm_filter.values) <= set(method_info(algorithm_filter.name).parameters),
            f"the parameters {algorithm_filter.values}",
        )
    require(text.count("=") >= len(algorithm_filter.values), "more parameters than in the text")
    require(all(values for values in algorithm_filter.values.values()), "a parameter without a value")
    require("" not in [value for values in algorithm_filter.values.values() for value in values], "an empty value")
    runs = make_plan([experiment()], RunOptions(methods=(algorithm_filter,), seeds=(0,))).runs
    require(all(run.info.name == algorithm_filter.name for run in runs), "a different algorithm")
    require(all(gamma >= 1 for run in runs if (gamma := run.parameters.get("gamma")) is not None), "γ below 1")


def _seeds(text: str) -> None:
    seed_list = parse_seeds(text)
    require(0 < len(seed_list) == len(set(seed_list)) <= MAX_SEEDS, f"{len(seed_list)} seeds")
    require(all(0 <= seed < 2**63 for seed in seed_list), "a seed out of range")
    if text.strip().isascii() and text.strip().isdecimal() and text == text.strip():
        require(seed_list == tuple(range(int(text))), "seeds other than the first ones")


def _dataset(text: str) -> None:
    runs = make_plan([experiment()], RunOptions(datasets=(text,), seeds=(0,))).runs
    require(bool(runs), "a pattern without a match was accepted")


def _set(text: str) -> None:
    key, value = parse_parameter(text)
    require(bool(key) and 0 <= value < float("inf"), f"{key} = {value}")


TARGET = Target("filters", 18, make, check, seeds)
