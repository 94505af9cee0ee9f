"""Put a stand-in, labelled as such, where a data set cannot be had: the last resort of `make benchmark`.

LastFM and Delicious get one of full size. MovieLens gets a small one, which takes seconds instead of minutes.
"""

import sys

from benchmark.__main__ import main

SIZES = {"lastfm": "full", "delicious": "full", "movielens": "small"}


def fill_in() -> int:
    """Generate what is not prepared; return 0 if every data set is there afterwards."""
    from data_pipelines.catalogue import data_set_names
    from data_pipelines.prepared import NotPreparedError, data_folder, read_manifest

    codes = [0]
    for name in data_set_names():
        try:
            read_manifest(data_folder() / name)
        except NotPreparedError:
            print(f"{name} cannot be had: a stand-in, generated data, takes its place; no result on it is a finding")
            codes.append(main(["data", name, "--stand-in", "--size", SIZES.get(name, "small")]))
    return max(codes)


if __name__ == "__main__":
    sys.exit(fill_in())
