"""Tables of whole numbers: read with the same result as a simple reader, or refused."""

import io
import random
import zipfile
from collections.abc import Mapping, Sequence

from data_pipelines.fetch.archive import Archive, ArchiveError
from data_pipelines.fetch.tables import read_numbers
from tests.fuzz.target import Target, damaged, require, require_one_line, scratch

MEMBER, LIMITS = "table.dat", {"table.dat": 100_000}
HEADER = b"a\tb\n"
FRAGMENTS = [b"0", b"7", b"123456789", b"1" * 18, b"9" * 19, b"\t", b"\n", b"\r\n", b"\r", b" ", b"-1", b"1.5"]
FRAGMENTS += [b"x", b'"', b",", b"\xe9", b"\xc3\xa9", b"\0", b"\x85", b"a\tb\n", b"1\t2\n", b"3\t4\r\n", b""]


def zipped(members: Mapping[str, bytes]) -> bytes:
    """Return a zip archive with these members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content)  # with a fixed date, for reproducible bytes
    return buffer.getvalue()


def read_plainly(content: bytes) -> tuple[list[int], list[int]] | None:
    """Read two columns of numbers in a slow and simple way; return `None` for any mistake."""
    lines = content.split(b"\n")
    if lines.pop() != b"" or not lines:
        return None
    rows = [line.removesuffix(b"\r").split(b"\t") for line in lines]
    if rows[0] != [b"a", b"b"] and rows[0] != [b"\xef\xbb\xbfa", b"b"]:
        return None
    for row in rows[1:]:
        if len(row) != 2 or not all(field.isdigit() and int(field) < 1 << 63 for field in row):
            return None
    return [int(row[0]) for row in rows[1:]], [int(row[1]) for row in rows[1:]]


def seeds() -> Sequence[bytes]:
    return [
        HEADER,
        HEADER + b"1\t2\n3\t4\r\n",
        HEADER + b"0\t" + b"9" * 18 + b"\n",
        b"\xef\xbb\xbf" + HEADER + b"5\t6\n",
    ]


def make(draw: random.Random) -> bytes:
    if draw.random() < 0.5:
        rows = b"".join(b"%d\t%d\n" % (draw.getrandbits(40), draw.getrandbits(8)) for _ in range(draw.randrange(6)))
        content = HEADER + rows
        return damaged(draw, content, FRAGMENTS, max_damages=3) if draw.random() < 0.8 else content
    return HEADER + b"".join(draw.choices(FRAGMENTS, k=draw.randrange(30)))


def check(content: bytes) -> bool:
    path = scratch() / "numbers.zip"
    path.write_bytes(zipped({MEMBER: content}))
    numbers = None
    try:
        with Archive(path, LIMITS) as archive:
            columns = read_numbers(archive, MEMBER, ("a", "b"))
            numbers = (columns["a"].tolist(), columns["b"].tolist())
    except ArchiveError as error:
        require_one_line(error, f"{MEMBER} line ", f"{MEMBER} in ")
    expected = read_plainly(content) if len(content) <= LIMITS[MEMBER] else None
    require(numbers == expected, f"read {numbers}, expected {expected}")
    return numbers is not None


TARGET = Target("tables of numbers", 18, make, check, seeds)
