"""Designs and their splits."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from assay.base import AssayWarning, DataError, DesignError, ParameterError
from assay.evaluate import Design, DesignSplitter, make_design
from assay.evaluate.resampling import Split, rows_of, stratified_assignment

NAMES = ["5x2", "10-fold", "5-fold", "3x4", "10x10"]
Y = np.array(["a"] * 37 + ["b"] * 21 + ["c"] * 13)


@pytest.mark.parametrize(
    ("name", "kind", "repetitions", "folds"),
    [
        ("5x2", "5x2", 5, 2),
        ("10-fold", "kfold", 1, 10),
        ("1x10", "kfold", 1, 10),
        ("10x10", "repeated", 10, 10),
        ("10x2", "repeated", 10, 2),
        ("holdout", "holdout", 1, 1),
        ("leave-one-out", "leave-one-out", 1, None),
    ],
)
def test_a_name_says_the_design(name, kind, repetitions, folds):
    design = make_design(name)
    assert (design.kind, design.repetitions, design.folds) == (kind, repetitions, folds)
    assert design.describe() and make_design(design) is design


@pytest.mark.parametrize("name", ["", "fold", "0x2", "5x1", "1-fold", "5x2x3", "bootstrap"])
def test_an_unknown_design_is_refused_in_one_sentence(name):
    with pytest.raises(DesignError) as error:
        make_design(name)
    assert str(error.value).count(".") <= 2 and "\n" not in str(error.value)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("stratified", [True, False])
def test_the_folds_of_a_repetition_partition_the_rows(name, stratified):
    design = make_design(name)
    splits = design.splits(Y, stratified, random_state=3)
    assert len(splits) == design.n_splits(Y.size) == design.repetitions * design.folds
    for repetition in range(design.repetitions):
        parts = [s for s in splits if s.repetition == repetition]
        assert [s.fold for s in parts] == list(range(design.folds))
        assert np.array_equal(np.sort(np.concatenate([s.test for s in parts])), np.arange(Y.size))
        for split in parts:
            train, test = split.rows
            assert np.array_equal(np.union1d(train, test), np.arange(Y.size)) and not np.intersect1d(train, test).size


@pytest.mark.parametrize("name", NAMES)
def test_stratified_folds_keep_class_counts_and_sizes_within_one_row(name):
    for repetition in range(make_design(name).repetitions):
        parts = [s for s in make_design(name).splits(Y, True, 0) if s.repetition == repetition]
        sizes = [s.test.size for s in parts]
        assert max(sizes) - min(sizes) <= 1
        for label in "abc":
            counts = [(Y[s.test] == label).sum() for s in parts]
            assert max(counts) - min(counts) <= 1


def test_unstratified_folds_differ_in_size_by_at_most_one():
    sizes = [s.test.size for s in make_design("7-fold").splits(np.linspace(0, 1, 40), False, 0)]
    assert sorted(sizes) == [5, 5, 6, 6, 6, 6, 6]


def test_the_same_seed_gives_the_same_splits_and_repetitions_have_their_own_stream():
    def folds(name, seed):
        return [s.test.tolist() for s in make_design(name).splits(Y, True, seed)]

    assert folds("5x2", 1) == folds("5x2", 1) != folds("5x2", 2)
    assert folds("5x2", 1) == folds("10x2", 1)[:10]
    assert len({tuple(f) for f in folds("5x2", 1)}) == 10


def test_labels_decide_strata_not_their_spelling():
    as_text = [s.test.tolist() for s in make_design("5-fold").splits(Y, True, 4)]
    as_codes = [s.test.tolist() for s in make_design("5-fold").splits(np.unique(Y, return_inverse=True)[1], True, 4)]
    as_list = [s.test.tolist() for s in make_design("5-fold").splits(Y.tolist(), True, 4)]
    assert as_text == as_codes == as_list


def test_every_row_is_equally_likely_in_every_fold():
    counts = np.zeros((9, 3))
    for seed in range(1500):
        for split in make_design("3-fold").splits([0] * 5 + [1] * 4, True, seed):
            counts[split.test, split.fold] += 1
    # 1500 draws at 1/3 have a standard deviation of 18; five of them for 27 cells.
    assert np.abs(counts - 500).max() < 92


def test_a_class_with_fewer_rows_than_folds_is_warned_of_and_still_split():
    y = np.array(["common"] * 20 + ["rare"] * 3 + ["lonely"])
    with pytest.warns(AssayWarning, match=r"\[W401\].*'lonely' \(1\), 'rare' \(3\).*one row") as caught:
        splits = make_design("3x5").splits(y, True, 0)
    assert len(caught) == 1
    assert max((y[s.test] == "rare").sum() for s in splits) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_design("3x5").splits(y, False, 0)


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5, 0.9])
def test_holdout_keeps_its_share_and_the_class_shares_within_one_row(share):
    for seed in range(20):
        (split,) = make_design("holdout", test_share=share).splits(Y, True, seed)
        assert split.test.size == round(share * Y.size)
        assert split.train.size + split.test.size == Y.size
        for label in "abc":
            assert abs((Y[split.test] == label).sum() - share * {"a": 37, "b": 21, "c": 13}[label]) <= 1


def test_holdout_share_comes_from_the_name_or_the_argument():
    assert make_design("holdout-0.3").test_share == 0.3 and make_design("holdout").test_share == 0.25
    with pytest.raises(ParameterError):
        make_design("holdout", test_share=1.5)
    with pytest.raises(ParameterError):
        make_design("5x2", test_share=0.5)


def test_leave_one_out_tests_each_row_alone():
    splits = make_design("leave-one-out").splits(np.arange(6.0), False)
    assert [s.test.tolist() for s in splits] == [[i] for i in range(6)]
    assert all(s.train.size == 5 for s in splits)
    assert splits[0]._assignment is splits[5]._assignment


@pytest.mark.parametrize("name", ["5x2", "4-fold", "holdout"])
@pytest.mark.parametrize("stratified", [True, False])
def test_groups_stay_whole(name, stratified):
    rng = np.random.default_rng(0)
    groups, y = rng.integers(0, 15, 200), rng.integers(0, 2, 200)
    for split in make_design(name).splits(y, stratified, 0, groups=groups):
        assert not np.intersect1d(groups[split.train], groups[split.test]).size
        assert split.test.size and split.train.size


def test_grouped_folds_are_balanced_in_rows_and_classes():
    rng = np.random.default_rng(1)
    groups, y = rng.integers(0, 60, 600), rng.integers(0, 3, 600)
    splits = make_design("5-fold").splits(y, True, 0, groups=groups)
    assert max(abs(s.test.size - 120) for s in splits) <= 12
    assert max(abs((y[s.test] == 0).sum() - (y == 0).sum() / 5) for s in splits) <= 12


def test_every_fold_gets_a_group_even_if_one_group_is_huge():
    groups = np.array([0] * 90 + [1, 2, 3])
    assert all(s.test.size for s in make_design("4-fold").splits(np.zeros(93), False, 0, groups=groups))


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: make_design("5-fold").splits([0, 1, 0], True, 0), DesignError),
        (lambda: make_design("holdout").splits([0], True, 0), DesignError),
        (lambda: make_design("5-fold").splits(np.zeros(20), False, 0, groups=[0, 1] * 10), DesignError),
        (lambda: make_design("5-fold").splits(np.zeros(20), False, 0, groups=[0, 1]), DataError),
        (lambda: make_design("leave-one-out").splits(np.zeros(4), False, 0, groups=[0, 1, 2, 3]), DesignError),
        (lambda: make_design("2-fold").splits(np.zeros((4, 2)), True, 0), DataError),
    ],
)
def test_impossible_splits_are_refused(call, error):
    with pytest.raises(error, match=r"^make_design: "):
        call()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("holdout", "one split that holds out 25 % of the rows for testing"),
        ("holdout-0.3", "one split that holds out 30 % of the rows for testing"),
        ("5-fold", "5-fold cross-validation: every row is tested once"),
        ("2x5", "2 repetitions of 5-fold cross-validation: every row is tested 2 times"),
    ],
)
def test_a_design_in_words(name, words):
    assert make_design(name).describe() == words


def test_a_holdout_without_a_share_takes_a_quarter():
    design = Design("mine", "holdout", 1, 1)
    assert design.sizes(40) == (30.0, 10.0) and "25 %" in design.describe()
    assert design.splits(np.zeros(40), False, 0)[0].test.size == 10


@pytest.mark.parametrize(("name", "rows"), [("5-fold", 5), ("3x4", 4), ("holdout", 2), ("leave-one-out", 2)])
def test_as_many_rows_as_folds_are_enough_and_one_fewer_is_not(name, rows):
    splits = make_design(name).splits(np.zeros(rows), False, 0)
    assert all(s.test.size == 1 for s in splits if rows == make_design(name).folds)
    with pytest.raises(DesignError, match=f"needs at least {rows} rows"):
        make_design(name).splits(np.zeros(rows - 1), False, 0)


@pytest.mark.parametrize(("rows", "share", "tested"), [(10, 0.01, 1), (2, 0.9, 1), (10, 0.99, 9), (10, 0.26, 3)])
def test_holdout_keeps_a_row_on_each_side(rows, share, tested):
    (split,) = make_design("holdout", test_share=share).splits(np.zeros(rows), False, 0)
    assert (split.test.size, split.train.size) == (tested, rows - tested)


@pytest.mark.parametrize(("share", "tested"), [(None, 15), (0.2, 12), (0.5, 30), (0.9, 30)])
def test_holdout_of_whole_groups_takes_the_nearest_whole_part(share, tested):
    """Sixty groups of a row each: one part of four, five and two, and never more than half."""
    (split,) = make_design("holdout", test_share=share).splits(np.zeros(60), False, 0, groups=np.arange(60))
    assert split.test.size == tested


def test_as_many_groups_as_folds_are_enough():
    groups = np.repeat(np.arange(4), 3)
    assert [s.test.size for s in make_design("4-fold").splits(np.zeros(12), False, 0, groups=groups)] == [3] * 4
    with pytest.raises(DesignError, match="needs at least 5 groups.*got 4"):
        make_design("5-fold").splits(np.zeros(12), False, 0, groups=groups)


def test_the_largest_groups_are_dealt_first_each_to_the_fold_that_holds_least():
    """Sizes 8 | 7, then 6 to the 7, 5 to the 8, and 4 to either of 13 (longest processing time first)."""
    groups = np.repeat(np.arange(5), [8, 7, 6, 5, 4])
    for seed in range(6):
        splits = make_design("2-fold").splits(np.zeros(30), False, seed, groups=groups)
        assert sorted(s.test.size for s in splits) == [13, 17]


def test_groups_of_one_class_go_where_that_class_is_lacking():
    """Two groups of each class and two folds: each fold gets one of each, though sizes would say otherwise."""
    y = np.repeat([0, 1, 0, 1], [10, 9, 4, 3])
    groups = np.repeat(np.arange(4), [10, 9, 4, 3])
    for seed in range(6):
        for split in make_design("2-fold").splits(y, True, seed, groups=groups):
            assert sorted(np.unique(y[split.test])) == [0, 1]


def test_many_small_classes_are_counted_and_the_first_three_named():
    y = np.array(["common"] * 20 + ["u", "u", "v", "v", "w", "w", "x", "x"])
    with pytest.warns(AssayWarning, match=r"classes 'u' \(2\), 'v' \(2\), 'w' \(2\) and 1 more have fewer") as caught:
        make_design("3-fold").splits(y, True, 0)
    assert "one row" not in str(caught[0].message)
    with pytest.warns(AssayWarning, match=r"'w' \(2\) have fewer"):
        make_design("3-fold").splits(y[:-2], True, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make_design("2-fold").splits(y, True, 0)


def test_the_count_of_splits_needs_the_rows_for_leave_one_out_alone():
    assert DesignSplitter("3x4").get_n_splits() == 12
    assert DesignSplitter("leave-one-out").get_n_splits(np.zeros((7, 2))) == 7
    with pytest.raises(DataError, match="is needed to count"):
        DesignSplitter("leave-one-out").get_n_splits()


def test_sizes_are_those_of_the_splits():
    for name in ("5x2", "10-fold", "holdout", "leave-one-out"):
        design = make_design(name)
        splits = design.splits(Y, False, 0)
        assert design.sizes(Y.size) == pytest.approx(
            (np.mean([s.train.size for s in splits]), np.mean([s.test.size for s in splits]))
        )


def test_the_splitter_serves_scikit_learn():
    X, y = load_iris(return_X_y=True)
    splitter = DesignSplitter("3x4", random_state=0)
    assert splitter.get_n_splits(X, y) == 12
    scores = cross_val_score(KNeighborsClassifier(), X, y, cv=splitter)
    assert scores.shape == (12,) and scores.mean() > 0.9
    assert GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 5]}, cv=splitter).fit(X, y).n_splits_ == 12
    same = make_design("3x4").splits(y, True, 0)
    for (train, test), split in zip(splitter.split(X, y), same, strict=True):
        assert np.array_equal(train, split.train) and np.array_equal(test, split.test)


def test_the_splitter_stratifies_classes_and_shuffles_numbers():
    numbers = DesignSplitter("5-fold", random_state=0)
    target = np.linspace(0, 1, 23)
    assert sum(test.size for _, test in numbers.split(np.zeros((23, 1)), target)) == 23
    counts = [(Y[test] == "c").sum() for _, test in numbers.split(np.zeros((Y.size, 1)), Y)]
    assert max(counts) - min(counts) <= 1
    with pytest.raises(DataError):
        list(numbers.split(np.zeros((5, 1)), Y))
    with pytest.raises(DataError):
        DesignSplitter("leave-one-out").get_n_splits()


@pytest.mark.parametrize("name", ["5x2", "10-fold", "holdout", "leave-one-out", "3x4"])
def test_rows_of_many_splits_are_those_of_each(name):
    splits = make_design(name).splits(np.arange(41) % 3, name != "leave-one-out", 4)
    for split, (train, test) in zip(splits, rows_of(splits), strict=True):
        np.testing.assert_array_equal(train, split.train)
        np.testing.assert_array_equal(test, split.test)
        assert train.dtype == test.dtype == np.int64
    assert rows_of([]) == []


@pytest.mark.parametrize("classes", [1, 3])
def test_rows_are_dealt_in_turn_in_the_order_of_their_classes(classes):
    codes = np.random.default_rng(3).integers(classes, size=101)
    dealt = stratified_assignment(codes, 4, np.random.default_rng(5))
    generator = np.random.default_rng(5)
    shuffled = generator.permutation(101)
    order = shuffled[np.argsort(codes[shuffled], kind="stable")]
    turn = generator.permutation(4)
    np.testing.assert_array_equal(dealt[order], turn[np.arange(101) % 4])


def test_rows_of_some_splits_are_those_of_each():
    for splits in (make_design("3x4").splits(np.arange(30) % 3, True, 0), make_design("loo").splits(range(9), False)):
        some = splits[1::2]
        for split, (train, test) in zip(some, rows_of(some), strict=True):
            np.testing.assert_array_equal(train, split.train)
            np.testing.assert_array_equal(test, split.test)


def test_classes_are_kept_in_proportion_where_asked_for_or_where_the_target_looks_like_them():
    y = np.repeat(["a", "b"], [16, 4])
    kept = {
        how: [
            np.count_nonzero(y[test] == "b")
            for _, test in DesignSplitter("4-fold", stratified=how, random_state=3).split(y, y)
        ]
        for how in (True, "auto", False)
    }
    assert kept[True] == kept["auto"] == [1] * 4 != kept[False]
    values = np.random.default_rng(0).normal(size=20)
    apart = [
        [test.tolist() for _, test in DesignSplitter("4-fold", stratified=how, random_state=3).split(values, values)]
        for how in ("auto", False)
    ]
    assert apart[0] == apart[1] and DesignSplitter("4-fold").get_n_splits() == 4
    with pytest.raises(DataError, match="is needed to count"):
        DesignSplitter("leave-one-out").get_n_splits()
    assert DesignSplitter("leave-one-out").get_n_splits(y) == 20


def test_rows_of_splits_do_not_depend_on_how_the_folds_are_kept():
    dealt = np.array([0, 1, 2, 0, 1, 2, 0], dtype=np.int32)
    for assignment in (dealt, dealt.astype(np.int64), dealt[::-1]):
        splits = [Split(0, k, assignment=assignment) for k in range(3)]
        for (train, test), split in zip(rows_of(splits), splits, strict=True):
            assert test.tolist() == np.flatnonzero(assignment == split.fold).tolist()
            assert train.tolist() == np.flatnonzero(assignment != split.fold).tolist()
