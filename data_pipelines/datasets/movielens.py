"""MovieLens 20M, the most active raters or all of them; a movie's words are its tags and genres."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from data_pipelines.data_set import Contents, Counts, DataSet, Parameters
from data_pipelines.fetch.archive import Archive
from data_pipelines.fetch.tables import read_csv_rows, read_numbers, rows_by_id, rows_of, whole_number
from data_pipelines.prepare.features import whole_tag, words_of_items
from data_pipelines.stand_ins import Size, World, sized

RATINGS, MOVIES, TAGS = "ratings.csv", "movies.csv", "tags.csv"
RATING_COLUMNS = ("userId", "movieId", "rating", "timestamp")
RATING_TYPES = {"userId": np.int32, "movieId": np.int32, "rating": np.float32}
NO_GENRES = "(no genres listed)"
GENRES = ("Drama", "Comedy", "Action", "Sci-Fi", "Film-Noir", "Children", "Crime", "Musical")
TAGGED_EVERY = 10


def contents_of_ratings(
    movie_ids: NDArray[np.int64],
    words: Sequence[list[str]],
    users: NDArray[np.integer[Any]],
    movies: NDArray[np.integer[Any]],
    ratings: NDArray[Any],
    times: NDArray[np.int64],
    rows: Mapping[str, int],
    parameters: Parameters,
) -> Contents:
    """Take ratings of `movies`, by position, as positive feedback: first drop low ratings, then less active users.

    `rows` is the number of rows of each member, that of the ratings first.
    """
    is_positive = ratings >= parameters["least_rating"]
    raters, activity = np.unique(users[is_positive], return_counts=True)
    kept = np.flatnonzero(is_positive & np.isin(users, raters[activity > parameters["observations_above"]]))
    if not len(kept):
        raise ValueError(  # not an archive error
            f"{next(iter(rows))} has no user with more than {parameters['observations_above']:g} ratings "
            f"of at least {parameters['least_rating']:g}; set observations_above or least_rating lower"
        )
    rated = np.flatnonzero(np.bincount(movies[is_positive], minlength=len(movie_ids)))
    return Contents.of_pairs(
        users[kept],
        np.searchsorted(rated, movies[kept]),
        times[kept],
        ratings=ratings[kept],
        item_ids=movie_ids[rated],
        words=words_of_items([words[movie] for movie in rated.tolist()]),
        rows=rows,
    )


def read(archive: Archive, parameters: Parameters) -> Contents:
    """Read the official archive; a tag of a movie counts as often as it was assigned, a genre once."""
    movies = rows_by_id(read_csv_rows(archive, MOVIES, ("movieId", "title", "genres")), MOVIES, "movieId")
    words = {movie: _genre_words(genres) for movie, (_, _, genres) in movies.items()}
    tag_count = 0
    for line, (_, movie, tag, _) in read_csv_rows(archive, TAGS, ("userId", "movieId", "tag", "timestamp")):
        tag_count += 1
        words.get(whole_number(movie, TAGS, line, "movieId"), []).extend(whole_tag(tag))
    ratings = read_numbers(
        archive, RATINGS, RATING_COLUMNS, separator=",", types=RATING_TYPES, may_be_empty=("timestamp",)
    )
    movie_ids = np.array([*movies])
    return contents_of_ratings(
        movie_ids,
        [*words.values()],
        ratings["userId"],
        rows_of(ratings["movieId"], movie_ids, member=RATINGS, column="movieId", listed_in=MOVIES),
        ratings["rating"],
        ratings["timestamp"],
        {RATINGS: len(ratings["userId"]), MOVIES: len(movies), TAGS: tag_count},
        parameters,
    )


def _genre_words(genres: str) -> list[str]:
    return [word for genre in genres.split("|") for word in whole_tag(genre)] if genres != NO_GENRES else []


def generate(size: Size, parameters: Parameters) -> Contents:
    """Generate ratings of the same size, with as many very active users as the paper keeps."""
    movie_count, rated_movies = sized(size, 27_278, small=4_800), sized(size, 26_744, small=4_700)
    world = World(
        users=sized(size, 138_493, small=400),
        items=rated_movies,
        tags=sized(size, 38_643),
        disliked=sized(size, 177, small=40),
    )
    second_genres = world.random.integers(len(GENRES), size=movie_count)
    words = []
    for number, other in enumerate(second_genres.tolist()):
        first = int(world.item_topics[number]) % len(GENRES) if number < world.items else 0
        words.append(_genre_words("|".join({GENRES[first]: 0, GENRES[other]: 0}) if other else NO_GENRES))
    users, movies, ratings, times = world.ratings(
        sized(size, 20_000_263, small=30_000),
        most_active=(sized(size, 54, small=3), sized(size, 214_729, small=9_300)),
    )
    taggable = slice(None, None, TAGGED_EVERY)
    _, tagged, tags = world.tag_assignments(sized(size, 465_564), users[taggable], movies[taggable])
    texts = world.tag_texts(" ")
    for movie, tag in zip(tagged.tolist(), tags.tolist(), strict=True):
        words[movie] += whole_tag(texts[tag])
    rows = {RATINGS: len(users), MOVIES: movie_count, TAGS: len(tags)}
    movie_ids = np.arange(1, movie_count + 1)
    return contents_of_ratings(movie_ids, words, users + 1, movies, ratings, times, rows, parameters)


CITATION = (
    "F. M. Harper, J. A. Konstan: The MovieLens Datasets: History and Context. "
    "ACM Transactions on Interactive Intelligent Systems 5(4), 2015, https://doi.org/10.1145/2827872."
)
LICENCE = (
    "Research use; no redistribution, no commercial use without permission of GroupLens, "
    "https://files.grouplens.org/datasets/movielens/"
)

DATA_SET = DataSet(
    name="movielens",
    label="MovieLens",
    archive="ml-20m.zip",
    official_url="https://files.grouplens.org/datasets/movielens/ml-20m.zip",
    # According to its data card the same bytes; it is used only if the hash is right.
    copies=("https://huggingface.co/datasets/Recommenders/MovieLens/resolve/main/ml-20m.zip",),
    size=198_702_078,
    sha256="96f243c338a8665f6bcc89c53edf6ee39162a846940de6b7c8c48aeada765ff3",
    limits={RATINGS: 1_000_000_000, MOVIES: 20_000_000, TAGS: 100_000_000},
    licence=f"{LICENCE}ml-20m-README.html.",
    citation=CITATION,
    published=Counts(users=54, items=26_567, interactions=214_729),
    published_rows={RATINGS: 20_000_263, MOVIES: 27_278, TAGS: 465_564},
    remarks=("Published users, items and interactions are the paper's, after its filters.",),
    parameters={"least_rating": 1, "observations_above": 3_000},
    positive_rating=4,
    read=read,
    stand_in=generate,
)

COMPLETE = replace(
    DATA_SET,
    name="movielens-20m",
    label="MovieLens 20M",
    published=Counts(users=138_493, items=26_744, interactions=20_000_263),
    remarks=("All users and ratings; the data set movielens has only the users that the paper keeps.",),
    parameters={"least_rating": 0.5, "observations_above": 0},
    stand_in=None,
)
"""All users and all their ratings, for pools of rated films; only from the official archive."""
