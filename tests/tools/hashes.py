"""Write requirements.txt and requirements-dev.txt: the versions of constraints.txt with the hashes of their files.

The hashes are those that the package index states for its wheels. Users need the packages of the extra `all`, and
those who develop also those of `dev`.

Usage: python -m tests.tools.hashes [--index https://pypi.org/simple]
"""

import argparse
import re
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

import requests
from packaging.utils import canonicalize_name, parse_wheel_filename

from tests.readme import ROOT
from tests.tools.licences import packages

PINNED = ROOT / "constraints.txt"
USERS, DEVELOPERS = ROOT / "requirements.txt", ROOT / "requirements-dev.txt"
BUILD = {"setuptools"}
LINK = re.compile(r'<a href="[^"]*/([^"/#]+)#sha256=([0-9a-f]{64})"')
UNUSED = re.compile(
    r"win32|win_|musllinux|i686|ppc64|s390x|armv7|riscv|loongarch|pypy|ios_|android|wasm|cp3\d+t|graalpy"
)
"""Tags of wheels for platforms on which this project is not tested."""


def pins() -> dict[str, str]:
    """Return the pinned version of each package, by its normalised name."""
    lines = [line.split("==") for line in PINNED.read_text().split()]
    return {canonicalize_name(name): version for name, version in lines}


def hashes(page: str, name: str, version: str) -> list[str]:
    """Return the hashes of the wheels of a version, given the index's page of the package."""
    found = set()
    for file, sha256 in LINK.findall(page):
        if not file.endswith(".whl") or f"-{version}-" not in file or UNUSED.search(file.partition("-")[2]):
            continue
        wheel_name, wheel_version, _, tags = parse_wheel_filename(file.replace("%2B", "+"))
        interpreters = {tag.interpreter for tag in tags}
        is_old = all(re.fullmatch(r"cp(2\d?|3|3\d|310)", each) for each in interpreters) and "abi3" not in file
        if (wheel_name, str(wheel_version)) == (name, version) and not is_old:
            found.add(sha256)
    return sorted(found)


def text(names: Iterable[str], of_package: Mapping[str, list[str]], first: str) -> str:
    """Return the content of a file of requirements."""
    versions = pins()
    rows = [
        " \\\n".join([f"{name}=={versions[name]}", *(f"    --hash=sha256:{each}" for each in of_package[name])])
        for name in sorted(names)
    ]
    return "\n".join([first, *rows]) + "\n"


def main() -> None:
    """Ask the index, and write both files."""
    parser = argparse.ArgumentParser(prog="python -m tests.tools.hashes", description=__doc__.partition("\n")[0])
    parser.add_argument("--index", default="https://pypi.org/simple", metavar="URL", help="a package index")
    index = parser.parse_args().index.rstrip("/")

    def ask(pin: tuple[str, str]) -> list[str]:
        page = requests.get(f"{index}/{pin[0]}/", headers={"Accept": "text/html"}, timeout=60)
        page.raise_for_status()
        return hashes(page.text, *pin)

    versions = pins()
    with ThreadPoolExecutor(8) as pool:
        of_package = dict(zip(versions, pool.map(ask, versions.items()), strict=True))
    if missing := [name for name, found in of_package.items() if not found]:
        raise SystemExit(f"{index} has no wheel of {', '.join(missing)}")
    users = {canonicalize_name(name) for name in packages()} & versions.keys() | BUILD
    header = (
        "# Written by `python -m tests.tools.hashes`: the versions of constraints.txt, with the hashes of their wheels."
    )
    USERS.write_text(text(users, of_package, header))
    DEVELOPERS.write_text(text(versions.keys() - users, of_package, f"{header}\n-r {USERS.name}"))


if __name__ == "__main__":
    main()
