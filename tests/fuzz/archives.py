"""Zip archives: hostile names, links, bombs, false headers, damaged bytes. Reading one never writes a file."""

import io
import random
import stat
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import PurePosixPath

from data_pipelines.fetch.archive import Archive, ArchiveError
from tests.fuzz.target import Target, damaged, require, require_one_line, scratch

LIMITS = {"a.dat": 2_000, "b.dat": 50_000}
NAMES = ("a.dat", "b.dat", "a.dat", "b.dat", "folder/a.dat", "notes.txt", "readme.txt", "deep/er/a.dat")
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
    # Damage the headers: local ones at the front, the directory at the end.
    if draw.random() < 0.5 and len(content) > 120:
        return content[:-120] + damaged(draw, content[-120:], max_damages=2)
    return damaged(draw, content, (b"PK\x01\x02", b"PK\x03\x04", b"PK\x05\x06", b"PK\x06\x06"), max_damages=3)


def _archive(draw: random.Random) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w") as archive:
        warnings.simplefilter("ignore")  # of duplicate names, which are intended
        for _ in range(draw.randint(1, 4)):
            name = draw.choice(HOSTILE if draw.random() < 0.1 else ODD if draw.random() < 0.1 else NAMES)
            info = zipfile.ZipInfo(name)
            info.filename = info.orig_filename = name  # like an attacker, bypass the corrections of zipfile
            info.compress_type = draw.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED))
            if draw.random() < 0.05:
                info.compress_type = draw.choice((zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
            if draw.random() < 0.1:
                info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
            if draw.random() < 0.05:
                info.flag_bits |= 1
            size = draw.choice((0, 10, 100, 2_000, 2_001, 60_000, 1_000_000))
            member_content = b"\0" * size if size > 2_001 else draw.randbytes(size)
            if name not in archive.namelist() or draw.random() < 0.2:
                archive.writestr(info, member_content)
    return buffer.getvalue()


def seeds() -> Sequence[bytes]:
    return [_archive(random.Random(number)) for number in range(8)]


def check(content: bytes) -> bool:
    folder = scratch() / "archives"
    folder.mkdir(exist_ok=True)
    path = folder / "archive.zip"
    path.write_bytes(content)
    try:
        with Archive(path, LIMITS) as archive:
            members = {name: archive.read(name) for name in LIMITS if archive.has(name)}
    except ArchiveError as error:
        require_one_line(error)
        return False
    finally:
        require([file.name for file in folder.iterdir()] == ["archive.zip"], "a file was written")
    with zipfile.ZipFile(path) as plain:
        for info in plain.infolist():
            require(not _points_outside(info.orig_filename), f"the name {info.orig_filename!r}")
        for name, data in members.items():
            require(len(data) <= LIMITS[name], f"{len(data):,} bytes of {name}")
            infos = [info for info in plain.infolist() if _member_name(info) == name]
            require(len(infos) == 1, f"{len(infos)} members {name}")
            require(not stat.S_ISLNK(infos[0].external_attr >> 16) or infos[0].create_system != 3, f"{name} is a link")
            require(plain.read(infos[0]) == data, f"wrong bytes of {name}")
    return True


def _points_outside(name: str) -> bool:
    return name.startswith("/") or "\\" in name or ".." in name.split("/")


def _member_name(info: zipfile.ZipInfo) -> str:
    path = PurePosixPath(info.filename)
    return "" if info.filename.endswith("/") or len(path.parts) > 2 else path.name


TARGET = Target("zip archives", 18, make, check, seeds)
