"""Each generator keeps the statistics it promises, and its seed decides everything."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from assay.base import ParameterError
from assay.data import (
    baskets,
    circles,
    community_graph,
    gaussian_classes,
    grid_world,
    hmm_sequences,
    moons,
    polynomial_curve,
    recoil_tracks,
)


def points(table):
    return table.frame.select("x1", "x2").to_numpy(), table.frame["class"].to_numpy()


@pytest.mark.parametrize("make", [gaussian_classes, circles, moons, polynomial_curve])
def test_tables_depend_on_the_seed_alone(make):
    assert make(n_rows=50, random_state=3).fingerprint == make(n_rows=50, random_state=3).fingerprint
    assert make(n_rows=50, random_state=3).fingerprint != make(n_rows=50, random_state=4).fingerprint


@pytest.mark.parametrize(
    ("make", "read"),
    [
        (lambda seed: baskets(50, random_state=seed), lambda made: made.transactions),
        (lambda seed: hmm_sequences(2, 50, random_state=seed), lambda made: made.observations[1].tolist()),
        (lambda seed: community_graph(random_state=seed), lambda made: made.adjacency.indices.tolist()),
        (lambda seed: grid_world(6, 6, wall_share=0.3, random_state=seed), lambda made: made.walls),
        (lambda seed: recoil_tracks(3, random_state=seed), lambda made: made.images.tolist()),
    ],
)
def test_records_depend_on_the_seed_alone(make, read):
    assert read(make(3)) == read(make(3))
    assert read(make(3)) != read(make(4))


def test_a_longer_run_starts_like_a_shorter_one():
    short, long = recoil_tracks(2, random_state=1), recoil_tracks(5, random_state=1)
    np.testing.assert_array_equal(short.images, long.images[:2])
    np.testing.assert_array_equal(hmm_sequences(1).observations[0], hmm_sequences(4).observations[0])


def test_gaussian_classes_have_their_means_covariances_and_priors():
    means = np.array([[0.0, 0.0], [5.0, -2.0]])
    covariances = np.array([[[2.0, 0.8], [0.8, 1.0]], [[1.0, -0.5], [-0.5, 0.5]]])
    X, labels = points(gaussian_classes(means, covariances, n_rows=40_000, priors=[0.3, 0.7], random_state=1))
    assert abs((labels == "c1").mean() - 0.3) < 0.01
    for k, label in enumerate(("c1", "c2")):
        rows = X[labels == label]
        np.testing.assert_allclose(rows.mean(axis=0), means[k], atol=0.05)
        np.testing.assert_allclose(np.cov(rows.T), covariances[k], atol=0.06)


def test_circles_have_their_radii():
    X, labels = points(circles(2000, noise=0.02, factor=0.4, random_state=1))
    radius = np.linalg.norm(X, axis=1)
    assert abs(radius[labels == "outer"].mean() - 1.0) < 0.01
    assert abs(radius[labels == "inner"].mean() - 0.4) < 0.01
    assert abs(radius[labels == "outer"].std() - 0.02) < 0.005
    assert (labels == "outer").sum() == 1000


def test_moons_lie_on_their_half_circles():
    X, labels = points(moons(1000, noise=0.0, random_state=1))
    upper, lower = X[labels == "upper"], X[labels == "lower"]
    np.testing.assert_allclose(np.linalg.norm(upper, axis=1), 1.0)
    np.testing.assert_allclose(np.linalg.norm(lower - [1.0, 0.5], axis=1), 1.0)
    assert (upper[:, 1] >= 0).all() and (lower[:, 1] <= 0.5).all()


def test_the_curve_has_its_polynomial_and_noise():
    frame = polynomial_curve([1.0, 0.0, 2.0], n_rows=20_000, noise=0.3, low=0, high=3, random_state=1).frame
    x, y = frame["x"].to_numpy(), frame["y"].to_numpy()
    residual = y - (1 + 2 * x**2)
    assert abs(residual.mean()) < 0.01 and abs(residual.std() - 0.3) < 0.01
    assert x.min() >= 0 and x.max() <= 3


def test_planted_rules_hold_in_the_baskets():
    made = baskets(20_000, 8, [("item01", "item02", 0.8, 0.25)], background=0.1, random_state=1)
    with_cause = [basket for basket in made.transactions if "item01" in basket]
    assert abs(len(with_cause) / 20_000 - 0.25) < 0.01
    assert abs(np.mean(["item02" in basket for basket in with_cause]) - 0.8) < 0.02
    without = [basket for basket in made.transactions if "item01" not in basket]
    assert abs(np.mean(["item02" in basket for basket in without]) - 0.1) < 0.01
    assert abs(np.mean(["item05" in basket for basket in made.transactions]) - 0.1) < 0.01


def test_sequences_move_and_emit_as_the_model_says():
    made = hmm_sequences(200, 200, random_state=1)
    moves = np.zeros((2, 2))
    emits = np.zeros((2, 3))
    for states, observed in zip(made.states, made.observations):
        np.add.at(moves, (states[:-1], states[1:]), 1)
        np.add.at(emits, (states, observed), 1)
    np.testing.assert_allclose(moves / moves.sum(axis=1, keepdims=True), made.transition, atol=0.02)
    np.testing.assert_allclose(emits / emits.sum(axis=1, keepdims=True), made.emission, atol=0.02)
    assert abs(np.mean([states[0] == 0 for states in made.states]) - 0.6) < 0.1


def test_gaussian_sequences_have_the_means_of_their_states():
    made = hmm_sequences(20, 500, emission=[[0.0, 1.0], [10.0, 0.5]], kind="gaussian", random_state=1)
    observed, states = np.concatenate(made.observations), np.concatenate(made.states)
    for k, (mean, deviation) in enumerate(made.emission):
        assert abs(observed[states == k].mean() - mean) < 0.06
        assert abs(observed[states == k].std() - deviation) < 0.05


def test_the_graph_is_denser_within_communities():
    made = community_graph([60, 40], within=0.4, between=0.05, random_state=1)
    A = made.adjacency.toarray()
    assert (A == A.T).all() and not A.diagonal().any() and set(np.unique(A)) == {0.0, 1.0}
    same = made.communities[:, None] == made.communities[None, :]
    pairs = ~np.eye(100, dtype=bool)
    assert abs(A[same & pairs].mean() - 0.4) < 0.03 and abs(A[~same].mean() - 0.05) < 0.02


def test_grid_moves_are_chances_and_the_goal_holds():
    world = grid_world(3, 4, slip=0.2, goal_reward=10.0)
    np.testing.assert_allclose(world.transition.sum(axis=2), 1.0)
    assert (world.transition[11, :, 11] == 1.0).all() and not world.reward[11].any()
    np.testing.assert_allclose(world.transition[5, 1, [6, 1, 9]], [0.8, 0.1, 0.1])
    np.testing.assert_allclose(world.reward[10, 1], -1 + 10 * 0.8)


def test_walls_never_close_the_way_to_the_goal():
    for seed in range(10):
        world = grid_world(7, 7, wall_share=0.6, random_state=seed)
        reach = world.transition.max(axis=1) > 0
        _, parts = connected_components(reach, directed=True, connection="weak")
        assert parts[0] == parts[48] and world.walls
        assert not reach[0, list(world.walls)].any()


def test_light_is_proportional_to_energy():
    made = recoil_tracks(60, size=48, noise=0.0, random_state=1)
    np.testing.assert_allclose(made.images.sum(axis=(1, 2)), 10 * made.energy, rtol=0.05)
    assert made.energy.min() >= 1 and made.energy.max() <= 30


def test_electron_tracks_are_longer_and_thinner_than_nuclear_ones():
    made = recoil_tracks(200, noise=0.0, energy=(20, 30), random_state=1)
    peak = made.images.max(axis=(1, 2)) / made.images.sum(axis=(1, 2))
    nuclear = made.labels == "nuclear"
    assert peak[nuclear].min() > peak[~nuclear].max(), "dense against spread out"
    assert abs(nuclear.mean() - 0.5) < 0.15


def test_low_energies_are_hard_to_tell_apart():
    made = recoil_tracks(300, noise=0.0, energy=(1, 2), random_state=1)
    peak = made.images.max(axis=(1, 2)) / made.images.sum(axis=(1, 2))
    nuclear = made.labels == "nuclear"
    assert peak[nuclear].min() < peak[~nuclear].max()


def test_noise_has_its_deviation():
    quiet, noisy = (recoil_tracks(5, noise=noise, random_state=1).images for noise in (0.0, 2.0))
    assert abs((noisy - quiet).std() - 2.0) < 0.1


@pytest.mark.parametrize(
    "call",
    [
        lambda: gaussian_classes(n_rows=0),
        lambda: gaussian_classes(priors=[0.5, 0.6]),
        lambda: gaussian_classes(covariances=[[1, 2], [2, 1]]),
        lambda: circles(factor=2),
        lambda: moons(noise=-1),
        lambda: polynomial_curve(low=1, high=1),
        lambda: baskets(rules=[("item01", "item01", 1, 1)]),
        lambda: baskets(rules=[("item01", "item02", 2, 1)]),
        lambda: hmm_sequences(transition=[[0.5, 0.6], [0.5, 0.5]]),
        lambda: hmm_sequences(kind="poisson"),
        lambda: community_graph(within=1.5),
        lambda: grid_world(1, 1),
        lambda: recoil_tracks(energy=(0, 1)),
        lambda: recoil_tracks(size=2),
    ],
)
def test_impossible_wishes_are_refused(call):
    with pytest.raises(ParameterError):
        call()
