"""What a verdict on a claim of the paper depends on besides the numbers: the data that were available."""

STAND_IN, RECONSTRUCTED, CHANGED = "stand-in data", "reconstructed data", "changed data"


def data_caveat(label: str) -> str:
    """Return a short form of a data label for a verdict; empty for official and complete data."""
    for caveat in (STAND_IN, RECONSTRUCTED, CHANGED):
        if label.lower().startswith(caveat):
            return caveat
    return "unverified copy" if label else ""
