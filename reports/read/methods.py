"""The methods of the runs that a report is about: built-in ones by their info, any other as its runs record it.

So a report is the same wherever it is made: no class of a user or of another package is imported for it.
"""

from collections.abc import Iterable

from algorithms.method import MethodInfo
from algorithms.registry import known_method
from benchmark.records.record import RunRecord

_recorded: dict[str, MethodInfo] = {}


def remember_methods(records: Iterable[RunRecord]) -> None:
    """Store what runs record about their methods; the latest run of a method counts."""
    _recorded.update({record.method.name: record.method.info for record in records})


def method(name: str) -> MethodInfo:
    """Return what is known about a method."""
    return known_method(name, _recorded.get(name))
