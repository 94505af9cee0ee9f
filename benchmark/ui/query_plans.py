"""Statistics that help SQLite choose its indices: without them, sorting 10,000 runs takes the UI seconds."""

import contextlib
import sqlite3

from benchmark.records.tracking import sqlite_file

SAMPLED_ROWS = 1000
SECONDS_TO_WAIT = 2.0


def refresh_statistics(uri: str) -> None:
    """Let SQLite sample some rows of each index; if that fails, the UI is only slower."""
    file = sqlite_file(uri)
    if file is None or not file.is_file():
        return
    connection = sqlite3.connect(file, timeout=SECONDS_TO_WAIT)
    with contextlib.suppress(sqlite3.Error), contextlib.closing(connection) as store:
        store.execute(f"pragma analysis_limit = {SAMPLED_ROWS}")
        store.execute("analyze")
        store.commit()
