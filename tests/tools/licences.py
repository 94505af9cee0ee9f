"""List the licences of the packages that are installed with all extras for users: the table in docs/citing.md.

Usage: python -m tests.tools.licences
"""

import re
from collections import defaultdict
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

PAGE = Path(__file__).parents[2] / "docs" / "citing.md"
FIRST, LAST = "<!-- licences of packages: python -m tests.tools.licences -->", "<!-- end of the licences -->"
MAX_LENGTH = 80
NOT_DECLARED = "not declared in its metadata"
SAME = {
    "Apache Software License": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "BSD": "BSD License",
    "3-Clause BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "MIT license": "MIT",
}
"""Names of one licence."""


def packages(name: str = "fedbandit-bench[all]") -> dict[str, Distribution]:
    """Return the installed packages that a requirement needs, directly or indirectly, by name."""
    found: dict[str, Distribution] = {}
    waiting, seen = [Requirement(name)], set[str]()
    while waiting:
        requirement = waiting.pop()
        if str(requirement) in seen:
            continue
        seen.add(str(requirement))
        try:
            package = distribution(requirement.name)
        except PackageNotFoundError:  # of an extra that is not installed
            continue
        found[package.metadata["Name"]] = package
        extras = [{"extra": extra} for extra in (*requirement.extras, "")]
        needed = [Requirement(text) for text in package.requires or ()]
        waiting += [each for each in needed if each.marker is None or any(map(each.marker.evaluate, extras))]
    return {name: found[name] for name in sorted(found, key=str.lower) if name != "fedbandit-bench"}


def licence(package: Distribution) -> str:
    """Return the licence that a package declares: as an expression, by classifiers, or in a few words."""
    about = package.metadata
    if expression := about.get("License-Expression"):
        return str(expression)
    classified = [text for text in about.get_all("Classifier") or () if text.startswith("License ::")]
    names = [re.sub(r" \(.*\)$", "", text.rpartition(" :: ")[2]) for text in classified]
    text = " ".join((about.get("License") or "").split())
    names = [SAME.get(name, name) for name in names if name != "OSI Approved"]
    if not names and 0 < len(text) <= MAX_LENGTH:
        names = [SAME.get(text, text)]
    return ", ".join(names) or NOT_DECLARED


def table() -> str:
    """Return one row per licence, the most frequent first."""
    by_licence: dict[str, list[str]] = defaultdict(list)
    for name, package in packages().items():
        by_licence[licence(package)].append(name)
    rows = sorted(by_licence.items(), key=lambda row: (-len(row[1]), row[0]))
    return "\n".join(
        ["| licence | packages |", "|---|---|", *(f"| {text} | {', '.join(names)} |" for text, names in rows)]
    )


def main() -> None:
    """Write the table."""
    before, _, rest = PAGE.read_text().partition(FIRST)
    PAGE.write_text(f"{before}{FIRST}\n\n{table()}\n\n{LAST}{rest.partition(LAST)[2]}")


if __name__ == "__main__":
    main()
