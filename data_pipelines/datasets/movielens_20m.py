"""MovieLens 20M complete: all users and all their ratings, for pools of rated films. Only from the official archive."""

from dataclasses import replace

from data_pipelines.data_set import Counts
from data_pipelines.datasets import movielens

DATA_SET = replace(
    movielens.DATA_SET,
    name="movielens-20m",
    label="MovieLens 20M",
    published=Counts(users=138_493, items=26_744, interactions=20_000_263),
    remarks=("All users and ratings; the data set movielens has only the users that the paper keeps.",),
    parameters={"least_rating": 0.5, "observations_above": 0},
    stand_in=None,
)
