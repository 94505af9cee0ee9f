"""A store and a data set made by hand, with numbers that are easy to check."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from mlflow.entities import Metric, Param
from scipy.sparse import csr_array

from algorithms.hyperparameters import number_text
from benchmark.plan.experiment import experiment_names, load_experiment
from benchmark.plan.runs import make_setting
from benchmark.records.artifacts import ARTIFACTS, CLIENTS, CURVE
from benchmark.records.record import StreamRecord
from benchmark.records.store import Store
from benchmark.records.sweep_plan import FILE, SweepPlan
from benchmark.records.tags import ERROR, FINGERPRINT, KEY, KIND, PREPARED, SOURCE
from benchmark.statistics.budgets import full_transfer
from data_pipelines.data_set import Contents, data_set_names, find_data_set
from data_pipelines.prepare.features import WordCounts
from data_pipelines.prepare.prepared import prepare
from data_pipelines.stream_spec import DatasetSpec, SimulatedSpec
from tests.records import record_of_texts

ACTIVITY = {11: 4, 12: 15, 13: 15, 14: 85, 15: 95}
"""Interactions of each user: groups [0, 10), [10, 20), [80, 90) and [90, 100]."""

NO_CLIENTS = pd.DataFrame({"client": [], "reward": [], "uploads": [], "downloads": []})
ITEMS, DIMENSION, ARMS = 120, 3, 25
SIZES = {"steps": "214", "clients": "5", "arms": str(ARMS), "dimension": str(DIMENSION)}


def write_data(
    folder: Path, name: str = "delicious", source: str = "mirror", published: int = 220, content: str = "0"
) -> dict[str, Any]:
    """Prepare five users; `published` is the number of interactions that the archive should have had.

    `content` replaces the hash of the content of the archive: another one makes other data of the same size.
    """
    random = np.random.default_rng(0)
    users = np.concatenate([np.full(count, user) for user, count in ACTIVITY.items()])
    items = np.concatenate([np.sort(random.choice(ITEMS, count, replace=False)) for count in ACTIVITY.values()])
    words = WordCounts(csr_array(random.integers(0, 3, (ITEMS, 6)).astype(float)), [f"w{n}" for n in range(6)])
    contents = Contents(
        users=users.astype(np.int64),
        items=items.astype(np.int32),
        times=np.zeros(len(users), dtype=np.int64),
        item_ids=np.arange(ITEMS),
        words=words,
        rows={},
        ratings=(np.arange(len(users)) % 5 + 1.0) if has_ratings(name) else None,
    )
    observed = {"users": 5, "items": ITEMS, "interactions": len(users)}
    about = {
        "name": name,
        "source": source,
        "origin": "made by hand",
        "archive": {"file": "archive.zip", "size": 1, "sha256": "0"},
        "members": {"a": content},
        "verified": "made by hand",
        "counts": {"observed": observed, "published": {**observed, "interactions": published}},
        "rows": {"observed": {}, "published": {}},
        "differences": [f"interactions: {len(users)} of {published} published"] if published != len(users) else [],
        "notes": [],
        "remarks": [],
        "parameters": {},
        "groups": "tens",
        "licence": "none",
        "citation": "none",
        **({"positive_rating": 4} if has_ratings(name) else {}),
    }
    return prepare(contents, about, dimension=DIMENSION, folder=folder / name)


def has_ratings(name: str) -> bool:
    """Whether the data set declares which ratings are positive."""
    return name in data_set_names() and find_data_set(name).positive_rating is not None


@dataclass
class HandMade:
    """A store in a folder, written through MLflow's client."""

    folder: Path
    empty: Path | None = None
    experiments: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Start with a copy of an empty store, which takes MLflow seconds to make, or open an existing one."""
        if self.empty is not None:
            shutil.copy(self.empty, self.folder / "mlflow.db")
        self.store = Store(self.uri)

    @property
    def uri(self) -> str:
        return f"sqlite:///{self.folder / 'mlflow.db'}"

    def experiment(self, name: str) -> str:
        if name not in self.experiments:
            experiment, location = self.store.find(name), (self.folder / ARTIFACTS / name).as_uri()
            create = self.store.client.create_experiment
            self.experiments[name] = create(name, location) if experiment is None else experiment.experiment_id
        return self.experiments[name]

    def sweep(self, experiment: str, profile: str, plan: SweepPlan | None = None) -> None:
        tags = {KIND: "sweep", "fedbandit.profile": profile}
        run = self.store.client.create_run(self.experiment(experiment), tags=tags)
        if plan is not None:
            self.store.client.log_text(run.info.run_id, plan.to_json(), FILE)
        self.store.client.set_terminated(run.info.run_id)

    def run(
        self,
        experiment: str,
        algorithm: str,
        threshold: float | None,
        seed: int,
        *,
        dataset: str = "simulated-uniform",
        source: str = "simulated",
        manifest: Mapping[str, Any] | None = None,
        status: str = "FINISHED",
        key: str | None = None,
        parameters: Mapping[str, str] | None = None,
        clients: pd.DataFrame | None = None,
        **metrics: float,
    ) -> str:
        """Write one run and return its id."""
        client = self.store.client
        given = parameters or {}
        if "communication" in metrics:
            numbers = metrics["communication"] * full_transfer(int(SIZES["dimension"])) / int(SIZES["clients"])
            metrics = {"numbers_per_client": numbers, **metrics}
        fingerprint = fingerprint_of_stream(dataset, source, manifest, seed, given)
        name = f"{experiment} {algorithm} {threshold} {fingerprint} {seed} {parameters}"
        tags = {KIND: "run", KEY: key or name, SOURCE: source, FINGERPRINT: fingerprint}
        prepared = "" if manifest is None else str(manifest["fingerprint"])
        if prepared:
            tags[PREPARED] = prepared
        if status == "FAILED":
            tags[ERROR] = "RuntimeError: made by hand"
        threshold_text = "" if threshold is None else repr(float(threshold))
        names = {"algorithm": algorithm, "threshold": threshold_text, "dataset": dataset, "seed": str(seed)}
        names |= {} if source == "simulated" else {"stream_scaling": "standard"}
        params = {**SIZES, **hyper_parameters_of(experiment, algorithm, threshold, dataset), **names, **given}
        stream = StreamRecord(dataset, source, fingerprint, prepared)
        record = record_of_texts(params, tags[KEY], stream, run_id="", experiment=experiment)
        params, record_tag = record.to_mlflow()
        created = client.create_run(
            self.experiment(experiment), tags=tags | record_tag, run_name=f"{algorithm} seed {seed}"
        )
        run_id = created.info.run_id
        recorded = ["reward", "communication"]
        recorded += ["regret"] if source == "simulated" else []
        curves = [
            Metric(f"{curve}_curve", metrics.get(curve, 0) * step / 100, 1, step)
            for curve in recorded
            for step in (1, 50, 100)
        ]
        finals = [Metric(metric, value, 1, 0) for metric, value in metrics.items()]
        client.log_batch(run_id, finals + curves, [Param(*item) for item in params.items()])
        self._write_files(experiment, run_id, NO_CLIENTS if clients is None else clients)
        client.set_terminated(run_id, status)
        return str(run_id)

    def _write_files(self, experiment: str, run_id: str, clients: pd.DataFrame) -> None:
        """Write the files that a finished run must have."""
        folder = self.folder / ARTIFACTS / experiment / run_id / "artifacts"
        folder.mkdir(parents=True)
        pq.write_table(pa.Table.from_pandas(clients, preserve_index=False), folder / CLIENTS)
        (folder / CURVE).write_bytes(b"made up")  # curves are read from MLflow


def fingerprint_of_stream(
    dataset: str, source: str, manifest: Mapping[str, Any] | None, seed: int, parameters: Mapping[str, str]
) -> str:
    """Return the true fingerprint if it can be computed; otherwise a text that is the same for the same stream."""
    settings = {key: value for key, value in parameters.items() if key.startswith("stream_") or key in SIZES}
    if manifest is not None:
        options = {"scaling": settings.get("stream_scaling", "standard")}
        options |= {"positive": settings["stream_positive"]} if "stream_positive" in settings else {}
        spec = DatasetSpec(dataset=dataset, arms=ARMS, dimension=DIMENSION, **options)
        return spec.fingerprint(seed, manifest["fingerprint"])
    if source == "simulated" and not settings:
        global_dim = dataset.partition("heterogeneous-")[2]
        distribution = "non-uniform" if dataset.endswith("non-uniform") else "uniform"
        spec = SimulatedSpec(simulated=distribution, global_dim=int(global_dim) if global_dim else None)
        return spec.fingerprint(seed)
    return f"{dataset} {source} {seed} {settings}"


def hyper_parameters_of(experiment: str, algorithm: str, threshold: float | None, dataset: str) -> dict[str, str]:
    """Return the parameters that a run of a shipped experiment records: all hyper-parameters, also the defaults."""
    entries = load_experiment(experiment).algorithms if experiment in experiment_names() else []
    for entry in entries:
        if entry.name == algorithm:
            given = {key: value[0] if isinstance(value, list) else value for key, value in entry.parameters.items()}
            given |= {entry.front.parameter: threshold} if entry.front and entry.front.parameter in given else {}
            global_dim = dataset.partition("heterogeneous-")[2]
            stream = SimulatedSpec(global_dim=int(global_dim) if global_dim else None)
            complete = make_setting(algorithm, given, stream, {}).parameters
            return {key: number_text(value) for key, value in complete.items()}
    return {}


def write_fig_a(store: HandMade, seeds: int = 2) -> None:
    """Async-LinUCB: regret 100, 200, 1,000 at C_T 10,000, 1,000, 0; Sync-LinUCB the same regret at a tenth of C_T.

    The second seed has 10 more of each regret, and 10 % more of Sync-LinUCB's C_T.
    """
    store.sweep("fig_a", "quick")
    for seed in range(seeds):
        for threshold, regret, spent in ((1, 100, 10_000), (2, 200, 1_000), (np.inf, 1_000, 0)):
            store.run("fig_a", "async-linucb", threshold, seed, regret=regret + 10 * seed, communication=spent)
        for threshold, regret, spent in ((0.1, 100, 1_000), (10, 200, 100)):
            spent = spent * (1 + 0.1 * seed)
            store.run("fig_a", "sync-linucb", threshold, seed, regret=regret + 10 * seed, communication=spent)


def write_user_groups(store: HandMade, manifest: Mapping[str, Any], seeds: int = 2) -> None:
    """At γ=∞, 6001, 3 each user earns 1, 10, 5 (above 80 interactions: 1, 10, 9), and 1 more in the second seed."""
    store.sweep("user_groups", "quick")
    for seed in range(seeds):
        for threshold, less, most, uploads in ((np.inf, 1, 1, 0), (6001, 10, 10, 1), (3, 5, 9, 2)):
            rewards = [(most if activity > 80 else less) + seed for activity in ACTIVITY.values()]
            clients = pd.DataFrame({"client": list(ACTIVITY), "reward": rewards, "uploads": uploads, "downloads": 0})
            total = float(sum(rewards))
            store.run(
                "user_groups",
                "async-linucb",
                threshold,
                seed,
                dataset=str(manifest["name"]),
                source=str(manifest["source"]),
                manifest=manifest,
                clients=clients,
                reward=total,
                normalised_reward=total / (214 / ARMS),
                regret=214 - total,
                communication=uploads * 10.0,
            )
