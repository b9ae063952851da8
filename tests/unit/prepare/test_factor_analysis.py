"""Factor analysis is scikit-learn's, with plain fitted state."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.decomposition import FactorAnalysis as Peer

from assay.base import AssayWarning
from assay.prepare import FactorAnalysis

X = load_wine().data


@pytest.mark.parametrize("rotation", [None, "varimax", "quartimax"])
def test_factors_are_those_of_scikit_learn(rotation):
    ours = FactorAnalysis(n_components=3, rotation=rotation).fit(X)
    peer = Peer(n_components=3, rotation=rotation, svd_method="lapack").fit(X)
    np.testing.assert_allclose(ours.transform(X), peer.transform(X), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(ours.components_, peer.components_)
    assert ours.n_iter_ == peer.n_iter_


def test_log_likelihood_never_falls():
    steps = np.diff(FactorAnalysis(n_components=3, tol=1e-6).fit(X).log_likelihood_)
    assert (steps > -1e-6).all()


def test_a_stop_before_the_end_is_said():
    with pytest.warns(AssayWarning, match="not converged after 2 iterations"):
        FactorAnalysis(n_components=3, max_iter=2, tol=1e-12).fit(X)
    assert "3 factors explain" in FactorAnalysis(n_components=3).fit(X).explain()[0]
