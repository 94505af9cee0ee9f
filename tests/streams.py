"""Random small streams and thresholds for property-based tests."""

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from data_pipelines import EventStream


@st.composite
def streams(draw: st.DrawFn, max_steps: int = 400) -> EventStream:
    """N 1 to 30, d 1 to 8, K 1 to 10; features Gaussian or on a coarse grid with duplicates and zeros."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    clients = draw(st.integers(1, 30))
    steps = draw(st.integers(1, max_steps))
    dimension = draw(st.integers(1, 8))
    arms = draw(st.integers(1, 10))
    table = draw(st.sampled_from([1, 3, 20, 200]))
    if draw(st.booleans()):
        items = rng.standard_normal((table, dimension))
    else:
        items = rng.integers(-2, 3, (table, dimension)) / 2.0
        items[rng.random(table) < 0.1] = 0.0
    largest = max(np.linalg.norm(items, axis=1).max(), 1.0)
    items = items * draw(st.sampled_from([0.1, 1.0, 10.0])) / largest
    who = rng.integers(clients, size=steps)
    if draw(st.booleans()):  # most clients appear once or never, one acts most of the time
        who = np.where(rng.random(steps) < 0.7, 0, who)
    pools = rng.integers(table, size=(steps, arms))
    if draw(st.booleans()):
        rewards, noise = np.zeros((steps, arms)), np.zeros(steps)
        rewards[np.arange(steps), rng.integers(arms, size=steps)] = 1.0
    else:
        rewards = items[pools] @ rng.standard_normal(dimension)
        noise = 0.1 * rng.standard_normal(steps)
    stream = EventStream(items=items, clients=7 * who - 20, pools=pools, rewards=rewards, noise=noise)
    return with_held_out_users(stream, draw(st.integers(0, 9))) if draw(st.booleans()) else stream


def with_held_out_users(stream: EventStream, seed: int = 0) -> EventStream:
    """Return the stream with several rows per item, as if they were pairs, and with users who do not play."""
    rng = np.random.default_rng(seed)
    item_of_row = rng.integers(1 + len(stream.items) // 2, size=len(stream.items)).astype(np.int32)
    count = rng.integers(20, size=item_of_row.max() + 1)
    learned = {"item_of_row": item_of_row, "held_out_count": count, "held_out_likes": rng.binomial(count, 0.5)}
    return replace(stream, **learned, fingerprint="")


thresholds = st.sampled_from([1.0, 1.001, 1.01, 1.2, 1.5, 2.0, 4.0, 30.0, 1e4, np.inf])


def gammas(clients: int) -> st.SearchStrategy[float | tuple[float, ...]]:
    """A threshold for all clients, or one for each."""
    return st.one_of(thresholds, st.tuples(*[thresholds] * clients))


confidences = st.fixed_dictionaries(
    {
        "alpha": st.sampled_from([0.0, 0.3, 2.0, "theory"]),
        "ridge": st.sampled_from([0.05, 0.2, 1.0]),
        "sigma": st.sampled_from([0.1, 1.0]),
        "delta": st.sampled_from([0.01, 0.1]),
    }
)
