"""Data sets that users declare: `module:NAME`, or the name of an entry point `fedbandit.datasets`.

The manifest of the prepared data has all that runs and reports need, so that nothing but the preparation needs the
source: workers, too, only read what is prepared.
"""

from contextlib import suppress
from dataclasses import replace

from benchmark.plan.plugins import Kind
from data_pipelines.data_set import DataSet, data_set_names, find_data_set
from data_pipelines.fetch.sources import PreparationOptions, mirror_from_environment, offline_from_environment
from data_pipelines.prepare.imported import check_name
from data_pipelines.prepare.prepared import NotPreparedError, data_folder, read_sealed_manifest
from data_pipelines.prepare.readiness import make_ready
from data_pipelines.stream_spec import dataset_spec
from data_pipelines.support.messages import one_line

PLUGINS = Kind("data set", "fedbandit.datasets", "DataSet", DataSet)


def is_plugin(name: str) -> bool:
    """Whether a name stands for a declaration of a user or of another package."""
    return ":" in name or (name not in data_set_names() and name in PLUGINS.names())


def find_any_data_set(name: str) -> DataSet:
    """Return a declaration: built in, of a user, or the one from which the prepared data of this name were made."""
    if is_plugin(name):
        return _declared(name)
    reference = ""
    if name not in data_set_names():
        with suppress(NotPreparedError, OSError, ValueError):
            reference = str(read_sealed_manifest(data_folder() / name).get("declared_in", ""))
    return _declared(reference) if reference else find_data_set(name)


def prepared_plugin(name: str) -> str:
    """Prepare the data set of a declaration, unless it is ready, and return its name."""
    data_set = _declared(name)
    options = PreparationOptions(data_folder(), mirror_from_environment(), offline=offline_from_environment())
    result = make_ready(data_set, options)
    if result.manifest is None:
        tried = "; ".join(map(str, result.tried)) or "it has no source"
        raise ValueError(one_line(f"{data_set.name} cannot be prepared: {tried}; see `fedbandit data {name}`"))
    return data_set.name


def _declared(name: str) -> DataSet:
    """Return a declaration with its place and the hash of its source; one that is not valid is one line."""
    data_set = PLUGINS.own(name) if ":" in name else PLUGINS.installed(name)
    assert data_set is not None, "it is an entry point"
    try:
        check_name(data_set.name)
        dataset_spec(dataset=data_set.name, **data_set.stream_defaults)
    except (ValueError, TypeError) as error:
        raise ValueError(one_line(f"data set {name!r}: {error}")) from None
    reference, source = PLUGINS.source(name)
    return replace(data_set, declared_in=reference, code=source.hash)
