"""The first file that a worker process runs, by its path (`runpy.run_path`), with two values from `LocalExecutor`.

If our own modules cannot be imported, the error is written to a file for the parent, which shows it in one line instead
of a traceback from every worker.
"""

import os
from pathlib import Path
from typing import Any

values: dict[str, Any] = globals()

try:
    from benchmark.execution.local import begin_worker
except MemoryError:
    raise  # a new worker may get more memory
except Exception as error:
    Path(values["error_file"]).write_text(f"{type(error).__name__}: {error}")
    os._exit(1)

begin_worker(values["folder_of_the_user"])
