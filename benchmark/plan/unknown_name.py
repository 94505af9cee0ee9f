"""The error for an unknown name, which suggests the most similar known one."""

import difflib
from collections.abc import Iterable

from data_pipelines.support.messages import one_line


def unknown_name(what: str, name: str, known_names: Iterable[str]) -> ValueError:
    """Return the error for a name that is not one of the known names."""
    names = sorted(known_names)
    matches = difflib.get_close_matches(name[:100], names, n=1, cutoff=0.5)
    hint = f" (did you mean {matches[0]}?)" if matches else ""
    return ValueError(one_line(f"unknown {what} {name!r}{hint}; expected one of: {', '.join(names) or 'none'}"))
