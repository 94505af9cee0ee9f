"""Configuration of the documentation site for Sphinx: `make site`.

The pages are the Markdown files of the repository as they are, so their links work here and in the sources alike. The
README is the home page. Nothing is loaded from other hosts, neither when the site is built nor when it is read.
"""

import inspect
import os
import re
import shutil
import sys
from importlib import metadata
from pathlib import Path

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parents[1]))  # the folder `tests` is not installed

from benchmark.__main__ import _parser
from reports.page.board import TO_COME
from reports.page.page import asset, board_parts
from tests.tools.committed import read_committed
from tests.tools.reference_pages import parsers, public_names

project = "fedbandit-bench"
release = metadata.version("fedbandit-bench")
html_title = f"{project} {release}"
html_theme = "furo"
html_show_copyright = False
html_show_sphinx = False
html_copy_source = False
html_static_path = ["site.css"]
html_css_files = ["site.css"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
root_doc = "README"
include_patterns = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
include_patterns += [f"docs/{folder}*.md" for folder in ("", "reference/", "tables/")]
include_patterns += ["submissions/README.md"]
exclude_patterns = [".*", "build", "data", "mlartifacts", "reports", "screenshots", "tests"]
myst_heading_anchors = 4
highlight_language = "text"  # of code blocks without a language
default_role = "code"  # docstrings have `names` between single backticks
suppress_warnings = [
    "misc.highlighting_failure",  # examples in Python with … for values
    "myst.header",  # a heading that skips a level
]
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"

METHODS = "../methods.html"
"""The page on methods, from the page of the board."""

CONTENTS = """

```{toctree}
:hidden:
:caption: User guide

docs/install
docs/answers
docs/own_data
docs/data
docs/own_method
docs/own_metric
docs/submitting
docs/methods
docs/experiments
docs/reports
docs/ui
docs/cluster
docs/citing
```

```{toctree}
:hidden:
:caption: Results

docs/board
docs/reference/board
docs/results
docs/protocol
docs/reliability
docs/speed
docs/board-1
```

```{toctree}
:hidden:
:glob:
:caption: Tables

docs/tables/*
```

```{toctree}
:hidden:
:caption: Reference

docs/reference/command_line
docs/reference/python
docs/reference/metrics
docs/glossary
```

```{toctree}
:hidden:
:caption: Developer guide

CONTRIBUTING
docs/architecture
docs/testing
docs/performance
submissions/README
CHANGELOG
```
"""


def command_reference() -> str:
    """Return the help texts of all commands, as Markdown."""
    os.environ["COLUMNS"] = "90"  # the width of the help texts
    helps = {parser.prog: parser.format_help() for parser in parsers(_parser())}
    return "".join(f"\n## {name}\n\n```text\n{text}```\n" for name, text in helps.items())


def python_reference() -> str:
    """Return directives for the public names of our packages, as Markdown."""
    text = ""
    for package, members in public_names().items():
        text += f"\n## {package}\n\n```{{eval-rst}}\n.. automodule:: {package}\n```\n"
        text += "".join(
            f"\n### {name}\n\n```{{eval-rst}}\n{directive(package, name, member)}\n```\n"
            for name, member in members.items()
        )
    return text


def directive(package: str, name: str, member: object) -> str:
    """Return the directive that documents a public name."""
    if inspect.isclass(member):
        return f".. autoclass:: {package}.{name}\n   :members:"
    return f".. autofunction:: {package}.{name}"


def board_page() -> str:
    """Return the board of docs/records as a table with filters, and the cards of its tasks and methods, as Markdown."""
    results = read_committed()
    come = "" if results.boards else f"\n**{TO_COME}**\n"
    style = raw(f"<style>.board {{ {asset('page.css')} }}</style>")  # of this part of the page alone
    script = raw(f"<script type=module>{asset('table.js')}</script>")
    parts = board_parts(results, METHODS).items()
    text = "".join(f"\n## {title}\n\n" + raw(f'<div class="board">{html}</div>') for title, html in parts)
    return "\n".join([come, style, text, script])


def raw(html: str) -> str:
    """Return HTML as a part of a page in Markdown."""
    return f"`````{{raw}} html\n{html}\n`````\n"


GENERATED = {
    root_doc: lambda: CONTENTS,
    "docs/reference/board": board_page,
    "docs/reference/command_line": command_reference,
    "docs/reference/python": python_reference,
}
"""Text that is added to a page when the site is built."""


def add_generated(app: Sphinx, page: str, source: list[str]) -> None:
    """Add the list of all pages to the home page, and the reference to its pages."""
    if page in GENERATED:
        source[0] += GENERATED[page]()


def escape_docstring(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Escape what has a meaning in reStructuredText: docstrings are prose with `code` between single backticks."""
    parts = "\n".join(lines).split("`")
    parts[::2] = [re.sub(r"([*|_\\])", r"\\\1", part) for part in parts[::2]]
    parts[2::2] = [re.sub(r"^(?=\w)", r"\\", part) for part in parts[2::2]]  # `name`s
    lines[:] = "`".join(parts).splitlines()


def copy_home_page(app: Sphinx, exception: Exception | None) -> None:
    """Make the README the page that a server or a browser opens first."""
    if exception is None:
        shutil.copyfile(Path(app.outdir) / f"{root_doc}.html", Path(app.outdir) / "index.html")


def setup(app: Sphinx) -> None:
    """Connect the functions above to Sphinx."""
    app.connect("source-read", add_generated)
    app.connect("env-get-outdated", lambda *_: list(GENERATED))  # also if only what they are made from has changed
    app.connect("autodoc-process-docstring", escape_docstring, priority=400)  # before napoleon
    app.connect("build-finished", copy_home_page)
