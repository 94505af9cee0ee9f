import pytest

from data_pipelines.data_set import Contents, find_data_set
from tests.data_pipelines.conftest import WITH_STAND_IN


def generated(name: str, size: str) -> Contents:
    data_set = find_data_set(name)
    return data_set.stand_in(size, data_set.parameters)


@pytest.fixture(scope="module")
def full() -> dict[str, Contents]:
    """LastFM and Delicious in full size; `make bench-data` covers MovieLens in full size."""
    return {name: generated(name, "full") for name in ("lastfm", "delicious")}


@pytest.mark.parametrize("name", ["lastfm", "delicious"])
def test_the_full_size_has_the_published_numbers(full: dict[str, Contents], name: str):
    data_set = find_data_set(name)
    assert full[name].counts == data_set.published
    assert dict(full[name].rows) == dict(data_set.published_rows)


@pytest.mark.parametrize("name", WITH_STAND_IN)
def test_generating_again_gives_the_same_contents(name: str):
    assert generated(name, "small").sha256 == generated(name, "small").sha256
