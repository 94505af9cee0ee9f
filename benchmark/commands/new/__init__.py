"""Write a commented, working file to start from: an experiment, a method or a data set.

Examples:
  fedbandit new experiment patience    patience.toml
  fedbandit new method gossip          gossip.py, a class to compare
  fedbandit new dataset shop           shop.py, which imports your tables

The file is written to the working directory and says how to use it. An existing
file is never overwritten.
"""

import argparse
import importlib.util
import keyword
import re
from pathlib import Path
from string import Template

from data_pipelines.support.files import write_whole

ORDER = 3

SUFFIXES = {"experiment": ".toml", "method": ".py", "dataset": ".py"}
TEMPLATES = Path(__file__).with_name("templates")
NAME = re.compile(r"[a-z][a-z0-9_-]{0,49}")


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("kind", choices=tuple(SUFFIXES), metavar="KIND", help="experiment, method or dataset")
    parser.add_argument("name", metavar="NAME", help="lower-case letters, digits, _ and -")


def run(arguments: argparse.Namespace) -> int:
    """Write the file and print how to use it."""
    kind, name = arguments.kind, arguments.name
    _check(kind, name)
    path = Path(f"{name}{SUFFIXES[kind]}")
    class_name = "".join(part.capitalize() for part in re.split("[-_]", name))
    template = Template((TEMPLATES / f"{kind}.txt").read_text(encoding="utf-8"))
    if path.exists() or path.is_symlink():
        raise ValueError(f"{path} exists; choose another name, or remove it first")
    write_whole(path, template.substitute(name=name, class_name=class_name).encode())
    usage = {
        "experiment": f"fedbandit run {path}",
        "method": f"fedbandit run fig_a --method {name}:{class_name}",
        "dataset": f"python {path}",
    }
    print(f"{path} was written. Next: {usage[kind]}")
    return 0


def _check(kind: str, name: str) -> None:
    if not NAME.fullmatch(name):
        raise ValueError(
            f"NAME must be at most 50 lower-case letters, digits, _ and -, and start with a letter, got {name[:100]!r}"
        )
    if kind == "method" and (not name.isidentifier() or keyword.iskeyword(name)):
        raise ValueError(f"NAME of a method must be a name in Python, without -, got {name!r}")
    if kind == "method" and not Path(f"{name}.py").exists() and importlib.util.find_spec(name) is not None:
        raise ValueError(f"NAME of a method must not be that of an installed module, got {name!r}")
    if kind == "dataset":
        from data_pipelines.prepare.imported import check_name

        check_name(name)
