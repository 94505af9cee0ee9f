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
    """Return idea, formula, messages, reference, deviations, parameters and picture of a method."""
    about = info.method.about  # type: ignore[attr-defined]
    deviations = about.deviations or ("none.",)
    parts = [
        f"## {info.label}",
        fill(about.idea, WIDTH),
        f"```text\n{about.formula}\n```",
        "\n".join(_item(name, text) for name, text in (("sends", about.sends), ("reference", info.reference))),
        _item("parameters", _parameters(info)),
        "\n".join(
            _item("differs from the published form" if n == 0 else "", each) for n, each in enumerate(deviations)
        ),
        *([_item("variants on the board", "; ".join(info.variants))] if info.variants else []),
    ]
    picture = f"further_methods_{info.name}.png"
    if (PICTURES / picture).exists():
        parts.append(f"![Reward of {info.label} against needed messages](pictures/{picture})")
    return "\n\n".join(parts).replace("\n\n- ", "\n- ").replace("```\n- ", "```\n\n- ") + "\n"


def _item(name: str, text: str) -> str:
    return fill(f"- {name}: {text}" if name else f"- {text}", WIDTH, subsequent_indent="  ")


def _parameters(info: MethodInfo) -> str:
    """Return the name of the method, its parameters with their defaults, and the ends of its front."""
    texts = []
    for each in fields(info.method):
        default = "" if each.default is MISSING or each.default is None else f"={number_text(each.default)}"
        texts.append(f"`{each.name}{default}`")
    least, most = (number_text(value).replace("inf", "∞") for value in info.ends)
    return f"`{info.name}` with {', '.join(texts)}; the front is {info.symbol} from {least} to {most}"
