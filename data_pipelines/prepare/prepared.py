"""A prepared data set on disk: components of items, interactions, and a manifest that describes them."""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data_pipelines.data_label import data_label
from data_pipelines.data_set import UNKNOWN_TIME, Contents, Reduction, data_set_names, marked_times
from data_pipelines.support.files import replacing_folder, save_array, sha256_of
from data_pipelines.support.messages import did_you_mean, one_line

PIPELINE_VERSION = 1
"""Part of every fingerprint: raise it if a change in reading or preparing changes the data."""

MANIFEST = "manifest.json"
DATA_SET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
SEAL = "manifest_sha256"
"""The field of a manifest with the hash of all other fields."""

DECIMALS = 7
"""Components are stored with this many decimals. The digits beyond depend on the processor (which instructions its
linear algebra uses); with 6 decimals algorithms would choose other arms than without rounding."""

DEFAULT_DIMENSION = 25
MAX_DIMENSION = 1000
DEFAULT_ARMS = 25


class NotPreparedError(ValueError):
    """Raised for a missing or damaged data set: the `reason`, and the `advice` on how to prepare it."""

    def __init__(self, reason: str, name: str = "", advice: str = "") -> None:
        super().__init__(reason, name, advice)
        self.reason, self.advice = reason, advice or f"run: fedbandit data {name}"

    def __str__(self) -> str:
        return f"{self.reason}; {self.advice}"


@dataclass(frozen=True)
class DataSetState:
    """The state of a data set: a text, its source (empty if it is not ready), and whether nothing of it is there."""

    text: str
    source: str = ""
    is_absent: bool = False


@dataclass(frozen=True)
class Prepared:
    """A prepared data set in memory.

    `components (I,d)` are principal components, unscaled; `users`, `items` (rows of `components`) and
    `times` (or `UNKNOWN_TIME`) are the interactions, sorted by user and item; a pair may occur several times. `ratings`
    are those of the interactions (NaN: unknown), if there are any.
    """

    manifest: Mapping[str, Any]
    components: NDArray[np.float64]
    item_ids: NDArray[Any]
    users: NDArray[np.int64]
    items: NDArray[np.int32]
    times: NDArray[np.int64]
    ratings: NDArray[np.float64] | None = None
    """The rating of each interaction, NaN where it is unknown; None if the data set has none."""
    values: NDArray[np.float64] | None = None
    """What each interaction is worth, such as its price; None if the data set does not say so."""
    folder: Path | None = None
    """Where it was read from."""

    @property
    def name(self) -> str:
        """The data set's name."""
        return str(self.manifest["name"])

    @property
    def activity(self) -> NDArray[np.int64]:
        """The number of interactions of each user."""
        return np.unique(self.users, return_counts=True)[1]


def data_folder() -> Path:
    """Return the folder of all data: `FEDBANDIT_DATA`, or `data` in the working directory."""
    return Path(os.environ.get("FEDBANDIT_DATA") or "data")


def fingerprint_of(content: Mapping[str, Any]) -> str:
    """Hash the inputs of a result: hashes, parameters and versions, never floating-point output."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def versions() -> dict[str, str]:
    """Return the versions of the packages that the arrays may depend on."""
    return {name: version(name) for name in ("fedbandit-bench", "numpy", "scikit-learn", "scipy")}


def prepare(
    contents: Contents,
    about: Mapping[str, Any],
    *,
    dimension: int,
    folder: Path,
    reduction: Reduction = "pca",
    stream_defaults: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Turn the content of an archive into a prepared data set at `folder`; return the manifest.

    `about` has the fields of the manifest on name, source, hashes, parameters and licence.
    """
    from data_pipelines.prepare.features import principal_components, tf_idf, truncated_svd

    reduce = principal_components if reduction == "pca" else truncated_svd
    arrays = {
        "components": rounded(reduce(tf_idf(contents.words), dimension)),
        "item_ids": contents.item_ids,
        "users": contents.users,
        "items": contents.items,
        "times": contents.times,
    }
    optional_arrays = {
        "user_labels": contents.user_labels,
        "ratings": contents.ratings,
        "values": contents.values,
    }
    arrays |= {name: array for name, array in optional_arrays.items() if array is not None}
    parameters = {**about["parameters"], "dimension": dimension}
    inputs = {"sources": about["members"], "parameters": parameters, "pipeline": PIPELINE_VERSION}
    inputs |= {"code": about["code"]} if "code" in about else {}
    with replacing_folder(folder) as new:
        for name, array in arrays.items():
            save_array(new / f"{name}.npy", array)
        manifest = sealed(
            {
                **about,
                "parameters": parameters,
                "stream_defaults": {"arms": DEFAULT_ARMS, "scaling": "standard", **(stream_defaults or {})},
                "words": len(contents.words.vocabulary),
                "items_without_words": contents.words.items_without_words,
                "pipeline_version": PIPELINE_VERSION,
                "unknown_time": UNKNOWN_TIME,
                "versions": versions(),
                "fingerprint": fingerprint_of({"name": about["name"], **inputs}),
                "arrays": {f"{name}.npy": sha256_of(new / f"{name}.npy") for name in sorted(arrays)},
            }
        )
        (new / MANIFEST).write_bytes(manifest_bytes(manifest))
    return manifest


def rounded(components: NDArray[np.float64]) -> NDArray[np.float64]:
    """Round components to the decimals that are the same on every processor; zero has no sign."""
    return np.round(components, DECIMALS) + 0.0


def sealed(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest with the hash of its content added."""
    content = {key: value for key, value in manifest.items() if key != SEAL}
    return {**content, SEAL: fingerprint_of(content)}


def manifest_bytes(manifest: Mapping[str, Any]) -> bytes:
    """Return a manifest as bytes, always in the same form, so that any changed byte is noticed."""
    return (json.dumps(manifest, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a prepared data set, after checking it and every array against their hashes."""
    manifest = read_sealed_manifest(folder)
    for file, expected in manifest["arrays"].items():
        path = folder / Path(file).name
        if not path.is_file() or sha256_of(path) != expected:
            raise NotPreparedError(f"{path} is missing or damaged", folder.name)
    return manifest


def read_sealed_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a prepared data set after checking its own hash, but not the arrays."""
    name = folder.name
    try:
        content = (folder / MANIFEST).read_bytes()
        manifest = json.loads(content.decode())
        dict(manifest["arrays"])
    except FileNotFoundError:
        raise NotPreparedError(f"{name} is not prepared", name) from None
    except (ValueError, KeyError, TypeError) as error:
        raise NotPreparedError(f"{folder / MANIFEST} is damaged ({error})", name) from None
    if SEAL not in manifest or manifest.get("pipeline_version") != PIPELINE_VERSION:
        raise NotPreparedError(f"{name} was prepared by a different version", name)
    if content != manifest_bytes(sealed(manifest)):
        raise NotPreparedError(f"{folder / MANIFEST} is damaged (its hash is wrong)", name)
    return dict(manifest)


def open_prepared(name: str, folder: Path | None = None) -> Prepared:
    """Open a prepared data set in the data folder; raise `NotPreparedError` if it is missing or damaged."""
    root = data_folder() if folder is None else folder
    names = sorted({*data_set_names(), *prepared_names(root)})
    if name not in names:
        raise ValueError(
            one_line(f"data set must be one of {', '.join(names)}, got {name!r}{did_you_mean(name, names)}")
        )
    folder = root / name
    manifest = read_manifest(folder)
    arrays = {
        key: np.load(folder / f"{key}.npy", allow_pickle=False)
        for key in ("components", "item_ids", "users", "items", "times", "ratings", "values")
        if key not in ("ratings", "values") or f"{key}.npy" in manifest["arrays"]
    }
    if read_manifest(folder) != manifest:
        raise NotPreparedError(f"{name} changed on disk while being read", advice="re-run the command")
    if "unknown_time" not in manifest:  # prepared when 0 was the mark
        arrays["times"] = marked_times(arrays["times"])
    return Prepared(manifest, **arrays, folder=folder)


def prepared_label(name: str) -> str:
    """Return the label of a prepared data set that is not built in; without one, its name."""
    folder = data_folder() / name
    try:
        modified = (folder / MANIFEST).stat().st_mtime_ns if DATA_SET_NAME.fullmatch(name) else 0
    except OSError:
        modified = 0
    return _label(folder, modified) if modified else name


@lru_cache(maxsize=256)
def _label(folder: Path, modified: int) -> str:
    """Read a label once: a report asks for it for every run."""
    try:
        return str(read_sealed_manifest(folder).get("label", folder.name))
    except NotPreparedError:
        return folder.name


def prepared_names(folder: Path | None = None) -> list[str]:
    """Return the names of all prepared data sets."""
    root = data_folder() if folder is None else folder
    return sorted(path.parent.name for path in root.glob(f"[!.]*/{MANIFEST}"))


def data_set_states() -> dict[str, DataSetState]:
    """Return the state of every data set: source and size, or the reason why it is not ready."""
    states = {}
    prepared = prepared_names()
    for name in sorted({*data_set_names(), *prepared}):
        try:
            manifest = read_manifest(data_folder() / name)
        except NotPreparedError as error:
            states[name] = DataSetState(str(error), is_absent=name not in prepared)
            continue
        source, label = str(manifest["source"]), data_label(str(manifest["source"]), manifest)
        text = f"ready, {source}, {manifest['counts']['observed']['interactions']:,} interactions"
        is_shown = label and source != "stand-in"  # the source already says so
        states[name] = DataSetState(f"{text}, {label}" if is_shown else text, source)
    return states
