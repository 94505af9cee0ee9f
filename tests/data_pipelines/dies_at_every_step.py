"""Prepare a data set in processes that die at their first, second, third … access to the disk.

After each death the data set is prepared normally and must have the same bytes as in an undisturbed run.
Usage: python dies_at_every_step.py FOLDER MIRROR
"""

import os
import shutil
import sys
from pathlib import Path

from data_pipelines.fetch.sources import PreparationOptions
from data_pipelines.prepare.readiness import make_ready

DISK_CALLS = ((os, "fsync"), (os, "rename"), (os, "replace"), (os, "mkdir"), (shutil, "rmtree"))


def die_at(step: int) -> None:
    """End this process, as if killed, just before its `step`-th access to the disk."""
    remaining = step

    def dying_version(original):  # type: ignore[no-untyped-def]
        def call(*arguments, **options):  # type: ignore[no-untyped-def]
            nonlocal remaining
            remaining -= 1
            if remaining == 0:
                os._exit(9)
            return original(*arguments, **options)

        return call

    for module, name in DISK_CALLS:
        setattr(module, name, dying_version(getattr(module, name)))


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def main(folder: Path, mirror: str) -> None:
    undisturbed = make_ready("lastfm", PreparationOptions(folder=folder / "undisturbed", mirror=mirror))
    expected = bytes_of(undisturbed.path)
    step = deaths = 0
    has_survived = False
    while not has_survived:
        step += 1
        # Every second run starts from prepared data, which have to be replaced.
        for force in (False, True):
            options = PreparationOptions(folder=folder / f"{step}-{force}", mirror=mirror, force=force)
            if force:
                make_ready("lastfm", PreparationOptions(folder=options.folder, mirror=mirror))
            child = os.fork()
            if child == 0:
                die_at(step)
                make_ready("lastfm", options)
                os._exit(0)
            has_survived = os.waitpid(child, 0)[1] == 0
            deaths += not has_survived
            result = make_ready("lastfm", PreparationOptions(folder=options.folder, mirror=mirror))
            assert bytes_of(result.path) == expected, f"different bytes after death at step {step}, force {force}"
            leftovers = {path.name for path in options.folder.iterdir()} - {"lastfm", ".locks"}
            assert not leftovers or result.was_prepared_before, f"{leftovers} remain after step {step}"
    print(deaths)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
