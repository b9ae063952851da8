"""Support vector machines for numbers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ...base.around import in_threads
from ...base.cv import cv_param
from ...base.estimator import Fold, Regressor
from ...base.parameters import Real, param
from ...base.threads import thread_count
from ...numeric.newton import damped_newton
from ..linear.tables import validation_folds
from .linear_machine import LEVEL_STEPS, LinearMachine, LinearProblem
from .price_path import price_param, prices_of
from .smo import Dual, warn_unless_converged
from .support_vectors import SupportVectors, as_dual
from .training import Training, kept_places


class SVMRegressor(SupportVectors, Regressor):
    """The flattest function in the space of a kernel that is within epsilon of the target, with slack for other rows.

    Minimises 1/2 |w|^2 + C sum of weight times max(0, |y - w'phi(x) - b| - epsilon). Rows within the tube of width
    epsilon do not count; the others, and those on its edge, are the support vectors. Equal rows with equal targets
    count as one row with the sum of their weights. `tol` is in units of the standard deviation of y. A linear machine
    of many rows, dense or sparse, is solved without a kernel matrix, and `n_landmarks` approximates the kernel where
    the table is too large for it. A list of C is searched by cross-validation.

    Attributes
    ----------
    C_ : float, the price of slack, chosen if several were given
    scores_ : array (n_folds, n_prices), minus mean squared errors on held-out rows where several prices were given
    support_ : array, the training rows that are support vectors, in order
    support_vectors_ : array (n_support, n_features), these rows, or the landmarks; not kept of sparse rows
    dual_coef_ : array (n_support,), alpha above the tube less alpha below it
    intercept_ : float, b
    coef_ : array (n_features,), w of the linear kernel
    objective_ : float, the dual objective
    violation_ : float, by how much the conditions of optimality are violated at most
    n_iter_ : int, steps made

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.kernel_machines import SVMRegressor
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> model = SVMRegressor(C=100.0, epsilon=0.05).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.0]])[0] - np.sin(1.0)) < 0.06)
    True
    """

    _sides = 2

    C: Any = price_param(infinite=False)
    epsilon: float = param(0.1, Real(0), "Half the width of the tube in which errors do not count.")
    cv: Any = cv_param(5, "5")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVMRegressor:
        """Choose C where several are given, and solve the dual."""
        rows, target, weights = self._begin(X, y, sample_weight)
        who, threads = type(self).__name__, thread_count(self.n_jobs)
        prices = prices_of(who, self.C)
        several = prices.shape[0] > 1
        table = self._training(rows, target, weights, kept_places(sample_weight, rows.shape[0]), apart=several)
        self.C_ = float(prices[0])
        self.__dict__.pop("scores_", None)
        shared, among = self._from_folds(table)
        if several:
            folds = validation_folds(who, self.cv, table.rows, table.target, sample_weight)
            known = self._shared_kernel(table.rows, table.n) if shared is None else shared
            scores = in_threads(partial(self._hold_out, table, prices, known, among), folds, self.n_jobs)
            self.scores_ = np.array(scores)
            self.C_ = float(prices[int(np.argmax(self.scores_.mean(axis=0)))])
        kernel = self._learn_kernel(table.rows, table.weights)
        columns = self._columns(table, kernel)
        # The constant is b's alone: targets about their middle keep their digits.
        middle, spread = _moments(table.target, table.weights)
        self.__dict__.pop("coef_", None)
        self._single_ = False
        target, price, epsilon = table.target - middle, self.C_ * table.weights, float(self.epsilon)
        if columns is not None:
            scale = _moments(target, price)[1]
            problem = LinearProblem(columns.X, target, price, epsilon, threads)
            machine = LinearMachine(problem, float(self.tol) * scale)
            for level in machine.levels():
                level.end = damped_newton(level, level.point, LEVEL_STEPS, line=level.line)
            primal = machine.found
            coef, beta, found = primal.coef, primal.beta, as_dual(primal, primal.beta)
        else:
            if shared is not None:
                source = self._shared_source(table, shared, among)
            else:
                source = self._source(kernel, table.rows, exact=self._hard)
            found = self._by_dual(source, None, target, price, epsilon, spread)
            beta, self._single_ = found.beta[: table.n] + found.beta[table.n :], source.single
        warn_unless_converged(who, [found])
        used = np.flatnonzero(beta)
        self.dual_coef_ = beta[used]
        if columns is not None and columns.landmarks is not None and columns.back is not None:
            used, self.dual_coef_ = columns.landmarks, columns.back @ coef
        self._keep_vectors(table, used)
        if columns is not None and columns.landmarks is None:
            self.coef_ = coef
        elif columns is None and found.coef is not None:
            self.coef_ = found.coef
        self.intercept_ = float(found.offset + middle)
        self.objective_, self.violation_, self.n_iter_ = -found.objective, found.violation, found.n_iter
        return self

    def _dual(self, kernel: Any, row: np.ndarray, target: np.ndarray, price: np.ndarray) -> Dual:
        """Two variables a row, above and below the tube."""
        nothing = np.zeros(row.shape[0])
        return Dual(
            kernel,
            np.concatenate([row, row]),
            np.concatenate([target - self.epsilon, target + self.epsilon]),
            np.concatenate([nothing, -price]),
            np.concatenate([price, nothing]),
            float(self.cache_bytes),
            bool(self.shrinking),
        )

    def _hold_out(self, table: Training, prices: np.ndarray, known: Any, where: np.ndarray, fold: Fold) -> list[float]:
        """Minus the mean squared error of every price on the test rows of a fold."""
        train, test = fold
        model = clone(self).set_params(n_jobs=1)
        kernel = model._learn_kernel(table.rows[train], table.weights[train])
        matrix = model._fold_matrix(kernel, table, known)
        given, share = table.target[train], table.weights[train]
        middle, spread = _moments(given, share)
        scores, found = [], None
        for c, price in enumerate(prices):
            if matrix is not None:
                dual = model._dual(matrix, where[train], given - middle, float(price) * share)
                start = dual.start_from(found, float(price / prices[c - 1]))
                found = dual.solve(float(self.tol), self.max_iter, 1, start, spread)
                said = found.f[where[test]] + found.offset + middle
            else:
                said = model.set_params(C=float(price)).fit(table.rows[train], given, share).predict(table.rows[test])
            scores.append(-float(np.average((table.target[test] - said) ** 2, weights=table.weights[test])))
        return scores

    def predict(self, X: Any) -> np.ndarray:
        """w'phi(x) + b of each row."""
        return self._decisions(X)[:, 0]

    def chosen(self) -> dict[str, int | float | str]:
        """The price of slack, where several were given."""
        check_is_fitted(self)
        return {"C": self.C_} if hasattr(self, "scores_") else {}


def _moments(target: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """The mean of the target, and its standard deviation (1 for a constant one)."""
    middle = float(np.average(target, weights=weights))
    return middle, float(np.sqrt(np.average((target - middle) ** 2, weights=weights))) or 1.0
