"""The methods of the runs that a report is about: built-in ones by their declaration, any other as its runs record it.

So a report is the same wherever it is made: no class of a user or of another package is imported for it.
"""

from collections.abc import Iterable

from benchmark.method_card import CARD, MethodCard, card_of
from reports.read.stored_runs import StoredRun

_recorded: dict[str, MethodCard] = {}


def remember_methods(runs: Iterable[StoredRun]) -> None:
    """Keep what runs record about their methods; the latest run of a method counts."""
    texts: dict[str, tuple[str | None, StoredRun]] = {}
    for run in runs:
        if name := run.parameters.get("algorithm"):
            text = run.tags.get(CARD) or texts.get(name, (None, run))[0]
            texts[name] = (text, run)
    _recorded.update({name: card_of(name, text, _given(run)) for name, (text, run) in texts.items()})


def _given(run: StoredRun) -> list[str]:
    """Return the names of the parameters that have a value."""
    return [name for name, value in run.parameters.items() if value not in ("", "None")]


def method(name: str) -> MethodCard:
    """Return what is known about a method."""
    return _recorded.get(name) or card_of(name)
