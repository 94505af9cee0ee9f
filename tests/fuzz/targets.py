"""All fuzz targets."""

from tests.fuzz import archives, command_lines, data_sets, experiments, filters, imports, number_tables, text_tables

ALONE = (archives, number_tables, text_tables, data_sets, experiments, filters, command_lines)
TARGETS = (imports.CSV, imports.ANY_FORMAT, imports.PARQUET, *(module.TARGET for module in ALONE))
BY_NAME = {target.name: target for target in TARGETS}
