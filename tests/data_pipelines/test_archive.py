import struct
import zipfile
from pathlib import Path

import pytest

from data_pipelines.fetch.archive import Archive, ArchiveError

LIMITS = {"table.dat": 1_000}


def test_a_listed_member_is_read_and_hashed(make_archive, tmp_path: Path):
    with Archive(make_archive({"folder/table.dat": b"hello\n"}), LIMITS) as archive:
        assert archive.read("table.dat") == b"hello\n"
        assert archive.hashes["table.dat"].startswith("5891b5b522d5df08")
    assert [path.name for path in tmp_path.iterdir()] == ["archive.zip"]  # nothing is extracted


@pytest.mark.parametrize(
    ("members", "asked", "message"),
    [
        ({"table.dat": b"x", "other.dat": b"y"}, "other.dat", r"other.dat .* is not one of the members"),
        ({"readme.txt": b"x"}, "table.dat", r"has no member table\.dat"),
        ({"table.dat": b"0" * 50_000_000}, "table.dat", "must unpack to at most 1,000 bytes, got 50,000,000"),
    ],
    ids=["not listed", "missing", "zip bomb"],
)
def test_a_member_is_refused_before_it_is_read(make_archive, members: dict[str, bytes], asked: str, message: str):
    path = make_archive(members)
    assert path.stat().st_size < 100_000
    with Archive(path, LIMITS) as archive, pytest.raises(ArchiveError, match=message):
        archive.read(asked)


def test_a_bomb_that_lies_about_its_size_is_refused(make_archive):
    path = make_archive({"table.dat": b"0" * 50_000})
    content = path.read_bytes().replace(struct.pack("<L", 50_000), struct.pack("<L", 500))
    path.write_bytes(content)
    with Archive(path, LIMITS) as archive, pytest.raises(ArchiveError, match=r"table.dat .* damaged"):
        archive.read("table.dat")


@pytest.mark.parametrize("name", ["../table.dat", "a/../../table.dat", "/etc/table.dat", "..\\table.dat"])
def test_a_name_that_points_outside_the_archive_is_refused(make_archive, name: str):
    with pytest.raises(ArchiveError, match="points outside the archive"):
        Archive(make_archive({name: b"x"}), LIMITS)


def test_a_truncated_archive_is_refused(make_archive):
    path = make_archive({"table.dat": bytes(range(256)) * 3})
    whole = path.read_bytes()
    for content in [*(whole[:length] for length in range(0, len(whole), 7)), b"<html>not found</html>"]:
        path.write_bytes(content)
        with pytest.raises(ArchiveError, match="truncated or not a zip archive"):
            Archive(path, LIMITS)


def test_an_encrypted_member_is_refused(make_archive):
    path = make_archive({"table.dat": b"secret"})
    content = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + offset] |= 1
    path.write_bytes(content)
    with (
        Archive(path, LIMITS) as archive,
        pytest.raises(ArchiveError, match=r"is encrypted; expected an archive without encryption"),
    ):
        archive.read("table.dat")


def test_a_damaged_member_is_refused(make_archive):
    path = make_archive({"table.dat": bytes(range(200))})
    content = bytearray(path.read_bytes())
    content[60] ^= 0xFF
    path.write_bytes(content)
    with Archive(path, LIMITS) as archive, pytest.raises(ArchiveError, match="get a fresh copy"):
        archive.read("table.dat")


def test_an_unsupported_compression_method_is_refused(tmp_path: Path):
    path = tmp_path / "archive.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("table.dat", b"x" * 100)
    with (
        Archive(path, LIMITS) as archive,
        pytest.raises(ArchiveError, match="must be stored or deflated, got compression method 14"),
    ):
        archive.read("table.dat")


def test_a_duplicate_member_is_refused(make_archive):
    with pytest.raises(ArchiveError, match=r"contains table\.dat more than once"):
        Archive(make_archive({"a/table.dat": b"x", "b/table.dat": b"y"}), LIMITS)


def test_every_flipped_byte_gives_the_content_or_a_one_line_error(make_archive):
    path = make_archive({"table.dat": b"1\t2\n" * 40})
    whole = path.read_bytes()
    for position in range(len(whole)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x55]) + whole[position + 1 :])
        assert _content_or_error(path) in (b"1\t2\n" * 40, "one line")


def _content_or_error(path: Path) -> bytes | str:
    try:
        with Archive(path, LIMITS) as archive:
            return archive.read("table.dat")
    except ArchiveError as error:
        return "more lines" if "\n" in str(error) else "one line"
