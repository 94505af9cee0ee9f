"""Saved views, with which the MLflow UI opens on reward against communication.

MLflow stores a view of an experiment's runs page as a tag of the experiment, `mlflow.sharedViewState.<key>`: JSON with
a name, two times and the state of the page. A link contains the key. The view also appears in the page's menu of views.

The page (MLflow 3.17 and 3.18) supports neither a logarithmic axis in a scatter chart, nor titles of axes other than
the names of metrics, nor colours by a parameter. Therefore the runs that show settings have metrics with readable
names, among them the logarithm of the communication, and the colour of their method as a tag.
"""

import json
import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from benchmark.metrics import Metric, objective
from benchmark.records.tags import KIND, ORDER, SHOWN
from benchmark.ui.settings import (
    COMMUNICATION,
    LOG_COMMUNICATION,
    LOG_NEEDED,
    NEEDED_PER_CLIENT,
    PER_CLIENT,
    SEEDS,
    Setting,
    metric_name,
    shown_with,
)

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Experiment

TAG_PREFIX = "mlflow.sharedViewState."
VIEW_KEY = "fedbandit-communication"
ONLY_RUNS = f"tags.`{KIND}` = 'run'"
MAX_VIEWS = 12
"""Saved views per experiment, one per stream."""

NEWEST_FIRST = "attributes.start_time"
REPORT_FIRST = f"tags.`{ORDER}`"


def save_chart_views(client: "MlflowClient", experiment: "Experiment", settings: Sequence[Setting]) -> None:
    """Save or update the views of an experiment: one per stream, the first with the key that links use.

    `settings` are those to show. An experiment without any, because all its runs failed, has a table of its runs.
    """
    counts = Counter(setting.data for setting in settings)
    streams = sorted(counts, key=lambda data: (-counts[data], data))
    if not streams:
        columns = [f"params.`{name}`" for name in ("algorithm", "threshold", "dataset", "seed")]
        state = _state(ONLY_RUNS, NEWEST_FIRST, is_ascending=False, columns=columns)
        _save(client, experiment, VIEW_KEY, "All runs", state)
    for number, data in enumerate(streams[:MAX_VIEWS]):
        shown = [setting for setting in settings if setting.data == data]
        goal, own = objective([each.first.stream.source for each in shown]), [*shown[0].own_metrics.values()]
        costs = [name for name in (LOG_NEEDED, LOG_COMMUNICATION) if any(name in each.values for each in shown)]
        key = VIEW_KEY if number == 0 else f"{VIEW_KEY}-{number + 1}"
        name = f"{data}: {goal.label.lower()} against communication"
        _save(client, experiment, key, name, settings_view(goal, data, costs, own))


def save_overview_view(client: "MlflowClient", experiment_id: str) -> None:
    """Save the view of the overview: a table with one line per experiment, below the report."""
    experiment = client.get_experiment(experiment_id)
    columns = [f"tags.`{name}`" for name in ("Best", "Best result", "Data", "Seeds", "Transfers per client")]
    state = _state("", REPORT_FIRST, is_ascending=True, columns=columns)
    _save(client, experiment, VIEW_KEY, "All experiments", state)


def _save(client: "MlflowClient", experiment: "Experiment", key: str, name: str, state: dict[str, Any]) -> None:
    """Save a view, unless it is saved already."""
    text = json.dumps(state, sort_keys=True)
    try:
        previous = json.loads(experiment.tags.get(TAG_PREFIX + key, "{}"))
    except ValueError:
        previous = {}
    if (previous.get("name"), previous.get("state")) != (name, text):
        now = int(time.time() * 1000)
        view = {"name": name, "createdAt": previous.get("createdAt", now), "updatedAt": now, "state": text}
        client.set_experiment_tag(experiment.experiment_id, TAG_PREFIX + key, json.dumps(view))


def chart_link(base_url: str, experiment_id: str, *, mode: str = "CHART") -> str:
    """Return the address of a saved view under an MLflow server's address, in its mode for model training.

    Otherwise MLflow opens in its mode for language models, which shows traces, and there are none.
    """
    return f"{base_url.rstrip('/')}/{chart_fragment(experiment_id, mode=mode)}"


def chart_fragment(experiment_id: str, *, mode: str = "CHART") -> str:
    """Return the part of that address after the server's: a link between pages of one server."""
    query = urlencode({"viewStateShareKey": VIEW_KEY, "compareRunsMode": mode, "workflowType": "machine_learning"})
    return f"#/experiments/{experiment_id}/runs?{query}"


def settings_view(
    metric: Metric, data: str, costs: Sequence[str] = (LOG_COMMUNICATION,), own_metrics: Sequence[Metric] = ()
) -> dict[str, Any]:
    """Return the state of the runs page: the report, and the settings on a stream in the colours of their methods.

    There is a scatter chart of the metric against each of the `costs`. Each metric of the user has charts and a column,
    too.
    """
    goal, own = metric_name(metric), [metric_name(each) for each in own_metrics]
    state = _state(
        f"tags.`{SHOWN}` LIKE '%{shown_with(data)}%'",
        REPORT_FIRST,
        is_ascending=True,
        columns=[
            *(f"tags.`{name}`" for name in ("Method", "Setting")),
            *(f"metrics.`{name}`" for name in (goal, f"{goal} low", f"{goal} high")),
            *(f"metrics.`{name}`" for name in (NEEDED_PER_CLIENT, PER_CLIENT, COMMUNICATION, SEEDS)),
            *(f"metrics.`{name}`" for name in own),
        ],
    )
    title = f"{data}: {goal} against the messages needed and sent (log10 of 1 + number), one point per setting"
    groups = {"aggregateFunction": "average", "groupByKeys": [{"mode": "tag", "groupByData": "Method"}]}
    charts = [_scatter(cost, name) for name in (goal, *own) for cost in costs]
    sections = [
        _section("fedbandit-comparison", title, is_open=True),
        _section("fedbandit-metrics", "Model metrics", is_open=False),
    ]
    return state | {"compareRunCharts": charts, "compareRunSections": sections, "groupBy": groups}


def _scatter(cost: str, goal: str) -> dict[str, Any]:
    return {
        "uuid": f"fedbandit {goal} {cost}".replace(" ", "-"),
        "type": "SCATTER",
        "runsCountToCompare": 1000,
        "metricSectionId": "fedbandit-comparison",
        "deleted": False,
        "isGenerated": False,
        "xaxis": {"key": cost, "type": "METRIC"},
        "yaxis": {"key": goal, "type": "METRIC"},
    }


def _state(search: str, order: str, *, is_ascending: bool, columns: Sequence[str]) -> dict[str, Any]:
    return {
        "searchFilter": search,
        "orderByKey": order,
        "orderByAsc": is_ascending,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "modelVersionFilter": "All Runs",
        "selectedColumns": list(columns),
        "runsHiddenMode": "SHOW_ALL",
        "isAccordionReordered": True,
        "groupsExpanded": {},
        "useGroupedValuesInCharts": False,
        "hideEmptyCharts": True,
    }


def _section(key: str, name: str, *, is_open: bool) -> dict[str, Any]:
    size = {"columns": 1, "cardHeight": 400} if is_open else {}
    return {"uuid": key, "name": name, "display": is_open, "isReordered": is_open, "deleted": False, **size}
