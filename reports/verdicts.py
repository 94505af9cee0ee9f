"""The verdict on what the paper states: reproduced, differs, or cannot be checked."""

from reports.finding import Finding

STAND_IN, RECONSTRUCTED, CHANGED = "stand-in data", "reconstructed data", "changed data"


def data_caveat(label: str) -> str:
    """Return in two words what a data label means for a verdict; empty for official and complete data."""
    for caveat in (STAND_IN, RECONSTRUCTED, CHANGED):
        if label.lower().startswith(caveat):
            return caveat
    return "unverified copy" if label else ""


def verdict_on_number(
    stated: float, ours: tuple[float, float, float], seeds: int | None, caveat: str, *, tolerance: float
) -> str:
    """Judge a number: inside our interval, or ours within a share of it. `seeds` is None for a count of the data."""
    if caveat == STAND_IN:
        return f"cannot be checked ({STAND_IN})"
    mean, low, high = ours
    agrees = low <= stated <= high or abs(mean - stated) <= tolerance * abs(stated)
    return _with("reproduced" if agrees else "differs", seeds, caveat)


def verdict_on_direction(finding: Finding, caveat: str) -> str:
    """Judge a direction by its finding."""
    if caveat == STAND_IN:
        return f"cannot be checked ({STAND_IN})"
    if finding.as_stated is None:
        return f"cannot be checked ({finding.why_not})"
    return _with("reproduced" if finding.as_stated else "differs", finding.seeds or None, caveat)


def _with(verdict: str, seeds: int | None, caveat: str) -> str:
    remarks = ["one seed"] if seeds == 1 else []
    remarks += [caveat] if caveat else []
    return f"{verdict} ({', '.join(remarks)})" if remarks else verdict
