"""Readers with random input: a one-line error or the correct content, never another error or a hang."""

import csv
import io
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from data_pipelines.data_set import Contents, find_data_set
from data_pipelines.fetch.archive import Archive, ArchiveError
from data_pipelines.tables.number_tables import read_numbers
from data_pipelines.tables.text_tables import read_csv_rows, read_tab_rows
from tests.data_pipelines.conftest import WITH_STAND_IN
from tests.fuzz.number_tables import FRAGMENTS, LIMITS, read_plainly, zipped

FUZZ = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
TABLE_FRAGMENTS = st.lists(st.sampled_from(FRAGMENTS), max_size=30).map(b"".join)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "archive.zip"


@FUZZ
@given(rows=TABLE_FRAGMENTS)
def test_numbers_are_read_as_by_the_plain_reader_or_refused(path: Path, rows: bytes):
    content = b"a\tb\n" + rows
    path.write_bytes(zipped({"table.dat": content}))
    expected = read_plainly(content)
    try:
        with Archive(path, LIMITS) as archive:
            columns = read_numbers(archive, "table.dat", ("a", "b"))
            numbers = (columns["a"].tolist(), columns["b"].tolist())
    except ArchiveError:
        numbers = None
    assert numbers == expected


@FUZZ
@given(rows=TABLE_FRAGMENTS)
def test_text_is_read_or_refused_with_member_and_line(path: Path, rows: bytes):
    for separator, reader in ((b"\t", _tab_rows), (b",", _csv_rows)):
        path.write_bytes(zipped({"table.dat": b"a" + separator + b"b\n" + rows}))
        try:
            with Archive(path, LIMITS) as archive:
                assert all(len(fields) == 2 for _, fields in reader(archive))
        except ArchiveError as error:
            message = str(error)
            assert message.startswith("table.dat line ")
            assert "\n" not in message.replace("\\n", "")


def _tab_rows(archive: Archive) -> list[tuple[int, list[str]]]:
    return list(read_tab_rows(archive, "table.dat", ("a", "b"), free_text="b"))


def _csv_rows(archive: Archive) -> list[tuple[int, list[str]]]:
    return list(read_csv_rows(archive, "table.dat", ("a", "b")))


@FUZZ
@given(fields=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), min_size=1), max_size=8))
def test_the_output_of_a_csv_writer_is_read_back(path: Path, fields: list[str]):
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([["a", "b"], *[[field, "x"] for field in fields]])
    path.write_bytes(zipped({"table.dat": text.getvalue().encode()}))
    with Archive(path, LIMITS) as archive:
        assert [row[0] for _, row in _csv_rows(archive)] == fields


@FUZZ
@given(content=st.binary(max_size=400))
def test_random_bytes_are_not_an_archive(path: Path, content: bytes):
    path.write_bytes(content)
    with pytest.raises(ArchiveError):
        Archive(path, LIMITS)


def small_members(stand_ins: Path, name: str) -> dict[str, bytes]:
    with zipfile.ZipFile(stand_ins / find_data_set(name).archive) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def read_members(members: dict[str, bytes], name: str) -> list[str]:
    return sorted(member for member in members if member.rpartition("/")[2] in find_data_set(name).limits)


def read_or_refuse(name: str, path: Path) -> Contents | None:
    data_set = find_data_set(name)
    try:
        with Archive(path, data_set.limits) as archive:
            return data_set.read(archive, data_set.parameters)
    except ValueError as error:
        assert "\n" not in str(error)  # noqa: PT017
        return None


@pytest.mark.parametrize("name", WITH_STAND_IN)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_data_set_with_a_truncated_member_is_refused_or_shorter(
    stand_ins: Path, path: Path, name: str, data: st.DataObject
):
    members = small_members(stand_ins, name)
    member = data.draw(st.sampled_from(read_members(members, name)))
    cut = data.draw(st.integers(0, len(members[member]) - 1))
    remaining = members[member][:cut]
    path.write_bytes(zipped({**members, member: remaining}))
    contents = read_or_refuse(name, path)
    if contents is not None:
        # Only a cut between two rows is accepted, and then the number of rows shows it.
        assert remaining.endswith(b"\n")
        short_name = member.rpartition("/")[2]
        assert contents.rows[short_name] == remaining.count(b"\n") - 1
        assert contents.rows[short_name] < members[member].count(b"\n") - 1


@pytest.mark.parametrize("name", WITH_STAND_IN)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_data_set_with_random_bytes_in_a_member_is_refused_or_read_within_bounds(
    stand_ins: Path, path: Path, name: str, data: st.DataObject
):
    members = small_members(stand_ins, name)
    member = data.draw(st.sampled_from(read_members(members, name)))
    content = members[member]
    start = data.draw(st.integers(0, len(content)))
    stop = data.draw(st.integers(start, min(start + 50, len(content))))
    random_bytes = data.draw(st.binary(max_size=40) | TABLE_FRAGMENTS)
    path.write_bytes(zipped({**members, member: content[:start] + random_bytes + content[stop:]}))
    contents = read_or_refuse(name, path)
    if contents is not None:
        assert len(contents.users) == len(contents.items) == len(contents.times) > 0
        assert contents.items.min() >= 0
        assert contents.items.max() < len(contents.item_ids) == contents.words.counts.shape[0]
        assert (np.diff(contents.item_ids) > 0).all()


@pytest.mark.parametrize("name", WITH_STAND_IN)
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_an_archive_with_damaged_bytes_is_refused_or_read_the_same(
    stand_ins: Path, path: Path, name: str, data: st.DataObject
):
    content = bytearray((stand_ins / find_data_set(name).archive).read_bytes())
    for _ in range(data.draw(st.integers(1, 5))):
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    contents = read_or_refuse(name, path)
    if contents is not None:
        undamaged = read_or_refuse(name, stand_ins / find_data_set(name).archive)
        assert undamaged is not None
        assert contents.counts == undamaged.counts
        assert contents.rows == undamaged.rows
