"""Small models in the place of large ones, with an honest fidelity."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from assay.base.errors import DataError, ParameterError
from assay.explain import surrogate
from assay.models.ensembles import RandomForestClassifier
from assay.models.linear import LeastSquares
from assay.models.trees import CartClassifier
from tests.unit.explain.models import mixed_table


def test_a_tree_is_imitated_by_itself_perfectly():
    frame, y = mixed_table(400)
    tree = CartClassifier(max_depth=2, min_samples_leaf=20, random_state=0).fit(frame, y)
    found = surrogate(tree, frame, max_depth=4)
    assert found.fidelity >= 0.98 and found.high <= 1.0 and found.baseline < found.fidelity


@pytest.mark.parametrize("kind", ["tree", "rules"])
def test_fidelity_is_the_share_of_equal_answers_on_rows_held_out(kind):
    frame, y = mixed_table(400)
    forest = RandomForestClassifier(n_estimators=15, random_state=0).fit(frame, y)
    found = surrogate(forest, frame, kind=kind)
    fresh, _ = mixed_table(2000, seed=9)
    true = float((found.model.predict(fresh) == forest.predict(fresh)).mean())
    assert found.low - 0.03 <= true <= found.high + 0.03 and found.rows == 120
    assert found.to_svg().startswith("<svg") and json.dumps(found.to_dict()) and "imitates" in str(found.sentence)
    assert "share of equal answers" in found.to_text() and "<details>" in found.to_html()


def test_numbers_have_an_r_squared_and_its_interval():
    X = np.random.default_rng(0).normal(size=(300, 2))
    model = LeastSquares().fit(X, 3 * X[:, 0])
    found = surrogate(model, X, max_depth=4)
    assert 0.7 < found.low < found.fidelity < found.high < 1.0 and found.measure == "R²"
    flat = surrogate(LeastSquares().fit(X, np.ones(300)), X)
    assert flat.fidelity in (0.0, 1.0) or np.isfinite(flat.fidelity)
    with pytest.raises(ParameterError, match="numbers"):
        surrogate(model, X, kind="rules")
    with pytest.raises(ParameterError, match="kind"):
        surrogate(model, X, kind="poem")
    with pytest.raises(ParameterError, match="test_share"):
        surrogate(model, X, test_share=1.0)
    with pytest.raises(DataError, match="at least 2 rows"):
        surrogate(model, X[:3])


def test_long_labels_are_cut_short_in_a_terminal_and_whole_in_the_table():
    names = [f"a rather long name of department number {k}" for k in range(8)]
    frame = pl.DataFrame({"department": [names[k % 8] for k in range(200)]})
    y = ["yes" if k % 8 in (0, 3, 4, 7) else "no" for k in range(200)]
    found = surrogate(CartClassifier().fit(frame, y), frame)
    assert max(map(len, str(found).splitlines()[:-1])) <= 111 and "…" in str(found)
    assert all(name in found.to_html() for name in names)
