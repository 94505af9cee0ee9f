"""The run records in `docs/records`, from which `make docs` rebuilds the pages of results without the store.

`make records` writes them from the runs in MLflow: one row per run with its record and metrics, the totals of the
activity groups, the documents of the boards, and what is known about the data. Of the runs of a board that choose, only
score and communication are kept. There is no row of any data set and no identifier of a user.

Examples:
  python -m tests.tools.committed           write the records of all runs in MLflow
  python -m tests.tools.committed --update  add the runs in MLflow to the records; they replace equal runs, and those
                                            of the same methods in an earlier version; the rows of a board join those of
                                            an earlier one of its task, or replace them if any run has another key
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from benchmark.board.board import COLUMNS
from benchmark.board.document import from_json
from benchmark.board.result import BoardResult, evaluate
from benchmark.metrics import metric_names
from benchmark.records.reader import read
from benchmark.records.record import RunRecord
from benchmark.records.tags import RECORD
from benchmark.results.frames import run_frame
from data_pipelines.prepare.prepared import NotPreparedError, data_folder, read_manifest
from data_pipelines.support.files import write_whole
from reports.analysis.board import user_rows
from reports.analysis.claims import judged_claims
from reports.analysis.users import EXPERIMENT, group_totals
from reports.labels import Methods
from reports.paper import tuned_experiment
from reports.read.boards import StoredBoard, by_protocol, with_verified
from reports.read.results import VERSIONS, Results, read_results, versions_of
from reports.read.submissions import read_submissions
from reports.tables import claims

RECORDS = Path(__file__).parents[2] / "docs" / "records"
RUNS, GROUPS, ABOUT = "runs.parquet", "groups.parquet", "about.json"
BOARDS = "boards.parquet"
BOARD_RUNS = "board_runs.parquet"
"""The runs on report seeds."""
BOARD_CHOOSING = "board_choosing.parquet"
"""The means of each configuration on the seeds for choosing, one row per pass."""
OF_ONE_MACHINE = "machine"
OF_GROUPS = ["run_id", "group", "least", "users", "interactions", "uploads", "reward"]


def main(argv: Sequence[str] | None = None) -> int:
    """Write the records of the current store, or update them from it."""
    parser = argparse.ArgumentParser(
        "tests.tools.committed", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--update", action="store_true", help="keep the records of runs that are not in MLflow")
    arguments = parser.parse_args(argv)
    results = read_results()
    results = replace(results, boards=tuple(by_protocol(results.boards)))
    (update if arguments.update else write)(results)
    runs, boards = len(results.runs) + len(results.tuning), sum(len(board.result.outcomes) for board in results.boards)
    print(f"wrote {runs:,} records, and {boards:,} of boards, to {RECORDS}")
    return 0


def update(results: Results, folder: Path = RECORDS) -> None:
    """Add the records of a report to those in the folder."""
    results = _with_earlier_boards(results, folder)
    with TemporaryDirectory() as name:
        new = Path(name)
        write(results, new)
        for file in (BOARDS, BOARD_RUNS, BOARD_CHOOSING):
            write_whole(folder / file, (new / file).read_bytes())
        runs, new_runs = (pd.read_parquet(each / RUNS) for each in (folder, new))
        runs = runs.loc[_is_current(runs, new_runs)]
        groups, new_groups = (pd.read_parquet(each / GROUPS) for each in (folder, new))
        about, new_about = (json.loads((each / ABOUT).read_text(encoding="utf-8")) for each in (folder, new))
    _write_table(folder / RUNS, pd.concat([runs, new_runs], ignore_index=True))
    groups = groups[groups["run_id"].isin(runs["run_id"])]
    _write_table(folder / GROUPS, pd.concat([groups, new_groups], ignore_index=True))
    _write_about(folder, {name: {**about[name], **new_about[name]} for name in about})


def _with_earlier_boards(results: Results, folder: Path) -> Results:
    """Add the boards in a folder to those of a report: a board may be played in parts, in one store each."""
    earlier, _ = _read_boards(folder)
    boards: dict[str, StoredBoard] = {board.experiment: board for board in earlier}
    users = _read_users(folder)
    for board in results.boards:
        rows, first = user_rows(board, results), boards.get(board.experiment)
        if isinstance(first, CommittedBoard) and _are_parts(first, board):
            board = _joined(first, board)
            others = users[board.experiment]
            if len(others) and len(rows):
                others = others[~others["method"].isin(rows["method"])]
            rows = pd.concat([others, rows])
        boards[board.experiment], users[board.experiment] = board, rows.reset_index(drop=True)
    joined = replace(results, boards=tuple(boards.values()))
    joined.board_users.update(users)
    return joined


def _are_parts(first: StoredBoard, second: StoredBoard) -> bool:
    """Whether two boards have the same task, protocol and seeds, and their common runs the same keys."""
    contents = [json.loads(_document(board)) for board in (first, second)]
    names = ("fingerprint", "seeds", "squared_norm")
    keys, others = ({(name, seed): key for name, seed, key, _ in content["runs"]} for content in contents)
    common = keys.keys() & others.keys()
    is_same_task = all(contents[0][name] == contents[1][name] for name in names)
    return is_same_task and bool(common) and all(keys[run] == others[run] for run in common)


def _joined(first: "CommittedBoard", second: StoredBoard) -> "CommittedBoard":
    """Return the board with the rows and the runs of both."""
    content, added = (json.loads(_document(board)) for board in (first, second))
    rows = {row["name"]: row for row in (*content["entries"], *added["entries"])}
    runs = {(run[0], run[1]): run for run in (*content["runs"], *added["runs"])}
    content["entries"] = sorted(rows.values(), key=lambda row: row["role"] != "contender")
    content["runs"] = [*runs.values()]
    content["facts"]["scores"] |= added["facts"]["scores"]
    choosing = pd.concat([first.choosing[COLUMNS], choosing_runs(second.result)[COLUMNS]])
    return CommittedBoard(
        first.experiment,
        json.dumps(content, separators=(",", ":")),
        {**first.records, **second.records},
        choosing.drop_duplicates(["configuration", "seed"], ignore_index=True),
    )


def _is_current(rows: pd.DataFrame, new_rows: pd.DataFrame) -> list[bool]:
    """Tell for each row whether there is no new one of the same run, or of a later version of its method."""
    new = [_record(row) for row in new_rows.to_dict("records")]
    keys = {(record.experiment, record.key) for record in new}
    versions = {(record.experiment, record.method.name): record.method.version for record in new}
    return [
        (record.experiment, record.key) not in keys
        and record.method.version >= versions.get((record.experiment, record.method.name), 0)
        for record in (_record(row) for row in rows.to_dict("records"))
    ]


def write(results: Results, folder: Path = RECORDS) -> None:
    """Write the records of a report."""
    kept = {*results.runs["run_id"], *results.tuning["run_id"]}
    records = [record for record in read(results.uri) if record.run_id in kept]
    judged_claims(results)  # computes what needs the data themselves
    claims.equal_regret_tables(results)
    folder.mkdir(parents=True, exist_ok=True)
    _write_table(folder / RUNS, pd.DataFrame([_row(record) for record in records], columns=_columns()))
    for stream in _streams_of_groups(results):
        group_totals(results, stream)
    totals = [*results.group_totals.values()]
    _write_table(folder / GROUPS, pd.concat(totals)[OF_GROUPS] if totals else pd.DataFrame(columns=OF_GROUPS))
    _write_boards(results, folder)
    _write_about(
        folder,
        {
            "manifests": {name: _without_arrays(manifest) for name, manifest in results.manifests.items()},
            "centre": results.centre,
            "synchronisations": results.counted,
        },
    )


def _write_about(folder: Path, about: dict[str, Any]) -> None:
    write_whole(folder / ABOUT, json.dumps(about, indent=1, sort_keys=True, ensure_ascii=False).encode())


def read_committed(folder: Path = RECORDS) -> Results:
    """Return the results as `write` saved them."""
    table = pd.read_parquet(folder / RUNS)
    records = [_record(row) for row in table.to_dict("records")]
    about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    runs, tuning = (
        run_frame([record for record in records if (record.experiment == tuned_experiment()) == is_tuned])
        for is_tuned in (False, True)
    )
    boards, board_runs = _read_boards(folder)
    results = Results(
        runs,
        "docs/records",
        versions=versions_of(records),
        boards=boards,
        submissions=read_submissions(),
        board_runs=board_runs,
        tuning=tuning,
        methods=Methods.of([*records, *(record for board in boards for record in board.records.values())]),
    )
    results.counted.update(about["synchronisations"])
    results.board_users.update(_read_users(folder))
    results.manifests = about["manifests"]
    results.centre.update(about["centre"])
    missing = (name for name, manifest in about["manifests"].items() if not _is_prepared(name, manifest))
    results.opened.update(dict.fromkeys(missing))
    groups = pd.read_parquet(folder / GROUPS).merge(results.all_runs, on="run_id", suffixes=("", "_of_run"))
    studies = results.all_runs[results.all_runs["experiment"].isin([EXPERIMENT, tuned_experiment()])]
    for experiment, stream in set(zip(studies["experiment"], studies["stream"], strict=True)):
        part = groups[(groups["experiment"] == experiment) & (groups["stream"] == stream)]
        results.group_totals[experiment, stream] = part.reset_index(drop=True)
    return results


@dataclass(frozen=True)
class CommittedBoard(StoredBoard):
    """A board in the records: `choosing` are its scores on the seeds for choosing, as `choosing_runs` returns them."""

    choosing: pd.DataFrame

    @cached_property
    def result(self) -> BoardResult:
        """The board, evaluated."""
        board, outcomes = from_json(self.document, self.records)
        return evaluate(with_verified(board, self.records.values()), outcomes, self.choosing[COLUMNS])


def choosing_runs(result: BoardResult) -> pd.DataFrame:
    """Return the score and the communication of each run on a seed for choosing; runs without a score are left out."""
    return result.runs[result.runs["seed"].isin(result.board.protocol.seeds.choosing.seeds)].dropna()


def _document(board: StoredBoard) -> str:
    """Return the document of a board without the runs that chose, unless they failed."""
    result, content = board.result, json.loads(board.document)
    has_score = set(result.runs.dropna()[["configuration", "seed"]].itertuples(index=False, name=None))
    content["runs"] = [
        [name, seed, key, error]
        for name, seed, key, error in content["runs"]
        if seed in result.board.seeds or (name, seed) not in has_score
    ]
    return json.dumps(content, separators=(",", ":"))


def _write_boards(results: Results, folder: Path) -> None:
    """Write the documents and tables of users of the boards, their report runs, and the scores by which they chose."""
    runs = [
        _row(board.records[outcome.key])
        for board in results.boards
        for (_, seed), outcome in board.result.outcomes.items()
        if seed in board.result.board.seeds and outcome.key in board.records
    ]
    _write_table(folder / BOARD_RUNS, pd.DataFrame(runs, columns=_columns()))
    choosing = [choosing_runs(board.result).assign(experiment=board.experiment) for board in results.boards]
    columns = ["experiment", *COLUMNS]
    _write_table(folder / BOARD_CHOOSING, pd.concat([pd.DataFrame(columns=columns), *choosing])[columns])
    documents = [
        {
            "experiment": board.experiment,
            "document": _document(board),
            "users": json.dumps(user_rows(board, results).to_dict("list")),  # pandas rounds numbers in JSON
        }
        for board in results.boards
    ]
    _write_table(folder / BOARDS, pd.DataFrame(documents, columns=["experiment", "document", "users"]))


def _read_boards(folder: Path) -> tuple[tuple[StoredBoard, ...], pd.DataFrame]:
    """Return the boards, if there are any, and their runs on report seeds."""
    if not (folder / BOARDS).is_file():
        return (), run_frame([])
    records = [_record(row) for row in pd.read_parquet(folder / BOARD_RUNS).to_dict("records")]
    choosing = pd.read_parquet(folder / BOARD_CHOOSING)
    boards = tuple(
        CommittedBoard(
            row.experiment,
            row.document,
            {each.key: each for each in records if each.experiment == row.experiment},
            choosing[choosing["experiment"] == row.experiment],
        )
        for row in pd.read_parquet(folder / BOARDS).itertuples(index=False)
    )
    return boards, run_frame(records)


def _read_users(folder: Path) -> dict[str, pd.DataFrame]:
    if not (folder / BOARDS).is_file():
        return {}
    rows = pd.read_parquet(folder / BOARDS).itertuples(index=False)
    return {row.experiment: pd.DataFrame(json.loads(row.users)) for row in rows}


def _columns() -> list[str]:
    return ["experiment", "run_id", "record", *metric_names()]


def _row(record: RunRecord) -> dict[str, Any]:
    shared = {
        tag: value for tag, value in record.provenance.items() if VERSIONS.get(tag, OF_ONE_MACHINE) != OF_ONE_MACHINE
    }
    text = replace(record, provenance=shared).to_json()
    about = {"experiment": record.experiment, "run_id": record.run_id, "record": text}
    return about | {name: record.metrics.get(name) for name in metric_names()}


def _record(row: dict[str, Any]) -> RunRecord:
    metrics = {name: row[name] for name in metric_names() if pd.notna(row.get(name))}
    about = {"run_id": row["run_id"], "experiment": row["experiment"]}
    return RunRecord.from_mlflow({RECORD: row["record"]}, metrics, **about)


def _streams_of_groups(results: Results) -> list[str]:
    return sorted(results.runs.loc[results.runs["experiment"] == EXPERIMENT, "stream"].unique())


def _without_arrays(manifest: Any) -> dict[str, Any]:
    return {name: value for name, value in manifest.items() if name != "origin"} | {"origin": ""}


def _is_prepared(name: str, manifest: Any) -> bool:
    try:
        return bool(read_manifest(data_folder() / name)["fingerprint"] == manifest["fingerprint"])
    except NotPreparedError:
        return False


def _write_table(path: Path, frame: pd.DataFrame) -> None:
    write_whole(path, frame.to_parquet(index=False, compression="zstd"))


if __name__ == "__main__":
    sys.exit(main())
