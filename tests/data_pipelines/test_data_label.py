"""Data that are generated, or differ from those published, are labelled in Python and in the terminal."""

import warnings
from pathlib import Path

import pytest

from benchmark.commands.run import data_lines, print_dry_run
from benchmark.plan.method_names import make_method, method_info
from benchmark.plan.runs import Run
from data_pipelines import UnofficialDataWarning, data_label, load
from data_pipelines.data_label import STAND_IN
from data_pipelines.fetch.sources import PreparationOptions
from data_pipelines.prepare.prepared import data_set_states
from data_pipelines.prepare.readiness import make_ready
from data_pipelines.stream_spec import DatasetSpec, SimulatedSpec, StreamSpec


@pytest.fixture(autouse=True)
def _nothing_warned_of_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_label, "_warned", set())


@pytest.fixture
def reconstructed(mirror: Path, tmp_path: Path) -> Path:
    """A data folder with a LastFM in the official format, smaller than the real one."""
    assert make_ready("lastfm", PreparationOptions(folder=tmp_path / "data", mirror=str(mirror))).manifest is not None
    return tmp_path / "data"


def run(stream: StreamSpec, seed: int = 0) -> Run:
    return Run("e", stream, method_info("random"), make_method("random", {}), {}, seed, stream.fingerprint(seed))


def test_a_stand_in_warns_in_python_once_for_each_data_set(small_data: Path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for name in ("lastfm", "lastfm", "delicious", "lastfm"):
            load(name, seed=0, folder=small_data)
    assert {each.category for each in caught} == {UnofficialDataWarning}
    assert [str(each.message) for each in caught] == [f"lastfm: {STAND_IN}", f"delicious: {STAND_IN}"]
    assert {each.filename for each in caught} == {__file__}
    assert issubclass(UnofficialDataWarning, UserWarning)


def test_reconstructed_data_warn_with_what_differs(reconstructed: Path):
    with pytest.warns(UnofficialDataWarning, match=r"^lastfm: RECONSTRUCTED DATA \(.* of 1,892 users\)"):
        load("lastfm", seed=0, folder=reconstructed)


def test_a_sweep_builds_its_streams_without_the_warning(small_data: Path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert DatasetSpec(dataset="lastfm").bound(small_data).build(0).source == "stand-in"


def test_the_terminal_labels_reconstructed_data_as_it_does_stand_ins(
    reconstructed: Path, small_data: Path, capsys: pytest.CaptureFixture[str]
):
    runs = [
        run(DatasetSpec(dataset="lastfm").bound(reconstructed)),
        run(DatasetSpec(dataset="lastfm").bound(reconstructed), 1),
        run(DatasetSpec(dataset="delicious").bound(small_data)),
        run(SimulatedSpec(steps=40, clients=3)),
    ]
    stand_in, other = data_lines(runs)
    assert stand_in == f"Delicious: {STAND_IN}"
    assert other.startswith("LastFM: RECONSTRUCTED DATA (")
    print_dry_run(runs, runs, [], 1)
    printed = " ".join(capsys.readouterr().out.split())
    assert stand_in in printed
    assert other in printed


def test_the_list_of_data_sets_labels_reconstructed_data(reconstructed: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FEDBANDIT_DATA", str(reconstructed))
    state = data_set_states()["lastfm"].text
    assert state.startswith("ready, mirror, ")
    assert "interactions, RECONSTRUCTED DATA (" in state
