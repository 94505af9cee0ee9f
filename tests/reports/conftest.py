"""What the tests of the reports share: a store made by hand, beside a data set made by hand."""

from pathlib import Path

import pytest

from reports.context import Context, make_context
from reports.results import Results, read_results
from tests.reports.hand_made import HandMade, write_data, write_fig_a, write_user_groups


@pytest.fixture(autouse=True)
def _no_settings_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FEDBANDIT_DATA", "MLFLOW_TRACKING_URI", "FEDBANDIT_DEBUG"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(scope="session")
def hand_made(tmp_path_factory: pytest.TempPathFactory) -> HandMade:
    """Figure a with two seeds, and user groups on reconstructed data; not to be written to."""
    folder = tmp_path_factory.mktemp("hand_made")
    made = HandMade(folder)
    write_fig_a(made)
    write_user_groups(made, write_data(folder / "data"))
    return made


@pytest.fixture
def results(hand_made: HandMade) -> Results:
    return read_results(hand_made.uri)


@pytest.fixture
def context(hand_made: HandMade, results: Results) -> Context:
    return make_context(results, hand_made.folder / "data")


@pytest.fixture
def fresh(tmp_path: Path) -> HandMade:
    """An empty store."""
    return HandMade(tmp_path)
