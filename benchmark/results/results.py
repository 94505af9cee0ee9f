"""`Results`: the runs of a comparison, as tables, as a plot, and as the best setting within a budget."""

import html
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from benchmark.charts.chart import (
    GREY,
    Axis,
    Chart,
    Level,
    Panel,
    Series,
    at_zero,
    communication_axis,
    drawn_values,
    numbers,
    span,
)
from benchmark.metrics import metric
from benchmark.records.record import RunRecord
from benchmark.results.budget import UNLIMITED, Budget, as_budget
from benchmark.results.frames import (
    COST,
    NEEDED,
    best_within,
    cost_column,
    run_frame,
    setting_frame,
    tidy_frame,
)
from benchmark.styles import distinct_styles
from data_pipelines.support.messages import unknown_name
from data_pipelines.support.text import number_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = ("csv", "json", "parquet")
UNITS = {NEEDED: "needed messages per client", COST: "transfers per client"}
"""What the communication of settings is counted in."""

CHOSEN_HERE = "chosen on these seeds, so its value is slightly too good"


@dataclass(frozen=True)
class Best:
    """The best setting within a budget.

    Its value is the mean of the objective over the seeds, with a 95 % interval; NaN with fewer than three seeds.
    `transfers_per_client` are the needed ones, unless the runs have recorded all transfers only; `unit` says which.
    """

    method: str
    setting: str
    algorithm: str
    parameters: Mapping[str, Any]
    objective: str
    value: float
    low: float
    high: float
    transfers_per_client: float
    seeds: int
    budget: Budget
    note: str = CHOSEN_HERE
    unit: str = UNITS[NEEDED]

    def __str__(self) -> str:
        """Return the answer in one sentence."""
        name = f"{self.method} {self.setting}".strip()
        value = value_text(self.value, self.low, self.high)
        transfers = "–" if math.isnan(self.transfers_per_client) else f"{self.transfers_per_client:,.4g}"
        return (
            f"{name}: {metric(self.objective).label} {value} over {number_of(self.seeds, 'seed')}, "
            f"{transfers} {self.unit} (budget: {self.budget}); {self.note}"
        )


@dataclass(frozen=True, eq=False)
class Results:
    """Finished runs, one record each.

    Attributes:
        records: the runs.
        budget: the budget that `best` and `plot` use by default.
        notes: sentences on data that are generated or reconstructed, and on runs that are left out.
        failures: one line per error, with the number of runs that failed with it.
    """

    records: tuple[RunRecord, ...]
    budget: Budget = UNLIMITED
    notes: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row per run: data set, method, setting, seed, hyper-parameters and metrics."""
        return tidy_frame(self.records)

    @cached_property
    def settings(self) -> pd.DataFrame:
        """One row per setting: means over seeds with 95 % intervals, and paired differences to a reference.

        The reference, marked by `is_reference`, is the first setting without communication, or the first setting.
        Communication is counted in needed messages, unless a run has recorded all transfers only. Metrics of the user
        are averaged over the runs that have a value.
        """
        runs = run_frame(self.records)
        cost = COST if runs[NEEDED].isna().any() else NEEDED
        own = sorted({name for record in self.records for name in record.own_metrics})
        return setting_frame(runs, cost=cost, own_metrics=own).drop(columns="values")

    def summary(self) -> pd.DataFrame:
        """Return a copy of `settings`."""
        return self.settings.copy()

    def only(self, *, dataset: str | None = None, method: str | None = None) -> "Results":
        """Return the results on one data set, or of one method (its name or its label)."""
        records = [
            record
            for record in self.records
            if dataset in (None, record.stream.name) and method in (None, record.method.name, record.method.info.label)
        ]
        if not records:
            names = {record.stream.name for record in self.records}
            if dataset is not None and dataset not in names:
                raise unknown_name("dataset", dataset, names)
            raise unknown_name("method", str(method), {record.method.name for record in self.records})
        return Results(tuple(records), self.budget, self.notes, self.failures)

    def best(self, budget: Any = None) -> Best:
        """Return the best setting within a budget: `"10/client"`, 5000 transfers in total, `"1MB"`; None: no limit.

        It is chosen on the seeds whose mean it has; `recommend` chooses on other seeds than it reports.
        """
        limit = self.budget if budget is None else as_budget(budget)
        record = self._one_data_set()
        allowed = _per_client(limit, record)
        settings, cost = best_within(self.settings, allowed), cost_column(self.settings)
        if settings.empty:
            least = self.settings[cost].min()
            raise ValueError(f"no setting stays within {limit}; the lowest is {least:,.4g} {UNITS[cost]}")
        row = settings.iloc[0]
        is_row = (self.frame["algorithm"] == row["algorithm"]) & (self.frame["setting"] == row["setting"])
        info = self.records[int(np.flatnonzero(is_row)[0])].method.info
        is_rule = info.role != "contender" and info.front is None  # its counts are shared by other means than messages
        return Best(
            method=row["method"],
            setting=row["setting"],
            algorithm=row["algorithm"],
            parameters=dict(self.records[int(np.flatnonzero(is_row)[0])].method.parameters),
            objective=row["objective"],
            value=float(row["mean"]),
            low=float(row["low"]),
            high=float(row["high"]),
            transfers_per_client=math.nan if is_rule else float(row[cost]),
            seeds=int(row["seeds"]),
            budget=limit,
            unit=UNITS[cost],
        )

    def export(self, path: str | Path, per: str = "run") -> None:
        """Write one row per run, or per setting (`per="setting"`), to a file: .csv, .json or .parquet."""
        if (kind := Path(path).suffix.removeprefix(".")) not in FORMATS or per not in ("run", "setting"):
            allowed = "path must end in .csv, .json or .parquet, and per must be run or setting"
            raise ValueError(f"{allowed}, got {str(path)!r} and {per!r}")
        Path(path).write_bytes(as_bytes(self.frame if per == "run" else self.settings, kind))

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Plot the objective against the messages per client, one line per method; return matplotlib's axes."""
        import matplotlib.pyplot as plt

        from benchmark.charts.with_matplotlib import to_matplotlib

        axes = plt.subplots(figsize=(7, 4.5))[1] if ax is None else ax
        to_matplotlib(self._chart(), axes)
        return axes

    def _chart(self) -> Chart:
        """Return the means of each method with their intervals, and the budget."""
        record, items = self._one_data_set(), []
        limit = _per_client(self.budget, record)
        cost = cost_column(self.settings)
        amounts = [*self.settings[cost], *([limit] if np.isfinite(limit) else [])]
        axis = replace(communication_axis(amounts, UNITS[cost]), note="")
        styles = distinct_styles((each.method.name, each.method.info.style) for each in self.records)
        for name, part in self.settings.sort_values(cost).groupby("algorithm", sort=False):
            style, label = styles[str(name)], str(part["method"].iloc[0])
            ends = (numbers(part["low"]), numbers(part["high"]))
            places = at_zero(axis, part[cost]), numbers(part["mean"])
            size = 9.5 if style.marker == "*" else 6.0
            items.append(Series(*places, style.colour, label, style.marker, "-", size, y_interval=ends))
        levels = []
        if np.isfinite(limit):
            at = at_zero(axis, [limit])[0]
            levels.append(Level(at, GREY, f"budget: {self.budget}", is_vertical=True))
        vertical = Axis(metric(self.settings["objective"].iloc[0]).label, span(drawn_values(items)))
        return Chart("results", record.stream.name, "", (Panel(axis, vertical, (*items, *levels)),))

    def __repr__(self) -> str:
        """Return the counts, and the notes on the data."""
        nouns = {"dataset": "data set", "method": "method", "setting": "setting", "seed": "seed"}
        counts = ", ".join(number_of(self.frame[column].nunique(), noun) for column, noun in nouns.items())
        runs = number_of(len(self.records), "run")
        return f"<Results: {runs}; {counts}>" + "".join(f"\n{note}" for note in self._all_notes())

    def _repr_html_(self) -> str:
        settings = self.settings.drop(columns=["dataset"] if self.settings["dataset"].nunique() == 1 else [])
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self._all_notes())
        return f"{notes}{settings.to_html(index=False, float_format='{:.4g}'.format, na_rep='–', border=0)}"

    def _all_notes(self) -> list[str]:
        return [*self.notes, *(f"FAILED {failure}" for failure in self.failures)]

    def _one_data_set(self) -> RunRecord:
        """Return a run of the only data set."""
        names = sorted({record.stream.name for record in self.records})
        if len(names) != 1:
            count = f"{len(names)} ({', '.join(names)}); choose one with only(dataset=…)" if names else "no runs"
            raise ValueError(f"results must be of one data set, got {count}")
        return self.records[0]


def _per_client(budget: Budget, record: RunRecord) -> float:
    """Return a budget in transfers per client on the stream of a run."""
    clients, dimension, steps = (record.stream.size(name) for name in ("clients", "dimension", "steps"))
    return budget.per_client(clients, dimension, steps=steps)


def value_text(mean: float, low: float, high: float) -> str:
    """Write a mean with its interval, if there is one."""
    number = "{:,.0f}".format if abs(mean) >= 1000 else "{:.4g}".format
    return number(mean) if np.isnan(low) else f"{number(mean)} [{number(low)}; {number(high)}]"


def as_bytes(table: pd.DataFrame, kind: str) -> bytes:
    """Return a table as CSV, JSON (a list of objects) or Parquet; values that are not plain are texts."""
    plain = table.map(_plain)
    if kind == "csv":
        return plain.to_csv(index=False).encode()
    if kind == "json":
        return (plain.to_json(orient="records", force_ascii=False, indent=1) + "\n").encode()
    # Columns with texts and numbers, such as alpha (0.3 or theory), become texts: in Parquet, each has one type.
    objects = [name for name in plain.columns if plain[name].dtype == object]
    mixed = [name for name in objects if len({*map(type, plain[name].dropna())}) > 1]
    buffer = io.BytesIO()
    plain.astype(dict.fromkeys(mixed, str)).to_parquet(buffer, index=False)
    return buffer.getvalue()


def _plain(value: object) -> object:
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)
