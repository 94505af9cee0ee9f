"""The simulated streams of section 4.1."""

import hashlib

import numpy as np
import pytest

from data_pipelines import simulate


def test_the_defaults_are_the_papers() -> None:
    stream = simulate(seed=0)
    assert (stream.steps, stream.arms, stream.dimension) == (30_000, 25, 25)
    assert len(stream.client_ids) == 1_000
    assert stream.source == "simulated"
    assert len(np.unique(stream.pools)) == 30_000 * 25  # new arms at every step


def test_arms_are_uniform_in_the_unit_ball() -> None:
    norms = np.linalg.norm(simulate(seed=1, steps=4_000, arms=5, dimension=3).items, axis=1)
    assert norms.max() <= 1
    quantiles = np.sort(norms**3)  # uniform on [0, 1] for a uniform point in the ball of dimension 3
    assert np.abs(quantiles - np.linspace(0, 1, len(quantiles))).max() < 1.95 / np.sqrt(
        len(quantiles)
    )  # Kolmogorov, 0.1 %


def test_homogeneous_rewards_are_the_product_of_one_unit_vector_and_the_features() -> None:
    stream = simulate(seed=2, steps=50, clients=7, arms=4, dimension=6, table=100)
    theta, residual, *_ = np.linalg.lstsq(stream.items[stream.pools].reshape(-1, 6), stream.rewards.ravel(), rcond=None)
    assert np.linalg.norm(theta) == pytest.approx(1)
    assert residual == pytest.approx(0, abs=1e-20)


@pytest.mark.parametrize("global_dim", [1, 4, 6])
def test_heterogeneous_rewards_share_only_the_global_part(global_dim: int) -> None:
    stream = simulate(seed=3, steps=600, clients=5, arms=4, dimension=6, global_dim=global_dim)
    thetas = []
    for client in stream.client_ids:
        is_own_step = stream.clients == client
        X = stream.items[stream.pools[is_own_step]].reshape(-1, 6)
        thetas.append(np.linalg.lstsq(X, stream.rewards[is_own_step].ravel(), rcond=None)[0])
    shared, individual = np.array(thetas)[:, :global_dim], np.array(thetas)[:, global_dim:]
    np.testing.assert_allclose(shared, shared[:1].repeat(5, axis=0), atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(shared, axis=1), 1)
    if global_dim < 6:
        np.testing.assert_allclose(np.linalg.norm(individual, axis=1), 1)
        assert np.abs(individual - individual[0]).max() > 0.1


def test_noise_has_the_requested_scale_and_non_uniform_clients_differ_in_activity() -> None:
    uniform = simulate(seed=4, steps=20_000, clients=50, arms=1, dimension=1, noise=0.5)
    dirichlet = simulate(seed=4, steps=20_000, clients=50, arms=1, dimension=1, client_distribution="non-uniform")
    assert uniform.noise.std() == pytest.approx(0.5, rel=0.05)
    assert dirichlet.noise.std() == pytest.approx(0.1, rel=0.05)
    spread = [np.bincount(stream.clients, minlength=50).std() for stream in (uniform, dirichlet)]
    assert spread[0] < 40  # √400 = 20 expected
    assert 200 < spread[1] < 700  # 400 expected: a flat Dirichlet's shares are about exponential


def test_a_stream_is_the_same_on_every_machine() -> None:
    stream = simulate(
        seed=7, steps=300, clients=9, arms=4, dimension=5, global_dim=3, client_distribution="non-uniform"
    )
    digest = hashlib.sha256()
    for array in (stream.items, stream.clients, stream.pools, stream.rewards, stream.noise):
        digest.update(array.tobytes())
    assert digest.hexdigest() == "9f9f21547497a5fafda08b26eb02398e7f80725a78a360e15bd72d9ef9f4ed1a"
