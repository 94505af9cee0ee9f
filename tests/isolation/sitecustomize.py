"""Note the forbidden paths that a process opens; Python imports a module of this name at its start."""

import os
import sys
from typing import Any

FORBIDDEN, NOTES = "FEDBANDIT_TESTS_FORBIDDEN", "FEDBANDIT_TESTS_NOTES"
"""Variables: the paths that tests must not open, and the file for notes on those that were opened."""

EVENTS = ("open", "os.listdir", "os.scandir", "os.mkdir", "os.remove", "os.rename", "sqlite3.connect")


def watch() -> None:
    """Watch this process while the variable `NOTES` is set."""
    forbidden = tuple(os.environ[FORBIDDEN].split(os.pathsep))
    below = tuple(path + os.sep for path in forbidden)
    notes = os.environ[NOTES]

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event not in EVENTS or NOTES not in os.environ or not isinstance(arguments[0], str | bytes | os.PathLike):
            return
        path = os.path.abspath(os.fsdecode(arguments[0]).removeprefix("file:").partition("?")[0])  # noqa: PTH100 - `Path` would be slow
        if path in forbidden or path.startswith(below):
            with open(notes, "a") as file:  # noqa: PTH123
                file.write(f"{path}\n")

    sys.addaudithook(note)


if __name__ == "sitecustomize":
    watch()
