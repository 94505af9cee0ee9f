"""All fuzz targets."""

from tests.fuzz import (
    archives,
    command_lines,
    data_sets,
    experiments,
    filters,
    imports,
    number_tables,
    text_tables,
)

TARGETS = (
    archives.TARGET,
    number_tables.TARGET,
    text_tables.TARGET,
    data_sets.TARGET,
    imports.CSV,
    imports.ANY_FORMAT,
    imports.PARQUET,
    experiments.TARGET,
    filters.TARGET,
    command_lines.TARGET,
)
BY_NAME = {target.name: target for target in TARGETS}
