"""Bring MLflow's pages up to date: the means of settings, the lines of the overview, the charts and descriptions.

Only what changed is written, at the end of a sweep, by the process that writes its runs. If that process is killed, the
next sweep does it. Nothing reads these runs as results: a result is a run of kind `run`.
"""

import io
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from algorithms.hyperparameters import number_text
from benchmark.metrics import CURVE_SUFFIX, curve_names, curves_to_show, metric
from benchmark.plan.experiment import ExperimentInfo
from benchmark.records.artifacts import read_curves
from benchmark.records.data_identity import earlier_code_sentences, split_by_code
from benchmark.records.provenance import sweep_tags
from benchmark.records.reader import finished_runs, read_aggregates
from benchmark.records.record import RunRecord, StoredRun
from benchmark.records.store import MAX_PARAMETER, RunContent, Store, storable_texts
from benchmark.records.tags import AGGREGATE, CONTENT, KIND, ORDER, PROTOCOL, SHOWN, SOURCE
from benchmark.records.tracking import sqlite_file
from benchmark.results.frames import mean_curve
from benchmark.styles import style
from benchmark.ui.chart_views import chart_fragment, save_chart_views, save_overview_view
from benchmark.ui.settings import (
    LOG_COMMUNICATION,
    METHOD,
    NOTE,
    Setting,
    digest_of,
    line_of,
    metric_name,
    order_of,
    settings_of,
    shown_with,
)
from data_pipelines.support.messages import storable

OVERVIEW = "overview"
DESCRIPTION = (
    "Open a line to read what the experiment is, and to follow the link to its chart. Numbers are means over seeds, on "
    "the data with most settings."
)
OVERVIEW_INFO = ExperimentInfo(OVERVIEW, "All experiments, one line each", DESCRIPTION)
"""The experiment whose runs are the lines."""

MAX_NAME, MAX_TEXT = 250, 5000
"""Characters of a name and of a tag: databases refuse longer ones."""

TABLE, PICTURE = "curve.csv", "curve.png"
SIZE, DOTS_PER_INCH = (8.0, 3.2), 80

MAX_CURVES = 25
"""The picture of a setting with more seeds shows the mean of so many of them: reading a curve takes milliseconds."""

SECONDS_BETWEEN_NOTES = 5.0

Curve = NDArray[np.float64]
"""Two rows: steps, and the sums up to and including them."""

Curves = Mapping[str, Curve]
"""The curves of a run, by name."""


def update_pages(
    store: Store,
    experiments: Iterable[str],
    records: Sequence[RunRecord] | None = None,
    curves: Mapping[str, Curves] | None = None,
    note: Callable[[str], None] = lambda text: None,
) -> int:
    """Rewrite what is out of date about these experiments, and return the number of settings written.

    Args:
        store: the store; on a SQLite file, its lock must be held.
        experiments: their names; those without an MLflow experiment are left out.
        records: the finished runs, if they were just read.
        curves: the curves of runs that were just recorded, by run id; others are read from the store.
        note: receives lines about the progress, if it takes more than seconds.
    """
    ids = store.experiment_ids()
    names = [name for name in dict.fromkeys(experiments) if name in ids and name != OVERVIEW]
    if not names:
        return 0
    records = finished_runs(store, names) if records is None else records
    stored, written, noted = _stored(store, [*names, OVERVIEW]), 0, time.monotonic()
    for name in names:
        runs = [record for record in records if record.experiment == name]
        settings = settings_of(runs)
        for number, setting in enumerate(settings, 1):
            if time.monotonic() - noted > SECONDS_BETWEEN_NOTES:
                note(f"MLflow's pages: {number:,} of {len(settings):,} settings of {name}")
                noted = time.monotonic()
            content = partial(_setting_content, store, ids[name], setting, curves or {})
            written += _write(store, stored.pop((name, setting.key), []), setting.digest, content)
        for unused in [run for (experiment, _), same in stored.items() if experiment == name for run in same]:
            store.call(store.client.delete_run, unused.run_id)
        _publish(store, name, settings, _digest(settings, runs), runs, stored.get((OVERVIEW, name), []))
    if "Default" in ids:
        _remove_if_empty(store, ids["Default"])
    return written


def are_current(store: Store, experiments: Iterable[str], records: Sequence[RunRecord]) -> bool:
    """Return whether settings and overview of these experiments are up to date, given their finished runs."""
    names = [*dict.fromkeys(experiments)]
    stored = {key: [run.tags.get(CONTENT, "") for run in same] for key, same in _stored(store, names).items()}
    runs = {name: [record for record in records if record.experiment == name] for name in names}
    settings = {name: settings_of(runs[name]) for name in names}
    if stored != {(name, setting.key): [setting.digest] for name in names for setting in settings[name]}:
        return False
    lines = _stored(store, [OVERVIEW])
    if not lines and (overview := store.find(OVERVIEW)) is not None and overview.lifecycle_stage != "active":
        return True  # the user deleted it
    digests = [run.tags.get(CONTENT, "") for name in names if runs[name] for run in lines.get((OVERVIEW, name), [])]
    expected = [_digest(settings[name], runs[name]) for name in names if runs[name]]
    return [digest.rpartition("-")[2] for digest in digests] == expected


def _digest(settings: Sequence[Setting], runs: Sequence[RunRecord]) -> str:
    """Hash what the line of an experiment is made from: it is written after the settings, which a kill may prevent."""
    return digest_of([sorted(setting.digest for setting in settings), len({run.key for run in runs})])


def _stored(store: Store, names: Sequence[str]) -> dict[tuple[str, str], list[StoredRun]]:
    """Return the aggregated runs by experiment and by what they summarise."""
    stored: dict[tuple[str, str], list[StoredRun]] = defaultdict(list)
    for run in read_aggregates(store, names):
        stored[run.experiment, run.tags[AGGREGATE]].append(run)
    return stored


def _write(
    store: Store, stored: Sequence[StoredRun], digest: str, content: Callable[[StoredRun | None], RunContent]
) -> bool:
    """Write a run that summarises others, unless it is stored already; return whether it was written.

    Only the first of several stored ones is kept. It is replaced if it was made from something else.
    """
    for twin in stored[1:]:
        store.call(store.client.delete_run, twin.run_id)
    if stored and stored[0].tags.get(CONTENT) == digest and stored[0].status == "FINISHED":
        return False
    store.write(content(stored[0] if stored else None))
    return True


def _content(
    experiment_id: str,
    name: str,
    tags: Mapping[str, str],
    values: Mapping[str, float],
    stored: StoredRun | None,
    **more: Any,
) -> RunContent:
    """Return a run that summarises others, as every store accepts it; `stored` is the run that it replaces."""
    now, texts = int(time.time() * 1000), storable_texts({**tags, **sweep_tags()})
    return RunContent(
        experiment_id=experiment_id,
        name=storable(name)[:MAX_NAME],
        start_time=now,
        end_time=now,
        tags={name: text[:MAX_TEXT] or "–" for name, text in texts.items()},
        points=[(name, value, 0) for name, value in values.items()],
        run_id=stored.run_id if stored else "",
        artifact_uri=stored.artifact_uri if stored else "",
        **more,
    )


def _setting_content(
    store: Store, experiment_id: str, setting: Setting, known: Mapping[str, Curves], stored: StoredRun | None
) -> RunContent:
    """Return the run that shows a setting."""
    first = setting.first
    colour = style(first.method.info.style).colour
    tags = {
        METHOD: first.method.info.label,
        "Setting": setting.text or "–",
        "Data": setting.data,
        "Seeds": ", ".join(str(run.seed) for run in setting.runs),
        NOTE: setting.description(),
        "mlflow.runColor": colour,
        KIND: "setting",
        AGGREGATE: setting.key,
        CONTENT: setting.digest,
        SOURCE: first.stream.source,
        ORDER: f"1 {setting.values.get(LOG_COMMUNICATION, 0.0):09.6f}",
        SHOWN: shown_with(setting.data),
    }
    # A run that is replaced may have had an interval: MLflow's client cannot delete metrics.
    goal = metric_name(setting.objective)
    gaps = dict.fromkeys((f"{goal} low", f"{goal} high", *setting.own_names.values()), math.nan) if stored else {}
    runs = setting.runs[:MAX_CURVES]
    curves = [known.get(run.run_id) or _read_curves(store, run) for run in runs]
    title = setting.name + (f", curves of the first {len(runs)}" if len(runs) < len(setting.runs) else "")
    nested = {run.run_id for run in setting.runs if stored and run.parent == stored.run_id}
    return _content(
        experiment_id,
        setting.name,
        tags,
        gaps | setting.values,
        stored,
        params={name: text[:MAX_PARAMETER] for name, text in storable_texts(_params(first)).items()},
        files=curve_files([each for each in curves if each], title, colour),
        children=[run_id for run_id in setting.run_ids if run_id not in nested],
    )


def _read_curves(store: Store, run: RunRecord) -> Curves:
    return as_curves(read_curves(store, run.stream.source, run.experiment, run.run_id, run.artifact_uri))


def _params(run: RunRecord) -> dict[str, str]:
    """Return the parameters of a setting: those that all its runs share, without any that have no value."""
    texts = {name: number_text(value) for name, value in run.method.parameters.items() if value is not None}
    front = run.method.front_value
    threshold = "" if front is None else number_text(front)
    return {**texts, "algorithm": run.method.name, "threshold": threshold, "dataset": run.stream.name}


def _publish(
    store: Store,
    name: str,
    settings: Sequence[Setting],
    digest_of_settings: str,
    runs: Sequence[RunRecord],
    stored: Sequence[StoredRun],
) -> None:
    """Update the charts of an experiment, and its line in the overview, unless somebody deleted the overview."""
    experiment: Any = store.find(name)
    store.call(save_chart_views, store.client, experiment, settings)
    overview = store.find(OVERVIEW)
    if overview is not None and overview.lifecycle_stage != "active":
        return
    left_out = earlier_code_sentences(split_by_code(runs)[1])
    link = chart_fragment(experiment.experiment_id)
    line = line_of(name, experiment.tags.get(NOTE, ""), settings, len(runs), link, left_out)
    title, texts, values = line
    experiment_id, digest = store.experiment_id(OVERVIEW_INFO), f"{digest_of(line)}-{digest_of_settings}"
    is_board = any(PROTOCOL in run.provenance for run in runs)
    tags = {**texts, KIND: "overview", AGGREGATE: name, CONTENT: digest, ORDER: order_of(name, is_board=is_board)}
    if _write(store, stored, digest, partial(_content, experiment_id, title, tags, values)):
        store.call(save_overview_view, store.client, experiment_id)


def _remove_if_empty(store: Store, experiment_id: str) -> None:
    """Delete MLflow's own first experiment, `Default`, from a SQLite file, if it is empty; it can be restored.

    A server may be shared with people who use it.
    """
    if sqlite_file(store.uri) is None:
        return
    from mlflow.entities import ViewType

    if not store.client.search_runs([experiment_id], run_view_type=ViewType.ALL, max_results=1):
        store.call(store.client.delete_experiment, experiment_id)


def as_curves(points: Mapping[str, Sequence[tuple[int, float]]]) -> Curves:
    """Return the recorded points of a run's curves as arrays."""
    return {name: np.array(sorted(curve), dtype=np.float64).reshape(-1, 2).T for name, curve in points.items()}


def curve_files(runs: Sequence[Curves], title: str, colour: str) -> dict[str, bytes]:
    """Return the table and the picture of a setting; nothing without curves.

    The table has one row per step: means, and the ends of their intervals (empty with fewer than three seeds). A curve
    that a run lacks is left out.
    """
    names = [name for name in curve_names() if runs and all(name in run for run in runs)]
    bands = {name: _band(name.removesuffix(CURVE_SUFFIX), [run[name] for run in runs]) for name in names}
    bands = {name: band for name, band in bands.items() if len(band)}
    if not bands:
        return {}
    table: str = pd.concat(bands.values(), axis=1).to_csv(lineterminator="\n", float_format="%.10g")
    drawn = {name.removesuffix(CURVE_SUFFIX): bands[name] for name in curves_to_show([*bands])}
    return {TABLE: table.encode(), PICTURE: picture(drawn, title, colour)}


def _band(name: str, curves: Sequence[Curve]) -> pd.DataFrame:
    """Return the mean of curves at the steps that all of them have, and the ends of its 95 % intervals."""
    columns = [pd.Series(values, pd.Index(steps.astype(np.int64), name="step")) for steps, values in curves]
    values = pd.concat(columns, axis=1, join="inner")
    names = (name, f"{name}_low", f"{name}_high")
    return pd.DataFrame(dict(zip(names, mean_curve(values.to_numpy().T), strict=True)), values.index)


def picture(bands: Mapping[str, pd.DataFrame], title: str, colour: str) -> bytes:
    """Draw each curve with its band."""
    figure = _figure(tuple(bands))
    figure.texts[0].set_text(title)
    for axes, band in zip(figure.axes, bands.values(), strict=True):
        for artist in (*axes.lines, *axes.collections):
            artist.remove()
        mean, low, high = band.to_numpy().T
        axes.plot(band.index, mean, color=colour)
        if np.isfinite(low).all():
            axes.fill_between(band.index, low, high, color=colour, alpha=0.25, linewidth=0)
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
