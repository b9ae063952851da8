import numpy as np
import pytest

from assay import _kernels
from assay.base import Stream


def test_same_seed_same_tree():
    assert Stream.of(3).child(1).child(4) == Stream.of(3).child(1).child(4)


def test_children_are_distinct_and_do_not_commute():
    root = Stream.of(0)
    keys = {root.child(i).key for i in range(10_000)}
    assert len(keys) == 10_000
    assert root.child(1).child(2) != root.child(2).child(1)


def test_no_seed_gives_fresh_streams():
    assert Stream.of(None) != Stream.of(None)


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_generators_are_drawn_from(make):
    assert Stream.of(make(5)) == Stream.of(make(5))
    generator = make(5)
    assert Stream.of(generator) != Stream.of(generator)


def test_streams_of_neighbouring_seeds_are_uncorrelated():
    draws = np.array([Stream.of(seed).generator().random(2000) for seed in range(20)])
    correlations = np.corrcoef(draws)[np.triu_indices(20, 1)]
    assert np.abs(correlations).max() < 5 / np.sqrt(2000)


def test_kernel_streams_are_uniform_and_independent():
    key = Stream.of(1).key
    first, second = _kernels.random_uniform(key, 0, 50_000), _kernels.random_uniform(key, 1, 50_000)
    assert 0 <= first.min() and first.max() < 1
    assert abs(first.mean() - 0.5) < 4 * np.sqrt(1 / 12 / 50_000)
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.02
