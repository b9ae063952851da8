"""k-prototypes: k-means on numbers alone, modes of categories, missing cells, gamma."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from assay.base import AssayWarning
from assay.evaluate import adjusted_rand
from assay.models.clustering import KMeans, KPrototypes


def test_numbers_alone_are_k_means_on_standardised_columns():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(m, 1.0, (50, 3)) for m in (0, 6)]) * [1.0, 10.0, 0.1]
    ours = KPrototypes(2, random_state=0).fit(X)
    plain = KMeans(2, random_state=0).fit(X / X.std(axis=0))
    assert adjusted_rand(plain.labels_, ours.labels_) == 1.0 and ours.inertia_ == pytest.approx(plain.inertia_)


def test_categories_decide_where_numbers_do_not():
    rng = np.random.default_rng(1)
    kind = np.repeat(["a", "b"], 60)
    frame = pd.DataFrame({"x": rng.normal(size=120), "kind": kind, "same": kind})
    model = KPrototypes(2, gamma=5.0, random_state=0).fit(frame)
    assert adjusted_rand(kind, model.labels_) == 1.0
    assert set(model.cluster_centers_[:, 1]) == {0.0, 1.0}
    assert KPrototypes(2, gamma=0.0, random_state=0).fit(frame).labels_.shape == (120,)


def test_missing_cells_add_nothing():
    rng = np.random.default_rng(2)
    X = np.concatenate([rng.normal(m, 0.5, (40, 4)) for m in (0, 5)])
    X[rng.random(X.shape) < 0.2] = np.nan
    model = KPrototypes(2, random_state=0, trace=True).fit(X)
    assert adjusted_rand(np.repeat([0, 1], 40), model.labels_) > 0.9
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    values = [r["values"]["inertia"] for r in model.trace_ if r["values"]["restart"] == 0]
    assert (np.diff(values) <= 1e-9).all()


def test_steps_that_run_out_are_told():
    table = pd.DataFrame({"x": np.random.default_rng(0).normal(size=80), "y": np.arange(80) % 7})
    with pytest.warns(AssayWarning, match=r"W201.*KPrototypes: not converged after 1 steps .*raise max_iter"):
        assert not KPrototypes(5, max_iter=1, n_init=1, random_state=0).fit(table).converged_
