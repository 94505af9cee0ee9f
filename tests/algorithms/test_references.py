"""References by hand: what each rule chooses on a few small pools, and that only a reference reads the stream."""

from dataclasses import replace

import numpy as np
import pytest

from algorithms import (
    CentralisedLinUCB,
    CosinePopularity,
    HeldOutLikes,
    HeldOutPopularity,
    HindsightLinear,
    ItemRewards,
    MostPopular,
    MostSeen,
    NeverOffered,
    Rocchio,
    Transfers,
)
from algorithms.literal import literal
from algorithms.literal.rules import LiteralRule
from algorithms.method import Method
from benchmark import EventStream
from benchmark.execution.replay import replay

POOLS = [[0, 1], [0, 2], [2, 1], [0, 2], [1, 2], [0, 1]]
CLIENTS = [0, 0, 1, 1, 0, 1]
REWARDS = [[0, 1], [0, 1], [1, 0], [1, 0], [1, 0], [0, 1]]


def small() -> EventStream:
    return EventStream(
        items=np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]),
        clients=np.array(CLIENTS),
        pools=np.array(POOLS),
        rewards=np.array(REWARDS, dtype=float),
        noise=np.zeros(len(POOLS)),
    )


def chosen_items(method: Method, seed: int = 0, stream: EventStream | None = None) -> list[int]:
    """Return the chosen items, which are the same in both implementations."""
    stream = small() if stream is None else stream
    trace = replay(method, stream, seed)
    np.testing.assert_array_equal(trace.choices, replay(literal(method), stream, seed).choices)
    assert trace.communication == 0
    return [int(items[choice]) for items, choice in zip(stream.offered_items, trace.choices, strict=True)]


def test_most_popular_counts_all_earlier_rewards_of_an_item():
    # Rewards so far, at steps 2 to 5: (0, 1, 1), (0, 1, 2), (1, 1, 2), (1, 2, 2).
    assert chosen_items(MostPopular())[3:] == [2, 2, 1]


def test_most_popular_per_client_counts_the_clients_own_pools():
    # Client 1 saw item 2 win at step 2, so it takes it at step 3; client 0 saw 1 and 2 win: a tie at step 4.
    choices = {tuple(chosen_items(MostPopular(per_client=True), seed)) for seed in range(20)}
    assert {choice[3] for choice in choices} == {2}
    assert {choice[4] for choice in choices} == {1, 2}
    assert {choice[5] for choice in choices} == {0}


def test_most_seen_uses_no_reward():
    # Offers so far, at steps 1 to 5: (1, 1, 0), (2, 1, 1), (2, 2, 2), (3, 2, 3), (3, 3, 4).
    choices = {tuple(chosen_items(MostSeen(), seed)) for seed in range(20)}
    assert {choice[1] for choice in choices} == {0}
    assert {choice[4] for choice in choices} == {2}
    assert {choice[5] for choice in choices} == {0, 1}


def test_an_item_that_is_new_to_the_client_comes_before_the_most_seen():
    # Step 1: client 0 has seen item 0, so it takes 2. Step 3: client 1 has seen 2, so it takes 0. Step 4: none is new.
    assert chosen_items(NeverOffered())[1] == 2
    assert chosen_items(NeverOffered())[3:5] == [0, 2]


def test_own_rewards_are_those_of_chosen_items():
    for seed in range(20):
        items = chosen_items(ItemRewards(), seed)
        rewards = [row[pool.index(item)] for row, pool, item in zip(REWARDS, POOLS, items, strict=True)]
        for step in range(len(POOLS)):
            means = {
                item: sum(r for r, i in zip(rewards[:step], items[:step], strict=True) if i == item)
                / (items[:step].count(item) + 1)
                for item in POOLS[step]
            }
            assert means[items[step]] == max(means.values())


def test_the_model_in_hindsight_is_ridge_regression_on_all_arms():
    stream = small()
    x, r = stream.items[stream.pools].reshape(-1, 2), stream.rewards.ravel()
    theta = np.linalg.lstsq(np.vstack([x, np.sqrt(0.2) * np.eye(2)]), np.append(r, [0, 0]), rcond=None)[0]
    best = [pool[int(np.argmax(stream.items[pool] @ theta))] for pool in POOLS]
    assert chosen_items(HindsightLinear()) == best


def test_the_centralised_learner_is_one_linucb_whoever_acts():
    stream = small()
    alone = EventStream(stream.items, np.zeros(len(POOLS), dtype=int), stream.pools, stream.rewards, stream.noise)
    for seed in range(5):
        np.testing.assert_array_equal(
            replay(CentralisedLinUCB(), stream, seed).choices, replay(CentralisedLinUCB(), alone, seed).choices
        )


def test_rocchio_prefers_what_is_like_the_clients_own_rewarded_choices():
    # Item 1 is like item 0, item 2 is not. Client 0 is rewarded for item 0 and then takes 1; client 1 has no reward.
    stream = EventStream(
        items=np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0], [0.0, 0.0]]),
        clients=np.array([0, 0, 1, 1]),
        pools=np.array([[0, 0], [2, 1], [3, 3], [1, 2]]),
        rewards=np.array([[1, 1], [0, 1], [1, 1], [0, 1]], dtype=float),
        noise=np.zeros(4),
    )
    choices = {tuple(chosen_items(Rocchio(), seed, stream)) for seed in range(20)}
    assert {choice[1] for choice in choices} == {1}
    assert {choice[3] for choice in choices} == {1, 2}


def pairs() -> EventStream:
    """The small stream with a row of features per offered pair, x = (2·p∘q, 1/√2, popularity/√2) / √5."""
    stream = small()
    offered = stream.pools.ravel()
    count = np.array([9, 8, 1])
    cosines = np.where(np.arange(offered.size) == 0, 0.5, 0.0)  # the first client is like item 0
    popularity = np.log1p(count) / np.log1p(9)
    x = np.stack([2 * cosines, np.full(offered.size, 0.5**0.5), popularity[offered] * 0.5**0.5], axis=1) / 5**0.5
    return EventStream(
        items=x,
        clients=stream.clients,
        pools=np.arange(offered.size).reshape(stream.pools.shape),
        rewards=stream.rewards,
        noise=stream.noise,
        item_of_row=offered,
        held_out_count=count,
        held_out_likes=np.array([3, 8, 1]),
    )


def test_references_of_held_out_users_count_them_their_likes_and_the_likeness_to_the_client():
    # Popularity puts item 0 first; likes are (3 + 5·2/3)/14, (8 + 5·2/3)/13 and (1 + 5·2/3)/6 of the items 0, 1 and 2.
    assert chosen_items(HeldOutPopularity(), stream=pairs()) == [0, 0, 1, 0, 1, 0]
    assert chosen_items(HeldOutLikes(), stream=pairs()) == [1, 2, 1, 2, 1, 1]
    # In the first pool item 0 has 0.5 + 1, in the others popularity decides.
    assert chosen_items(CosinePopularity(), stream=pairs()) == [0, 0, 1, 0, 1, 0]
    stream = pairs()
    other = {**stream.arrays(), "held_out_count": np.array([4, 8, 1])}
    assert chosen_items(CosinePopularity(), stream=EventStream(**other)) == [0, 0, 1, 0, 1, 1]


@pytest.mark.parametrize(
    ("method", "stream", "reason"),
    [
        (HeldOutPopularity(), small(), "it has no users who do not play"),
        (HeldOutLikes(), small(), "it has no users who do not play"),
        (HeldOutLikes(), replace(pairs(), held_out_likes=None), "its data have no ratings"),
        (CosinePopularity(), replace(small(), held_out_count=np.ones(3, int)), "its features are"),
    ],
)
def test_a_reference_that_makes_no_sense_on_a_stream_is_one_line(method: Method, stream: EventStream, reason: str):
    with pytest.raises(ValueError, match=f"^{method.name} cannot be run on unnamed: {reason}") as caught:
        replay(method, stream)
    assert "\n" not in str(caught.value)


def test_rules_by_item_count_items_where_rows_are_pairs():
    for method in (MostPopular(), MostPopular(per_client=True), MostSeen(), NeverOffered(), ItemRewards()):
        assert chosen_items(method, 3, pairs()) == chosen_items(method, 3)


class Cheat(LiteralRule):
    """A class that reads all rewards although it wants to be ranked."""

    role = "contender"

    def choose(self, client: int, contexts: object, rng: object) -> int:
        return int(np.argmax(self.stream.rewards[self.step]))

    def learn(self, client: int, context: object, reward: float) -> Transfers:
        self.step += 1
        return Transfers()


def test_only_a_reference_may_read_the_stream():
    with pytest.raises(ValueError, match="role must be 'reference' for a class with read_stream, got 'contender'"):
        replay(Cheat(MostSeen()), small())
