"""Impurity importance beside permutation importance, and the warning where they disagree."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.inspection import permutation_importance
from sklearn.metrics import log_loss, mean_absolute_error, roc_auc_score

from assay.base import AssayWarning, ParameterError, Stream
from assay.evaluate import get_metric
from assay.models.trees import CartClassifier, CartRegressor

pytestmark = pytest.mark.filterwarnings("ignore::assay.base.AssayWarning")


def table(n=900, seed=0):
    """A column that matters much, one that matters some, one with a few values and one with many that do not."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "strong": rng.normal(size=n),
            "weak": rng.choice(["a", "b", "c"], n).astype(object),
            "coin": rng.integers(0, 2, n),
            "id": rng.permutation(n).astype(float),
        }
    )
    X.loc[rng.random(n) < 0.1, "strong"] = np.nan
    z = X["strong"].fillna(0).to_numpy() * 2 + (X["weak"] == "a") + rng.normal(size=n)
    return X, np.where(z > 0, "yes", "no"), z


@pytest.fixture(scope="module")
def split():
    X, y, z = table()
    return X[:500], y[:500], z[:500], X[500:], y[500:], z[500:]


def brute(model, V, score, n_repeats, seed):
    """Shuffle, predict every row, score; with the streams that the model uses."""
    base = score(V)
    falls = np.zeros((V.shape[1], n_repeats))
    for j in range(V.shape[1]):
        for r in range(n_repeats):
            order = Stream.of(seed).child(j).child(r).generator().permutation(len(V))
            other = V.copy()
            other.iloc[:, j] = V.iloc[order, j].to_numpy()
            falls[j, r] = base - score(other)
    return falls


def test_falls_are_those_of_shuffling_and_predicting_every_row(split):
    X, y, z, V, v, u = split
    model = CartClassifier().fit(X, y)
    found = model.importance(V, v, n_repeats=3, random_state=5)
    np.testing.assert_allclose(found.falls, brute(model, V, lambda t: model.score(t, v), 3, 5), atol=1e-12)
    assert found.score == model.score(V, v)
    model = CartRegressor(min_samples_leaf=5).fit(X, z)
    found = model.importance(V, u, n_repeats=3, random_state=5)
    np.testing.assert_allclose(found.falls, brute(model, V, lambda t: model.score(t, u), 3, 5), atol=1e-9)
    np.testing.assert_allclose(found.permutation, found.falls.mean(axis=1))
    np.testing.assert_allclose(found.deviation, found.falls.std(axis=1, ddof=1))


def test_importance_is_near_that_of_scikit_learn(split):
    """sklearn.inspection.permutation_importance on the same model; the permutations differ, so the means of 60 may
    differ by four of their standard errors."""
    X, y, _, V, v, _ = split
    model = CartClassifier(max_depth=4).fit(X, y)
    ours = model.importance(V, v, n_repeats=60, random_state=0)
    theirs = permutation_importance(model, V, v, n_repeats=60, random_state=0)
    error = np.sqrt(2 / 60) * theirs.importances_std
    assert (np.abs(ours.permutation - theirs.importances_mean) <= 4 * error).all()
    assert (np.abs(ours.deviation - theirs.importances_std) <= 4 * error).all()


def test_any_metric_can_be_asked(split):
    X, y, z, V, v, u = split
    model = CartClassifier(max_depth=4).fit(X, y)
    auc = lambda t: roc_auc_score(v == "yes", model.predict_proba(t)[:, 1])  # noqa: E731
    loss = lambda t: -log_loss(v, model.predict_proba(t))  # noqa: E731
    scorer = lambda model, X, y: float(np.mean(model.predict(X) == y))  # noqa: E731
    for scoring, score in (("roc_auc", auc), ("neg_log_loss", loss), (get_metric("log_loss"), loss), (scorer, None)):
        found = model.importance(V, v, scoring=scoring, n_repeats=2, random_state=1)
        expected = brute(model, V, score or (lambda t: model.score(t, v)), 2, 1)
        np.testing.assert_allclose(found.falls, expected, atol=1e-9)
    model = CartRegressor(max_depth=4).fit(X, z)
    found = model.importance(V, u, scoring="neg_mean_absolute_error", n_repeats=2, random_state=1)
    np.testing.assert_allclose(found.falls, brute(model, V, lambda t: -mean_absolute_error(u, model.predict(t)), 2, 1))
    assert found.scoring == "neg_mean_absolute_error"
    both = CartRegressor(max_depth=4).fit(X, np.column_stack([z, -z]))
    np.testing.assert_allclose(
        both.importance(V, np.column_stack([u, -u]), n_repeats=2, random_state=1).falls,
        model.importance(V, u, n_repeats=2, random_state=1).falls,
        atol=1e-9,
    )


def test_weights_count_rows(split):
    X, y, _, V, v, _ = split
    model = CartClassifier().fit(X, y)
    weights = np.where(v == "yes", 3.0, 1.0)
    for scoring in (None, "accuracy"):
        found = model.importance(V, v, scoring=scoring, sample_weight=weights, n_repeats=2, random_state=0)
        assert found.score == pytest.approx(model.score(V, v, sample_weight=weights))
        assert found.score != pytest.approx(model.score(V, v))


def test_a_column_depends_on_the_seed_alone_and_not_on_other_columns(split):
    X, y, _, V, v, _ = split
    model = CartClassifier().fit(X, y)
    first, again = (model.importance(V, v, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.falls, again.falls)
    np.testing.assert_array_equal(first.low, again.low)
    assert (model.importance(V, v, random_state=4).falls != first.falls).any()
    threads = CartClassifier(n_jobs=2).fit(X, y).importance(V, v, random_state=3)
    np.testing.assert_array_equal(first.falls, threads.falls)


def test_columns_that_no_path_tests_are_worth_exactly_nothing(split):
    X, y, _, V, v, _ = split
    model = CartClassifier(max_depth=1).fit(X, y)
    found = model.importance(V, v)
    assert found.permutation[0] > 0.1
    for name in ("permutation", "deviation", "low", "high", "impurity"):
        assert not getattr(found, name)[1:].any()
    assert np.isnan(found.kendall) and found.to_dict()["kendall"] is None


def test_an_identifier_is_told_apart_with_a_warning(split):
    X, y, _, V, v, _ = split
    model = CartClassifier().fit(X, y)
    with pytest.warns(AssayWarning, match="'id' has .*% of the impurity importance") as caught:
        found = model.importance(V, v, random_state=0, n_repeats=20)
    assert [w.message.code for w in caught] == ["W161"]
    assert caught[0].filename == __file__
    assert found.doubtful[3] and not found.doubtful[0]
    assert found.impurity[3] > 0.05 and found.low[3] <= 0 < found.low[0]


def test_a_sound_tree_brings_no_warning(split):
    X, y, _, V, v, _ = split
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = CartClassifier(max_depth=2).fit(X[["strong"]], y).importance(V[["strong"]], v, random_state=0)
    assert not found.doubtful.any()


def test_intervals_hold_what_other_rows_say():
    """Of 40 draws of held-out rows, about 95% of the intervals hold the importance on very many rows."""
    X, y, _ = table(20_400, 7)
    model = CartClassifier(max_depth=5).fit(X[:400], y[:400])
    truth = model.importance(X[400:], y[400:], random_state=0).permutation[0]
    held = 0
    for k in range(40):
        rows = slice(400 + 500 * k, 900 + 500 * k)
        found = model.importance(X[rows], y[rows], random_state=k)
        held += found.low[0] <= truth <= found.high[0]
    assert 34 <= held <= 40


def test_level_and_repeats_matter(split):
    X, y, _, V, v, _ = split
    model = CartClassifier().fit(X, y)
    wide = model.importance(V, v, random_state=0, level=0.99)
    narrow = model.importance(V, v, random_state=0, level=0.5)
    assert (wide.high - wide.low > narrow.high - narrow.low).all()
    assert model.importance(V, v, n_repeats=1).falls.shape == (4, 1)
    assert np.isnan(model.importance(V[:4], v[:4]).low).all()
    for bad in ({"n_repeats": 0}, {"level": 1.0}, {"scoring": "no such"}):
        with pytest.raises(ParameterError, match=next(iter(bad))):
            model.importance(V, v, **bad)


def test_ranks_are_compared_over_the_columns_of_the_tree(split):
    X, y, _, V, v, _ = split
    found = CartClassifier().fit(X, y).importance(V, v, random_state=0)
    assert found.spearman == pytest.approx(stats.spearmanr(found.impurity, found.permutation).statistic)
    assert found.kendall == pytest.approx(stats.kendalltau(found.impurity, found.permutation).statistic)


def test_text_and_html_show_every_column_and_escape_names():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(200, 2)), columns=["<script>alert(1)</script>", "b\x1b[31m"])
    y = (X.iloc[:, 0] > 0).astype(int)
    found = CartClassifier().fit(X[:100], y[:100]).importance(X[100:], y[100:], random_state=0)
    text, html = str(found), found._repr_html_()
    assert "\x1b" not in text and text.splitlines()[0].split()[:2] == ["impurity", "permutation"]
    assert "<script>" not in html and "&lt;script&gt;" in html and html.count("<tr>") == 3
    assert found.to_dict()["columns"][0]["name"] == X.columns[0]
    assert next(found.names[j] for j in found.order) == X.columns[0]
