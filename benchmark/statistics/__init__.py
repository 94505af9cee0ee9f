"""Statistics of the benchmark protocol: functions of arrays, tables and small data classes, without files or runs."""
