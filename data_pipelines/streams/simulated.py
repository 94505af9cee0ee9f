"""The simulated streams of section 4.1: homogeneous or heterogeneous clients, uniform or not.

The arrays are computed from the random numbers by additions, multiplications, divisions and square roots in
a fixed order, so that every machine makes the same stream.
"""

import hashlib
import json
from numbers import Real
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from data_pipelines.event_stream import EventStream

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
    """
    parameters = {key: value for key, value in locals().items() if key != "seed"}
    _check(parameters, seed)
    parameters["noise"] = float(noise)
    rng = np.random.Generator(np.random.PCG64(seed))
    client_of_step = _draw_clients(rng, steps, clients, client_distribution)
    if table is None:
        items = _unit_ball(rng, steps * arms, dimension)
        pools = np.arange(steps * arms, dtype=np.int32).reshape(steps, arms)
    else:
        items = _unit_ball(rng, table, dimension)
        pools = rng.integers(table, size=(steps, arms), dtype=np.int32)
    split = dimension if global_dim is None else global_dim
    shared = _unit_vectors(rng, 1, split)[0]
    individual = _unit_vectors(rng, clients if split < dimension else 1, dimension - split)
    rewards = _expected_rewards(items, pools, client_of_step, shared, individual)
    observation_noise = noise * rng.standard_normal(steps)
    for array in (items, client_of_step, pools, rewards, observation_noise):
        array.flags.writeable = False
    return EventStream(
        items=items,
        clients=client_of_step,
        pools=pools,
        rewards=rewards,
        noise=observation_noise,
        name=simulation_name(client_distribution, global_dim),
        fingerprint=_fingerprint(parameters, seed),
        source="simulated",
    )


def _check(parameters: dict[str, Any], seed: int) -> None:
    for name in ("steps", "clients", "arms", "dimension"):
        _require_integer(name, parameters[name], 1)
    _require_integer("seed", seed, 0)
    if parameters["table"] is not None:
        _require_integer("table", parameters["table"], 1)
    distribution = parameters["client_distribution"]
    if distribution not in ("uniform", "non-uniform"):
        raise ValueError(f"client_distribution must be uniform or non-uniform, got {distribution!r}")
    global_dim, dimension = parameters["global_dim"], parameters["dimension"]
    if global_dim is not None:
        _require_integer("global_dim", global_dim, 1)
        if global_dim > dimension:
            raise ValueError(f"global_dim must be an integer from 1 to dimension, {dimension}, got {global_dim}")
    noise = parameters["noise"]
    if not isinstance(noise, Real) or isinstance(noise, bool) or not 0 <= float(noise) < np.inf:
        raise ValueError(f"noise must be a finite number from 0, got {noise!r}")


def _require_integer(name: str, value: object, minimum: int) -> None:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < minimum:
        raise ValueError(f"{name} must be an integer from {minimum}, got {value!r}")


def _draw_clients(
    rng: np.random.Generator, steps: int, clients: int, distribution: ClientDistribution
) -> NDArray[np.int64]:
    if distribution == "uniform":
        return rng.integers(clients, size=steps, dtype=np.int64)
    cumulative = np.cumsum(rng.standard_exponential(clients))  # normalised exponentials are a flat Dirichlet
    positions = np.searchsorted(cumulative, rng.random(steps) * cumulative[-1], side="right")
    client_of_step: NDArray[np.int64] = np.minimum(positions, clients - 1).astype(np.int64)
    return client_of_step


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


def simulation_name(client_distribution: str = "uniform", global_dim: int | None = None) -> str:
    """Return the name of a simulated stream."""
    return f"simulated-{client_distribution if global_dim is None else f'heterogeneous-{global_dim}'}"


def simulation_fingerprint(*, seed: int, **arguments: Any) -> str:
    """Return the fingerprint of the stream that `simulate` returns for these arguments, without simulating it."""
    parameters = {**(simulate.__kwdefaults__ or {}), **arguments}
    _check(parameters, seed)
    return _fingerprint(parameters, seed)


def _fingerprint(parameters: dict[str, Any], seed: int) -> str:
    content = {"generator": "simulated", "version": GENERATOR_VERSION, "seed": int(seed), **parameters}
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=int).encode()).hexdigest()
