"""The tables of the reference in docs/reference: public names, commands and metrics.

Examples:
  python -m tests.tools.reference_pages     write them again
"""

import argparse
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path

from benchmark.__main__ import _parser
from benchmark.metrics import METRICS, Metric
from data_pipelines.support.files import write_whole
from tests.tools.prose import BLOCK

FOLDER = Path(__file__).parents[2] / "docs" / "reference"
PACKAGES = ("algorithms", "data_pipelines", "benchmark")
MAX_DEFAULT = 12
"""Characters of a default value that is shown."""


def python_table() -> str:
    """Return the public names of each package with their parameters and the first line of their docstrings."""
    text = ""
    for package, members in public_names().items():
        rows = ((f"`{name}{parameters(member)}`", first_line(member)) for name, member in members.items())
        text += f"**{package}**\n\n{table(('name', 'what it is'), rows)}\n"
    return text


def public_names() -> dict[str, dict[str, object]]:
    """Return the public names of each package; a name in two packages belongs to the first."""
    seen: set[int] = set()
    names: dict[str, dict[str, object]] = {}
    for package in PACKAGES:
        module = import_module(package)
        members = {name: getattr(module, name) for name in sorted(module.__all__)}
        names[package] = {name: member for name, member in members.items() if id(member) not in seen}
        seen.update(map(id, members.values()))
    return names


def parameters(member: object) -> str:
    """Return the parameters of a function or class; long defaults are left out."""
    if not callable(member) or getattr(member, "_is_protocol", False):
        return ""
    try:
        signature = inspect.signature(member)
    except ValueError:  # of a class in C
        return ""
    return f"({', '.join(map(_parameter, signature.parameters.values()))})"


def _parameter(parameter: inspect.Parameter) -> str:
    star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    default = "" if parameter.default is parameter.empty else repr(parameter.default)
    shown = default if len(default) <= MAX_DEFAULT and " at 0x" not in default else "…"
    return f"{star}{parameter.name}{'=' * bool(default)}{shown}"


def first_line(member: object) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(member) or "").partition("\n")[0]


def command_table() -> str:
    """Return the commands with what they do."""
    commands = {parser.prog: (parser.description or "").partition("\n")[0] for parser in parsers(_parser())}
    return table(("command", "what it does"), ((f"`{name}`", text) for name, text in commands.items() if " " in name))


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Return a parser and those of all its sub-commands."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for sub_command in action.choices.values():
                yield from parsers(sub_command)


def metric_table() -> str:
    """Return the metrics of a run."""
    return table(("name", "meaning", "unit", "better"), map(_metric_row, METRICS))


def _metric_row(metric: Metric) -> tuple[str, ...]:
    symbol = f" ({metric.symbol})" if metric.symbol else ""
    return f"`{metric.name}`", f"{metric.description}{symbol}", metric.unit or "–", metric.better


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a table in Markdown."""
    heads = [*heads]
    lines = [heads, ["---"] * len(heads), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


TABLES: Mapping[str, Callable[[], str]] = {
    "python": python_table,
    "command_line": command_table,
    "metrics": metric_table,
}
"""By the name of the page."""


def renewed(name: str) -> str:
    """Return a page with its table as it should be now."""
    text = (FOLDER / f"{name}.md").read_text()
    return BLOCK.sub(lambda match: match[1] + TABLES[match["name"]]() + match[3], text)


def main() -> int:
    """Write all pages."""
    for name in TABLES:
        write_whole(FOLDER / f"{name}.md", renewed(name).encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
