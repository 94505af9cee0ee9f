"""The simulated streams of section 4.1: homogeneous or heterogeneous clients, uniform or not.

The arrays are computed from the random numbers by additions, multiplications, divisions and square roots in
a fixed order, so that every machine makes the same stream.
"""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from data_pipelines.event_stream import EventStream
from data_pipelines.stream_spec import SimulatedSpec, simulated_spec
from data_pipelines.streams import generator_for, generators, make_stream

GENERATOR_VERSION = 1
"""Part of every fingerprint: raise it if a change gives another stream for the same seed."""

BLOCK = 1 << 15

ClientDistribution = Literal["uniform", "non-uniform"]


def simulate(
    *,
    seed: int,
    steps: int = 30_000,
    clients: int = 1_000,
    arms: int = 25,
    dimension: int = 25,
    client_distribution: ClientDistribution = "uniform",
    global_dim: int | None = None,
    noise: float = 0.1,
    table: int | None = None,
    **options: Any,
) -> EventStream:
    """Simulate the problem of section 3.1 with the settings of section 4.1.

    Args:
        seed: determines every random draw.
        steps: T. clients: N. arms: K. dimension: d.
        client_distribution: `uniform`, or `non-uniform`: one flat Dirichlet draw over the clients.
        global_dim: `None` for homogeneous clients, f(x) = θᵀx (Eq. 1); d_g for heterogeneous ones,
            f_i(x) = θ_gᵀ x[:d_g] + θ_iᵀ x[d_g:] (Eq. 2).
        noise: σ of the Gaussian noise.
        table: `None` for new arms at every step, as in the paper; otherwise the number of
            items from which all pools are drawn.
        options: further fields of `SimulatedSpec`: `clients_drawn` and `exponent`, how non-uniform clients are drawn;
            `clusters`, the number of different θ, each client having one of them; `spread`, the size of each client's
            own part of θ_i = θ + spread·u_i, at unit norm.
    """
    spec = simulated_spec(
        client_distribution,
        steps=steps,
        clients=clients,
        arms=arms,
        dimension=dimension,
        global_dim=global_dim,
        noise=noise,
        table=table,
        **options,
    )
    return spec.build(seed)


def simulated_stream(spec: SimulatedSpec, seed: int) -> EventStream:
    """Simulate the stream of a specification."""
    purposes = ("order", "pools", "rewards", "noise")
    order_random, pool_random, reward_random, noise_random = generators(
        *purposes, seed=seed, are_separate=spec.has_separate_generators
    )
    clients = _draw_clients(order_random, spec)
    if spec.table is None:
        items = _unit_ball(pool_random, spec.steps * spec.arms, spec.dimension)
        pools = np.arange(spec.steps * spec.arms, dtype=np.int32).reshape(spec.steps, spec.arms)
    else:
        items = _unit_ball(pool_random, spec.table, spec.dimension)
        pools = pool_random.integers(spec.table, size=(spec.steps, spec.arms), dtype=np.int32)
    split = spec.dimension if spec.global_dim is None else spec.global_dim
    shared = _unit_vectors(reward_random, 1, split)[0]
    individual = _unit_vectors(reward_random, spec.clients if split < spec.dimension else 1, spec.dimension - split)
    if spec.clusters > 1 or spec.spread > 0:
        shared, individual = shared[:0], _parameters_of_clients(spec, seed)
    rewards = _expected_rewards(items, pools, clients, shared, individual)
    noise = spec.noise * noise_random.standard_normal(spec.steps)
    return make_stream(
        items=items,
        clients=clients,
        pools=pools,
        rewards=rewards,
        noise=noise,
        name=spec.name,
        fingerprint=spec.fingerprint(seed),
        source=spec.source,
    )


def _parameters_of_clients(spec: SimulatedSpec, seed: int) -> NDArray[np.float64]:
    """Return θ_i of each client: that of its cluster, or θ + spread·u_i at unit norm.

    They are drawn by generators of their own, so that arms, noise and clients are those without these options.
    """
    thetas = _unit_vectors(generator_for("parameters", seed), spec.clusters, spec.dimension)
    if spec.clusters > 1:
        return thetas[generator_for("clusters", seed).integers(spec.clusters, size=spec.clients)]
    directions = _unit_vectors(generator_for("spread", seed), spec.clients, spec.dimension)
    columns = np.ascontiguousarray((thetas + spec.spread * directions).T)
    return np.ascontiguousarray((columns / np.sqrt(_squared_norms(columns))).T)


def _draw_clients(random: np.random.Generator, spec: SimulatedSpec) -> NDArray[np.int64]:
    if spec.simulated == "uniform":
        return random.integers(spec.clients, size=spec.steps, dtype=np.int64)
    cumulative = np.cumsum(_weights(random, spec))
    positions = np.searchsorted(cumulative, random.random(spec.steps) * cumulative[-1], side="right")
    client_of_step: NDArray[np.int64] = np.minimum(positions, spec.clients - 1).astype(np.int64)
    return client_of_step


def _weights(random: np.random.Generator, spec: SimulatedSpec) -> NDArray[np.float64]:
    """Return how likely each client is to act, up to a factor."""
    if spec.clients_drawn == "dirichlet":
        return random.standard_exponential(spec.clients)  # normalised, they are a flat Dirichlet
    if spec.clients_drawn == "uniform-weights":
        return random.random(spec.clients)
    # Rounded, because the last bits of a power depend on the machine.
    return (np.arange(1, spec.clients + 1) ** -spec.exponent).astype(np.float32).astype(np.float64)


def _squared_norms(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    total = np.zeros(columns.shape[1])
    for column in columns:
        total += column * column
    return total


def _unit_ball(rng: np.random.Generator, count: int, dimension: int) -> NDArray[np.float64]:
    """Draw uniformly from the unit ball: the first d coordinates of a uniform point on the sphere in d+2."""
    points = np.empty((count, dimension))
    for start in range(0, count, BLOCK):
        block = points[start : start + BLOCK]
        columns = rng.standard_normal((dimension + 2, len(block)))
        np.divide(columns[:dimension], np.sqrt(_squared_norms(columns)), out=block.T)
    return points


def _unit_vectors(rng: np.random.Generator, count: int, dimension: int) -> NDArray[np.float64]:
    columns = rng.standard_normal((dimension, count))
    norms = np.sqrt(_squared_norms(columns))
    return np.ascontiguousarray((columns / np.where(norms > 0, norms, 1.0)).T)


def _expected_rewards(
    items: NDArray[np.float64],
    pools: NDArray[np.int32],
    client_of_step: NDArray[np.int64],
    shared: NDArray[np.float64],
    individual: NDArray[np.float64],
) -> NDArray[np.float64]:
    rewards = _shared_part(items, shared)[pools]
    rows = max(1, BLOCK // pools.shape[1])
    for start in range(0, len(pools) if individual.shape[1] else 0, rows):
        steps = slice(start, start + rows)
        features = np.moveaxis(items[pools[steps], len(shared) :], 2, 0)
        for weights, column in zip(individual[client_of_step[steps]].T, features, strict=True):
            rewards[steps] += weights[:, None] * column
    return rewards


def _shared_part(items: NDArray[np.float64], shared: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return each item's reward from the shared parameters, summed in the order of the features."""
    total = np.zeros(len(items))
    for start in range(0, len(items), BLOCK):
        block = items[start : start + BLOCK]
        for weight, column in zip(shared, block.T[: len(shared)], strict=True):
            total[start : start + BLOCK] += weight * column
    return total
