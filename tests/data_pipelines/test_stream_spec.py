"""The specification of a stream: its fields, names and fingerprints, and the streams that existed before."""

import dataclasses
import hashlib
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from data_pipelines import EventStream, load, simulate
from data_pipelines.prepare.prepared import open_prepared
from data_pipelines.stream_spec import DatasetSpec, SimulatedSpec, TaggedSpec

USERS = {"order": "users"}
SMALL = {"steps": 200, "clients": 9, "arms": 4, "dimension": 5}

RECORDED: list[tuple[str, dict[str, Any], str, str]] = [
    ("lastfm", {}, "7189b59e3130e8a0e645e3974a0b98ee0a3ce38cc273e66bab1bf25f18b69883", "d0c03f58b8c51d67"),
    (
        "lastfm",
        {"seed": 1, "arms": 10},
        "3659e7ebe94539e5206405f6f7b5f69d9d19851b4444efb0522615ece4dc8092",
        "b1208691648b24e8",
    ),
    (
        "lastfm",
        {"dimension": 8, "scaling": "unit"},
        "11452fe80fee036b14aa6f09fd8cdc239bfc20dd9f2b7e9c9ec2187f66a0c93d",
        "d0c03f58b8c51d67",
    ),
    (
        "delicious",
        {"positive": "first"},
        "523afef660a70062e6fea3b6d84e5bf7d574bba415c4db095beca45f6727b5d5",
        "3ccd07f54c0ca6cf",
    ),
    (
        "delicious",
        {"scaling": "pca"},
        "4f8495db256fa782f0189b19ff93a86b2e7182f3055ea9174592d79b61e14c91",
        "7afcb99fd0e94cd9",
    ),
    ("movielens", {"seed": 2}, "48b6f5ad018727ea34bede0207c62412d13392548c5f708db23ad63d84895e29", "e3a6e6009d8d60d9"),
    ("lastfm-tagged", USERS, "425f6f93033ad8383a23cee000ea3c69bd8c13a21555869e9807f6707d49a3be", "ad9b4ff5e4646249"),
    (
        "lastfm-tagged",
        {"scaling": "standard", **USERS},
        "340d96c07888f7622a6bf0ee55899eb8ec42f58f70822b929b4b926eead1d1a8",
        "ad9b4ff5e4646249",
    ),
    ("delicious-tagged", USERS, "78a63c79ce26573e017117a70c2a9029a629004a9c41a771ec508ba9a89a6575", "1940e51902fa1af6"),
]
"""Streams of stand-ins before there were later options: fingerprints, and hashes of their arrays."""

SIMULATED: list[tuple[dict[str, Any], str, str]] = [
    ({}, "395e0f892b69c8913bec01709aa14e7727662dcdeeb6b89908879031776e115c", "db8a3a981401f5af"),
    (SMALL, "6e6c21c10d29cefb4ab2cc4c8b5c3b080ef95ece3c2a04a55a67b20289fd9021", "f40509f7cc55bb15"),
    (
        {**SMALL, "client_distribution": "non-uniform"},
        "fbdf01260dcafba5c60aaa1d310d3420433b81b810ded0427a7baf735f882052",
        "c6cd415982781b08",
    ),
    (
        {**SMALL, "global_dim": 3, "noise": 0},
        "f6cfa875f72bc0370929c23e840ebc655a4d33a9e42cb3e42151a67268f53b53",
        "dc87110e0612c945",
    ),
    (
        {**SMALL, "table": 50, "seed": 4, "client_distribution": "non-uniform", "global_dim": 5},
        "1bd496cb5247aa9f503343c82d41fcccf690e5201bf9d185d10bcd11d02b0e39",
        "b7feebedd40d839b",
    ),
    (
        {"client_distribution": "non-uniform"},
        "7ec68570ed91a6e9022453ea63dc31401c2c29dada7f4577bcdfc74070f93658",
        "b46802b41f7bd631",
    ),
]


def digest(stream: EventStream) -> str:
    """Hash the arrays that are the same on every machine."""
    arrays = (stream.clients, stream.pools, stream.rewards, stream.noise)
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()[:16]


@pytest.mark.parametrize(("name", "options", "fingerprint", "arrays"), RECORDED)
def test_streams_of_data_sets_are_as_before(
    small_data: Path, name: str, options: dict[str, Any], fingerprint: str, arrays: str
):
    stream = load(name, **{"seed": 0, **options}, folder=small_data)
    assert stream.fingerprint == fingerprint
    assert digest(stream) == arrays


@pytest.mark.parametrize(("options", "fingerprint", "arrays"), SIMULATED)
def test_simulated_streams_are_as_before(options: dict[str, Any], fingerprint: str, arrays: str):
    stream = simulate(**{"seed": 0, **options})
    assert stream.fingerprint == fingerprint
    assert digest(stream) == arrays


def test_an_option_added_later_changes_no_fingerprint_at_its_default(small_data: Path):
    class LaterSimulated(SimulatedSpec):
        network: str | None = None

    class LaterDataset(DatasetSpec):
        network: str | None = None

    assert LaterSimulated(**SMALL).fingerprint(0) == SimulatedSpec(**SMALL).fingerprint(0) == SIMULATED[1][1]
    assert LaterSimulated(**SMALL, network="mobile").fingerprint(0) != SIMULATED[1][1]
    assert LaterDataset(dataset="lastfm").bound(small_data).fingerprint(0) == RECORDED[0][2]
    assert LaterDataset(dataset="lastfm", network="mobile").bound(small_data).fingerprint(0) != RECORDED[0][2]
    assert digest(LaterSimulated(**SMALL, network="mobile").build(0)) == SIMULATED[1][2]
    assert digest(LaterDataset(dataset="lastfm", network="mobile").bound(small_data).build(0)) == RECORDED[0][3]


def test_a_data_set_declares_the_order_and_the_scaling_of_its_streams(small_data: Path):
    default = DatasetSpec(dataset="lastfm-tagged")
    assert (default.order, default.scaling) == ("shuffled", "pca")
    assert (DatasetSpec(dataset="lastfm").order, DatasetSpec(dataset="lastfm").scaling) == ("users", "standard")
    chosen = DatasetSpec(dataset="lastfm-tagged", order="users", scaling="unit")
    assert (chosen.order, chosen.scaling) == ("users", "unit")
    stream = load("lastfm-tagged", seed=0, folder=small_data)
    assert stream.fingerprint == default.bound(small_data).fingerprint(0)
    assert stream.fingerprint == load("lastfm-tagged", seed=0, order="shuffled", folder=small_data).fingerprint


DATASET_OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    "arms": st.integers(2, 30),
    "dimension": st.integers(1, 25),
    "scaling": st.sampled_from(["standard", "pca", "unit"]),
    "negatives": st.sampled_from(["uniform", "popularity"]),
    "repeats": st.sampled_from(["keep", "once"]),
    "order": st.sampled_from(["users", "shuffled"]),
    "min_interactions": st.integers(1, 5),
}
SIMULATED_OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    "steps": st.integers(1, 50),
    "clients": st.integers(1, 50),
    "global_dim": st.none() | st.integers(1, 25),
    "noise": st.floats(0, 10),
    "table": st.none() | st.integers(1, 50),
    "clients_drawn": st.sampled_from(["dirichlet", "uniform-weights", "zipf"]),
}


def datasets() -> st.SearchStrategy[DatasetSpec]:
    options = st.fixed_dictionaries({}, optional=DATASET_OPTIONS)
    return st.builds(lambda chosen: DatasetSpec(dataset="shop", **{"dimension": 25, **chosen}), options)


def simulations() -> st.SearchStrategy[SimulatedSpec]:
    options = st.fixed_dictionaries({}, optional=SIMULATED_OPTIONS)
    return st.builds(lambda chosen: SimulatedSpec(simulated="non-uniform", **chosen), options)


@given(datasets(), datasets(), st.integers(0, 3), st.integers(0, 3))
def test_streams_of_a_data_set_have_equal_fingerprints_only_if_all_options_are_equal(one, other, seed, other_seed):
    are_equal = one == other and seed == other_seed
    assert (one.fingerprint(seed, "data") == other.fingerprint(other_seed, "data")) == are_equal
    assert one.fingerprint(seed, "data") != one.fingerprint(seed, "other data")


@given(simulations(), simulations())
def test_simulations_have_equal_fingerprints_only_if_all_options_are_equal(one, other):
    assert (one.fingerprint(0) == other.fingerprint(0)) == (one == other)
    assert one.fingerprint(0) != one.fingerprint(1)


@given(datasets() | simulations())
def test_a_specification_survives_its_fields_and_a_pickle(spec):
    adapter = TypeAdapter(TaggedSpec)
    assert adapter.validate_python(spec.model_dump()) == spec
    assert adapter.validate_json(spec.model_dump_json()) == spec
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert hash(pickle.loads(pickle.dumps(spec))) == hash(spec)


def test_a_stream_has_a_name_for_people():
    assert SimulatedSpec().name == "simulated-uniform"
    assert SimulatedSpec(simulated="non-uniform").name == "simulated-non-uniform"
    assert SimulatedSpec(global_dim=4).name == "simulated-heterogeneous-4"
    skewed = SimulatedSpec(simulated="non-uniform", clients_drawn="zipf")
    assert skewed.name == "simulated-zipf"
    assert skewed.model_copy(update={"exponent": 2.0}).name == "simulated-zipf-2"
    assert skewed.model_copy(update={"exponent": 1.5}).name == "simulated-zipf-1_5"
    assert skewed.model_copy(update={"global_dim": 4}).name == "simulated-heterogeneous-4-zipf"
    weights = SimulatedSpec(simulated="non-uniform", clients_drawn="uniform-weights")
    assert weights.name == weights.model_copy(update=SMALL).build(0).name == "simulated-uniform-weights"
    assert DatasetSpec(dataset="shop").name == "shop"


@pytest.mark.parametrize(
    "options",
    [
        {"negatives": "popularity"},
        {"repeats": "once"},
        {"order": "shuffled"},
        {"min_interactions": 10},
        {"pools": "rated"},
        {"pools": "rated", "order": "shuffled", "arms": 5},
    ],
)
def test_the_fingerprint_is_known_before_the_stream_is_built(small_data: Path, options: dict[str, Any]):
    spec = DatasetSpec(dataset="movielens", **options).bound(small_data)
    stream = spec.build(3)
    assert (
        stream.fingerprint == spec.fingerprint(3) == load("movielens", seed=3, folder=small_data, **options).fingerprint
    )
    assert stream.fingerprint != load("movielens", seed=3, folder=small_data).fingerprint
    assert spec.prepared() == spec.open().manifest["fingerprint"]
    assert (spec.source, spec.dimension) == ("stand-in", 25)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"negatives": "popular"}, "negatives must be 'uniform', 'popularity' or 'not-then', got 'popular'"),
        ({"pools": "all"}, "pools must be 'sampled' or 'rated', got 'all'"),
        ({"repeats": True}, "repeats must be 'keep' or 'once', got True"),
        ({"order": "times"}, "order must be 'users', 'shuffled' or 'time', got 'times'"),
        ({"min_interactions": 0}, "min_interactions must be greater than or equal to 1, got 0"),
        ({"min_interactions": 1.5}, "min_interactions must be a valid integer, got 1.5"),
        ({"min_interactions": 10_000}, "min_interactions must be at most .* of movielens, got 10000"),
        (
            {"pools": "rated", "negatives": "popularity"},
            "negatives = 'popularity' needs pools = 'sampled', got pools =",
        ),
        ({"pools": "rated", "positive": "first"}, "positive = 'first' needs pools = 'sampled', got pools = 'rated'"),
        (
            {"pools": "rated", "arms": 9_999},
            "arms must be at most .*, the largest number of ratings of a user, got 9999",
        ),
        ({"negative": "uniform"}, "unknown option negative; expected one of: dataset, arms, "),
        ({"scaling": "none"}, "scaling must be 'standard', 'pca' or 'unit', got 'none'"),
        ({"positive": "last"}, "positive must be 'anywhere' or 'first', got 'last'"),
        ({"dimension": 26}, "dimension must be an integer from 1 to 25, .*, got 26"),
        ({"arms": 1}, "arms must be an integer from 2 to .*, got 1"),
        ({"seed": -1}, "seed must be an integer from 0, got -1"),
    ],
)
def test_a_bad_option_of_a_data_set_is_one_line(small_data: Path, options: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=f"^{message}") as caught:
        load("movielens", folder=small_data, **{"seed": 0, **options})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clients_drawn": "normal"}, "clients_drawn must be 'dirichlet', 'uniform-weights' or 'zipf', got 'normal'"),
        ({"clients_drawn": "zipf", "exponent": -1}, "exponent must be greater than or equal to 0, got -1"),
        ({"clients_drawn": "zipf", "exponent": float("nan")}, "exponent must be .*, got nan"),
        ({"clients_drawn": "zipf", "exponent": "1"}, "exponent must be a valid number, got '1'"),
        ({"exponent": 2.0}, "exponent needs clients_drawn = 'zipf', got 2"),
        ({"steps": 0}, "steps must be greater than or equal to 1, got 0"),
        ({"clients": 2.5}, "clients must be a valid integer, got 2.5"),
        ({"dimension": 5, "global_dim": 6}, r"global_dim must be from 1 to dimension \(5\), got 6"),
        ({"noise": -1}, "noise must be greater than or equal to 0, got -1"),
        ({"noise": np.nan}, "noise must be a finite number, got nan"),
        ({"noise": "a"}, "noise must be a valid number, got 'a'"),
        ({"client_distribution": "skewed"}, "client_distribution must be 'uniform' or 'non-uniform', got 'skewed'"),
        ({"table": 0}, "table must be greater than or equal to 1, got 0"),
        ({"seed": -1}, "seed must be an integer from 0, got -1"),
        (
            {"client_distribution": "uniform", "clients_drawn": "zipf"},
            "clients_drawn must be 'dirichlet', its default, for uniform clients, got 'zipf'",
        ),
    ],
)
def test_a_bad_option_of_a_simulation_is_one_line(options: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=f"^{message}") as caught:
        simulate(**{"seed": 0, "client_distribution": "non-uniform", **SMALL, **options})
    assert "\n" not in str(caught.value)


def test_pools_of_rated_items_need_ratings(small_data: Path):
    with pytest.raises(
        ValueError, match=r"^pools = 'rated' needs a data set with ratings, got lastfm, which has none$"
    ):
        load("lastfm", seed=0, pools="rated", folder=small_data)
    with pytest.raises(ValueError, match="got lastfm, which has none"):
        DatasetSpec(dataset="lastfm", pools="rated").bound(small_data)
    prepared = open_prepared("movielens", small_data)
    assert prepared.ratings is not None
    manifest = {name: value for name, value in prepared.manifest.items() if name != "positive_rating"}
    by_an_earlier_version = dataclasses.replace(prepared, manifest=manifest, ratings=None)
    with pytest.raises(ValueError, match=r"prepared without them; run: fedbandit data movielens --force$"):
        DatasetSpec(dataset="movielens", pools="rated").build_from(by_an_earlier_version, 0)
    stream = DatasetSpec(dataset="movielens").build_from(by_an_earlier_version, 2)
    assert (stream.fingerprint, digest(stream)) == RECORDED[5][2:]


def test_a_saved_stream_is_opened_from_disk_unchanged(tmp_path: Path):
    stream = simulate(seed=0, **SMALL)
    stream.save(tmp_path / "stream")
    opened = EventStream.open(tmp_path / "stream")
    assert (opened.name, opened.fingerprint, opened.source) == (stream.name, stream.fingerprint, stream.source)
    assert [*opened.arrays()] == [*stream.arrays()] == ["items", "clients", "pools", "rewards", "noise"]
    for name, array in opened.arrays().items():
        assert isinstance(array, np.memmap)
        np.testing.assert_array_equal(array, stream.arrays()[name])


@given(st.data(), st.integers(1, 6), st.integers(1, 4))
def test_random_reward_is_what_a_uniformly_random_choice_collects(data: st.DataObject, steps: int, arms: int):
    rewards = data.draw(
        st.lists(st.lists(st.integers(0, 1), min_size=arms, max_size=arms), min_size=steps, max_size=steps)
    )
    clients = data.draw(st.lists(st.integers(0, 3), min_size=steps, max_size=steps))
    pools, noise = np.zeros((steps, arms), dtype=np.int32), np.zeros(steps)
    stream = EventStream(items=np.ones((1, 1)), clients=clients, pools=pools, rewards=rewards, noise=noise)
    means = [sum(row) / arms for row in rewards]
    assert stream.random_reward == pytest.approx(sum(means))
    for client, total in zip(stream.client_ids, stream.client_random_rewards, strict=True):
        assert total == pytest.approx(sum(mean for each, mean in zip(clients, means, strict=True) if each == client))
