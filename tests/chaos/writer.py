"""Write the runs of a store again and again, each with the same results and another tag, until it is killed.

Without the tag, MLflow would find nothing to write.

Usage: python -m tests.chaos.writer mlflow.db
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path

from benchmark.metrics import CURVE_SUFFIX
from benchmark.records.store import RunContent, Store


def contents(store: Store) -> Iterator[RunContent]:
    """Yield the runs of a store with their tags and metrics."""
    for experiment_id in store.experiment_ids().values():
        for run in store.search(experiment_id, "FINISHED", "run"):
            info, metrics = run.info, run.data.metrics.items()
            yield RunContent(
                experiment_id=experiment_id,
                name=info.run_name,
                start_time=info.start_time,
                end_time=info.end_time,
                tags=run.data.tags,
                points=[(name, value, 0) for name, value in metrics if not name.endswith(CURVE_SUFFIX)],
                run_id=info.run_id,
            )


if __name__ == "__main__":
    file_store = Store(f"sqlite:///{Path(sys.argv[1]).absolute()}")
    runs = [*contents(file_store)]
    for number in count():
        content = runs[number % len(runs)]
        file_store.write(replace(content, tags={**content.tags, "chaos.round": str(number)}))
