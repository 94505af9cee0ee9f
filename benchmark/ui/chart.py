"""Saved chart views, with which the MLflow UI opens on reward against communication.

MLflow stores a view of an experiment's runs page as a tag of the experiment, `mlflow.sharedViewState.<key>`: JSON with
a name, two times and the state of the page. A link contains the key. The view also appears in the page's menu of views.

The page (MLflow 3.17 and 3.18) supports neither a logarithmic axis in a scatter chart nor colours by a parameter.
Therefore each run also records the logarithm of its communication, and the colour of its method as a tag.
"""

import json
import time
from typing import Any
from urllib.parse import urlencode

from mlflow import MlflowClient
from mlflow.entities import Experiment

from benchmark.records.tracking import absolute_uri
from benchmark.ui.first_look import SIMULATED, objective
from data_pipelines.support.secrets import without_user

TAG_PREFIX = "mlflow.sharedViewState."
COLOUR_TAG = "mlflow.runColor"
VIEW_KEY = "fedbandit-communication"
ONLY_RUNS = "tags.`fedbandit.kind` = 'run'"
ORDER = "params.`seed`"
HORIZONTAL = "log10_communication"
COLUMNS = ("algorithm", "threshold", "dataset", "seed")


def vertical_metric(client: MlflowClient, experiment_id: str) -> str:
    """Return the metric that an experiment shows against communication, chosen by the sources of its runs."""
    filters = {
        SIMULATED: f"{ONLY_RUNS} and tags.`fedbandit.source` = '{SIMULATED}'",
        "real": f"{ONLY_RUNS} and tags.`fedbandit.source` != '{SIMULATED}'",
    }
    return objective(
        source for source, query in filters.items() if client.search_runs([experiment_id], query, max_results=1)
    )


def save_chart_view(tracking_uri: str, experiment_name: str) -> str:
    """Save or update the chart view of an experiment, and return its key.

    Args:
        tracking_uri: where MLflow keeps the runs, a database or a server.
        experiment_name: an existing MLflow experiment.
    """
    client = MlflowClient(absolute_uri(tracking_uri))
    experiment = client.get_experiment_by_name(experiment_name)
    if experiment is None:
        raise ValueError(f"experiment {experiment_name!r} does not exist in the store {without_user(tracking_uri)}")
    metric = vertical_metric(client, experiment.experiment_id)
    name = f"{_words(metric)} against communication"
    state = json.dumps(view_state(metric), sort_keys=True)
    previous = _saved_view(experiment)
    if (previous.get("name"), previous.get("state")) != (name, state):
        now = int(time.time() * 1000)
        view = {"name": name, "createdAt": previous.get("createdAt", now), "updatedAt": now, "state": state}
        client.set_experiment_tag(experiment.experiment_id, TAG_PREFIX + VIEW_KEY, json.dumps(view))
    return VIEW_KEY


def chart_link(base_url: str, experiment_id: str, key: str) -> str:
    """Return the address of a saved chart view under an MLflow server's address, in its mode for model training.

    Otherwise MLflow opens in its mode for language models, which shows traces, and there are none.
    """
    query = urlencode({"viewStateShareKey": key, "compareRunsMode": "CHART", "workflowType": "machine_learning"})
    return f"{base_url.rstrip('/')}/#/experiments/{experiment_id}/runs?{query}"


def view_state(metric: str) -> dict[str, Any]:
    """Return the state of the runs page: a scatter chart of all runs, and a table grouped by algorithm."""
    return {
        "searchFilter": ONLY_RUNS,
        # The page loads 100 runs at first: sorted by seed, complete seeds; sorted by reward, only the best runs.
        # In every order except by time, it also leaves out the sweeps above the runs.
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


def _saved_view(experiment: Experiment) -> dict[str, Any]:
    try:
        view = json.loads(experiment.tags.get(TAG_PREFIX + VIEW_KEY, "{}"))
    except ValueError:
        return {}
    return view if isinstance(view, dict) else {}
