"""Kernel ridge regression: the fit of one penalty, of many from one eigendecomposition, and of many folds from that.

With A = K + alpha / weights the fit of all rows solves A a + b = y, sum of a = 0; let G be the rows and columns of the
inverse of this system, so that a = G y. Without the rows t the principal part of the system is left for the others r,
whose inverse is a Schur complement (Hager, Updating the inverse of a matrix, SIAM Review 31, 1989):

    a_r = (G y)_r - G_rt G_tt^-1 (G y)_t,   G of the fold = G_rr - G_rt G_tt^-1 G_tr,

and the constant alike. A fold costs n^2 t for each penalty instead of a decomposition of its own, n^3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular

from ...base.errors import DataError
from ...numeric.kernels import Gaussian, Kernel, Laplacian, Linear, Mahalanobis, Polynomial
from ...numeric.solves import cholesky as cholesky_factor

# Condition up to which a Schur complement keeps the digits of a fit of its own.
_WELL_POSED = 1e8
# Share of the largest eigenvalue up to which a negative one may be rounding.
_NEGATIVE = 1e-7


@dataclass(frozen=True)
class RidgeFit:
    """One penalty: coefficients (n, outputs), constants, the diagonal of the hat matrix (None: not asked for)."""

    coef: np.ndarray
    constant: np.ndarray
    leverage: np.ndarray | None


def ridge_fits(
    kernel: Kernel,
    gram: np.ndarray,
    targets: np.ndarray,
    share: np.ndarray,
    alphas: np.ndarray,
    fit_intercept: bool,
    leverages: bool = True,
) -> list[RidgeFit] | None:
    """The fits of all penalties to some rows with weights. That of a single one is made in the place of the matrix, and
    without `leverages` if they are not wanted, which are half of its work; where it would cost digits there is none,
    and the matrix is lost: `eigen_fits` then takes it anew.

    >>> targets = np.array([[1.0], [3.0]])
    >>> (found,) = ridge_fits(Linear(), np.eye(2), targets, np.ones(2), np.array([1.0]), fit_intercept=True)
    >>> found.coef.ravel(), found.constant, found.leverage
    (array([-0.5,  0.5]), array([2.]), array([0.75, 0.75]))
    """
    # Of other kernels a decomposition tells whether they have a negative eigenvalue. Products and sums of kernels are
    # kernels, and so are powers of a linear one with a constant that is not negative.
    sound = isinstance(kernel, (Gaussian, Laplacian, Linear, Mahalanobis)) or (
        isinstance(kernel, Polynomial) and kernel.gamma >= 0.0 and kernel.coef0 >= 0.0 and kernel.degree % 1 == 0
    )
    if alphas.shape[0] > 1 or not sound:
        return eigen_fits(gram, targets, share, alphas, fit_intercept)
    only = _by_cholesky(gram, targets, share, float(alphas[0]), fit_intercept, leverages)
    return None if only is None else [only]


def eigen_fits(
    gram: np.ndarray, targets: np.ndarray, share: np.ndarray, alphas: np.ndarray, fit_intercept: bool
) -> list[RidgeFit]:
    """The fits of all penalties from one eigendecomposition."""
    whole = Decomposition.of(gram, share, fit_intercept)
    return [whole.fit(targets, float(alpha)) for alpha in alphas]


def _by_cholesky(
    gram: np.ndarray, targets: np.ndarray, share: np.ndarray, alpha: float, fit_intercept: bool, leverages: bool
) -> RidgeFit | None:
    """The fit of one penalty by a factor of A, which takes the place of the matrix; None if that would cost digits."""
    np.einsum("ii->i", gram)[:] += alpha / share
    factor = cholesky_factor(gram, overwrite=True)
    if factor is None or factor.reciprocal_condition * _WELL_POSED < 1.0:
        return None
    coef, constant = factor.solve(targets), np.zeros(targets.shape[1])
    ones = factor.solve(np.ones((share.shape[0], 1)))[:, 0] if fit_intercept else np.empty(0)
    mass = float(ones.sum())
    if fit_intercept:
        constant = coef.sum(axis=0) / mass
        coef = coef - ones[:, None] * constant
    if not leverages:
        return RidgeFit(coef, constant, None)
    own = factor.turned_to_inverse_diagonal()
    if fit_intercept:
        own -= ones**2 / mass
    return RidgeFit(coef, constant, 1.0 - alpha * own / share)


@dataclass(frozen=True)
class Decomposition:
    """The axes of the kernel matrix of some rows with weights, centred if a constant is fitted."""

    values: np.ndarray
    axes: np.ndarray
    share: np.ndarray
    middle: np.ndarray
    """The mean kernel of each row with all rows; zero without a constant."""
    mass: np.ndarray
    """The weights over their sum; zero without a constant."""

    @classmethod
    def of(cls, gram: np.ndarray, share: np.ndarray, fit_intercept: bool) -> Decomposition:
        """The eigendecomposition.

        >>> found = Decomposition.of(np.eye(2), np.ones(2), fit_intercept=False)
        >>> found.values
        array([1., 1.])
        """
        mass, middle, centred = np.zeros(share.shape[0]), np.zeros(share.shape[0]), gram
        if fit_intercept:
            mass = share / share.sum()
            middle = gram @ mass
            # By columns and then by rows: the transpose, which LAPACK takes without a copy, is done by rows first.
            centred = gram - middle
            centred -= middle[:, None]
            centred += mass @ middle
        root = np.sqrt(share)
        centred = np.multiply(centred, root, out=centred if fit_intercept else None)
        centred *= root[:, None]
        values, axes = eigh(centred.T, overwrite_a=True, check_finite=False)
        least = -_NEGATIVE * max(float(values[-1]), float(gram.max()), -float(gram.min()))
        if values[0] < least:
            raise DataError(
                "KernelRidge",
                "the kernel",
                "must be positive semi-definite on the training rows",
                f"the smallest eigenvalue of its matrix is {values[0]:.6g} (the largest is {values[-1]:.6g})",
                "take another kernel or gamma",
            )
        # What rounding makes of an eigenvalue of 0, which the axis of the constant has.
        values[values <= share.shape[0] * np.finfo(float).eps * max(float(values[-1]), 0.0)] = 0.0
        return cls(values, axes, share, middle, mass)

    def fit(self, targets: np.ndarray, alpha: float) -> RidgeFit:
        """The fit of all rows."""
        root = np.sqrt(self.share)[:, None]
        mean = self.mass @ targets
        along = self.axes.T @ (root * (targets - mean))
        coef = root * (self.axes @ (along / (self.values + alpha)[:, None]))
        kept = alpha / (self.values + alpha)
        leverage = 1.0 - self.axes**2 @ kept + self.mass
        return RidgeFit(coef, mean - self.middle @ coef, leverage)

    def is_well_posed(self, alpha: float) -> bool:
        """Whether folds of this penalty may come from the fit of all rows."""
        spread = float(self.share.max() / self.share.min())
        # What centring took away comes back with the constant of the fold.
        centre = float(np.abs(self.middle).max(initial=0.0) * self.share.sum())
        return max(float(self.values.max(initial=0.0)) * spread, centre) <= _WELL_POSED * alpha

    def fit_without(self, left_out: np.ndarray, targets: np.ndarray, alpha: float) -> RidgeFit | None:
        """The fit of the rows that are not left out (a mask), in their order; None if rounding does not allow it."""
        rest, whole = ~left_out, self.fit(targets, alpha)
        if not left_out.any():
            return whole
        root = np.sqrt(self.share)
        # Columns of G: the axes, less that of the constant.
        columns = root[:, None] * (self.axes @ ((self.axes[left_out] * root[left_out, None]) / (self.values + alpha)).T)
        if self.mass.any():
            columns -= np.outer(self.share, self.share[left_out]) / (alpha * self.share.sum())
        try:
            half = cholesky(columns[left_out], lower=True, check_finite=False)
        except LinAlgError:
            return None
        beside = solve_triangular(half, columns.T, lower=True, check_finite=False)  # L^-1 G_t,all
        moved = solve_triangular(half, whole.coef[left_out], lower=True, check_finite=False)
        coef = whole.coef[rest] - beside[:, rest].T @ moved
        constant = whole.constant
        if self.mass.any():
            edge = self.mass[left_out] - columns.T @ self.middle
            constant = constant - solve_triangular(half, edge, lower=True, check_finite=False) @ moved
        share = self.share[rest]
        assert whole.leverage is not None
        own = (1.0 - whole.leverage[rest]) * share / alpha - (beside[:, rest] ** 2).sum(axis=0)
        return RidgeFit(coef, constant, 1.0 - alpha * own / share)
