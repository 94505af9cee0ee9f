"""Saved chart views: what makes MLflow's own pages open on reward against communication.

MLflow keeps a view of an experiment's runs page as a tag of the experiment, `mlflow.sharedViewState.<key>`: JSON with a
name, two times and the state of the page. A link names the key. The view is then also in the page's menu of views.

What the page cannot do (MLflow 3.17 and 3.18): a logarithmic axis in a scatter chart, and colours by a parameter. So
each run has its communication as a logarithm too, and the colour of its algorithm (`run_colour`) as a tag.
"""

import json
import time
from typing import Any
from urllib.parse import urlencode
from zlib import crc32

from mlflow import MlflowClient
from mlflow.entities import Experiment

from data_pipelines.secrets import without_user

TAG_PREFIX = "mlflow.sharedViewState."
COLOUR_TAG = "mlflow.runColor"
VIEW_KEY = "fedbandit-communication"
ONLY_RUNS = "tags.`fedbandit.kind` = 'run'"
ORDER = "params.`seed`"
HORIZONTAL = "log10_communication"
SHOWN_BY_REGRET = frozenset({"fig_a", "fig_b", "fig_c"})
COLUMNS = ("algorithm", "threshold", "dataset", "seed")

# Okabe and Ito's colours, told apart by colour-blind readers too.
_COLOURS = {
    "async-linucb": "#0072b2",
    "async-linucb-am": "#d55e00",
    "sync-linucb": "#009e73",
    "random": "#999999",
}
_FURTHER_COLOURS = ("#cc79a7", "#e69f00", "#56b4e9", "#b3a800", "#7b3294", "#8c510a", "#01665e", "#e7298a")


def run_colour(algorithm: str) -> str:
    """Return the colour of an algorithm's points, the same in every experiment: the value of `mlflow.runColor`."""
    return _COLOURS.get(algorithm) or _FURTHER_COLOURS[crc32(algorithm.encode()) % len(_FURTHER_COLOURS)]


def vertical_metric(experiment_name: str) -> str:
    """Return what an experiment shows against communication: the simulations regret, real data normalised reward."""
    return "regret" if experiment_name in SHOWN_BY_REGRET else "normalised_reward"


def save_chart_view(tracking_uri: str, experiment_name: str, metric: str | None = None) -> str:
    """Store the chart view of an experiment and return its key; saved again, it is brought up to date.

    Args:
        tracking_uri: where MLflow keeps the runs, a database or a server.
        experiment_name: the MLflow experiment; it must be there.
        metric: the vertical axis; by default what `vertical_metric` says.
    """
    client = MlflowClient(tracking_uri)
    experiment = client.get_experiment_by_name(experiment_name)
    if experiment is None:
        raise ValueError(
            f"experiment is {experiment_name!r}; the store {without_user(tracking_uri)} has none of that name"
        )
    metric = metric or vertical_metric(experiment_name)
    name = f"{_words(metric)} against communication"
    state = json.dumps(view_state(metric), sort_keys=True)
    before = _saved(experiment)
    if (before.get("name"), before.get("state")) != (name, state):
        now = int(time.time() * 1000)
        view = {"name": name, "createdAt": before.get("createdAt", now), "updatedAt": now, "state": state}
        client.set_experiment_tag(experiment.experiment_id, TAG_PREFIX + VIEW_KEY, json.dumps(view))
    return VIEW_KEY


def chart_link(base_url: str, experiment_id: str, key: str) -> str:
    """Return the address of a saved chart view under an MLflow server's address."""
    query = urlencode({"viewStateShareKey": key, "compareRunsMode": "CHART"})
    return f"{base_url.rstrip('/')}/#/experiments/{experiment_id}/runs?{query}"


def view_state(metric: str) -> dict[str, Any]:
    """Return the state of the runs page: one scatter chart over all runs, the table beside it grouped by algorithm."""
    return {
        "searchFilter": ONLY_RUNS,
        # The page loads 100 runs and more on demand: whole seeds first, as the best first would hide the others.
        # And in any order but by time it leaves out the sweeps above the runs.
        "orderByKey": ORDER,
        "orderByAsc": True,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "modelVersionFilter": "All Runs",
        "selectedColumns": [
            *(f"params.`{name}`" for name in COLUMNS),
            *(f"metrics.`{name}`" for name in (metric, "communication")),
        ],
        "runsHiddenMode": "SHOW_ALL",
        "compareRunCharts": [_scatter(metric)],
        "compareRunSections": [
            _section(
                "fedbandit-comparison", f"{_words(metric)} against communication (log10 of 1 + C_T)", is_open=True
            ),
            _section("fedbandit-metrics", "Model metrics", is_open=False),
        ],
        "isAccordionReordered": True,
        "groupBy": {"aggregateFunction": "average", "groupByKeys": [{"mode": "param", "groupByData": "algorithm"}]},
        "groupsExpanded": {},
        "useGroupedValuesInCharts": False,
        "hideEmptyCharts": True,
    }


def _scatter(metric: str) -> dict[str, Any]:
    return {
        "uuid": "fedbandit-scatter",
        "type": "SCATTER",
        "runsCountToCompare": 1000,
        "metricSectionId": "fedbandit-comparison",
        "deleted": False,
        "isGenerated": False,
        "xaxis": {"key": HORIZONTAL, "type": "METRIC"},
        "yaxis": {"key": metric, "type": "METRIC"},
    }


def _section(key: str, name: str, *, is_open: bool) -> dict[str, Any]:
    size = {"columns": 1, "cardHeight": 400} if is_open else {}
    return {"uuid": key, "name": name, "display": is_open, "isReordered": is_open, "deleted": False, **size}


def _words(metric: str) -> str:
    return metric.replace("_", " ").capitalize()


def _saved(experiment: Experiment) -> dict[str, Any]:
    try:
        saved = json.loads(experiment.tags.get(TAG_PREFIX + VIEW_KEY, "{}"))
    except ValueError:
        return {}
    return saved if isinstance(saved, dict) else {}
