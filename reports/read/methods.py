"""The methods of the runs that a report is about: built-in ones by their declaration, any other as its runs record it.

So a report is the same wherever it is made: no class of a user or of another package is imported for it.
"""

from collections.abc import Iterable

from benchmark.method_card import MethodCard, card_of
from benchmark.records.record import RunRecord

_recorded: dict[str, MethodCard] = {}


def remember_methods(records: Iterable[RunRecord]) -> None:
    """Store the method cards that runs record; the latest run of a method counts."""
    _recorded.update({record.method.name: record.method.card for record in records})


def method(name: str) -> MethodCard:
    """Return the card of a method."""
    return card_of(name, _recorded.get(name))
