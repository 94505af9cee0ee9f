"""The table at the end of `make fuzz`."""

from collections.abc import Sequence

from tests.fuzz.attempts import Report
from tests.fuzz.jobs import Job

HEADER = ("target", "inputs", "accepted", "refused", "failed", "slowest", "peak memory")


def table(jobs: Sequence[Job]) -> str:
    """Return one line per target, and the totals."""
    rows = [HEADER, *(_row(job.name, [job.report]) for job in sorted(jobs, key=lambda job: job.name))]
    rows.append(_row("all", [job.report for job in jobs]))
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    lines = []
    for row in rows:
        cells = [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append(" | ".join([f"| {row[0]:<{widths[0]}}", *cells]) + " |")
    rule = [f"{'-' * (width + 1)}{':' if number else '-'}" for number, width in enumerate(widths)]
    lines.insert(1, f"|{'|'.join(rule)}|")
    return "\n".join(lines)


def _row(name: str, reports: Sequence[Report]) -> tuple[str, ...]:
    counts = [sum(getattr(report, column) for report in reports) for column in HEADER[1:5]]
    slowest, peak = max(report.slowest for report in reports), max(report.peak_mib for report in reports)
    return (name, *(f"{count:,}" for count in counts), f"{slowest * 1e3:,.0f} ms", f"{peak:,.0f} MiB")
