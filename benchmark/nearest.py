"""Errors about names: what was given, what is allowed, and the nearest of it."""

import difflib
from collections.abc import Iterable

from data_pipelines.messages import one_line


def unknown(what: str, given: str, allowed: Iterable[str]) -> ValueError:
    """Return the error for a name that is not among those allowed."""
    names = sorted(allowed)
    near = difflib.get_close_matches(given[:100], names, n=1, cutoff=0.5)
    hint = f" (did you mean {near[0]}?)" if near else ""
    return ValueError(one_line(f"{what} is {given!r}{hint}; allowed are {', '.join(names) or 'none'}"))
