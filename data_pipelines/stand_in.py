"""Stand-ins: generated archives in the official formats, read by the very same code as the real ones."""

import zipfile
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from data_pipelines.archive import STAND_IN_MARK
from data_pipelines.progress import progress
from data_pipelines.safe_files import PREPARING, put_in_place

Size = Literal["full", "small"]
SMALL_SHARE = 20
ROWS_A_BLOCK = 1 << 18
MARK_TEXT = b"Generated data in the official format: no real user, item or interaction is in it.\n"


class StandIn:
    """An archive being generated: its size, its random world, and how its members are written."""

    def __init__(self, archive: zipfile.ZipFile, size: Size) -> None:
        self.folder = ""
        self.encoding = "latin-1"
        self.line_end = "\r\n"
        self.size = size
        self._archive = archive

    def count(self, full: int, small: int | None = None) -> int:
        """Return a number for the full size, or its small counterpart."""
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
        """Write a member of whole numbers, given in blocks of columns; `tenths` get a decimal point."""
        with (
            self._open(member) as file,
            progress(f"generating {member}", expected_bytes) as shown,
        ):
            file.write((separator.join(columns) + self.line_end).encode())
            for block in blocks:
                for start in range(0, len(block[0]), ROWS_A_BLOCK):
                    part = [column[start : start + ROWS_A_BLOCK] for column in block]
                    text = _as_text(part, [name in tenths for name in columns], separator, self.line_end)
                    file.write(text)
                    shown.update(len(text))

    def _open(self, member: str) -> IO[bytes]:
        # Opened by name, a member gets the archive's level of packing and always the same date.
        return self._archive.open(self.folder + member, "w")


def generate_archive(target: Path, generate: Callable[[StandIn], None], size: Size) -> None:
    """Generate an archive beside its place and then put it there; the mark inside says what it is."""
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(target.name + PREPARING)
    with zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open(STAND_IN_MARK, "w") as mark:
            mark.write(MARK_TEXT)
        generate(StandIn(archive, size))
    put_in_place(beside, target)


def _as_text(columns: Sequence[NDArray[Any]], pointed: Sequence[bool], separator: str, line_end: str) -> bytes:
    """Write rows of numbers by array operations: digits side by side, leading zeros then left out."""
    pieces: list[NDArray[Any] | bytes] = []
    for number, (column, has_point) in enumerate(zip(columns, pointed, strict=True)):
        if number:
            pieces.append(separator.encode())
        pieces += [column // 10, b".", column % 10] if has_point else [column]
    pieces.append(line_end.encode())
    widths = [len(p) if isinstance(p, bytes) else len(str(int(p.max()))) for p in pieces]
    text = np.empty((len(columns[0]), sum(widths)), dtype=np.uint8)
    shown = np.ones(text.shape, dtype=bool)
    end = 0
    for piece, width in zip(pieces, widths, strict=True):
        end += width
        if isinstance(piece, bytes):
            text[:, end - width : end] = np.frombuffer(piece, dtype=np.uint8)
            continue
        rest = piece.astype(np.uint64) if piece.max() >= 1 << 32 else piece.astype(np.uint32)
        for place in range(end - 1, end - width - 1, -1):
            if place < end - 1:
                shown[:, place] = rest > 0
            rest, digit = np.divmod(rest, 10)
            text[:, place] = digit + ord("0")
    return text[shown].tobytes()
