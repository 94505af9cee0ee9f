"""Algorithms without a threshold: their settings are the values of their parameters."""

import pandas as pd


def without_threshold(runs: pd.DataFrame) -> frozenset[str]:
    """Return the algorithms whose variants are settings of one method; `runs` are those of one stream.

    They have no threshold in any run, and the same stream in all runs with the same seed: a variant of the stream is
    not a setting of the method.
    """
    return frozenset(str(name) for name, part in runs.groupby("algorithm") if _has_settings_only(part))


def _has_settings_only(runs: pd.DataFrame) -> bool:
    streams = runs.groupby("seed")["fingerprint"].nunique()
    return bool(runs["threshold"].isna().all() and (streams <= 1).all())
