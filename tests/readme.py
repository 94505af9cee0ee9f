"""The examples of the README, for tests that run them."""

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[str]:
    """Return the code blocks of the README in a language."""
    return [code for name, code in FENCED.findall(README.read_text()) if name == language]


def example_file(name: str) -> str:
    """Return the example whose first line is a comment with the name of its file."""
    (example,) = (code for _, code in FENCED.findall(README.read_text()) if code.startswith(f"# {name}\n"))
    return str(example)


def commands(start: str) -> list[list[str]]:
    """Return the arguments of the `fedbandit` commands in the README that start with this text."""
    text = "\n".join(blocks("sh") + blocks("")).replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.startswith(f"fedbandit {start}")]
    return [shlex.split(line, comments=True)[1:] for line in lines]
