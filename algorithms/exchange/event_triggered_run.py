"""A compiled run of a method on Algorithm 1."""

from abc import abstractmethod
from typing import Any

from algorithms.compiled_run import CompiledRun
from algorithms.exchange.protocol import Protocol, prepared_for, transfer_counts
from algorithms.stream import trace_of
from algorithms.trace import Trace


class EventTriggeredRun(CompiledRun):
    """One run; `state` is the NamedTuple that its kernel gets, with the `protocol` among its fields."""

    state: Any

    @property
    def protocol(self) -> Protocol:
        """The state of Algorithm 1."""
        protocol: Protocol = self.state.protocol
        return protocol

    def _advance(self, start: int, stop: int) -> int:
        self.state = self.state._replace(protocol=prepared_for(self.protocol, stop - start))
        return self._run(start, stop)

    @abstractmethod
    def _run(self, start: int, stop: int) -> int:
        """Call the kernel for the steps from `start` to `stop` and return the step reached."""

    def trace(self) -> Trace:
        """Return the trace of the run."""
        return trace_of(self.problem, self.choices, *transfer_counts(self.protocol, self.problem))
