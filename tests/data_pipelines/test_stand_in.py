import zipfile
from pathlib import Path

import numpy as np
import pytest

from data_pipelines.data_set import Contents, find_data_set
from data_pipelines.fetch.archive import Archive
from data_pipelines.prepare.prepared import open_prepared
from data_pipelines.stand_ins import generate_archive
from tests.data_pipelines.conftest import WITH_STAND_IN


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Contents]:
    """LastFM and Delicious in full size; `make bench-data` covers MovieLens in full size."""
    folder = tmp_path_factory.mktemp("full")
    contents = {}
    for name in ("lastfm", "delicious"):
        data_set = find_data_set(name)
        generate_archive(folder / name, data_set.stand_in, "full")
        with Archive(folder / name, data_set.limits) as archive:
            assert archive.is_stand_in
            contents[name] = data_set.read(archive, data_set.parameters)
    return contents


@pytest.mark.parametrize("name", ["lastfm", "delicious"])
def test_the_full_size_has_the_published_numbers(full: dict[str, Contents], name: str):
    data_set = find_data_set(name)
    assert full[name].counts == data_set.published
    assert dict(full[name].rows) == dict(data_set.published_rows)


@pytest.mark.parametrize("name", ["lastfm", "delicious"])
def test_activity_and_tag_use_have_long_tails(full: dict[str, Contents], name: str):
    activity = np.sort(np.unique(full[name].users, return_counts=True)[1])
    share_of_top_tenth = activity[-len(activity) // 10 :].sum() / activity.sum()
    assert share_of_top_tenth > 0.15
    assert np.median(activity) < activity.mean() * 1.2
    uses = np.sort(np.asarray(full[name].words.counts.sum(axis=0)).ravel())
    assert uses[-len(uses) // 10 :].sum() / uses.sum() > 0.3


def test_users_have_individual_tastes(small_data: Path):
    """Two items of one user are more similar than items of two users."""
    prepared = open_prepared("delicious", small_data)
    features = prepared.components / np.linalg.norm(prepared.components, axis=1, keepdims=True)
    features_by_user = [features[prepared.items[prepared.users == user]] for user in np.unique(prepared.users)]
    within_users = np.mean([_mean_similarity(vectors) for vectors in features_by_user if len(vectors) > 1])
    assert within_users > 2 * _mean_similarity(features[prepared.items])


def _mean_similarity(vectors: np.ndarray) -> float:
    """Return the mean cosine between two different rows of norm 1."""
    count = len(vectors)
    return float(np.sum(vectors.sum(axis=0) ** 2) - count) / (count * (count - 1))


def test_the_small_movielens_has_users_above_the_activity_filter(small_data: Path):
    prepared = open_prepared("movielens", small_data)
    assert prepared.activity.min() > 3_000
    assert prepared.manifest["rows"]["observed"]["ratings.csv"] == 30_000
    assert prepared.manifest["counts"]["observed"]["interactions"] == 9_300


def test_the_formats_are_the_official_ones(stand_ins: Path):
    with zipfile.ZipFile(stand_ins / "hetrec2011-lastfm-2k.zip") as archive:
        assert archive.read("user_artists.dat").startswith(b"userID\tartistID\tweight\r\n")
        with pytest.raises(UnicodeDecodeError):
            archive.read("tags.dat").decode()
    with zipfile.ZipFile(stand_ins / "ml-20m.zip") as archive:
        assert archive.read("ml-20m/ratings.csv").startswith(b"userId,movieId,rating,timestamp\n1,")
        assert b'"Movie ""1"", The (1995)"' in archive.read("ml-20m/movies.csv")


@pytest.mark.parametrize("name", WITH_STAND_IN)
def test_generating_again_gives_the_same_archive(stand_ins: Path, tmp_path: Path, name: str):
    data_set = find_data_set(name)
    generate_archive(tmp_path / "again.zip", data_set.stand_in, "small")
    assert (tmp_path / "again.zip").read_bytes() == (stand_ins / data_set.archive).read_bytes()
