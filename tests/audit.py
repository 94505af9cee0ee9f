"""Look for known vulnerabilities in the pinned packages, where a database of them can be reached: part of `make lint`.

`pip-audit` asks pypi.org about each package. A package that pypi.org does not answer for is passed over by it in
silence, and "no known vulnerabilities" is then its answer for packages that nobody looked at. So what counts here is
how many were really looked at; if none was, nothing is known, and that is said.
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
    """Return 1 if a pinned package has a known vulnerability, 0 if none has or nothing can be known."""
    try:
        done = subprocess.run(
            [*command, "--requirement", str(PINNED), *OPTIONS], capture_output=True, text=True, timeout=seconds
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"NOT RUN: pip-audit ({type(error).__name__}): nothing is known of vulnerabilities")
        return 0
    packages = _packages(done.stdout)
    audited = [package for package in packages if "skip_reason" not in package]
    if not audited:
        print("NOT RUN: pip-audit cannot reach its database: nothing is known of vulnerabilities")
        return 0
    wrong = [package for package in audited if package.get("vulns")]
    print(f"pip-audit: {len(audited)} of {len(packages)} packages looked at, {len(wrong)} with known vulnerabilities")
    for package in wrong:
        names = ", ".join(each["id"] for each in package["vulns"])
        print(f"VULNERABLE: {package['name']} {package['version']}: {names}")
    return 1 if wrong else 0


def _packages(output: str) -> list[dict[str, Any]]:
    try:
        packages: list[dict[str, Any]] = json.loads(output)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return []
    return packages


if __name__ == "__main__":
    sys.exit(audit())
