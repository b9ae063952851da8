"""The softmax example of the course: adding a constant to every input changes nothing."""

import numpy as np

from assay.models.linear import LogisticRegression


def test_softmax_of_1_2_3_and_of_101_102_103():
    model = LogisticRegression().fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    model.coef_, model.intercept_ = np.ones((3, 1)), np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(model.predict_proba([[0.0], [100.0]]), [[0.090, 0.245, 0.665]] * 2, atol=5e-4)
    np.testing.assert_allclose(model.predict_proba([[0.0]]), model.predict_proba([[100.0]]), rtol=1e-12)
