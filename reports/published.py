"""The published verdicts on the paper's claims, for reports whose own runs do not decide them.

`make docs` writes `published.json` from docs/records, which an installed package does not have.
"""

import json
import math
from collections.abc import Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from reports.labels import dataset_label

FILE = Path(__file__).with_name("published.json")
SEEDS = 5
"""Seeds of the command that decides a claim."""

CORES = 2


@cache
def _content() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return content


def published_verdict(place: str, claim: str, variant: str) -> str:
    """Return the published verdict on a claim on a variant of the data; empty if the records have none."""
    return str(_content()["verdicts"].get(variant, {}).get(f"{place}: {claim}", ""))


def how_to_decide(experiments: Collection[str]) -> str:
    """Return the command that decides claims on these experiments, and its time; empty without any."""
    if not experiments:
        return ""
    names = " ".join(sorted(experiments))
    seconds = SEEDS * sum(_content()["seconds_per_seed"].get(name, 0.0) for name in experiments) / CORES
    minutes = max(1, math.ceil(seconds / 60))
    time = f"about {minutes} minute{'s' * (minutes > 1)}"
    return f"To decide what is grey: `fedbandit run {names} --seeds {SEEDS}` ({time} on {CORES} cores)."


def on_other_copies(runs: pd.DataFrame) -> str:
    """Return a sentence on the data sets of which these runs use another copy than the published ones; or nothing."""
    texts = list(_differences(runs))
    if not texts:
        return ""
    return f"Your numbers differ from the published ones where your copy of the data does: {'; '.join(texts)}."


def _differences(runs: pd.DataFrame) -> Iterator[str]:
    """Yield what learning alone earns on each data set whose copy is not the published one, here and there."""
    for name, published in _content()["alone"].items():
        of_method = runs[(runs["stream"] == name) & (runs["algorithm"] == published["method"])]
        alone = of_method[(of_method["threshold"] == math.inf) & (of_method["variant"] == "")]
        is_other = len(alone) > 0 and published["data"] not in set(alone["prepared"])
        if is_other and "stand-in" not in set(alone["source"]):
            ours = alone.drop_duplicates("seed")["normalised_reward"].mean()
            here, there = f"{ours:.3g}", f"{published['reward']:.3g}"
            if here != there:
                yield f"on {dataset_label(name)}, learning alone earns {here} here and {there} as published"
