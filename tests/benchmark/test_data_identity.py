"""Runs on different data with the same name are distinguished by their records."""

from pathlib import Path

from benchmark.records.data_identity import fingerprints_prepared_now, left_out_sentences, split_by_data
from benchmark.records.record import RunRecord
from data_pipelines.stream_spec import DatasetSpec
from tests.records import run_record
from tests.reports.hand_made import write_data

OLD, NEW = "fingerprint of the old data", "fingerprint of the new data"


def recorded(
    run_id: str,
    prepared: str,
    seed: int = 0,
    *,
    scaling: str = "standard",
    source: str = "imported",
    steps: int = 100,
) -> RunRecord:
    """A run on `shop`."""
    stream = DatasetSpec(dataset="shop", dimension=3, scaling=scaling).fingerprint(seed, prepared)
    sizes = {"stream_steps": steps, "stream_clients": 5, "stream_arms": 25, "stream_dimension": 3}
    return run_record(
        seed=seed,
        experiment="mine",
        stream="shop",
        source=source,
        fingerprint=stream,
        prepared=prepared,
        settings={"stream_scaling": scaling, **sizes},
        run_id=run_id,
    )


def visible(runs: list[RunRecord], prepared: dict[str, str] | None = None) -> list[str]:
    selected, others = split_by_data(runs, prepared or {})
    assert sorted(run.run_id for run in [*selected, *others]) == sorted(run.run_id for run in runs)
    return [run.run_id for run in selected]


def test_runs_on_the_currently_prepared_data_are_shown_even_if_others_are_newer():
    runs = [
        recorded("old", OLD),
        recorded("old, other scaling", OLD, scaling="unit"),
        recorded("new", NEW),
        recorded("new, other seed", NEW, seed=1),
    ]
    assert visible(runs, {"shop": NEW}) == ["new", "new, other seed"]
    assert visible(runs, {"shop": OLD}) == ["old", "old, other scaling"]
    assert visible(runs, {"shop": "data without runs"}) == []


def test_without_prepared_data_runs_on_the_data_of_the_newest_run_are_shown():
    runs = [recorded("a", OLD), recorded("b", NEW), recorded("c", NEW, seed=1)]
    assert visible(runs) == ["b", "c"]
    assert visible([*runs[1:], recorded("d", OLD, seed=7)]) == ["d"]


def test_the_manifest_identifies_the_prepared_data(tmp_path: Path):
    manifest = write_data(tmp_path)
    other = write_data(tmp_path / "elsewhere", content="1")
    assert manifest["fingerprint"] != other["fingerprint"]
    assert fingerprints_prepared_now(["delicious", "lastfm"], tmp_path) == {"delicious": manifest["fingerprint"]}


def test_runs_left_out_are_counted_and_described():
    rows = [("shop", "stand-in, 5 clients", 20), ("shop", "stand-in, 5 clients", 2)]
    assert left_out_sentences(rows, ["shop"]) == [
        "shop: 22 runs on other data (stand-in, 5 clients) left out; only runs on the currently prepared data are shown"
    ]
    assert left_out_sentences([*rows, ("shop", "imported", 1)], []) == [
        "shop: 23 runs on other data (22 on stand-in, 5 clients; 1 on imported) left out; "
        "shop is not prepared on this machine, so only runs on the data of the newest run are shown"
    ]
