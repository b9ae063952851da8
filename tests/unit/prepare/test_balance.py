"""Classes are evened out in training only, the same way for the same seed."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight

from assay.base import AssayError
from assay.prepare import Balance, class_weights

needs_imblearn = pytest.mark.skipif(find_spec("imblearn") is None, reason="imbalanced-learn is optional")
SMOTE_TOO = pytest.param("smote", marks=needs_imblearn)

Y = np.array(["a"] * 30 + ["b"] * 10 + ["c"] * 4)
X = np.random.default_rng(0).normal(size=(44, 3)) + (Y == "b")[:, None]


def counts(y):
    return dict(zip(*(part.tolist() for part in np.unique(y, return_counts=True))))


def test_weights_agree_with_scikit_learn():
    expected = compute_class_weight("balanced", classes=np.unique(Y), y=Y)
    assert list(class_weights(Y).values()) == pytest.approx(expected) and list(class_weights(Y)) == ["a", "b", "c"]
    step = Balance().fit(X, Y)
    np.testing.assert_allclose(step.sample_weight(Y), compute_sample_weight("balanced", Y))
    assert step.sample_weight(["new"]).tolist() == [0.0]
    rows, target = step.fit_resample(X, Y)
    np.testing.assert_array_equal(rows, X)
    np.testing.assert_array_equal(target, Y)


@pytest.mark.parametrize(
    ("strategy", "size"), [("down", 4), ("over", 30), pytest.param("smote", 30, marks=needs_imblearn)]
)
def test_every_class_gets_the_same_size(strategy, size):
    step = Balance(strategy=strategy, random_state=0)
    rows, target = step.fit_resample(X, Y)
    assert counts(target) == {"a": size, "b": size, "c": size} and len(rows) == 3 * size
    np.testing.assert_array_equal(step.transform(X), X)
    if strategy != "down":
        np.testing.assert_array_equal(rows[:44], X)


def test_down_and_over_only_take_rows_that_are_there():
    for strategy in ("down", "over"):
        step = Balance(strategy=strategy, random_state=3)
        rows, target = step.fit_resample(X, Y)
        np.testing.assert_array_equal(rows, X[step.sample_indices_])
        np.testing.assert_array_equal(target, Y[step.sample_indices_])
    assert len(set(Balance(strategy="down", random_state=3).fit_resample(X, Y)[0][:, 0])) == 12, "without repetition"


@pytest.mark.parametrize("strategy", ["down", "over", SMOTE_TOO])
def test_the_seed_decides(strategy):
    first, again, other = (Balance(strategy=strategy, random_state=s).fit_resample(X, Y)[0] for s in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@needs_imblearn
def test_new_rows_lie_between_rows_of_their_class():
    rows, target = Balance(strategy="smote", random_state=0).fit_resample(X, Y)
    new = rows[44:][target[44:] == "c"]
    old = X[Y == "c"]
    for row in new:
        gaps = np.linalg.norm(old - row, axis=1)
        pairs = [gaps[i] + gaps[j] - np.linalg.norm(old[i] - old[j]) for i in range(4) for j in range(i)]
        assert min(pairs) < 1e-9
    from imblearn.over_sampling import SMOTE

    step = Balance(strategy="smote", random_state=0)
    seed = int(step._stream().generator().integers(2**31 - 1))
    np.testing.assert_array_equal(rows, SMOTE(random_state=seed, k_neighbors=3).fit_resample(X, Y)[0])


@needs_imblearn
def test_smote_gives_labels_the_label_of_neighbours():
    frame = pl.DataFrame({"x": X[:, 0], "plan": np.where(Y == "c", "gold", "tin"), "ok": Y == "a"})
    rows, target = Balance(strategy="smote", random_state=0).fit_resample(frame, Y)
    assert rows.schema == frame.schema and set(rows.filter(target == "c")["plan"]) == {"gold"}
    labels, _ = Balance(strategy="smote", random_state=0).fit_resample(frame.select("plan"), Y)
    assert labels.height == 90
    pandas, series = Balance(strategy="smote", random_state=0).fit_resample(frame.to_pandas(), pd.Series(Y, name="y"))
    assert list(pandas.index) == list(range(90)) and series.name == "y" and len(series) == 90


@needs_imblearn
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda X, y: (np.where(X > 2, np.nan, X), y), "must hold numbers or labels without missing cells"),
        (lambda X, y: (X[:41], y[:41]), "two rows of every class .* class 'c' has one"),
        (lambda X, y: (X, X[:, 0]), "y must hold classes"),
        (lambda X, y: (X, np.where(y == "a", None, y)), "must not hold missing labels"),
    ],
)
def test_what_smote_cannot_use_is_refused(change, words):
    with pytest.raises(AssayError, match=words):
        Balance(strategy="smote").fit_resample(*change(X, Y))


def test_smote_without_its_package_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "imblearn.over_sampling", None)
    with pytest.raises(AssayError, match=r"needs the package imbalanced-learn; pip install assay\[balance\]"):
        Balance(strategy="smote").fit_resample(X, Y)


def test_words_and_integer_classes():
    assert Balance(strategy="over").fit(X, Y).explain() == [
        "Classes a (30), b (10), c (4): training rows are repeated at random until every class has 30."
    ]
    assert class_weights([0, 0, 1]) == {0: 0.75, 1: 1.5}
    with pytest.raises(AssayError, match="must have at least one row"):
        class_weights([])
