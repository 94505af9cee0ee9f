"""The files of the clone that tests look at: sources, and examples of the README and the other pages."""

import os
import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md"), ROOT / "submissions" / "README.md"])
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def sources(*packages: str) -> list[Path]:
    """Return the modules of packages; generated files in the folder `reports/output` are no sources."""
    files = []
    for folder, subfolders, names in (step for package in packages for step in os.walk(ROOT / package)):
        subfolders[:] = [name for name in subfolders if name != "output"]
        files += [Path(folder, name) for name in names if name.endswith(".py")]
    return sorted(files)


def blocks(language: str, page: Path) -> list[str]:
    """Return the code blocks of a page in a language."""
    return [code for name, code in FENCED.findall(page.read_text()) if name == language]


def example_file(name: str) -> str:
    """Return the example whose first line is a comment with the name of its file, on whichever page it is."""
    examples = (code for page in PAGES for _, code in FENCED.findall(page.read_text()))
    (example,) = (code for code in examples if code.startswith(f"# {name}\n"))
    return str(example)


def commands(start: str, page: Path) -> list[list[str]]:
    """Return the arguments of the `fedbandit` commands on a page that start with this text."""
    text = "\n".join(blocks("sh", page) + blocks("", page)).replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.startswith(f"fedbandit {start}")]
    return [shlex.split(line, comments=True)[1:] for line in lines]
