"""A prepared data set on disk: components of items, interactions, and a manifest that says what they are."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data_pipelines.catalogue import data_set_names
from data_pipelines.data_set import Contents
from data_pipelines.safe_files import replacing_folder, save_array, sha256_of

PIPELINE_VERSION = 1
"""Part of every fingerprint: a change in how data are read or prepared makes other data of them."""

MANIFEST = "manifest.json"
SEAL = "manifest_sha256"
"""The field of a manifest that holds the hash of all others."""

DEFAULT_DIMENSION = 25
MOST_DIMENSIONS = 1000
DEFAULT_ARMS = 25


class NotPreparedError(ValueError):
    """A data set that is not there, or damaged; the message says how to get it."""


@dataclass(frozen=True)
class Prepared:
    """A prepared data set in memory.

    `components (I,d)` are principal components, unscaled; `users`, `items` (rows of `components`) and
    `times` (0: unknown) are the interactions, sorted by user and item.
    """

    manifest: Mapping[str, Any]
    components: NDArray[np.float64]
    item_ids: NDArray[Any]
    users: NDArray[np.int64]
    items: NDArray[np.int32]
    times: NDArray[np.int64]

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
    """Hash what something was made from: hashes, parameters and versions, never floating-point output."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def versions() -> dict[str, str]:
    """Return the versions that the arrays may depend on."""
    return {name: version(name) for name in ("fedbandit-bench", "numpy", "scikit-learn", "scipy")}


def prepare(contents: Contents, about: Mapping[str, Any], *, dimension: int, folder: Path) -> dict[str, Any]:
    """Turn what an archive says into a prepared data set at `folder`; return the manifest.

    `about` holds what the manifest says of name, source, hashes, parameters and licence.
    """
    from data_pipelines.features import principal_components, tf_idf

    arrays = {
        "components": principal_components(tf_idf(contents.words), dimension),
        "item_ids": contents.item_ids,
        "users": contents.users,
        "items": contents.items,
        "times": contents.times,
    }
    if contents.user_labels is not None:
        arrays["user_labels"] = contents.user_labels
    parameters = {**about["parameters"], "dimension": dimension}
    made_from = {"sources": about["members"], "parameters": parameters, "pipeline": PIPELINE_VERSION}
    with replacing_folder(folder) as new:
        for name, array in arrays.items():
            save_array(new / f"{name}.npy", array)
        manifest = sealed(
            {
                **about,
                "parameters": parameters,
                "stream_defaults": {"arms": DEFAULT_ARMS, "scaling": "standard"},
                "words": len(contents.words.vocabulary),
                "items_without_words": contents.words.items_without_words,
                "pipeline_version": PIPELINE_VERSION,
                "versions": versions(),
                "fingerprint": fingerprint_of({"name": about["name"], **made_from}),
                "arrays": {f"{name}.npy": sha256_of(new / f"{name}.npy") for name in sorted(arrays)},
            }
        )
        (new / MANIFEST).write_bytes(manifest_bytes(manifest))
    return manifest


def sealed(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest with the hash of its content in it."""
    content = {key: value for key, value in manifest.items() if key != SEAL}
    return {**content, SEAL: fingerprint_of(content)}


def manifest_bytes(manifest: Mapping[str, Any]) -> bytes:
    """Return a manifest as it is written; there is one way only, so that a single changed byte shows."""
    return (json.dumps(manifest, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a prepared data set, itself and every array checked against the hashes there."""
    name = folder.name
    try:
        written = (folder / MANIFEST).read_bytes()
        manifest = json.loads(written.decode())
        arrays = dict(manifest["arrays"])
    except FileNotFoundError:
        raise NotPreparedError(f"{name} is not prepared; run: fedbandit data {name}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise NotPreparedError(f"{folder / MANIFEST} is damaged ({error}); run: fedbandit data {name}") from None
    if SEAL not in manifest or manifest.get("pipeline_version") != PIPELINE_VERSION:
        raise NotPreparedError(f"{name} was prepared by another version; run: fedbandit data {name}")
    if written != manifest_bytes(sealed(manifest)):
        raise NotPreparedError(f"{folder / MANIFEST} is damaged (its hash is wrong); run: fedbandit data {name}")
    for file, expected in arrays.items():
        path = folder / Path(file).name
        if not path.is_file() or sha256_of(path) != expected:
            raise NotPreparedError(f"{path} is missing or damaged; run: fedbandit data {name}")
    return dict(manifest)


def open_prepared(name: str, folder: Path | None = None) -> Prepared:
    """Open a prepared data set of the data folder; a missing or damaged one raises `NotPreparedError`."""
    root = data_folder() if folder is None else folder
    known = sorted({*data_set_names(), *prepared_names(root)})
    if name not in known:
        raise ValueError(f"data set is {name!r}; allowed are {', '.join(known)}")
    folder = root / name
    manifest = read_manifest(folder)
    arrays = {
        key: np.load(folder / f"{key}.npy", allow_pickle=False)
        for key in ("components", "item_ids", "users", "items", "times")
    }
    if read_manifest(folder) != manifest:
        raise NotPreparedError(f"{name} was prepared anew while it was read; run the same command again")
    return Prepared(manifest, **arrays)


def prepared_names(folder: Path | None = None) -> list[str]:
    """Return the names of all prepared data sets."""
    root = data_folder() if folder is None else folder
    return sorted(path.parent.name for path in root.glob(f"[!.]*/{MANIFEST}"))


def data_set_states() -> dict[str, str]:
    """Return for each data set, known or imported, its source and size, or that it is not prepared."""
    states = {}
    for name in sorted({*data_set_names(), *prepared_names()}):
        try:
            manifest = read_manifest(data_folder() / name)
            counts = manifest["counts"]["observed"]
            states[name] = f"ready, {manifest['source']}, {counts['interactions']:,} interactions"
        except NotPreparedError as error:
            states[name] = str(error)
    return states
