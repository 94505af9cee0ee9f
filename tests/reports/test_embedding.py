"""Users by principal components, held against a plain computation."""

import numpy as np
import plotly.graph_objects
from sklearn.decomposition import PCA

from data_pipelines.features import scale
from data_pipelines.prepared import Prepared
from reports.context import Context
from reports.embedding import embed_users, mean_features
from reports.figures.embedding import figures
from reports.results import Results


def plainly(prepared: Prepared) -> np.ndarray:
    features = scale(prepared.components, "standard")
    users = sorted(set(prepared.users.tolist()))
    return np.array([features[prepared.items[prepared.users == user]].mean(axis=0) for user in users])


def test_each_user_is_the_mean_of_its_items(context: Context):
    prepared = context.prepared("delicious")
    means, activity = mean_features(prepared, scale(prepared.components, "standard"))
    np.testing.assert_allclose(means, plainly(prepared), atol=1e-12)
    assert activity.tolist() == [4, 15, 15, 85, 95]


def test_the_two_components_are_those_of_a_plain_pca(context: Context):
    prepared = context.prepared("delicious")
    embedding = embed_users(prepared)
    pca = PCA(2).fit(plainly(prepared))
    expected = pca.transform(plainly(prepared))
    ours = embedding.users[["x", "y"]].to_numpy()
    np.testing.assert_allclose(np.abs(ours), np.abs(expected), atol=1e-9)
    np.testing.assert_allclose(embedding.explained, pca.explained_variance_ratio_, atol=1e-12)


def test_users_carry_their_group_and_no_name(context: Context):
    users = embed_users(context.prepared("delicious")).users
    assert users["label"].tolist() == ["[0, 10)", "[10, 20)", "[10, 20)", "[80, 90)", "[90, 100]"]
    assert users["group"].tolist() == [0, 1, 1, 2, 3]
    assert list(users) == ["x", "y", "interactions", "group", "label"]


def test_the_picture_names_groups_and_variance(results: Results, context: Context):
    (figure,) = figures(results, context)
    assert figure.name == "users_delicious"
    text = figure.svg.decode()
    first, second = embed_users(context.prepared("delicious")).explained
    for part in (f"component 1 ({first:.1%}", f"component 2 ({second:.1%}", "[10, 20) interactions, 2 users"):
        assert part in text
    assert "RECONSTRUCTED DATA (214 of 220 interactions)" in text
    assert figure.interactive["data"][0]["name"] == "0: [0, 10)"
    assert sum(len(trace["x"]) for trace in figure.interactive["data"]) == 5
    plotly.graph_objects.Figure(figure.interactive)
