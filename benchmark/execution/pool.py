"""A process pool that notices the death of every worker. Only this module uses private parts of the standard pool.

The standard pool waits forever for the rest of a result if its sender is killed in the middle of it, and has no public
way to end its workers at once. So `_processes` and `_result_queue` are used here, and only here;
tests/benchmark/test_dying_workers.py fails if they change. loky 3.6, which offers `shutdown(kill_workers=True)`, waits
forever in the same place, even in that call, and needs 0.8 s instead of 0.2 s to start.
"""

import multiprocessing
import time
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing.process import BaseProcess
from typing import Any

SECONDS_TO_NOTICE = 3.0
"""The standard pool notices the death of a worker within milliseconds, unless it is reading from that worker."""

SECONDS_TO_END = 0.5


class Pool:
    """A pool that can be used once: after the death of a worker, a new one must be made.

    Args:
        jobs: the number of processes.
        initializer: the function that each process calls first.
        arguments: its arguments.
    """

    def __init__(self, jobs: int, initializer: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._pool: Any = ProcessPoolExecutor(jobs, mp_context=spawn, initializer=initializer, initargs=arguments)
        self._last_time_all_lived = time.monotonic()

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Call a function in a worker; BrokenExecutor if a worker died."""
        future: Future[Any] = self._pool.submit(function, *arguments)
        return future

    def workers(self) -> list[BaseProcess]:
        """Return the processes, dead or alive."""
        return list((self._pool._processes or {}).values())

    def check(self) -> None:
        """Make futures fail if a worker died and the standard pool did not notice."""
        workers = self.workers()
        if all(worker.is_alive() for worker in workers):
            self._last_time_all_lived = time.monotonic()
        elif time.monotonic() - self._last_time_all_lived > SECONDS_TO_NOTICE:
            for worker in workers:
                worker.kill()
            self._pool._result_queue._writer.close()  # the last end that could still send: the pool stops reading
            self._last_time_all_lived = time.monotonic()

    def end(self) -> None:
        """End all workers immediately."""
        workers = self.workers()
        queue = self._pool._result_queue
        self._pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.join(SECONDS_TO_END)
            if worker.is_alive():
                worker.kill()
        if queue is not None:
            queue._writer.close()  # otherwise a worker that ends while it sends a result keeps this process waiting
