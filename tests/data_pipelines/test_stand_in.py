import zipfile
from pathlib import Path

import numpy as np
import pytest

from data_pipelines.archive import Archive
from data_pipelines.catalogue import data_set_names, find_data_set
from data_pipelines.data_set import Contents
from data_pipelines.prepared import open_prepared
from data_pipelines.stand_in import generate_archive


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Contents]:
    """LastFM and Delicious at full size; MovieLens at full size is for `make bench-data`."""
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
    most_active = activity[-len(activity) // 10 :].sum() / activity.sum()
    assert most_active > 0.15  # the most active tenth
    assert np.median(activity) < activity.mean() * 1.2
    uses = np.sort(np.asarray(full[name].words.counts.sum(axis=0)).ravel())
    assert uses[-len(uses) // 10 :].sum() / uses.sum() > 0.3


def test_users_have_tastes_of_their_own(small_data: Path):
    """Two items of one user are more alike than items of two users."""
    prepared = open_prepared("delicious", small_data)
    features = prepared.components / np.linalg.norm(prepared.components, axis=1, keepdims=True)
    own = [features[prepared.items[prepared.users == user]] for user in np.unique(prepared.users)]
    same = np.mean([_mean_likeness(vectors) for vectors in own if len(vectors) > 1])
    assert same > 2 * _mean_likeness(features[prepared.items])


def _mean_likeness(vectors: np.ndarray) -> float:
    """The mean cosine between two different rows of norm 1."""
    count = len(vectors)
    return float(np.sum(vectors.sum(axis=0) ** 2) - count) / (count * (count - 1))


def test_the_small_movielens_keeps_users_above_the_threshold(small_data: Path):
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


@pytest.mark.parametrize("name", data_set_names())
def test_generating_again_gives_the_same_archive(stand_ins: Path, tmp_path: Path, name: str):
    data_set = find_data_set(name)
    generate_archive(tmp_path / "again.zip", data_set.stand_in, "small")
    assert (tmp_path / "again.zip").read_bytes() == (stand_ins / data_set.archive).read_bytes()
