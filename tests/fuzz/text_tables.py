"""Tables with text, tab-separated and CSV: every row has all columns, or the error names member and line."""

import random
from collections.abc import Sequence

from data_pipelines.fetch.archive import Archive, ArchiveError
from data_pipelines.fetch.tables import read_csv_rows, read_rows
from tests.fuzz.number_tables import FRAGMENTS, LIMITS, MEMBER, zipped
from tests.fuzz.target import Target, damaged, require, require_one_line, scratch

COLUMNS = ("a", "b")


def seeds() -> Sequence[bytes]:
    return [b"a\tb\n1\tx\ty\n", b'a,b\n1,"x, ""y"""\n2,"two\nlines"\n', "a,b\né,ü\n".encode("latin-1")]


def make(draw: random.Random) -> bytes:
    separator = draw.choice((b"\t", b","))
    rows = [separator.join(draw.choices(FRAGMENTS, k=draw.choice((1, 2, 2, 2, 3)))) for _ in range(draw.randrange(6))]
    content = b"".join(line + b"\n" for line in [separator.join((b"a", b"b")), *rows])
    return damaged(draw, content, FRAGMENTS, max_damages=2) if draw.random() < 0.7 else content


def check(content: bytes) -> bool:
    path = scratch() / "text.zip"
    path.write_bytes(zipped({MEMBER: content}))
    is_accepted = False
    for reader in ("tab", "csv"):
        try:
            with Archive(path, LIMITS) as archive:
                if reader == "tab":
                    rows = list(read_rows(archive, MEMBER, COLUMNS, free_text="b"))
                    require(len(rows) == content.count(b"\n") - 1, "missing rows")
                else:
                    rows = list(read_csv_rows(archive, MEMBER, COLUMNS))
            require(all(len(fields) == 2 for _, fields in rows), "a row without its two columns")
            is_accepted = True
        except ArchiveError as error:
            require_one_line(error, f"{MEMBER} line ", f"{MEMBER} in ")
    return is_accepted


TARGET = Target("tables of text", 12, make, check, seeds)
