"""The section of each method in docs/methods.md, from its declaration."""

from dataclasses import MISSING, fields
from pathlib import Path
from textwrap import fill

from algorithms.hyperparameters import number_text
from algorithms.method import MethodInfo
from algorithms.registry import built_in_methods

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
WIDTH = 100


def methods_sections() -> str:
    """Return a section for each contender, in alphabetical order of their labels."""
    contenders = [info for info in built_in_methods().values() if info.role == "contender"]
    return "\n".join(section(info) for info in sorted(contenders, key=lambda info: info.label.lower()))


def section(info: MethodInfo) -> str:
    """Return idea, formula, messages, reference, deviations, parameters and pictures of a method."""
    about = info.method.about  # type: ignore[attr-defined]
    items = [
        _item(f"sends: {about.sends}"),
        _item(f"reference: {info.reference}"),
        _item(f"parameters: {_parameters(info)}"),
        *([_item(f"variants on the board: {'; '.join(info.variants)}")] if info.variants else []),
        _item(f"differs from the published form:{'' if about.deviations else ' no'}"),
        *(_item(deviation, "  ") for deviation in about.deviations),
    ]
    further = sorted(PICTURES.glob(f"method_{info.name}_*.png"))
    pictures = {f"front_{info.name}.png": "front", **{each.name: each.stem.rpartition("_")[2] for each in further}}
    parts = [
        f"## {info.label}",
        fill(about.idea, WIDTH),
        f"```text\n{about.formula}\n```",
        "\n".join(items),
        *(f"![{info.label}: {what}](pictures/{picture})" for picture, what in pictures.items()),
    ]
    return "\n\n".join(parts) + "\n"


def _item(text: str, indent: str = "") -> str:
    return fill(f"- {text}", WIDTH, initial_indent=indent, subsequent_indent=f"{indent}  ")


def _parameters(info: MethodInfo) -> str:
    """Return the name of the method, its parameters with their defaults, and the ends of its front."""
    texts = []
    for each in fields(info.method):
        default = "" if each.default is MISSING or each.default is None else f"={number_text(each.default)}"
        texts.append(f"`{each.name}{default}`")
    least, most = (number_text(value).replace("inf", "∞") for value in info.ends)
    return f"`{info.name}` with {', '.join(texts)}; the front is {info.symbol} from {least} to {most}"
