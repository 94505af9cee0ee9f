"""The table of `fedbandit runs`: recorded runs, counted by experiment, data set, method and state."""

from collections import Counter
from collections.abc import Sequence

from benchmark.records.record import RunRecord
from benchmark.terminal.text import BOLD, coloured

WIDTHS = (20, 22, 22)


def run_lines(records: Sequence[RunRecord]) -> list[str]:
    """Return one line per experiment, data set, method and status; one sentence without runs."""
    if not records:
        return ["No recorded run matches."]
    counts = Counter((each.experiment, each.stream.name, each.method.name, each.status) for each in records)
    lines = [coloured(_line("experiment", "data", "method", "  runs"), BOLD)]
    return lines + [
        _line(experiment, data, method, f"{count:>6,}{'' if status == 'FINISHED' else f' {status}'}")
        for (experiment, data, method, status), count in sorted(counts.items())
    ]


def _line(*cells: str) -> str:
    parts = [f"{_cut(cell, width - 1):<{width}}" for cell, width in zip(cells, WIDTHS, strict=False)]
    return "".join([*parts, cells[-1]]).rstrip()


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
