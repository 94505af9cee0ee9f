"""Write the runs of a store again and again, each in one transaction with the same content, until it is killed.

Usage: python -m tests.chaos.writer mlflow.db
"""

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import cycle
from pathlib import Path

from benchmark.records.content import RunContent
from benchmark.records.sqlite import write_runs


def contents(file: Path) -> Iterator[RunContent]:
    """Yield the runs of a store with their tags, parameters and metrics."""
    columns = "run_uuid, experiment_id, name, status, start_time, end_time, artifact_uri"
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as store:
        for run_id, experiment_id, name, status, start, end, uri in store.execute(f"select {columns} from runs"):
            tags, params = (
                dict(store.execute(f"select key, value from {table} where run_uuid = ?", (run_id,)))
                for table in ("tags", "params")
            )
            points = store.execute("select key, value, step from metrics where run_uuid = ?", (run_id,)).fetchall()
            yield RunContent(
                experiment_id=str(experiment_id),
                name=name,
                status=status,
                start_time=start,
                end_time=end,
                tags=tags,
                params=params,
                points=points,
                run_id=run_id,
                artifact_uri=uri,
            )


if __name__ == "__main__":
    database = Path(sys.argv[1])
    for run in cycle([*contents(database)]):
        write_runs(database, [run], {run.run_id})
