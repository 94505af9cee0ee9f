"""Worker processes that all sweeps of a test process share: starting new ones takes two seconds of CPU time each."""

import os
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from benchmark.execution.local import LocalExecutor


class SharedWorkers(LocalExecutor):
    """Processes that work as if they had been started for each call: in the same folder, with the same variables."""

    def _submit(self, *call: Any) -> "Future[Any]":
        return super()._submit(as_in, Path.cwd(), dict(os.environ), *call)


def as_in(folder: Path, variables: Mapping[str, str], function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a folder with these environment variables."""
    os.chdir(folder)
    for name in set(os.environ) - set(variables):
        del os.environ[name]
    os.environ.update(variables)
    return function(*arguments)
