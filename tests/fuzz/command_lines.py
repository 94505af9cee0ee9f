"""Whole command lines: an exit code and at most a one-line error for any input. Nothing is run or downloaded."""

import contextlib
import io
import os
import random
from pathlib import Path

from benchmark.__main__ import main
from tests.fuzz.target import Target, require, scratch

SEPARATOR = b"\x1f"
TINY = """
title = "Tiny"
streams = [{ simulated = "uniform", steps = 100, clients = 5, arms = 3, dimension = 2 }]
algorithms = [{ name = "async-linucb", gamma = "grid" }]
[profiles.quick]
seeds = 2
grid = [0.5, 1]
"""
WORDS = ["tiny.toml", "fig_a", "fig_*", "nothing", "..", "../x.toml", "--profile", "quick", "paper", "--method"]
WORDS += ["--algorithm", "--seeds", "--dataset", "--jobs", "--executor", "dask", "local", "--scheduler"]
WORDS += ["tcp://u:p@h:1", "--bogus", "-h", "--", "\x1b[2J", "async-linucb[gamma=5]", "async-linucb[gamma=0]", "0"]
WORDS += ["-1", "2", "0-1", "*", "=", "", "a\nb", "\udcff", "999999999999999999999999999999"]
DATA = ["show", "import", "lastfm", "--name", "../x", "shop", "--interactions", "none.csv", "--items", "tiny.toml"]
DATA += ["--dimension", "0", "5", "--set", "a=b", "--size", "small", "--picture", "--user-column", "x", ""]


def make(draw: random.Random) -> bytes:
    if draw.random() < 0.7:
        experiments = draw.choices(("tiny.toml", "fig_a"), k=draw.randrange(2))
        words = ["run", *draw.choices(WORDS, k=draw.randrange(6)), *experiments]
    else:
        words = ["data", draw.choice(("show", "import")), *draw.choices(DATA, k=draw.randrange(7))]
    return SEPARATOR.join(word.encode(errors="surrogateescape") for word in words)


def check(content: bytes) -> bool:
    words = [word.decode(errors="surrogateescape") for word in content.split(SEPARATOR)]
    if words[0] == "run":
        words.insert(1, "--dry-run")
    folder = scratch() / "commands"
    folder.mkdir(exist_ok=True)
    (folder / "tiny.toml").write_text(TINY)
    previous_folder = Path.cwd()
    out, err = io.StringIO(), io.StringIO()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(words)
    except SystemExit as exit_error:  # argparse
        code = exit_error.code if isinstance(exit_error.code, int) else 2
    finally:
        os.chdir(previous_folder)
    errors = err.getvalue()
    require(code in (0, 1, 2), f"exit code {code}")
    require("Traceback" not in errors, "a traceback")
    require(code != 2 or ": error: " in errors, f"exit code 2 without an error: {errors[:200]!r}")
    if errors.startswith("fedbandit: error: ") and "usage:" not in errors:
        require(errors.count("\n") == 1, f"an error of {errors.count(chr(10))} lines: {errors[:300]!r}")
        require("\x1b" not in errors, "a control character")
    require({path.name for path in folder.iterdir()} <= {"tiny.toml"}, "a file was written")
    return code != 2


TARGET = Target("command lines", 4, make, check)
