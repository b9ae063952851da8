"""Intervals: the usual cuts agree with scikit-learn, the MDL cuts with a plain recursion."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.cluster import KMeans
from sklearn.preprocessing import KBinsDiscretizer

from assay.base import AssayError, DataError
from assay.data import load_dataset
from assay.prepare import Discretise
from assay.prepare.discretise import mdl_cuts


@pytest.mark.parametrize(("method", "strategy"), [("equal-width", "uniform"), ("equal-frequency", "quantile")])
def test_codes_are_those_of_scikit_learn(method, strategy):
    X = np.random.default_rng(0).normal(size=(300, 3))
    extra = {"quantile_method": "linear"} if strategy == "quantile" else {}
    peer = KBinsDiscretizer(4, encode="ordinal", strategy=strategy, subsample=None, **extra).fit(X)
    np.testing.assert_array_equal(Discretise(method=method, n_bins=4).fit_transform(X), peer.transform(X))


def test_k_means_cuts_are_a_fixed_point_of_k_means():
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.normal(0, 1, 80), rng.normal(10, 1, 60), rng.normal(25, 2, 50)])[:, None]
    step = Discretise(method="k-means", n_bins=3).fit(x)
    codes = step.transform(x)[:, 0].astype(int)
    centres = np.array([[x[codes == k].mean()] for k in range(3)])
    again = KMeans(3, init=centres, n_init=1).fit(x)
    np.testing.assert_array_equal(again.labels_, codes)


def _plain_mdl(values, codes):
    """Fayyad and Irani's recursion as in their paper, row by row."""

    def entropy(part):
        _, counts = np.unique(part, return_counts=True)
        share = counts / counts.sum()
        return float(-(share * np.log2(share)).sum()), len(counts)

    order = np.argsort(values, kind="stable")
    v, c = values[order], codes[order]

    def cut(v, c):
        best = None
        for i in range(1, len(v)):
            if v[i] == v[i - 1]:
                continue
            weighted = (i * entropy(c[:i])[0] + (len(v) - i) * entropy(c[i:])[0]) / len(v)
            if best is None or weighted < best[0] - 1e-12:
                best = (weighted, i)
        if best is None:
            return []
        weighted, i = best
        (e, k), (e1, k1), (e2, k2) = entropy(c), entropy(c[:i]), entropy(c[i:])
        delta = np.log2(3**k - 2) - (k * e - k1 * e1 - k2 * e2)
        if e - weighted <= (np.log2(len(v) - 1) + delta) / len(v):
            return []
        return [*cut(v[:i], c[:i]), (v[i - 1] + v[i]) / 2, *cut(v[i:], c[i:])]

    return np.array(cut(v, c))


@pytest.mark.parametrize("seed", range(6))
def test_mdl_cuts_are_those_of_the_plain_recursion(seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 60, size=200).astype(float)
    codes = ((values > 20).astype(int) + (values > 45) + (rng.random(200) < 0.1)) % 3
    np.testing.assert_allclose(mdl_cuts(values, codes), _plain_mdl(values, codes))


def test_iris_petal_width_is_cut_where_it_is_known_to_be():
    """Fayyad and Irani's cuts of iris as printed for R's discretization package: petal width .8 and 1.75."""
    iris = load_dataset("iris")
    step = Discretise(method="mdl").fit(iris.frame.drop("species"), iris.frame["species"].to_list())
    cuts = dict(zip(step.cut_, step.cuts_))
    np.testing.assert_allclose(next(c for n, c in cuts.items() if "petal" in n and "width" in n), [0.8, 1.75])
    np.testing.assert_allclose(next(c for n, c in cuts.items() if "petal" in n and "length" in n), [2.45, 4.75])


def test_a_column_without_information_gets_no_cut():
    rng = np.random.default_rng(0)
    assert mdl_cuts(rng.normal(size=500), rng.integers(0, 2, size=500)).size == 0


def test_labels_and_indicators():
    frame = pl.DataFrame({"a": [0.0, 5.0, None, 10.0], "t": ["x", "y", "z", "w"]})
    words = Discretise(method="equal-width", n_bins=2, output="labels").fit_transform(frame)
    assert words["a"].to_list() == ["< 5", ">= 5", None, ">= 5"] and words["t"].to_list() == ["x", "y", "z", "w"]
    ones = Discretise(method="equal-width", n_bins=2, output="one-hot").fit(frame)
    assert ones.get_feature_names_out().tolist() == ["a < 5", "a >= 5", "t"]
    assert ones.transform(frame)["a >= 5"].to_list() == [0.0, 1.0, None, 1.0]


def test_the_way_back_is_the_middle_of_the_interval():
    X = np.array([[0.0], [4.0], [8.0], [np.nan]])
    step = Discretise(method="equal-width", n_bins=4).fit(X)
    np.testing.assert_array_equal(step.inverse_transform(step.transform(X)), [[2.0], [5.0], [6.0], [np.nan]])
    with pytest.raises(ValueError, match="must be 'codes' for the way back"):
        Discretise(output="labels").fit(X).inverse_transform(X)


def test_new_rows_beyond_the_range_belong_to_the_outer_intervals():
    step = Discretise(method="equal-width", n_bins=2).fit(np.array([[0.0], [1.0]]))
    assert step.transform(np.array([[-100.0], [100.0]])).tolist() == [[0.0], [1.0]]


def test_words_and_refusals():
    step = Discretise(method="equal-width", n_bins=2, columns=["a"]).fit(
        pl.DataFrame({"a": [0.0, 1.0], "b": [1.0, 1.0]})
    )
    assert step.explain() == ["a: cut at 0.5."]
    assert Discretise().fit(np.ones((3, 1))).explain() == ["x0: one interval, no cut."]
    with pytest.raises(ValueError, match="requires y"):
        Discretise(method="mdl").fit(np.ones((3, 1)))
    with pytest.raises(AssayError, match="n_bins"):
        Discretise(n_bins=1).fit(np.ones((3, 1)))


def test_mdl_refuses_a_target_that_is_no_class():
    X = np.arange(6.0)[:, None]
    for y, words in (([0.5, 1.5, 2.5, 3.5, 4.5, 5.5], "must hold classes"), (["a", None, "b", "a", "b", "a"], "row 1")):
        with pytest.raises(DataError, match=words):
            Discretise(method="mdl").fit(X, y)


def test_names_that_are_taken_get_a_mark():
    table = pl.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "a < 2.5": ["x"] * 4})
    out = Discretise(output="one-hot", n_bins=2).fit_transform(table)
    assert out.columns == ["a < 2.5'", "a >= 2.5", "a < 2.5"] and out["a < 2.5'"].to_list() == [1.0, 1.0, 0.0, 0.0]


def test_text_where_fit_saw_numbers_is_refused():
    step = Discretise(n_bins=2).fit(np.array([[1.0], [2.0], [3.0]]))
    with pytest.raises(DataError, match="column 'x0' was"):
        step.transform(np.array([["1"], ["seven"]], dtype=object))
