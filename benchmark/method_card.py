"""The card of a method in a record: all that people and reports need to know, even if the method is not installed."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from algorithms.method import Declaration, Front, usual_front
from algorithms.registry import built_in_methods
from benchmark.plan.algorithm_names import number_text
from benchmark.styles import style_number


@dataclass(frozen=True)
class MethodCard:
    """The label, style and role of a method, and the parameter of its front.

    Attributes:
        name: the name in records.
        label: the name in figures and tables.
        style: the number of its style.
        role: `contender`, `baseline` or `reference`.
        parameter: the parameter that its front varies; empty if there is none.
        symbol: how figures and tables write that parameter.
        ends: the ends of its grid, which figures label with their symbol.
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

    def to_json(self) -> dict[str, Any]:
        """Return the fields for JSON; numbers are texts, because JSON has no infinity."""
        landmarks = {number_text(value): name for value, name in self.landmarks.items()}
        return {**vars(self), "ends": [number_text(value) for value in self.ends], "landmarks": landmarks}

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "MethodCard":
        """Return the card with these fields."""
        ends = tuple(float(value) for value in fields["ends"])
        landmarks = {float(value): str(name) for value, name in fields["landmarks"].items()}
        return cls(**{**fields, "ends": ends, "landmarks": landmarks})


def is_rule(role: str, parameters: Container[str]) -> bool:
    """Tell whether a method is a reference without a model, such as a counter: a linear model has a `ridge`."""
    return role == "reference" and "ridge" not in parameters


def card_of(name: str, recorded: MethodCard | None = None, parameters: Iterable[str] = ()) -> MethodCard:
    """Return the card of a method in a record: of a built-in method, or as recorded, or as older records imply.

    Args:
        name: the method's name.
        recorded: its card as recorded; older records have none.
        parameters: the names of the parameters in the record.
    """
    if name in built_in_methods():
        return MethodCard.of(built_in_methods()[name])
    if recorded is not None:
        return recorded
    module, colon, class_name = name.partition(":")
    label = f"{class_name} ({module})" if colon else name
    return MethodCard(name, label, style_number(name), **_front_fields(usual_front(parameters)))


def _front_fields(front: Front | None) -> dict[str, Any]:
    if front is None:
        return {}
    ends = (front.grid[0], front.grid[-1])
    return {"parameter": front.parameter, "symbol": front.symbol, "ends": ends, "landmarks": dict(front.landmarks)}
