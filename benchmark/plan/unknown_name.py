"""The error for an unknown name, which suggests the most similar known one."""

from collections.abc import Iterable

from data_pipelines.support.messages import did_you_mean, one_line


def unknown_name(what: str, name: str, known_names: Iterable[str]) -> ValueError:
    """Return the error for a name that is not one of the known names."""
    names = sorted(known_names)
    hint = did_you_mean(name, names)
    return ValueError(one_line(f"unknown {what} {name!r}{hint}; expected one of: {', '.join(names) or 'none'}"))
