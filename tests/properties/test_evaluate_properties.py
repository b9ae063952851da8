"""What must hold for all scores, labels and designs."""

from __future__ import annotations

import json
import warnings

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from assay.evaluate import METRICS, compare, five_by_two_f, holm, make_design, score_many
from tests.helpers import examples

SCORE = st.integers(0, 20).map(lambda k: k / 20)
SCORES = arrays.arrays(np.float64, (5, 2), elements=SCORE)
LABELS = st.lists(st.integers(0, 4), min_size=10, max_size=60)


@given(SCORES, SCORES)
def test_the_combined_f_decides_the_same_by_p_and_by_interval(a, b):
    result = five_by_two_f(a, b)
    assert 0 <= result.p_value <= 1 and result.reject == (result.p_value < 0.05)
    agree = dict(result.assumptions)["the repetitions agree as well as their halves do"]
    if agree:
        # At the edge itself rounding decides.
        assert result.reject == (not result.interval[0] <= 0 <= result.interval[1]) or abs(result.p_value - 0.05) < 1e-9
    json.dumps(result.to_dict(), allow_nan=False)


@settings(max_examples=examples(50))
@given(st.dictionaries(st.text(min_size=1, max_size=5), SCORES, min_size=1, max_size=6), st.booleans())
def test_a_comparison_is_coherent(scores, greater_is_better):
    comparison = compare(scores, "5x2", greater_is_better=greater_is_better, pairs="all")
    means = {name: values.mean() for name, values in scores.items()}
    assert means[comparison.best] == (max if greater_is_better else min)(means.values())
    assert comparison.best in comparison.groups[0] and comparison.recommendation["id"] in comparison.not_worse
    assert sorted({name for group in comparison.groups for name in group}) == sorted(scores)
    for pair in comparison.pairs:
        shared = set(comparison.summary[pair["a"]]["group"]) & set(comparison.summary[pair["b"]]["group"])
        assert bool(shared) is not pair["reject"]
    json.dumps(comparison.to_dict(), allow_nan=False)


@given(LABELS, st.sampled_from(["2-fold", "5-fold", "2x3", "5x2"]), st.integers(0, 1000))
def test_stratified_folds_differ_by_at_most_one_row_of_any_class(labels, name, seed):
    y = np.array(labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        splits = make_design(name).splits(y, True, seed)
    for label in np.unique(y):
        counts = [(y[split.test] == label).sum() for split in splits]
        assert max(counts) - min(counts) <= 1
    sizes = [split.test.size for split in splits]
    assert max(sizes) - min(sizes) <= 1


@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_is_monotone_and_never_below_the_raw_value(p_values):
    adjusted = holm(p_values)
    assert (adjusted >= np.array(p_values) - 1e-15).all() and (adjusted <= 1).all()
    order = np.argsort(p_values, kind="stable")
    assert (np.diff(adjusted[order]) >= 0).all()


@given(LABELS, st.randoms(use_true_random=False), st.permutations(range(5)))
def test_label_metrics_do_not_depend_on_row_order_or_on_the_names_of_classes(labels, random, renamed):
    names = [
        n for n, m in METRICS.items() if m.needs == "labels" and n.endswith(("macro", "micro", "weighted", "curacy"))
    ]
    y = np.array(labels)
    predicted = y.copy()
    random.shuffle(predicted)
    rows = np.random.default_rng(0).permutation(y.size)
    first = score_many(names, y, labels=predicted)
    again = score_many(names, np.array(renamed)[y[rows]], labels=np.array(renamed)[predicted[rows]])
    assert all(abs(first[name] - again[name]) < 1e-12 for name in names)
    assert all(METRICS[n].bounds[0] <= v <= METRICS[n].bounds[1] + 1e-12 for n, v in first.items())
