"""Search for known vulnerabilities in the pinned packages, if their database is reachable: part of `make lint`.

`pip-audit` requests each package from the public package index. It silently skips packages for which it gets no
answer, and then reports "no known vulnerabilities" for packages that were not checked. This module therefore counts
the packages that were actually checked and names the others, whose vulnerabilities are unknown.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PINNED = Path(__file__).parents[1] / "constraints.txt"
SECONDS = 300.0
OPTIONS = ("--no-deps", "--disable-pip", "--progress-spinner", "off", "--timeout", "10", "--format", "json")


def audit(command: tuple[str, ...] = (sys.executable, "-m", "pip_audit"), seconds: float = SECONDS) -> int:
    """Return 1 if a pinned package has a known vulnerability; 0 if none has, or if they are unknown."""
    try:
        done = subprocess.run(
            [*command, "--requirement", str(PINNED), *OPTIONS], capture_output=True, text=True, timeout=seconds
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"NOT RUN: pip-audit ({type(error).__name__}): vulnerabilities are unknown")
        return 0
    packages = _packages(done.stdout)
    checked = [package for package in packages if "skip_reason" not in package]
    if not checked:
        count = _pinned_count()
        print(f"NOT RUN: pip-audit cannot reach its database: vulnerabilities of all {count} packages are unknown")
        return 0
    vulnerable = [package for package in checked if package.get("vulns")]
    print(
        f"pip-audit: {len(checked)} of {len(packages)} packages checked, {len(vulnerable)} with known vulnerabilities"
    )
    if unchecked := [package["name"] for package in packages if package not in checked]:
        print(f"NOT CHECKED, so that vulnerabilities are unknown: {', '.join(unchecked)}")
    for package in vulnerable:
        names = ", ".join(vulnerability["id"] for vulnerability in package["vulns"])
        print(f"VULNERABLE: {package['name']} {package['version']}: {names}")
    return 1 if vulnerable else 0


def _pinned_count() -> int:
    return len(PINNED.read_text().splitlines())


def _packages(output: str) -> list[dict[str, Any]]:
    try:
        packages: list[dict[str, Any]] = json.loads(output)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return []
    return packages


if __name__ == "__main__":
    sys.exit(audit())
