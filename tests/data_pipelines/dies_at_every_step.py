"""Prepare a data set in processes that die at their first, second, third … touch of the disk.

After each death the data set is made ready as usual and must have the bytes of an undisturbed run.
Usage: python dies_at_every_step.py FOLDER MIRROR
"""

import os
import shutil
import sys
from pathlib import Path

from data_pipelines.readiness import make_ready
from data_pipelines.sources import Wishes

TOUCHES = ((os, "fsync"), (os, "rename"), (os, "replace"), (os, "mkdir"), (shutil, "rmtree"))


def die_at(step: int) -> None:
    """Let this process end, as if killed, just before its `step`-th touch of the disk."""
    left = step

    def dying(original):  # type: ignore[no-untyped-def]
        def touch(*arguments, **options):  # type: ignore[no-untyped-def]
            nonlocal left
            left -= 1
            if left == 0:
                os._exit(9)
            return original(*arguments, **options)

        return touch

    for module, name in TOUCHES:
        setattr(module, name, dying(getattr(module, name)))


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def main(folder: Path, mirror: str) -> None:
    undisturbed = make_ready("lastfm", Wishes(folder=folder / "undisturbed", mirror=mirror))
    expected = bytes_of(undisturbed.path)
    step = deaths = 0
    survived = False
    while not survived:
        step += 1
        # Every second run starts from data prepared before, which have to be replaced.
        for force in (False, True):
            wishes = Wishes(folder=folder / f"{step}-{force}", mirror=mirror, force=force)
            if force:
                make_ready("lastfm", Wishes(folder=wishes.folder, mirror=mirror))
            child = os.fork()
            if child == 0:
                die_at(step)
                make_ready("lastfm", wishes)
                os._exit(0)
            survived = os.waitpid(child, 0)[1] == 0
            deaths += not survived
            again = make_ready("lastfm", Wishes(folder=wishes.folder, mirror=mirror))
            assert bytes_of(again.path) == expected, f"other bytes after death at step {step}, force {force}"
            leftovers = {path.name for path in wishes.folder.iterdir()} - {"lastfm", ".locks"}
            assert not leftovers or again.was_prepared_before, f"{leftovers} left after step {step}"
    print(deaths)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
