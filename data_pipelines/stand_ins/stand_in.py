"""Stand-ins: generated archives in the official formats, read by the same code as the real ones."""

import zipfile
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from data_pipelines.fetch.archive import STAND_IN_MARK
from data_pipelines.support.files import PREPARING, put_in_place
from data_pipelines.support.progress import progress

Size = Literal["full", "small"]
SMALL_SHARE = 20
ROWS_PER_BLOCK = 1 << 18
MARK_TEXT = b"Generated data in the official format: no real user, item or interaction is in it.\n"


class StandIn:
    """An archive being generated: its size, and how its members are written."""

    def __init__(self, archive: zipfile.ZipFile, size: Size) -> None:
        self.folder = ""
        self.encoding = "latin-1"
        self.line_end = "\r\n"
        self.size = size
        self._archive = archive

    def count(self, full: int, small: int | None = None) -> int:
        """Return `full` for a stand-in of full size, else `small` or a fixed share of `full`."""
        if self.size == "full":
            return full
        return small if small is not None else max(full // SMALL_SHARE, 1)

    def write_rows(self, member: str, columns: Sequence[str], rows: Iterable[str], separator: str = "\t") -> None:
        """Write a member row by row."""
        text = self.line_end.join([separator.join(columns), *rows, ""])
        with self._open(member) as file:
            file.write(text.encode(self.encoding))

    def write_numbers(
        self,
        member: str,
        columns: Sequence[str],
        blocks: Iterable[Sequence[NDArray[Any]]],
        *,
        separator: str = "\t",
        tenths: Collection[str] = (),
        expected_bytes: int | None = None,
    ) -> None:
        """Write a member of whole numbers, given as blocks of columns; columns in `tenths` get a decimal point."""
        with (
            self._open(member) as file,
            progress(f"generating {member}", expected_bytes) as reporter,
        ):
            file.write((separator.join(columns) + self.line_end).encode())
            for block in blocks:
                for start in range(0, len(block[0]), ROWS_PER_BLOCK):
                    part = [column[start : start + ROWS_PER_BLOCK] for column in block]
                    text = _as_text(part, [name in tenths for name in columns], separator, self.line_end)
                    file.write(text)
                    reporter.update(len(text))

    def _open(self, member: str) -> IO[bytes]:
        # A member opened by name gets the archive's compression level and always the same date.
        return self._archive.open(self.folder + member, "w")


def generate_archive(target: Path, generate: Callable[[StandIn], None], size: Size) -> None:
    """Generate an archive under a temporary name, then rename it; a member marks it as a stand-in."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(target.name + PREPARING)
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open(STAND_IN_MARK, "w") as mark:
            mark.write(MARK_TEXT)
        generate(StandIn(archive, size))
    put_in_place(temporary, target)


def _as_text(columns: Sequence[NDArray[Any]], in_tenths: Sequence[bool], separator: str, line_end: str) -> bytes:
    """Write rows of numbers by array operations: all digits first, then the leading zeros are removed."""
    pieces: list[NDArray[Any] | bytes] = []
    for number, (column, has_point) in enumerate(zip(columns, in_tenths, strict=True)):
        if number:
            pieces.append(separator.encode())
        pieces += [column // 10, b".", column % 10] if has_point else [column]
    pieces.append(line_end.encode())
    widths = [len(piece) if isinstance(piece, bytes) else len(str(int(piece.max()))) for piece in pieces]
    text = np.empty((len(columns[0]), sum(widths)), dtype=np.uint8)
    is_kept = np.ones(text.shape, dtype=bool)
    end = 0
    for piece, width in zip(pieces, widths, strict=True):
        end += width
        if isinstance(piece, bytes):
            text[:, end - width : end] = np.frombuffer(piece, dtype=np.uint8)
            continue
        rest = piece.astype(np.uint64) if piece.max() >= 1 << 32 else piece.astype(np.uint32)
        for column_index in range(end - 1, end - width - 1, -1):
            if column_index < end - 1:
                is_kept[:, column_index] = rest > 0
            rest, digit = np.divmod(rest, 10)
            text[:, column_index] = digit + ord("0")
    return text[is_kept].tobytes()
