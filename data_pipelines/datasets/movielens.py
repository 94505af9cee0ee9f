"""MovieLens 20M, the most active raters or all of them; a movie's words are its tags and genres."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from data_pipelines.data_set import Contents, Counts, DataSet, Parameters, distinct_rows, rows_of, unique_ids
from data_pipelines.fetch.archive import Archive
from data_pipelines.prepare.features import WordCounts, count_words, whole_tag
from data_pipelines.stand_ins import StandIn, World
from data_pipelines.tables.number_tables import Numbers, read_numbers
from data_pipelines.tables.text_tables import read_csv_rows, whole_number

RATINGS, MOVIES, TAGS = "ratings.csv", "movies.csv", "tags.csv"
RATING_COLUMNS = ("userId", "movieId", "rating", "timestamp")
MOVIE_COLUMNS = ("movieId", "title", "genres")
TAG_COLUMNS = ("userId", "movieId", "tag", "timestamp")
NO_GENRES = "(no genres listed)"
GENRES = ("Drama", "Comedy", "Action", "Sci-Fi", "Film-Noir", "Children", "Crime", "Musical")
TAGGED_EVERY, BYTES_PER_RATING = 10, 26


def read(archive: Archive, parameters: Parameters) -> Contents:
    """Read ratings as positive feedback: first drop low ratings, then less active users."""
    genres = [
        (whole_number(fields[0], MOVIES, line, "movieId"), fields[2])
        for line, fields in read_csv_rows(archive, MOVIES, MOVIE_COLUMNS)
    ]
    movies = unique_ids([movie for movie, _ in genres], MOVIES)
    ratings = read_numbers(
        archive,
        RATINGS,
        RATING_COLUMNS,
        separator=",",
        tenths=("rating",),
        may_be_empty=("timestamp",),
        types={"userId": np.int32, "movieId": np.int32, "rating": np.uint8},
    )
    movie_rows = rows_of(ratings["movieId"], movies, member=RATINGS, column="movieId", listed_in=MOVIES)
    is_positive = ratings["rating"] >= 10 * parameters["least_rating"]
    kept = of_active_raters(ratings["userId"], is_positive, parameters, RATINGS)
    item_ids = movies[np.bincount(movie_rows[is_positive], minlength=len(movies)) > 0]
    words, tag_count = _words(archive, genres, item_ids)
    kept = kept[distinct_rows(ratings["userId"][kept], ratings["movieId"][kept], ratings["timestamp"][kept])]
    return Contents(
        users=ratings["userId"][kept].astype(np.int64),
        items=np.searchsorted(item_ids, ratings["movieId"][kept]).astype(np.int32),
        times=ratings["timestamp"][kept],
        ratings=(ratings["rating"][kept] / 10).astype(np.float64),
        item_ids=item_ids,
        words=words,
        rows={RATINGS: len(movie_rows), MOVIES: len(movies), TAGS: tag_count},
    )


def of_active_raters(
    users: Numbers, is_positive: NDArray[np.bool_], parameters: Parameters, member: str
) -> NDArray[np.int64]:
    """Return the rows with positive ratings of the users that have more of them than `observations_above`."""
    raters, activity = np.unique(users[is_positive], return_counts=True)
    active_users = raters[activity > parameters["observations_above"]]
    kept = np.flatnonzero(is_positive & np.isin(users, active_users))
    if not len(kept):
        raise ValueError(  # not an archive error
            f"{member} has no user with more than {parameters['observations_above']:g} ratings of at least "
            f"{parameters['least_rating']:g}; set observations_above or least_rating lower"
        )
    return kept


def _words(archive: Archive, genres: list[tuple[int, str]], item_ids: Numbers) -> tuple[WordCounts, int]:
    """Count each tag of a movie as often as it was assigned, and each genre once."""
    number_of: dict[str, int] = {}
    movie_ids, tags = [], []
    rows = list(read_csv_rows(archive, TAGS, TAG_COLUMNS))
    for line, fields in rows:
        for word in whole_tag(fields[2]):
            movie_ids.append(whole_number(fields[1], TAGS, line, "movieId"))
            tags.append(number_of.setdefault(word, len(number_of)))
    for movie, names in genres:
        for genre in names.split("|") if names != NO_GENRES else ():
            for word in whole_tag(genre):
                movie_ids.append(movie)
                tags.append(number_of.setdefault(word, len(number_of)))
    movies = np.array(movie_ids, dtype=np.int64)
    is_item = np.isin(movies, item_ids)
    words = count_words(
        np.searchsorted(item_ids, movies[is_item]),
        np.array(tags, dtype=np.int64)[is_item],
        item_count=len(item_ids),
        words_of_tags=[[word] for word in number_of],
    )
    return words, len(rows)


def generate(stand_in: StandIn) -> None:
    """Generate an archive of the same format and size, with as many very active users as the paper keeps."""
    stand_in.folder, stand_in.encoding, stand_in.line_end = "ml-20m/", "utf-8", "\n"
    movies, rated_movies = stand_in.count(27_278, small=4_800), stand_in.count(26_744, small=4_700)
    ratings = stand_in.count(20_000_263, small=30_000)
    world = World(
        users=stand_in.count(138_493, small=400),
        items=rated_movies,
        tags=stand_in.count(38_643),
        disliked=stand_in.count(177, small=40),
    )
    stand_in.write_rows(MOVIES, MOVIE_COLUMNS, _movie_rows(world, movies), ",")
    blocks = world.rating_blocks(
        ratings,
        most_active=(stand_in.count(54, small=3), stand_in.count(214_729, small=9_300)),
    )
    taggable: list[list[Numbers]] = []
    rating_rows = _one_based(blocks, taggable)
    expected_bytes = ratings * BYTES_PER_RATING
    stand_in.write_numbers(
        RATINGS, RATING_COLUMNS, rating_rows, separator=",", tenths=("rating",), expected_bytes=expected_bytes
    )
    users, items = (np.concatenate(part) for part in zip(*taggable, strict=True))
    tagger, movie, tag = world.tag_assignments(stand_in.count(465_564), users, items)
    texts = world.tag_texts(" ")
    seconds = world.random.integers(1_140_000_000, 1_427_000_000, size=len(tag))
    rows = zip(tagger.tolist(), movie.tolist(), tag.tolist(), seconds.tolist(), strict=True)
    stand_in.write_rows(TAGS, TAG_COLUMNS, (f'{u + 1},{m + 1},"{texts[t]}",{s}' for u, m, t, s in rows), ",")


def _movie_rows(world: World, movies: int) -> Iterator[str]:
    second = world.random.integers(len(GENRES), size=movies)
    for number in range(movies):
        first = int(world.item_topics[number]) % len(GENRES) if number < world.items else 0
        other = int(second[number])
        genres = NO_GENRES if other == 0 else "|".join(dict.fromkeys((GENRES[first], GENRES[other])))
        yield f'{number + 1},"Movie ""{number + 1}"", The (1995)",{genres}'


def _one_based(blocks: Iterable[tuple[Numbers, ...]], taggable: list[list[Numbers]]) -> Iterator[tuple[Numbers, ...]]:
    """Yield ratings with ids from 1, and add some of their (user, item) pairs to `taggable`."""
    for user, item, tenths, time in blocks:
        taggable.append([user[::TAGGED_EVERY], item[::TAGGED_EVERY]])
        yield user + 1, item + 1, tenths, time


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
    licence=(
        "Research use; no redistribution, no commercial use without permission of GroupLens, "
        "https://files.grouplens.org/datasets/movielens/ml-20m-README.html."
    ),
    citation=(
        "F. M. Harper, J. A. Konstan: The MovieLens Datasets: History and Context. "
        "ACM Transactions on Interactive Intelligent Systems 5(4), 2015, https://doi.org/10.1145/2827872."
    ),
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
