import numpy as np
import pytest

from assay.models.baselines import ZeroRClassifier, ZeroRRegressor
from assay.models.baselines.zero_r import weighted_median


def test_predicts_the_heaviest_class():
    model = ZeroRClassifier().fit(np.zeros((3, 2)), ["a", "b", "b"], sample_weight=[5, 1, 1])
    assert model.predict(np.ones((2, 2))).tolist() == ["a", "a"]
    np.testing.assert_allclose(model.class_prior_, [5 / 7, 2 / 7])


def test_columns_may_hold_anything():
    X = np.array([["x", None], [1, {}], ["y", []]], dtype=object)
    assert ZeroRClassifier().fit(X, [0, 1, 1]).predict(X).tolist() == [1, 1, 1]


@pytest.mark.parametrize(("strategy", "expected"), [("mean", 4.0), ("median", 2.0)])
def test_strategy_chooses_mean_or_median(strategy, expected):
    assert ZeroRRegressor(strategy=strategy).fit(np.zeros((3, 1)), [1, 2, 9]).constant_ == expected


def test_weighted_median_equals_the_median_of_repeated_rows():
    rng = np.random.default_rng(0)
    for _ in range(50):
        values, weights = rng.normal(size=9).round(1), rng.integers(1, 4, size=9)
        assert weighted_median(values, weights.astype(float)) == pytest.approx(np.median(np.repeat(values, weights)))
