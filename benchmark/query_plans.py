"""Statistics that let SQLite choose its indices: without them the pages take seconds to sort 10,000 runs."""

import contextlib
import sqlite3

from benchmark.tracking import sqlite_file

ROWS_LOOKED_AT = 1000
SECONDS_TO_WAIT = 2.0


def refresh_statistics(uri: str) -> None:
    """Let SQLite look at some rows of each index; where that cannot be done now, nothing is lost but speed."""
    file = sqlite_file(uri)
    if file is None or not file.is_file():
        return
    connection = sqlite3.connect(file, timeout=SECONDS_TO_WAIT)
    with contextlib.suppress(sqlite3.Error), contextlib.closing(connection) as store:
        store.execute(f"pragma analysis_limit = {ROWS_LOOKED_AT}")
        store.execute("analyze")
        store.commit()
