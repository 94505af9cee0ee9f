"""The usable workers of a Dask cluster: those that have the same code as this process."""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from operator import methodcaller
from typing import TYPE_CHECKING, Any

from benchmark.execution.run_result import error_text
from benchmark.records.provenance import difference, provenance
from data_pipelines.support.messages import one_line

if TYPE_CHECKING:
    from distributed import Client

SECONDS_FOR_AN_ANSWER = 5.0
MAX_REASON = 300


class DaskWorkers:
    """The workers of a cluster. Each reports its code before it gets any run, even if it joins later.

    Args:
        client: the connection to the scheduler.
        say: receives a line about each worker that is not used.
    """

    def __init__(self, client: "Client", say: Callable[[str], None]) -> None:
        self._client, self._say = client, say
        self._answers: dict[str, Any] = {}
        self._refused: dict[str, str] = {}
        self.usable: dict[str, int] = {}
        """The threads of each worker that may execute runs, by address."""

    def look(self) -> None:
        """Ask new workers for the version of their code, read the answers, and drop workers that left."""
        threads: dict[str, int] = self._client.nthreads()
        for workers in (self._answers, self._refused, self.usable):
            for address in [address for address in workers if address not in threads]:
                del workers[address]
        for address in threads:
            if address not in self._answers:
                self._answers[address] = self._ask(address)
            if address not in self.usable and address not in self._refused and self._answers[address].done():
                self._take_answer(address, threads[address])

    def report(self) -> str:
        """Return the reason for each worker that is not usable."""
        silent = [address for address in self._answers if address not in self.usable and address not in self._refused]
        reasons = [*self._refused.items(), *((address, "it does not respond") for address in silent)]
        return "; ".join(f"worker {address}: {reason}" for address, reason in reasons) or "there are no workers"

    def _ask(self, address: str) -> Any:
        """Let a worker call `provenance`; only the standard library is pickled: an unpickling error kills it."""
        ask = partial(self._client.submit, workers=[address], allow_other_workers=False, pure=False, priority=100)
        return ask(methodcaller(provenance.__name__), ask(import_module, provenance.__module__))

    def _take_answer(self, address: str, threads: int) -> None:
        answer = self._answers[address]
        if answer.status == "cancelled":
            del self._answers[address]
            return
        try:
            why = difference(answer.result(timeout=SECONDS_FOR_AN_ANSWER))
        except TimeoutError:  # it died before it answered
            return
        except Exception as error:  # such as a missing package
            why = error_text(error)
        if why:
            self._refused[address] = one_line(" ".join(why.split())[:MAX_REASON])
            self._say(
                f"Dask worker {address} is not used: {self._refused[address]}; "
                "install the same fedbandit-bench there and restart the worker"
            )
        else:
            self.usable[address] = threads
