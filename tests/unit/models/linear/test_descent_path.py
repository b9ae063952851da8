"""Descent on any function: paths, limits of stability, refusals."""

from __future__ import annotations

import numpy as np
import pytest

from assay.base import DataError, ParameterError
from assay.models.linear import descend, stable_step

CURVES = np.array([1.0, 10.0])


def slope(b):
    return CURVES * (b - np.array([2.0, -1.0]))


@pytest.mark.parametrize(("momentum", "nesterov"), [(0.0, False), (0.5, False), (0.9, False), (0.5, True), (0.9, True)])
def test_stability_ends_at_the_stated_step(momentum, nesterov):
    limit = stable_step(CURVES.max(), momentum, nesterov)
    options = {"momentum": momentum, "nesterov": nesterov, "max_iter": 100_000}
    inside = descend(slope, [0.0, 0.0], 0.99 * limit, **options)
    assert inside.converged and not inside.diverged
    np.testing.assert_allclose(inside.minimum, [2.0, -1.0], atol=1e-6)
    assert descend(slope, [0.0, 0.0], 1.01 * limit, **options).diverged


def test_path_is_the_recursion_itself():
    path = descend(slope, [5.0, 5.0], 0.05, max_iter=3)
    assert path.n_iter == 3 and not path.converged
    for before, after in zip(path.points[:-1], path.points[1:], strict=True):
        np.testing.assert_array_equal(after, before - 0.05 * slope(before))


def test_tol_ends_the_path_earlier():
    loose = descend(slope, [0.0, 0.0], 0.1, tol=1e-2)
    tight = descend(slope, [0.0, 0.0], 0.1, tol=1e-10)
    assert loose.n_iter < tight.n_iter and np.abs(slope(loose.minimum)).max() <= 1e-2


def test_a_flat_function_has_no_limit():
    assert stable_step(0.0) == np.inf


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"step": 0.0}, ParameterError),
        ({"step": np.nan}, ParameterError),
        ({"momentum": 1.0}, ParameterError),
        ({"start": [np.nan]}, DataError),
        ({"gradient": lambda b: np.zeros(3)}, DataError),
    ],
)
def test_bad_arguments_get_one_sentence(arguments, error):
    with pytest.raises(error, match="^descend: "):
        descend(**{"gradient": slope, "start": [0.0, 0.0], "step": 0.1, **arguments})
