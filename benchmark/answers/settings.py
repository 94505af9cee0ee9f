"""The names of settings: the value on the front, and everything else in which the runs of a method differ."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from benchmark.plan.algorithm_names import number_text

EQUAL_TO_GAMMA = ("gamma_upload", "gamma_download")
"""Left out where they are simply γ."""


def setting_names(
    fronts: Sequence[str], values: Sequence[Mapping[str, Any]], front_parameters: Collection[str]
) -> list[str]:
    """Name the runs of a method on a stream.

    Args:
        fronts: for each run its value on the front with its symbol, such as γ=5, or an empty text.
        values: for each run all hyper-parameters and options of the stream.
        front_parameters: the parameters that fronts run through.
    """
    rows = [{name: value for name, value in row.items() if not _is_gamma(name, row)} for row in values]
    names = {name for row in rows for name in row if name not in front_parameters}
    texts = {name: {number_text(row.get(name)) for row in rows} for name in names}
    differing = sorted(name for name, distinct in texts.items() if len(distinct) > 1)
    return [
        ", ".join([*([front] if front else []), *(f"{name}={number_text(row.get(name))}" for name in differing)])
        for front, row in zip(fronts, rows, strict=True)
    ]


def _is_gamma(name: str, row: Mapping[str, Any]) -> bool:
    return name in EQUAL_TO_GAMMA and row.get(name) == row.get("gamma")
