"""All importances side by side."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from assay.base.errors import DataError
from assay.explain import Explanation, agreement_of, importances
from assay.models.linear import LeastSquares
from tests.unit.explain.models import Plain, mixed_tree


def one(values, names=("a", "b", "c")):
    return Explanation(
        method="m", scope="global", values=np.array([values]), base_values=np.empty(0), names=list(names)
    )


def test_concordance_is_one_for_equal_orders_and_kendalls_for_others():
    assert agreement_of({"p": one([3.0, 2.0, 1.0]), "q": one([9.0, 1.0, 0.5])}).concordance == 1.0
    against = agreement_of({"p": one([3.0, 2.0, 1.0]), "q": one([1.0, 2.0, 3.0])})
    assert against.concordance == 0.0 and against.tau[0, 1] == -1.0
    values = np.random.default_rng(0).random((3, 6))
    found = agreement_of({str(k): one(v, "abcdef") for k, v in enumerate(values)})
    chi = stats.friedmanchisquare(*np.array([stats.rankdata(-v) for v in values]).T).statistic
    assert np.isclose(found.concordance, chi / (3 * 5))  # Friedman's chi-square is m (n - 1) W
    with pytest.raises(DataError, match="same columns"):
        agreement_of({"p": one([1.0, 2.0, 3.0]), "q": one([1.0], "a")})
    with pytest.raises(DataError, match="at least one"):
        agreement_of({})


def test_a_tree_has_every_importance_but_coefficients():
    model, frame, y = mixed_tree()
    found = importances(model, frame, y, drop_column=True)
    assert found.methods == [
        "permutation", "conditional", "Shapley", "impurity", "correlation", "total variation", "dropped",
    ]  # fmt: skip
    assert np.allclose(found.shares.sum(axis=0), 1.0) and found.names == frame.columns
    assert found.names[int(found.ranks.mean(axis=1).argmax())] == "noise"
    page = found.to_html()
    assert "Kendall" in page and found.to_svg().startswith("<svg") and json.dumps(found.to_dict())
    assert "Kendall's W" in found.to_text()


def test_models_of_other_kinds_take_part():
    X = np.random.default_rng(0).normal(size=(120, 3))
    y = 2 * X[:, 0] + X[:, 1]
    assert "coefficients" in importances(LeastSquares().fit(X, y), X, y).methods
    plain = importances(Plain(LeastSquares().fit(X, y)), X, y)
    assert plain.methods == ["permutation", "conditional", "Shapley", "correlation", "total variation"]
