"""Verdicts on the paper's claims: reproduced, differs, or cannot be checked."""

from reports.analysis.evidence import Evidence

STAND_IN, RECONSTRUCTED, CHANGED = "stand-in data", "reconstructed data", "changed data"
OUR_PREPARATION = "our preparation"


def data_caveat(label: str) -> str:
    """Return a short form of a data label for a verdict; empty for official and complete data."""
    for caveat in (STAND_IN, RECONSTRUCTED, CHANGED):
        if label.lower().startswith(caveat):
            return caveat
    return "unverified copy" if label else ""


def result_caveat(label: str, *, prepared_differently: bool) -> str:
    """Return the caveat of a verdict on a result: its data, and whether the paper prepared them differently."""
    caveat = data_caveat(label)
    if caveat == STAND_IN or not prepared_differently:
        return caveat
    return f"{caveat}, {OUR_PREPARATION}" if caveat else OUR_PREPARATION


def verdict_on_number(
    stated: float, ours: tuple[float, float, float], seeds: int | None, caveat: str, *, tolerance: float
) -> str:
    """Judge a number: it agrees if it is in our interval, or ours is within `tolerance` of it.

    `seeds` is None for a count of the data.
    """
    if caveat == STAND_IN:
        return f"cannot be checked ({STAND_IN})"
    mean, low, high = ours
    agrees = low <= stated <= high or abs(mean - stated) <= tolerance * abs(stated)
    return _with("reproduced" if agrees else "differs", seeds, caveat)


def verdict_on_direction(evidence: Evidence, caveat: str) -> str:
    """Judge a direction by its evidence."""
    if caveat == STAND_IN:
        return f"cannot be checked ({STAND_IN})"
    if evidence.supports_paper is None:
        return f"cannot be checked ({evidence.why_not})"
    return _with("reproduced" if evidence.supports_paper else "differs", evidence.seeds or None, caveat)


def _with(verdict: str, seeds: int | None, caveat: str) -> str:
    remarks = ["one seed"] if seeds == 1 else []
    remarks += [caveat] if caveat else []
    return f"{verdict} ({', '.join(remarks)})" if remarks else verdict
