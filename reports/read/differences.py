"""How configurations differ, in words: for display only."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from algorithms.hyperparameters import number_text

PREFIX = "stream_"
"""Prefix of stream options, so that they do not collide with hyper-parameters."""

Words = Mapping[str, Mapping[str, str]]
"""The words for values, as they are written in TOML, by option."""

NO_WORDS: Words = {}


def differing_names(configurations: Iterable[Mapping[str, Any]], always: Collection[str] = ()) -> list[str]:
    """Return the names whose values differ, or are missing in some; those in `always` in any case."""
    values: dict[str, set[Any]] = {}
    counts: dict[str, int] = {}
    number = 0
    for number, configuration in enumerate(configurations, start=1):  # noqa: B007 - used after the loop
        for name, value in configuration.items():
            values.setdefault(name, set()).add(value)
            counts[name] = counts.get(name, 0) + 1
    differing = {name for name, distinct in values.items() if len(distinct) > 1 or counts[name] < number}
    return sorted(differing | (values.keys() & set(always)))


def describe(configuration: Mapping[str, Any], names: Iterable[str], words: Words = NO_WORDS) -> str:
    """Return some values as text, in words or as `name=value`; names without a value are left out."""
    return ", ".join(
        value_text(name.removeprefix(PREFIX), number_text(configuration[name]), words)
        for name in names
        if name in configuration
    )


def value_text(name: str, value: str, words: Words) -> str:
    """Return the value of an option in the words of an experiment file; as `name=value` if it has none."""
    as_written = value.lower() if value in ("True", "False") else value
    return words.get(name, {}).get(as_written, f"{name}={value}")
