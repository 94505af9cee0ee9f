"""Import your own data: from a table of interactions, CSV or Parquet, to a prepared data set like the others."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from data_pipelines.data_set import data_set_names, data_sets
from data_pipelines.own_data.item_features import KINDS
from data_pipelines.own_data.options import ImportOptions
from data_pipelines.own_data.profile import Profile
from data_pipelines.own_data.read import OwnData, read_own_data
from data_pipelines.prepare.prepared import (
    DEFAULT_DIMENSION,
    NotPreparedError,
    data_folder,
    prepare,
    read_sealed_manifest,
)
from data_pipelines.support.files import locked, sha256_of
from data_pipelines.support.messages import one_line

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
RESERVED = ("archives", "import", "pictures", "show")
MAX_NAME = 50
"""Maximum length of a data set's name that is taken from its file; a hash may follow."""


@dataclass(frozen=True)
class ImportedTable:
    """An imported data set: its name, a profile of the table, and the manifest."""

    name: str
    profile: Profile
    manifest: dict[str, Any]


def import_table(
    path: Path,
    options: ImportOptions | None = None,
    *,
    name: str | None = None,
    folder: Path | None = None,
    min_arms: int = 0,
    replace: bool = True,
) -> ImportedTable:
    """Import a table of interactions into the data folder, without printing anything.

    Without a name, the data set is named after the file; if other data already have that name, a hash follows it.
    Bad input raises a `ValueError` with one line, and nothing is written. `min_arms` refuses data whose pools would be
    smaller, because a user took nearly every item. Without `replace`, a data set of this name that was made from other
    files is refused.
    """
    options = options or ImportOptions()
    folder = data_folder() if folder is None else folder
    if name is not None:
        check_name(name)
    own_data = read_own_data(path, options)
    if own_data.profile.max_arms < min_arms:
        raise ValueError(one_line(f"{path}: one user took every item, so there is no other item to offer to this user"))
    files = {"interactions": path, **({} if options.items is None else {"items": options.items})}
    members = {kind: sha256_of(file) for kind, file in files.items()}
    with locked(folder, "imports"):  # two tables with one name get two names, if they are imported at once, too
        if name is None:
            name = _free_name(path, members, folder)
        elif not replace and not _is_free(name, members, folder):
            raise ValueError(f"--name {name} is a data set made from other files; choose another name, or add --force")
        manifest = prepare(
            own_data.contents,
            _about(name, members, own_data, options),
            dimension=_dimension(own_data, options),
            folder=folder / name,
            reduction="svd" if own_data.features == "one-hot" else "pca",
            stream_defaults={"scaling": "pca"} if own_data.features == "one-hot" else None,
        )
    return ImportedTable(name, own_data.profile, manifest)


def profile_table(path: Path, options: ImportOptions, *, name: str | None = None) -> Profile:
    """Return the profile of a table that `import_table` would import; nothing is written."""
    if name is not None:
        check_name(name)
    own_data = read_own_data(path, options)
    _dimension(own_data, options)
    return own_data.profile


def _dimension(own_data: OwnData, options: ImportOptions) -> int:
    """Return the number of components: one-hot features have as many as there are items."""
    if own_data.features != "one-hot":
        return DEFAULT_DIMENSION if options.dimension is None else options.dimension
    item_count = len(own_data.contents.item_ids)
    if options.dimension not in (None, item_count):
        raise ValueError(f"--dimension must be the number of items, {item_count:,}, for --features one-hot")
    return item_count


def _about(name: str, members: dict[str, str], own_data: OwnData, options: ImportOptions) -> dict[str, Any]:
    """Return the fields of the manifest on name, source, hashes, parameters and licence."""
    contents, features = own_data.contents, KINDS[own_data.features]
    further_parameters = {
        "features": (own_data.features, "words"),
        "repeats": (options.repeats or "once", "once"),
        "skip_bad_rows": (options.skip_bad_rows, False),
        "positive_from": (options.positive_from, None),
        "formats": (own_data.formats, {}),
    }
    changes = {key: value for key, (value, default) in further_parameters.items() if value != default}
    return {
        "name": name,
        "source": "imported",
        "origin": "files of the user",
        "archive": None,
        "members": members,
        "verified": "imported: nothing to verify (sha256 recorded)",
        "counts": {"observed": asdict(contents.counts), "published": None},
        "rows": {"observed": dict(contents.rows), "published": {}},
        "differences": [],
        "notes": list(contents.notes),
        "remarks": [text for text in (features.remark, features.leak) if text],
        "parameters": {"columns": own_data.columns, **changes},  # the fingerprint of a plain import has no changes
        "groups": "quantiles",
        "licence": "of the user",
        "citation": "of the user",
        **({} if options.positive_from is None else {"positive_rating": options.positive_from}),
    }


def leak_of(manifest: Mapping[str, Any]) -> str:
    """Return the remark on features that are made of what is predicted; empty if they are not."""
    if "leak" in manifest:  # of a data set that is not built in
        return str(manifest["leak"])
    if manifest["source"] == "imported":
        return KINDS[manifest["parameters"].get("features", "words")].leak
    declared = data_sets().get(manifest["name"])
    return "" if declared is None else declared.leak


def check_name(name: str) -> None:
    """Raise a ValueError if a data set of the user cannot have this name."""
    reserved = (*data_set_names(), *RESERVED)
    if not NAME.fullmatch(name) or name in reserved:
        raise ValueError(
            "name must consist of lower-case letters, digits, - and _, "
            f"and not be one of {', '.join(reserved)}, got {name!r}"
        )


def _free_name(path: Path, members: dict[str, str], folder: Path) -> str:
    """Return a name that is derived from the file's name and that no other data set has."""
    name = re.sub(r"[^a-z0-9]+", "-", path.stem.lower()).strip("-")[:MAX_NAME] or "table"
    return name if _is_free(name, members, folder) else f"{name}-{members['interactions'][:8]}"


def _is_free(name: str, members: dict[str, str], folder: Path) -> bool:
    """Return whether no data set has this name, or one that was made from the same files."""
    try:
        return bool(read_sealed_manifest(folder / name)["members"] == members)
    except NotPreparedError:
        return name not in (*data_set_names(), *RESERVED)
