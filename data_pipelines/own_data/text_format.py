"""The format of a text table: encoding and separator, detected or given."""

import codecs
import csv
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
SEPARATOR_NAMES = {name.replace(" ", "-"): separator for separator, name in SEPARATORS.items()}
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""Byte order marks; those of UTF-32 start with those of UTF-16 and come first."""
ENCODING_NAMES = {
    "utf-8": "UTF-8",
    "utf-8-sig": "UTF-8 with byte order mark",
    "utf-16": "UTF-16",
    "utf-16-le": "UTF-16",
    "utf-16-be": "UTF-16",
    "utf-32": "UTF-32",
    "cp1252": "Windows-1252",
}
SAMPLE_BYTES = 1 << 16
SAMPLE_ROWS = 200
BLOCK = 1 << 20


@dataclass(frozen=True)
class TextFormat:
    """How the bytes of a CSV file become fields."""

    encoding: str
    separator: str

    def __str__(self) -> str:
        encoding = ENCODING_NAMES.get(self.encoding, self.encoding)
        shown = "tab" if self.separator == "\t" else repr(self.separator)
        return f"separator {shown}, encoding {encoding}"

    @property
    def changes(self) -> dict[str, str]:
        """The parts that differ from a plain CSV file, for the manifest; UTF-8 is plain, with or without a mark."""
        plain = {"encoding": ("utf-8", "utf-8-sig"), "separator": (",",)}
        return {key: getattr(self, key) for key, values in plain.items() if getattr(self, key) not in values}


def detect_format(path: Path, *, encoding: str | None, separator: str | None) -> TextFormat:
    """Return the format of a text file; parts that are given are not detected."""
    encoding = checked_encoding(encoding) if encoding else detect_encoding(path)
    return TextFormat(encoding, parse_separator(separator) if separator else detect_separator(_sample(path, encoding)))


def checked_encoding(name: str) -> str:
    """Return the canonical name of an encoding; UTF-8 includes files with a byte order mark."""
    try:
        codec = codecs.lookup(name)
        "".encode(name)
    except (LookupError, ValueError, TypeError):
        raise ValueError(f"--encoding must be a text encoding such as utf-8, utf-16 or cp1252, got {name!r}") from None
    return "utf-8-sig" if codec.name == "utf-8" else codec.name


def parse_separator(text: str) -> str:
    """Return the separator that an option names, by its character or its name."""
    separator = SEPARATOR_NAMES.get(text.lower(), "\t" if text == "\\t" else text)
    if len(separator) != 1 or separator in '"\r\n\0' or not (separator.isprintable() or separator == "\t"):
        names = ", ".join(SEPARATOR_NAMES)
        raise ValueError(f"--separator must be one character or one of {names}, got {text!r}")
    return separator


def detect_encoding(path: Path) -> str:
    """Return the encoding: that of a byte order mark, else UTF-8, UTF-16 or Windows-1252, whichever fits first."""
    with path.open("rb") as file:
        start = file.read(SAMPLE_BYTES)
    for mark, encoding in MARKS:
        if start.startswith(mark):
            return encoding
    if (zeros := start.count(0)) and zeros >= len(start) // 4:
        return "utf-16-le" if start[1::2].count(0) >= start[::2].count(0) else "utf-16-be"
    for encoding in ("utf-8", "cp1252"):
        if _can_decode(path, encoding):
            return encoding
    raise ValueError("it is not text in UTF-8, UTF-16 or Windows-1252; give its encoding with --encoding")


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            yield block


def _can_decode(path: Path, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for block in _blocks(path):
            decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _sample(path: Path, encoding: str) -> str:
    """Return the first complete lines of a file."""
    with path.open(encoding=encoding, newline="") as file:
        text = file.read(SAMPLE_BYTES)
        is_complete = not file.read(1)
    return text if is_complete else text[: max(text.rfind("\n"), text.rfind("\r")) + 1] or text


def detect_separator(sample: str) -> str:
    """Return the separator with which most rows are as long as the header; if several, the one with most columns."""

    def merit(separator: str) -> tuple[float, int]:
        lengths = _row_lengths(sample, separator)
        if not lengths or lengths[0] < 2:
            return 0.0, 0
        return lengths.count(lengths[0]) / len(lengths), lengths[0]

    return max(SEPARATORS, key=merit)


def _row_lengths(sample: str, separator: str) -> list[int]:
    lengths: list[int] = []
    try:
        for row in csv.reader(StringIO(sample, newline=""), delimiter=separator):
            if row:
                lengths.append(len(row))
            if len(lengths) == SAMPLE_ROWS:
                break
    except csv.Error:  # for example a field of 100 kB; only the rows before it are used
        pass
    return lengths
