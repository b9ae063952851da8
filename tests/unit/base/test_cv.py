"""Claims about the one meaning of `cv`."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold

from assay.base import AssayError, AssayWarning
from assay.base.cv import make_folds


def listed(folds):
    return [(train.tolist(), test.tolist()) for train, test in folds]


@pytest.mark.parametrize("n", [10, 23, 57])
@pytest.mark.parametrize("cv", [2, 3, 5, None])
def test_a_number_means_what_it_means_in_scikit_learn(n, cv):
    rng = np.random.default_rng(n)
    numbers, labels = rng.normal(size=n), rng.choice(["z", "a", "m"], size=n, p=[0.5, 0.3, 0.2])
    splits = cv or 5
    assert listed(make_folds("t", cv, numbers)) == listed(KFold(splits).split(numbers))
    if np.unique(labels, return_counts=True)[1].min() >= splits:
        wanted = StratifiedKFold(splits).split(labels, labels)
        assert listed(make_folds("t", cv, labels, stratify=True)) == listed(wanted)


@pytest.mark.parametrize("stratify", [False, True])
def test_equal_rows_stay_in_one_fold_and_weigh_as_repeated_rows(stratify):
    y = np.array(["a", "b"])[np.arange(12) % 2]
    once = make_folds("t", 3, y, stratify=stratify, copies=lambda: np.arange(12))
    again = np.concatenate([np.arange(12), np.arange(12)])
    twice = make_folds("t", 3, y[again], stratify=stratify, copies=lambda: again)
    for (_, test), (train, tested) in zip(once, twice, strict=True):
        assert sorted(set(again[tested])) == test.tolist() and tested.shape[0] == 2 * test.shape[0]
        assert not set(again[train]) & set(again[tested])


def test_a_seed_shuffles_and_the_same_seed_shuffles_alike():
    y = np.arange(40.0)
    one, two, plain = (make_folds("t", 4, y, random_state=seed) for seed in (3, 3, None))
    assert listed(one) == listed(two) != listed(plain)
    assert sorted(np.concatenate([test for _, test in one]).tolist()) == list(range(40))


def test_the_only_row_of_a_class_is_never_tested():
    folds = make_folds("t", 2, np.array(["a", "b", "a", "c", "a", "b"]), stratify=True)
    assert all(3 in train and 3 not in test for train, test in folds)


def test_splitters_and_pairs_count_all_rows_and_speak_of_the_kept():
    kept = np.array([True, False, True, True, False, True])
    y = np.arange(4.0)
    pairs = [([0, 1, 2], [3, 4, 5]), (kept, ~kept), (np.array([3, 5]), np.array([0]))]
    assert listed(make_folds("t", pairs, y, kept=kept)) == [([0, 1], [2, 3]), ([2, 3], [0])]
    splitter = ShuffleSplit(2, random_state=0)
    wanted = [(train, test) for train, test in splitter.split(np.zeros(6))]
    place = np.cumsum(kept) - 1
    ours = make_folds("t", splitter, y, kept=kept)
    kept_tests = [place[test[kept[test]]].tolist() for _, test in wanted if kept[test].any()]
    assert [test.tolist() for _, test in ours] == kept_tests


def test_fewer_distinct_rows_than_folds_make_fewer_folds():
    with pytest.warns(AssayWarning, match="each of these is a fold"):
        assert len(make_folds("t", 5, np.arange(3.0))) == 3


@pytest.mark.parametrize("cv", ["five", [([0], [9])], [([], [0])], [([0], [])], [(0,)], [([0.5, "x"], [1])], [], 3.5])
def test_what_makes_no_folds_is_refused_with_a_sentence(cv):
    with pytest.raises(AssayError, match="cv"):
        make_folds("t", cv, np.arange(4.0))


def test_one_distinct_row_cannot_be_validated():
    with pytest.raises(AssayError, match="at least 2 distinct rows"):
        make_folds("t", 2, np.zeros(5), copies=lambda: np.zeros(5, dtype=int))
