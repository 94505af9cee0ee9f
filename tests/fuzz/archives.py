"""Zip archives: hostile names, links, bombs, lies in headers, damaged bytes. Nothing is ever written by reading one."""

import io
import random
import stat
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import PurePosixPath

from data_pipelines.archive import Archive, ArchiveError
from tests.fuzz.mutations import damaged
from tests.fuzz.target import Target, require, require_one_line, scratch

LIMITS = {"a.dat": 2_000, "b.dat": 50_000}
NAMES = ("a.dat", "b.dat", "a.dat", "b.dat", "folder/a.dat", "notes.txt", "STAND-IN.txt", "deep/er/a.dat")
HOSTILE = (
    "../a.dat",
    "/a.dat",
    "x/../../b.dat",
    "..\\a.dat",
    "C:\\b.dat",
    "\\\\host\\a.dat",
    "a.dat/../../b.dat",
    "..",
)
ODD = ("a.dat\n", "b.dat/", "", ".", "é.dat", "a.dat ", "con", "a\x00.dat", "n" * 300)


def make(draw: random.Random) -> bytes:
    content = _archive(draw)
    if draw.random() < 0.5:
        return content
    # The headers are where the lies are: local ones in front, the directory at the end.
    if draw.random() < 0.5 and len(content) > 120:
        return content[:-120] + damaged(draw, content[-120:], most=2)
    return damaged(draw, content, (b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06", b"PK\x06\x06"), most=3)


def _archive(draw: random.Random) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w") as archive:
        warnings.simplefilter("ignore")  # of a name twice: that is what we want
        for _ in range(draw.randint(1, 4)):
            name = draw.choice(HOSTILE if draw.random() < 0.1 else ODD if draw.random() < 0.1 else NAMES)
            info = zipfile.ZipInfo(name)
            info.filename = info.orig_filename = name  # as an attacker would, past what zipfile puts right
            info.compress_type = draw.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED))
            if draw.random() < 0.05:
                info.compress_type = draw.choice((zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
            if draw.random() < 0.1:
                info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
            if draw.random() < 0.05:
                info.flag_bits |= 1
            size = draw.choice((0, 10, 100, 2_000, 2_001, 60_000, 1_000_000))
            filler = b"\0" * size if size > 2_001 else draw.randbytes(size)
            if name not in archive.namelist() or draw.random() < 0.2:
                archive.writestr(info, filler)
    return buffer.getvalue()


def seeds() -> Sequence[bytes]:
    return [_archive(random.Random(number)) for number in range(8)]


def check(content: bytes) -> bool:
    folder = scratch() / "archives"
    folder.mkdir(exist_ok=True)
    place = folder / "archive.zip"
    place.write_bytes(content)
    try:
        with Archive(place, LIMITS) as archive:
            read = {name: archive.read(name) for name in LIMITS if archive.has(name)}
    except ArchiveError as error:
        require_one_line(error)
        return False
    finally:
        require([path.name for path in folder.iterdir()] == ["archive.zip"], "something was written")
    with zipfile.ZipFile(place) as plain:
        for info in plain.infolist():
            require(not _leads_outside(info.orig_filename), f"the name {info.orig_filename!r}")
        for name, data in read.items():
            require(len(data) <= LIMITS[name], f"{len(data):,} bytes of {name}")
            same = [each for each in plain.infolist() if _place(each) == name]
            require(len(same) == 1, f"{name} is there {len(same)} times")
            require(not stat.S_ISLNK(same[0].external_attr >> 16) or same[0].create_system != 3, f"{name} is a link")
            require(plain.read(same[0]) == data, f"other bytes of {name}")
    return True


def _leads_outside(name: str) -> bool:
    return name.startswith("/") or "\\" in name or ".." in name.split("/")


def _place(info: zipfile.ZipInfo) -> str:
    path = PurePosixPath(info.filename)
    return "" if info.filename.endswith("/") or len(path.parts) > 2 else path.name


TARGET = Target("zip archives", 18, make, check, seeds)
