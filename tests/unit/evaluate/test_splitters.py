"""Bootstrap, leave-p-out, time-aware and nested splitters: what each split holds, and the design it carries."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, LeaveOneOut, LeavePOut, ShuffleSplit, TimeSeriesSplit, cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from assay.base import DataError, DesignError, ParameterError, UsageError
from assay.evaluate import (
    BootstrapSplitter,
    DesignSplitter,
    LeavePOutSplitter,
    NestedSplitter,
    TimeSplitter,
    compare,
    corrected_resampled_t,
)
from assay.evaluate.splitters import foreign_design

RNG = np.random.default_rng(0)


# -- bootstrap ------------------------------------------------------------------------------------------------------
def test_bootstrap_trains_on_n_draws_and_tests_the_rows_never_drawn():
    for train, test in BootstrapSplitter(20, random_state=0).split(range(50)):
        assert train.size == 50 and (np.diff(train) >= 0).all()
        assert sorted({*train.tolist(), *test.tolist()}) == list(range(50))
        assert not set(train) & set(test) and test.size > 0


def test_replicate_r_does_not_depend_on_the_number_of_replicates():
    few, many = (list(BootstrapSplitter(n, random_state=3).split(range(30))) for n in (4, 9))
    assert all((a == c).all() and (b == d).all() for (a, b), (c, d) in zip(few, many))
    other = next(BootstrapSplitter(4, random_state=4).split(range(30)))
    assert other[0].tolist() != few[0][0].tolist()


def test_stratified_bootstrap_keeps_the_class_counts():
    y = np.array([0] * 40 + [1] * 5)
    for train, _ in BootstrapSplitter(20, stratified=True, random_state=0).split(y, y):
        assert np.bincount(y[train]).tolist() == [40, 5]
    plain = [np.bincount(y[train], minlength=2)[1] for train, _ in BootstrapSplitter(20, random_state=0).split(y, y)]
    assert len(set(plain)) > 1
    auto = next(BootstrapSplitter(1, stratified="auto", random_state=0).split(y, y))
    forced = next(BootstrapSplitter(1, stratified=True, random_state=0).split(y, y))
    assert (auto[0] == forced[0]).all()


def test_a_class_of_one_row_is_drawn_once_beside_larger_classes():
    y = np.array(["a", "b", "a", "b", "b", "alone"])
    for train, test in BootstrapSplitter(30, stratified=True, random_state=0).split(y, y):
        assert np.unique(y[train], return_counts=True)[1].tolist() == [2, 1, 3] and 5 not in test


def test_grouped_bootstrap_draws_whole_groups():
    groups = np.repeat(["a", "b", "c", "d"], [1, 2, 3, 4])
    for train, test in BootstrapSplitter(20, random_state=0).split(groups, None, groups):
        assert not set(groups[train]) & set(groups[test])
        drawn = {g: np.count_nonzero(groups[train] == g) / np.count_nonzero(groups == g) for g in "abcd"}
        assert all(times == int(times) for times in drawn.values()) and sum(drawn.values()) == 4


def test_two_rows_always_leave_one_out():
    assert all(test.size == 1 for _, test in BootstrapSplitter(30, random_state=0).split(range(2)))


def test_the_bootstrap_design_is_tested_by_the_corrected_t():
    splitter = BootstrapSplitter(30, random_state=0)
    a, b = 0.8 + 0.02 * RNG.normal(size=(30, 1)), 0.79 + 0.02 * RNG.normal(size=(30, 1))
    comparison = compare({"a": a, "b": b}, splitter.design)
    test = corrected_resampled_t(a, b, n_train=1 - np.exp(-1), n_test=np.exp(-1), df=5)
    assert comparison.pairs[0]["p_value"] == pytest.approx(test.p_value)
    train, held_out = splitter.design.sizes(1000)
    assert held_out == pytest.approx(368, abs=1) and train + held_out == pytest.approx(1000)
    assert splitter.design.kind == "bootstrap" and "36.8 %" in splitter.design.describe()
    splits = splitter.design.splits(np.zeros(40))
    assert [s.rows[0].tolist() for s in splits] == [t.tolist() for t, _ in splitter.split(range(40))]
    assert splitter.design.n_splits(40) == 30
    assert splitter.design.splits(np.zeros(40), random_state=9)[0].rows[0].tolist() != splits[0].rows[0].tolist()


def levels(repetitions: int) -> tuple[float, float]:
    """Rejections under a true null: nearest-mean classifiers of two columns with the same distribution."""
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    rejected = np.zeros(2)
    for r in range(repetitions):
        X = rng.normal(size=(200, 2)) + y[:, None]
        tried = (
            (BootstrapSplitter(30, random_state=r), 1 - np.exp(-1), np.exp(-1)),
            (LeavePOutSplitter(40, n_samples=30, random_state=r), 160, 40),
        )
        for k, (splitter, n_train, n_test) in enumerate(tried):
            scores = np.empty((30, 2))
            for i, (train, test) in enumerate(splitter.split(y)):
                means = [X[train][y[train] == label].mean(axis=0) for label in (0, 1)]
                called = (X[test] > (means[0] + means[1]) / 2) == (means[1] > means[0])
                scores[i] = (called == (y[test] == 1)[:, None]).mean(axis=0)
            rejected[k] += corrected_resampled_t(*scores.T, n_train=n_train, n_test=n_test).reject
    return tuple(rejected / repetitions)


def test_bootstrap_and_leave_p_out_scores_keep_the_level_of_the_corrected_t():
    assert max(levels(60)) <= 0.15


@pytest.mark.slow
def test_bootstrap_and_leave_p_out_scores_keep_the_level_over_many_data_sets():
    assert max(levels(2000)) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000)


# -- leave-p-out ----------------------------------------------------------------------------------------------------
def test_few_sets_are_all_taken_as_scikit_learn_takes_them():
    ours = list(LeavePOutSplitter(2, n_samples=1000).split(range(6)))
    theirs = list(LeavePOut(2).split(np.zeros(6)))
    assert all((a == c).all() and (b == d).all() for (a, b), (c, d) in zip(ours, theirs, strict=True))


def test_many_sets_are_sampled_without_repetition():
    splitter = LeavePOutSplitter(3, n_samples=60, random_state=0)
    tests = [tuple(test) for _, test in splitter.split(range(9))]
    assert len(tests) == len(set(tests)) == splitter.get_n_splits(range(9)) == 60
    assert tests == [tuple(test) for _, test in splitter.split(range(9))]
    counts = np.bincount(np.concatenate(tests), minlength=9)
    assert counts.min() > 8 and counts.max() < 32


def test_leaving_groups_out():
    groups = np.repeat([0, 1, 2, 3], [5, 1, 2, 4])
    splitter = LeavePOutSplitter(2, n_samples=99)
    found = [set(groups[test]) for _, test in splitter.split(groups, None, groups)]
    assert found == [set(pair) for pair in itertools.combinations(range(4), 2)]
    assert splitter.get_n_splits(groups=groups) == 6


def test_the_leave_p_out_design_needs_sizes_and_refuses_single_rows():
    scores = {"a": RNG.normal(size=(100, 1)), "b": RNG.normal(size=(100, 1))}
    with pytest.raises(UsageError, match="n_train and n_test are needed"):
        compare(scores, LeavePOutSplitter(5).design)
    assert compare(scores, LeavePOutSplitter(5).design, n_train=95, n_test=5).procedure == "corrected resampled t test"
    assert LeavePOutSplitter(5).design.sizes(100) == (95.0, 5.0)
    with pytest.raises(DesignError, match="single rows"):
        compare(scores, LeavePOutSplitter(1).design)


# -- time -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "given", [{}, {"gap": 2}, {"test_size": 3}, {"max_train_size": 4}, {"gap": 1, "test_size": 2, "max_train_size": 5}]
)
def test_forward_splits_are_those_of_scikit_learn(given):
    ours = list(TimeSplitter(4, **given).split(range(23)))
    theirs = list(TimeSeriesSplit(4, **given).split(np.zeros(23)))
    assert all((a == c).all() and (b == d).all() for (a, b), (c, d) in zip(ours, theirs, strict=True))


def test_times_order_the_rows_and_keep_equal_times_together():
    times = np.array([3, 1, 2, 1, 3, 2, 4, 4])
    for train, test in TimeSplitter(2).split(times, None, times):
        assert times[train].max() < times[test].min()
    days = np.array(["2026-01-02", "2026-01-01", "2026-01-03"], dtype="datetime64[D]")
    ((train, test),) = TimeSplitter(1, test_size=1).split(days, None, days)
    assert train.tolist() == [0, 1] and test.tolist() == [2]


def test_blocked_splits_keep_gap_and_embargo_on_the_right_sides():
    tested = []
    for train, test in TimeSplitter(5, scheme="blocked", gap=2, embargo=3).split(range(50)):
        before, after = train[train < test[0]], train[train > test[-1]]
        assert before.size == 0 or test[0] - before[-1] == 3
        assert after.size == 0 or after[0] - test[-1] == 4
        tested.extend(test)
    assert tested == list(range(50))


def test_the_time_design_is_refused_with_the_reason():
    design = TimeSplitter(5, gap=1).design
    with pytest.raises(DesignError, match="drift together"):
        compare({"a": RNG.normal(size=(5, 1)), "b": RNG.normal(size=(5, 1))}, design)
    assert "gap 1" in design.describe() and design.sizes(60) == (29.0, 10.0)
    assert [s.rows[1].size for s in design.splits(np.zeros(60), random_state=0)] == [10] * 5


@pytest.mark.parametrize(("scheme", "least"), [("forward", 1), ("blocked", 2)])
def test_the_least_number_of_blocks_is_taken_and_its_design_says_what_trains(scheme, least):
    splitter = TimeSplitter(least, scheme=scheme)
    assert splitter.get_n_splits() == least == len(list(splitter.split(range(8))))
    assert ("before and after it" in splitter.design.describe()) == (scheme == "blocked")
    with pytest.raises(ParameterError, match=f"integer >= {least}"):
        list(TimeSplitter(least - 1, scheme=scheme).split(range(8)))


# -- nested ---------------------------------------------------------------------------------------------------------
def test_inner_splits_stay_within_the_outer_training_rows():
    y = np.arange(40) % 2
    splitter = NestedSplitter("4-fold", "3-fold", random_state=0)
    for k, (train, test, inner) in enumerate(splitter.nested(y, y)):
        assert len(inner) == 3 and not set(train) & set(test)
        for fit, validation in inner:
            assert sorted([*fit, *validation]) == train.tolist()
        asked = [(train[a], train[b]) for a, b in splitter.inner_splitter(k).split(train, y[train])]
        assert all((a == c).all() and (b == d).all() for (a, b), (c, d) in zip(asked, inner, strict=True))
    outer = [test.tolist() for _, test in splitter.split(y, y)]
    assert outer == [test.tolist() for _, test, _ in splitter.nested(y, y)]
    assert splitter.get_n_splits(y) == 4 and splitter.design.kind == "kfold"


def test_inner_splits_of_different_outer_parts_are_drawn_apart():
    splitter = NestedSplitter("5x2", "2-fold", random_state=0)
    firsts = [np.isin(train, inner[0][1]).tolist() for train, _, inner in splitter.nested(range(30))]
    assert len({tuple(first) for first in firsts}) == 10


def test_groups_stay_whole_at_both_levels():
    groups = np.repeat(np.arange(8), 5)
    for train, test, inner in NestedSplitter("4-fold", "3-fold", random_state=0).nested(groups, None, groups):
        assert not set(groups[train]) & set(groups[test])
        assert all(not set(groups[a]) & set(groups[b]) for a, b in inner)


def test_nested_resampling_runs_in_scikit_learn():
    X = RNG.normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 5]}, cv=DesignSplitter("3-fold", random_state=0))
    splitter = NestedSplitter("4-fold", TimeSplitter(2), random_state=0)
    assert cross_val_score(search, X, y, cv=splitter).shape == (4,)
    assert len(next(iter(splitter.nested(X, y)))[2]) == 2


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: list(BootstrapSplitter(0).split(range(5))), ParameterError, "integer >= 1"),
        (lambda: list(BootstrapSplitter(5).split(range(1))), DataError, "at least 2 rows"),
        (lambda: list(BootstrapSplitter(5).split(range(5), range(4))), DataError, "same number of rows"),
        (lambda: list(BootstrapSplitter(5).split(range(3), None, [1, 1, 1])), DataError, "at least 2"),
        (lambda: list(BootstrapSplitter(5, stratified=True).split(range(3))), ParameterError, "needs y"),
        (lambda: list(BootstrapSplitter(5, stratified=True).split(range(2), [0, 1])), DataError, "stratify"),
        (lambda: list(LeavePOutSplitter(5).split(range(5))), DesignError, "less than the 5"),
        (lambda: LeavePOutSplitter(2).get_n_splits(), DataError, "needed to count"),
        (lambda: list(TimeSplitter(5, gap=9).split(range(10))), DesignError, "no training rows"),
        (lambda: list(TimeSplitter(9).split(range(5))), DesignError, "do not fit"),
        (lambda: list(TimeSplitter(3, embargo=1).split(range(9))), ParameterError, "'blocked'"),
        (lambda: list(TimeSplitter(3, scheme="both").split(range(9))), ParameterError, "'forward' or"),
        (lambda: list(TimeSplitter(3, scheme="blocked", test_size=2).split(range(9))), ParameterError, "'forward'"),
        (lambda: list(TimeSplitter(9, scheme="blocked").split(range(5))), DesignError, "got 5"),
        (lambda: list(TimeSplitter(1).split(range(3), None, [1.0, np.nan, 2.0])), DataError, "missing times"),
        (lambda: list(TimeSplitter(1).split(range(3), None, [1, 2])), DataError, "one time for each"),
        (lambda: NestedSplitter("2-fold", "2-fold").inner_splitter(0), ParameterError, "must be an integer"),
        (lambda: list(NestedSplitter(3, "2-fold").split(range(6))), ParameterError, "name of a design"),
    ],
)
def test_bad_input_gets_one_sentence(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_parameters_show():
    assert repr(TimeSplitter(3, gap=1)).startswith("TimeSplitter(n_splits=3, scheme='forward'")
    assert (
        repr(BootstrapSplitter(7, random_state=1))
        == "BootstrapSplitter(n_replicates=7, stratified=False, random_state=1)"
    )


def test_designs_of_splitters_number_their_splits_and_count_the_rows_of_each():
    designs = (BootstrapSplitter(3, random_state=0).design, LeavePOutSplitter(2, n_samples=3).design)
    designs += (TimeSplitter(3).design, foreign_design(ShuffleSplit(3, test_size=0.25, random_state=0)))
    for design in designs:
        splits = design.splits(np.zeros(20), random_state=0)
        assert [(split.repetition, split.fold) for split in splits] == [(0, 0), (1, 0), (2, 0)]
        assert (design.repetitions, design.folds, design.n_splits(20)) == (3, 1, 3) and design.name.endswith("3")
        if design.kind != "bootstrap":
            sizes = np.mean([[part.size for part in split.rows] for split in splits], axis=0)
            assert design.sizes(20) == tuple(sizes)
    out = foreign_design(LeaveOneOut())
    assert "single rows" in out.refusal and out.n_splits(7) == 7 and out.sizes(7) == (6.0, 1.0)
    assert out.name == "LeaveOneOut-1000" and not designs[-1].refusal


def test_a_bootstrap_sample_leaves_out_what_its_design_says():
    splitter = BootstrapSplitter(4000, random_state=1)
    found = np.mean([[np.unique(train).size, test.size] for train, test in splitter.split(range(5))], axis=0)
    # A sample of five that leaves nothing out (5! / 5^5 = 3.8 %) is drawn again.
    assert found == pytest.approx([5 - 5 * 0.8**5 / (1 - 0.0384), 5 * 0.8**5 / (1 - 0.0384)], abs=0.05)
    assert splitter.design.sizes(5) == pytest.approx((5 - 5 * 0.8**5, 5 * 0.8**5))
    assert splitter.design.test_train_ratio == pytest.approx(np.exp(-1) / (1 - np.exp(-1)))
    assert BootstrapSplitter(1).get_n_splits() == 1 == LeavePOutSplitter(1, n_samples=1).get_n_splits(range(2))
    assert BootstrapSplitter(1).design.repetitions == 1 == LeavePOutSplitter(1, n_samples=1).design.repetitions
    assert [test.tolist() for _, test in LeavePOutSplitter(1).split(range(2))] == [[0], [1]]
    ((train, test),) = TimeSplitter(1, max_train_size=1).split(range(2))
    assert (train.tolist(), test.tolist()) == ([0], [1])
    assert [t.tolist() for _, t in TimeSplitter(3, scheme="blocked").split(range(3))] == [[0], [1], [2]]
    with pytest.raises(DesignError, match="at least 2 times"):
        list(TimeSplitter(1, test_size=1).split(range(3), None, [4, 4, 4]))
