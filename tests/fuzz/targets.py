"""All fuzz targets."""

from tests.fuzz import (
    archives,
    bundles,
    command_lines,
    data_sets,
    experiments,
    filters,
    imports,
    messages,
    number_tables,
    protocols,
    text_tables,
)

ALONE = (archives, number_tables, text_tables, data_sets, experiments, filters, command_lines, bundles, messages)
IMPORTS = (imports.CSV, imports.ANY_FORMAT, imports.PARQUET, imports.LARGE_PARQUET)
TARGETS = (*IMPORTS, protocols.PROTOCOL, protocols.TASK, *(module.TARGET for module in ALONE))
BY_NAME = {target.name: target for target in TARGETS}
