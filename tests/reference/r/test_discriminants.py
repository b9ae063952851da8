"""LDA and QDA against R's MASS on the wine table (see make_discriminants.R), and leave-one-out against its CV = TRUE.

`method = "mle"` divides by the number of rows; R's lda with CV = TRUE keeps the priors of all rows.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine

from assay.models.bayes import LDA, QDA, RDA
from assay.numeric.class_scatter import ClassScatter

TOLD = json.loads((Path(__file__).parent / "discriminants.json").read_text())
X, y = load_wine(return_X_y=True)


@pytest.mark.parametrize("name", ["lda", "lda equal", "lda mle", "qda", "qda equal", "qda mle"])
def test_posteriors_equal_those_of_mass(name):
    method, *option = name.split()
    model = {"lda": LDA, "qda": QDA}[method](
        priors="equal" if option == ["equal"] else None, unbiased=option != ["mle"]
    ).fit(X, y)
    # MASS takes the smallest posteriors from differences of large numbers.
    np.testing.assert_allclose(model.predict_proba(X[TOLD["rows"]]), TOLD[name], rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize(("place", "corner"), [(0, {"alpha": 0.0, "beta": 1.0}), (1, {"alpha": 0.0, "beta": 0.0})])
def test_leave_one_out_of_rda_at_its_corners_equals_that_of_mass(place, corner):
    shares = np.bincount(y) / len(y)
    model = RDA(**corner, priors=shares).fit(X, y)
    sums = ClassScatter.of(X, y.astype(np.int32), 3, None, kind="full")
    error = model._left_out(sums, lambda: (X, y, None), corner["beta"], np.zeros(1))[0]
    assert error == pytest.approx(TOLD["squared error of leave-one-out"][place], rel=1e-6)
