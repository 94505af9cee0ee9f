"""What a record says about its method, for people and reports: it is complete where the method is not installed."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from algorithms.method import Declaration, Front, usual_front
from algorithms.registry import built_in_methods
from benchmark.plan.algorithm_names import number_text
from benchmark.styles import style_number

CARD = "fedbandit.method"
"""The tag of a run with its method's card, as JSON."""


@dataclass(frozen=True)
class MethodCard:
    """The label, style and role of a method, and what its front is called.

    Attributes:
        name: the name in records.
        label: the name in figures and tables.
        style: the number of its style.
        role: `contender`, `baseline` or `reference`.
        parameter: the parameter that its front runs through; empty without one.
        symbol: how figures and tables write that parameter.
        ends: the ends of its grid, as labels of figures name them with their symbol.
        landmarks: values that figures draw as extremes, with their names.
    """

    name: str
    label: str
    style: int
    role: str = "contender"
    parameter: str = ""
    symbol: str = ""
    ends: tuple[float, ...] = ()
    landmarks: Mapping[float, str] = field(default_factory=dict)

    @classmethod
    def of(cls, declaration: Declaration) -> "MethodCard":
        """Return the card of a method from its declaration."""
        number = style_number(declaration.name, declaration.style)
        return cls(declaration.name, declaration.label, number, declaration.role, **_front_fields(declaration.front))

    def text(self) -> str:
        """Return the card as JSON; numbers are texts, because JSON has no infinity."""
        landmarks = {number_text(value): name for value, name in self.landmarks.items()}
        ends = [number_text(value) for value in self.ends]
        return json.dumps({**vars(self), "ends": ends, "landmarks": landmarks}, sort_keys=True)

    @classmethod
    def from_text(cls, text: str) -> "MethodCard":
        """Read a card from JSON."""
        fields = json.loads(text)
        ends = tuple(float(value) for value in fields["ends"])
        landmarks = {float(value): str(name) for value, name in fields["landmarks"].items()}
        return cls(**{**fields, "ends": ends, "landmarks": landmarks})


def card_of(name: str, text: str | None = None, parameters: Iterable[str] = ()) -> MethodCard:
    """Return the card of a method in a record: of a built-in method, or as recorded, or as older records imply.

    Args:
        name: the method's name.
        text: its card as recorded; older records have none.
        parameters: the names of the parameters in the record.
    """
    if name in built_in_methods():
        return MethodCard.of(built_in_methods()[name])
    try:
        return MethodCard.from_text(text or "")
    except (ValueError, TypeError, KeyError, AttributeError):  # no card, or not one of ours
        module, colon, class_name = name.partition(":")
        label = f"{class_name} ({module})" if colon else name
        return MethodCard(name, label, style_number(name), **_front_fields(usual_front(parameters)))


def _front_fields(front: Front | None) -> dict[str, Any]:
    if front is None:
        return {}
    ends = (front.grid[0], front.grid[-1])
    return {"parameter": front.parameter, "symbol": front.symbol, "ends": ends, "landmarks": dict(front.landmarks)}
