"""Algorithms without a threshold: the values of their parameters are their settings, as thresholds are elsewhere."""

import pandas as pd


def without_threshold(runs: pd.DataFrame) -> frozenset[str]:
    """Return the algorithms whose variants are settings of one method; `runs` are those of one stream.

    They have no threshold in any run, and met the same stream with each seed: variants of the stream are no settings.
    """
    return frozenset(str(name) for name, same in runs.groupby("algorithm") if _has_settings_only(same))


def _has_settings_only(runs: pd.DataFrame) -> bool:
    streams = runs.groupby("seed")["fingerprint"].nunique()
    return bool(runs["threshold"].isna().all() and (streams <= 1).all())
