"""The paper's claims and numbers, read from paper.toml."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("paper.toml")


@cache
def paper() -> dict[str, Any]:
    """Return variants, sizes, numbers, groups (Table 2) and directions."""
    return tomllib.loads(FILE.read_text(encoding="utf-8"))


PAPER = "paper"
"""The name of the first variant: the data as the authors prepared them."""


def variant_labels() -> dict[str, str]:
    """Return the labels of the variants on which claims are judged, by name."""
    return {variant["name"]: variant["label"] for variant in paper()["variants"]}


def stream_of(dataset: str, variant: str = PAPER) -> str | None:
    """Return the stream of one of the paper's data sets in a variant; None if it has none."""
    streams = next(each["streams"] for each in paper()["variants"] if each["name"] == variant)
    stream = streams.get(dataset)
    return None if stream is None else str(stream)
