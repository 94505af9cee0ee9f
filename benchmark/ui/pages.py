"""Bring MLflow's pages up to date: the means of settings, the lines of the overview, the charts and descriptions.

Only what changed is written, at the end of a sweep, by the process that writes its runs. If that process is killed, the
next sweep does it. Nothing reads these runs as results: a result is a run of kind `run`.
"""

import io
import math
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from algorithms.hyperparameters import number_text
from benchmark.metrics import CURVE_SUFFIX, curve_names, curves_to_show, metric
from benchmark.plan.experiment import ExperimentInfo
from benchmark.records.content import RunContent, StoredAggregate
from benchmark.records.data_identity import earlier_code_sentences, split_by_code
from benchmark.records.provenance import sweep_tags
from benchmark.records.reader import finished_runs, read_aggregates, read_curves
from benchmark.records.record import RunRecord
from benchmark.records.store import MAX_PARAMETER, Store, storable_texts
from benchmark.records.tags import AGGREGATE, CONTENT, KIND, SOURCE
from benchmark.records.tracking import patiently, sqlite_file
from benchmark.statistics.intervals import MIN_SEEDS_FOR_INTERVAL, t_quantile
from benchmark.styles import style
from benchmark.ui.chart_views import chart_fragment, save_chart_views, save_overview_view
from benchmark.ui.settings import Line, Setting, settings_of
from data_pipelines.support.messages import storable

OVERVIEW = "overview"
TITLE = "All experiments, one line each"
DESCRIPTION = (
    "Open a line to read what the experiment is, and to follow the link to its chart. The numbers are means over seeds."
)

FORMAT = 1
"""Increased when the content of the pages changes: then all are rewritten once."""

COLOUR_TAG = "mlflow.runColor"
NOTE = "mlflow.note.content"
MAX_NAME, MAX_TEXT = 250, 5000
"""Characters of a name and of a tag: databases refuse longer ones."""

BATCH = 1000
"""Runs whose curves are in memory at a time; their settings are written in one transaction."""

TABLE, PICTURE = "curve.csv", "curve.png"
SIZE, DOTS_PER_INCH = (8.0, 3.2), 80

Curve = NDArray[np.float64]
"""Two rows: steps, and the sums up to and including them."""

Curves = Mapping[str, Curve]
"""The curves of a run, by name."""

Bands = dict[str, tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]]
"""Steps, means, and the ends of the 95 % intervals, by metric."""


OVERVIEW_INFO = ExperimentInfo(OVERVIEW, TITLE, DESCRIPTION)
"""The experiment whose runs are the lines."""


def update_pages(
    store: Store,
    experiments: Iterable[str],
    records: Sequence[RunRecord] | None = None,
    curves: Mapping[str, Curves] | None = None,
) -> int:
    """Rewrite what is out of date about these experiments, and return the number of settings written.

    Args:
        store: the store; on a SQLite file, its lock must be held.
        experiments: their names; those without an MLflow experiment are left out.
        records: the finished runs, if they were just read.
        curves: the curves of runs that were just recorded, by run id; others are read from the store.
    """
    ids = store.experiment_ids()
    names = [name for name in dict.fromkeys(experiments) if name in ids and name != OVERVIEW]
    if not names:
        return 0
    by_experiment: dict[str, list[RunRecord]] = {name: [] for name in names}
    for record in finished_runs(store, names) if records is None else records:
        if record.experiment in by_experiment:
            by_experiment[record.experiment].append(record)
    stored = _stored(store, [*names, OVERVIEW])
    written, lines = 0, []
    for name, runs in by_experiment.items():
        settings = settings_of(runs)
        written += _write_settings(store, ids[name], settings, stored.pop(name, {}), curves or {})
        lines.append(_publish(store, name, ids[name], settings, runs))
    _write_overview(store, lines, stored.get(OVERVIEW, {}))
    if "Default" in ids:
        _remove_if_empty(store, ids["Default"])
    return written


def are_current(store: Store, experiments: Iterable[str], records: Sequence[RunRecord]) -> bool:
    """Return whether the settings of these experiments are up to date, given their finished runs."""
    names = [*dict.fromkeys(experiments)]
    stored = _stored(store, names)
    for name in names:
        settings = settings_of([record for record in records if record.experiment == name])
        current = {setting.key: setting.digest(FORMAT) for setting in settings}
        found = {key: [each.content for each in same] for key, same in stored.get(name, {}).items()}
        if found != {key: [content] for key, content in current.items()}:
            return False
    return True


def _stored(store: Store, names: Sequence[str]) -> dict[str, dict[str, list[StoredAggregate]]]:
    """Return the aggregated runs by experiment and by what they summarise."""
    stored: dict[str, dict[str, list[StoredAggregate]]] = defaultdict(lambda: defaultdict(list))
    for aggregate in read_aggregates(store, names):
        stored[aggregate.experiment][aggregate.key].append(aggregate)
    return stored


def _write_settings(
    store: Store,
    experiment_id: str,
    settings: Sequence[Setting],
    stored: Mapping[str, Sequence[StoredAggregate]],
    curves: Mapping[str, Curves],
) -> int:
    """Write the settings that changed, and delete those without runs."""
    changed = [setting for setting in settings if not _is_current(stored.get(setting.key, ()), setting.digest(FORMAT))]
    is_file = sqlite_file(store.uri) is not None
    for part in _batches(changed):
        known = _curves(store, part, curves)
        contents = []
        for setting in part:
            same = stored.get(setting.key, ())
            content = _setting_content(experiment_id, setting, same[0] if same else None, known)
            contents.append(content if is_file else _with_gaps(content, setting))
        store.write(contents)
    keys = {setting.key for setting in settings}
    for key, same in stored.items():
        _delete(store, same[1:] if key in keys else same)
    return len(changed)


def _batches(settings: Sequence[Setting]) -> Iterator[list[Setting]]:
    """Yield settings with not many more than a thousand runs at a time."""
    batch: list[Setting] = []
    for setting in settings:
        batch.append(setting)
        if sum(len(each.runs) for each in batch) >= BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _is_current(stored: Sequence[StoredAggregate], content: str) -> bool:
    return bool(stored) and stored[0].content == content and stored[0].status == "FINISHED"


def _delete(store: Store, aggregates: Sequence[StoredAggregate]) -> None:
    for aggregate in aggregates:
        patiently(store.uri, lambda aggregate=aggregate: store.client.delete_run(aggregate.run_id))  # type: ignore[misc]


def _curves(store: Store, settings: Sequence[Setting], known: Mapping[str, Curves]) -> dict[str, Curves]:
    """Return the curves of the runs of settings, by run id."""
    run_ids = [run.run_id for setting in settings if setting.is_reported for run in setting.runs]
    points: dict[str, dict[str, list[tuple[int, float]]]] = defaultdict(lambda: defaultdict(list))
    for run_id, name, step, value in read_curves(store, [each for each in run_ids if each not in known]):
        points[run_id][name].append((step, value))
    return {**known, **{run_id: as_curves(curves) for run_id, curves in points.items()}}


def _setting_content(
    experiment_id: str, setting: Setting, stored: StoredAggregate | None, curves: Mapping[str, Curves]
) -> RunContent:
    """Return the run that shows a setting."""
    first, now = setting.first, int(time.time() * 1000)
    colour = style(first.method.info.style).colour
    tags = {
        "Method": setting.method,
        "Setting": setting.text or "–",
        "Data": setting.data,
        "Seeds": ", ".join(str(run.seed) for run in setting.runs),
        NOTE: setting.description(),
        COLOUR_TAG: colour,
        KIND: "setting" if setting.is_reported else "candidate",
        AGGREGATE: setting.key,
        CONTENT: setting.digest(FORMAT),
        SOURCE: first.stream.source,
        **sweep_tags(),
    }
    values = setting.values()
    with_curves = [curves[run.run_id] for run in setting.runs if run.run_id in curves]
    nested = {run.run_id for run in setting.runs if stored is not None and run.parent == stored.run_id}
    return RunContent(
        experiment_id=experiment_id,
        name=storable(setting.name)[:MAX_NAME],
        status="FINISHED",
        start_time=now,
        end_time=now,
        tags=_tags(tags),
        params={name: text[:MAX_PARAMETER] for name, text in storable_texts(_params(first)).items()},
        points=[(name, value, 0) for name, value in values.items()],
        files=curve_files(with_curves, setting.name, colour) if setting.is_reported else {},
        run_id=stored.run_id if stored else "",
        artifact_uri=stored.artifact_uri if stored else "",
        children=[run_id for run_id in setting.run_ids if run_id not in nested],
    )


def _with_gaps(content: RunContent, setting: Setting) -> RunContent:
    """Add NaN for an interval that a stored setting may have had before: MLflow's client cannot delete metrics."""
    names = {name for name, *_ in content.points}
    gaps = [(name, math.nan, 0) for name in setting.interval_names() if content.run_id and name not in names]
    return replace(content, points=[*content.points, *gaps])


def _tags(texts: Mapping[str, str]) -> dict[str, str]:
    """Return tags as every store accepts them."""
    return {name: text[:MAX_TEXT] or "–" for name, text in storable_texts(texts).items()}


def _params(run: RunRecord) -> dict[str, str]:
    """Return the parameters of a setting: those that all its runs share, without any that have no value."""
    texts = {name: number_text(value) for name, value in run.method.parameters.items() if value is not None}
    front = run.method.front_value
    return {
        **texts,
        "algorithm": run.method.name,
        "threshold": "" if front is None else number_text(front),
        "dataset": run.stream.name,
    }


def _publish(
    store: Store, name: str, experiment_id: str, settings: Sequence[Setting], runs: Sequence[RunRecord]
) -> Line:
    """Update the charts and the description of an experiment, and return its line of the overview."""
    experiment: Any = store.find(name)
    about = plain(experiment.tags.get(NOTE, ""))
    if about != experiment.tags.get(NOTE, ""):
        patiently(store.uri, lambda: store.client.set_experiment_tag(experiment_id, NOTE, about))
    shown = [setting for setting in settings if setting.is_reported]
    patiently(store.uri, lambda: save_chart_views(store.client, experiment, shown))
    left_out = earlier_code_sentences(split_by_code(runs)[1])
    return Line(name, about, shown, len(runs), chart_fragment(experiment_id), left_out)


def plain(description: str) -> str:
    """Return a description without the marks of earlier versions, which lists of experiments show as they are."""
    title, mark, text = description.removeprefix("**").partition("**\n\n")
    return f"{title}. {text}".strip() if description.startswith("**") and mark else description


def _write_overview(store: Store, lines: Sequence[Line], stored: Mapping[str, Sequence[StoredAggregate]]) -> None:
    """Write the lines that changed."""
    now, contents = int(time.time() * 1000), []
    changed = [line for line in lines if not _is_current(stored.get(line.experiment, ()), line.digest(FORMAT))]
    found = store.find(OVERVIEW)
    if not changed or (found is not None and found.lifecycle_stage != "active"):  # somebody deleted it
        return
    experiment_id = store.experiment_id(OVERVIEW_INFO)
    for line in changed:
        same = stored.get(line.experiment, ())
        tags = {
            **line.tags(),
            NOTE: line.description(),
            KIND: "overview",
            AGGREGATE: line.experiment,
            CONTENT: line.digest(FORMAT),
            **sweep_tags(),
        }
        contents.append(
            RunContent(
                experiment_id,
                storable(line.name)[:MAX_NAME],
                "FINISHED",
                now,
                now,
                _tags(tags),
                points=[(name, value, 0) for name, value in line.values().items()],
                run_id=same[0].run_id if same else "",
                artifact_uri=same[0].artifact_uri if same else "",
            )
        )
        _delete(store, same[1:])
    store.write(contents)
    patiently(store.uri, lambda: save_overview_view(store.client, experiment_id))


def _remove_if_empty(store: Store, experiment_id: str) -> None:
    """Delete MLflow's own first experiment, `Default`, from a SQLite file, if it is empty; it can be restored.

    A server may be shared with people who use it.
    """
    if sqlite_file(store.uri) is None:
        return
    from mlflow.entities import ViewType

    if not store.client.search_runs([experiment_id], run_view_type=ViewType.ALL, max_results=1):
        patiently(store.uri, lambda: store.client.delete_experiment(experiment_id))


def as_curves(points: Mapping[str, Sequence[tuple[int, float]]]) -> Curves:
    """Return the recorded points of a run's curves as arrays."""
    return {name: np.array(sorted(curve), dtype=np.float64).reshape(-1, 2).T for name, curve in points.items()}


def mean_curves(runs: Sequence[Curves]) -> Bands:
    """Average the curves of runs at the steps that all of them have; a curve that a run lacks is left out."""
    bands: Bands = {}
    for name in [name for name in curve_names() if runs and all(name in run for run in runs)]:
        curves = [run[name] for run in runs]
        steps = curves[0][0]
        for curve in curves[1:]:
            steps = np.intersect1d(steps, curve[0])
        values = np.array([curve[1][np.isin(curve[0], steps)] for curve in curves])
        mean = values.mean(axis=0)
        half = np.full(len(steps), np.nan)
        if len(runs) >= MIN_SEEDS_FOR_INTERVAL:
            half = t_quantile(len(runs) - 1) * values.std(axis=0, ddof=1) / len(runs) ** 0.5
        bands[name.removesuffix(CURVE_SUFFIX)] = (steps, mean, mean - half, mean + half)
    return bands


def curve_files(runs: Sequence[Curves], title: str, colour: str) -> dict[str, bytes]:
    """Return the table and the picture of a setting; nothing without curves."""
    bands = {name: band for name, band in mean_curves(runs).items() if len(band[0])}
    if not bands:
        return {}
    names = [name.removesuffix(CURVE_SUFFIX) for name in curves_to_show([name + CURVE_SUFFIX for name in bands])]
    drawn = {name: bands[name] for name in names}
    return {TABLE: table(bands).encode(), PICTURE: picture(drawn, title, colour)}


def table(bands: Bands) -> str:
    """Return CSV with one row per step: means, and the ends of their intervals (empty with fewer than three seeds)."""
    import pandas as pd

    columns = []
    for name, (steps, *series) in bands.items():
        named = zip((name, f"{name}_low", f"{name}_high"), series, strict=True)
        columns.append(pd.DataFrame(dict(named), index=pd.Index(steps.astype(np.int64), name="step")))
    text: str = pd.concat(columns, axis=1).to_csv(lineterminator="\n", float_format="%.10g")
    return text


def picture(bands: Bands, title: str, colour: str) -> bytes:
    """Draw each curve with its band."""
    figure = _figure(tuple(bands))
    figure.texts[0].set_text(title)
    for axes, (steps, mean, low, high) in zip(figure.axes, bands.values(), strict=True):
        for artist in (*axes.lines, *axes.collections):
            artist.remove()
        axes.plot(steps, mean, color=colour)
        if np.isfinite(low).all():
            axes.fill_between(steps, low, high, color=colour, alpha=0.25, linewidth=0)
        axes.relim()
        axes.autoscale()
    buffer = io.BytesIO()
    figure.canvas.print_png(buffer)
    return buffer.getvalue()


@lru_cache(maxsize=4)
def _figure(names: tuple[str, ...]) -> Any:
    """Return a figure with empty axes for these metrics; it is drawn into again and again, which saves time."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=SIZE, dpi=DOTS_PER_INCH)
    FigureCanvasAgg(figure)
    figure.subplots_adjust(left=0.1, right=0.98, bottom=0.16, top=0.86, wspace=0.3)
    figure.text(0.5, 0.92, "", ha="center", fontsize=10)
    for axes, name in zip(figure.subplots(1, len(names), squeeze=False)[0], names, strict=True):
        axes.set_xlabel("step")
        axes.set_ylabel(metric(name).plain_axis_label())
        axes.grid(alpha=0.3)
    return figure
