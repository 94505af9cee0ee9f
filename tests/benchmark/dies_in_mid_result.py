"""A worker that dies while it sends its result, and a parent that must notice, or end. Usage: … 0 or 1 (only close)."""

import os
import signal
import sys
import threading
import time
from concurrent.futures import BrokenExecutor
from pathlib import Path

from benchmark.execution.local import LocalExecutor

LARGE = 200_000_000


def die_in_mid_result() -> bytes:
    written = _written()

    def watch() -> None:
        while _written() == written:  # the length goes first, in a write of its own
            pass
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()
    return bytes(LARGE)


def _written() -> int:
    return int(Path("/proc/self/io").read_text().split()[3])


def main(only_close: bool) -> None:
    executor = LocalExecutor(2)
    future = executor._submit(die_in_mid_result)
    (worker,) = executor.workers()
    worker.join()
    time.sleep(0.5)
    assert not future.done(), "the pool noticed by itself"
    if not only_close:
        while not future.done():
            executor.capacity()
            time.sleep(0.05)
        assert isinstance(future.exception(), BrokenExecutor)
        assert executor._submit(len, "abc").result() == 3
    executor.close()
    print("closed" if only_close else "broken, then well again")


if __name__ == "__main__":
    main(sys.argv[1] == "1")
