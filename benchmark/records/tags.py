"""Names of the tags that identify runs."""

KEY = "fedbandit.run_key"
"""The key of a run; see `plan/run_key.py`."""

KIND = "fedbandit.kind"
"""`run`; `setting`, the mean of runs that only differ in their seeds; `sweep`; `analysis`, figures and tables of a
report; `board`, the runs that form one; or `overview`, one line for an experiment. For an MLflow experiment,
`experiment`."""

AGGREGATE = "fedbandit.aggregate"
"""What a run of kind `setting` or `overview` summarises; runs with this tag are never results."""

CONTENT = "fedbandit.content"
"""The hash of what such a run was made from: it is rewritten when that changes."""

ORDER = "fedbandit.order"
"""By which pages sort their lines: the report comes first."""

SHOWN = "fedbandit.shown"
"""The data of a setting in square brackets; of a report, all of them: a filter by data also shows the report."""

PARENT = "mlflow.parentRunId"
"""The run below which MLflow shows a run: its sweep, or its setting from the end of the sweep on."""

SWEEP = "fedbandit.sweep"
"""The id of the sweep that recorded a run."""

SOURCE = "fedbandit.source"
"""The source of the data: `official`, `mirror`, `stand-in`, `imported` or `simulated`."""

FINGERPRINT = "fedbandit.fingerprint"
"""The fingerprint of the stream."""

PREPARED = "fedbandit.prepared"
"""The fingerprint of the prepared data set behind the stream; simulations have none."""

COMMIT = "mlflow.source.git.commit"
"""The commit of the code, if it is a checkout."""

RECORD = "fedbandit.record"
"""The record of a run as JSON; see `records/record.py`."""

OWN_METRICS = "fedbandit.own_metrics"
"""The metrics of the user that a run has been measured by, as JSON; see `OwnMetric`."""

ERROR = "fedbandit.error"
"""The error of a failed run, in one line."""

PROFILE = "fedbandit.profile"
"""The profile of a sweep."""

PROTOCOL = "fedbandit.protocol"
"""The fingerprint of the benchmark protocol, of runs of the board."""

TASK = "fedbandit.task"
"""The name, version and fingerprint of a task, of runs of the board."""
