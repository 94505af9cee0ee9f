"""Users by principal components, compared with a simple computation; and which users are near the centre."""

import numpy as np
import plotly.graph_objects
import pytest
from sklearn.decomposition import PCA

from data_pipelines.prepare.features import scale
from data_pipelines.prepare.prepared import Prepared
from reports.analysis.directions import nearer_to_centre
from reports.analysis.users import embed_users, mean_features
from reports.figures.users import figures
from reports.read.results import Results
from tests.reports.made_up import made_up, run


def simple_means(prepared: Prepared) -> np.ndarray:
    features = scale(prepared.components, "standard")
    users = sorted(set(prepared.users.tolist()))
    return np.array([features[prepared.items[prepared.users == user]].mean(axis=0) for user in users])


def test_the_two_components_are_those_of_scikit_learn(results: Results):
    prepared = results.prepared("delicious")
    means, activity = mean_features(prepared, scale(prepared.components, "standard"))
    np.testing.assert_allclose(means, simple_means(prepared), atol=1e-12)
    assert activity.tolist() == [4, 15, 15, 85, 95]
    embedding = embed_users(prepared)
    assert embedding.users["label"].tolist() == ["[0, 10)", "[10, 20)", "[10, 20)", "[80, 90)", "[90, 100]"]
    assert embedding.users["group"].tolist() == [0, 1, 1, 2, 3]
    assert list(embedding.users) == ["x", "y", "interactions", "group", "label"]  # no identifier of a user
    pca = PCA(2).fit(simple_means(prepared))
    expected = pca.transform(simple_means(prepared))
    ours = embedding.users[["x", "y"]].to_numpy()
    np.testing.assert_allclose(np.abs(ours), np.abs(expected), atol=1e-9)
    np.testing.assert_allclose(embedding.explained, pca.explained_variance_ratio_, atol=1e-12)


def test_the_picture_names_groups_and_variance(results: Results):
    (figure,) = [figure for figure in figures(results) if figure.name == "users_delicious"]
    text = figure.svg.decode()
    first, second = embed_users(results.prepared("delicious")).explained
    for part in (f"component 1 ({first:.1%}", f"component 2 ({second:.1%}", "1:  [10, 20)"):
        assert part in text
    assert "RECONSTRUCTED DATA (214 of 220 interactions)" in text
    components, distances = figure.plain_panels
    users = [series for series in components.series if series.opacity < 1]
    assert [len(series.x) for series in users] == [1, 2, 1, 1]
    names = ["0: [0, 10)", "1: [10, 20)", "2: [80, 90)", "3: [90, 100]"]
    assert [series.hover[0][0] for series in users] == [f"group {name}" for name in names]
    assert [label.text for label in components.labels] == ["0", "1", "2", "3"]
    assert [text.replace("  ", " ") for _, text in distances.x.ticks] == names
    assert len({series.colour for series in users}) == 4
    plotly.graph_objects.Figure(figure.interactive)


def users_of_two_kinds(tastes: float) -> Prepared:
    """Return 20 users of 90 items each and 80 of 10; `tastes` is the distance of the latter's items from the centre."""
    random = np.random.default_rng(1)
    activity = np.array([90] * 20 + [10] * 80)
    users = np.repeat(np.arange(100), activity)
    centres = np.where(activity > 80, 0, tastes)[:, None] * random.choice([(1, 0), (-1, 0), (0, 1), (0, -1)], 100)
    return Prepared(
        manifest={"name": "delicious", "stream_defaults": {"scaling": "pca"}, "groups": "tens"},
        components=random.standard_normal((len(users), 2)) + centres[users],
        item_ids=np.arange(len(users)),
        users=users,
        items=np.arange(len(users), dtype=np.int32),
        times=np.zeros(len(users), dtype=np.int64),
    )


@pytest.mark.parametrize(("tastes", "verdict"), [(0, "undecided"), (3, "reproduced")])
def test_being_near_the_centre_counts_only_if_random_assignments_of_items_differ_less(tastes: float, verdict: str):
    results = made_up([run("async-linucb", 2.0, experiment="user_groups")])
    results.opened["delicious"] = users_of_two_kinds(tastes)
    direction = {"dataset": "delicious", "most_active": [80, 101]}
    evidence = nearer_to_centre(direction, results.runs, results)
    # Means of many items are nearer to the centre for any user: the difference alone is not evidence.
    difference = float(evidence.ours.removeprefix("difference ").partition(";")[0])
    assert difference > 0.2
    assert "random assignments: 0." in evidence.ours
    assert evidence.verdict == verdict
    assert ("random assignments of items to users produce equally large differences" in evidence.why_not) == (
        verdict == "undecided"
    )
