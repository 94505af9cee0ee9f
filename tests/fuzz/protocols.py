"""Protocol and task files: one that is accepted has the values of its TOML, within the limits that it must keep."""

import random
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmark.board.task import FOLDER, read_task
from benchmark.protocol import FILE, load_protocol
from tests.fuzz.target import Target, damaged, require, require_one_line, scratch

TOKENS = (
    *(b"nan", b"inf", b"-1", b"true", b"[]", b"{}", b'""', b"1e308", b"99999999999999999999", b"[[1]]", b"'x'"),
    *(b"\n[tuning]\n", b"\nversion = 0\n", b"\nseeds = []\n", b"[stream]\n", b'dataset = "../x"\n', b"\x1b[2J"),
    *(b".".join([b"a"] * 3000) + b" = 1\n", b"[" * 2000),
)


def _maker(files: Callable[[], Sequence[Path]]) -> Callable[[random.Random], bytes]:
    def make(draw: random.Random) -> bytes:
        content = draw.choice(files()).read_bytes()
        lines = content.splitlines(keepends=True)
        if draw.random() < 0.5:  # another value on one line
            number = draw.randrange(len(lines))
            name, mark, _ = lines[number].partition(b"=")
            lines[number] = name + mark + b" " + draw.choice(TOKENS) + b"\n"
            content = b"".join(lines)
        return damaged(draw, content, TOKENS, max_damages=2) if draw.random() < 0.7 else content

    return make


def _checker(name: str, read: Callable[[Path], Any]) -> Callable[[bytes], bool]:
    def check(content: bytes) -> bool:
        path = scratch() / name
        path.write_bytes(content)
        try:
            model = read(path)
        except ValueError as error:
            require_one_line(error, str(path))
            return False
        written = tomllib.loads(content.decode())
        require({*written} <= {*type(model).model_fields}, "an unknown field")
        for field, value in written.items():
            if isinstance(value, str | int) and not isinstance(value, bool):
                require(getattr(model, field) == value, f"{field} is {getattr(model, field)!r}")
        model.model_dump_json()
        return True

    return check


PROTOCOL = Target("protocol files", 6, _maker(lambda: [FILE]), _checker("fuzzed.toml", load_protocol))
TASK = Target("task files", 6, _maker(lambda: sorted(FOLDER.glob("*.toml"))), _checker("fuzzed-task.toml", read_task))
