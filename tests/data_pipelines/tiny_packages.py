"""Small wheels with a LastFM of a few rows, in a folder that pip takes for an index."""

import dataclasses
import hashlib
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pyarrow
import pyarrow.parquet as parquet

from data_pipelines.data_set import Package, PackageMember
from data_pipelines.datasets import lastfm

NAME = "tiny-fm"
LISTENED, TAGGED = lastfm.PACKAGE_LISTENED, lastfm.PACKAGE_TAGGED


def table(**columns: list[int]) -> bytes:
    file = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), file)
    return file.getvalue()


def members() -> dict[str, bytes]:
    """Two users, three artists, four tag assignments: three events, two of one pair."""
    return {
        LISTENED: table(sourceNodeId=[5, 5, 9], targetNodeId=[10_001, 10_002, 10_003], weight=[1, 2, 3]),
        TAGGED: table(
            sourceNodeId=[5, 5, 5, 9],
            targetNodeId=[10_001, 10_001, 10_001, 10_004],
            tagID=[7, 8, 7, 8],
            timestamp=[1_000, 1_000, -2_000, 1_000],
        ),
        "tiny_fm/__init__.py": b"raise SystemExit('the package was imported')",
    }


def package(version: str, content: Mapping[str, bytes], wheel: bytes) -> Package:
    declared = {
        name: PackageMember(len(content[name]), hashlib.sha256(content[name]).hexdigest())
        for name in (LISTENED, TAGGED)
    }
    return Package(
        name=NAME,
        version=version,
        size=len(wheel),
        sha256=hashlib.sha256(wheel).hexdigest(),
        members=declared,
        read=lastfm.read_package,
        note="tags by number",
    )


def wheel_bytes(version: str, content: Mapping[str, bytes]) -> bytes:
    information = f"tiny_fm-{version}.dist-info"
    metadata = {
        f"{information}/METADATA": f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {version}\n",
        f"{information}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{information}/RECORD": "",
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, part in {**content, **metadata}.items():
            wheel.writestr(name, part)
    return file.getvalue()


def publish(index: Path, version: str = "1.0", content: Mapping[str, bytes] | None = None) -> Package:
    """Put a wheel into the index and return its declaration, whose members are the undamaged ones."""
    index.mkdir(exist_ok=True)
    wheel = wheel_bytes(version, members() if content is None else content)
    declared = package(version, members(), wheel)
    (index / declared.file).write_bytes(wheel)
    return declared


def with_hash(declared: Package, sha256: str) -> Package:
    return dataclasses.replace(declared, sha256=sha256)
