"""Algorithms without a threshold: their families of configurations are settings of one method."""

from collections.abc import Collection
from dataclasses import dataclass

import pandas as pd


def without_threshold(runs: pd.DataFrame) -> frozenset[str]:
    """Return the algorithms whose families are settings of one method; `runs` are those of one stream.

    They have no threshold in any run, and the same stream in all runs with the same seed: another stream is
    not a setting of the method.
    """
    return frozenset(str(name) for name, part in runs.groupby("algorithm") if _has_settings_only(part))


def _has_settings_only(runs: pd.DataFrame) -> bool:
    streams = runs.groupby("seed")["fingerprint"].nunique()
    return bool(runs["threshold"].isna().all() and (streams <= 1).all())


@dataclass(frozen=True)
class CurveRuns:
    """The runs, or means over seeds, that form one curve: an algorithm and its variant, for display."""

    algorithm: str
    variant: str
    runs: pd.DataFrame


def split_into_curves(runs: pd.DataFrame, joined: Collection[str]) -> list[CurveRuns]:
    """Split the runs on one stream: a curve per family of an algorithm, or one for all families of a joined one.

    Families are in the order of the rows.
    """
    curves = []
    for algorithm, part in runs.groupby("algorithm"):
        if algorithm in joined:
            curves.append(CurveRuns(str(algorithm), "", part))
            continue
        families = [(str(family["variant"].iloc[0]), family) for _, family in part.groupby("family", sort=False)]
        curves += [CurveRuns(str(algorithm), variant, family) for variant, family in families]
    return curves
