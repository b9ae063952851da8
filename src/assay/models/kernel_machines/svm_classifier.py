"""Support vector machines for classes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ...base.around import in_threads
from ...base.class_weight import class_weight_param, with_class_weights
from ...base.columns import class_places
from ...base.cv import cv_param
from ...base.decisions import doubtful
from ...base.errors import DataError, ParameterError
from ...base.estimator import Fold, LabelClassifier
from ...base.guard import INFERENCE
from ...base.parameters import Boolean, Choice, param
from ...base.threads import thread_count
from ...numeric.kernels import Kernel
from ...numeric.newton import damped_newton
from ..linear.multiclass import class_pairs, couple, duel_scores
from ..linear.tables import validation_folds
from .linear_machine import LEVEL_STEPS, LinearMachine, LinearProblem
from .platt import SIGMOID_STEPS, Sigmoid
from .price_path import price_param, prices_of
from .smo import Dual, DualSolution, hard_margin, warn_unless_converged
from .support_vectors import Columns, SupportVectors, as_dual, in_columns
from .training import Training, kept_places


def _learns_probabilities(model: Any) -> bool:
    if not model.probability:
        raise AttributeError("SVMClassifier has predict_proba with probability=True")
    return True


class SVMClassifier(SupportVectors, LabelClassifier):
    """The hyperplane of widest margin in the space of a kernel, with slack for rows on its wrong side.

    Two classes: minimise 1/2 |w|^2 + C sum of weight times slack, with y (w'phi(x) + b) >= 1 - slack; C = inf is the
    hard margin, and classes that no hyperplane separates are then refused. The dual is solved by steps on blocks of
    rows; its alphas are positive for the support vectors alone. More classes: one machine for each pair, whose votes
    count (`multi_class='ovo'`), or for each class against the rest ('ovr'). Equal rows of one class count as one row
    with the sum of their weights. A linear machine of many rows, dense or sparse, is solved without a kernel matrix,
    and `n_landmarks` approximates the kernel where the table is too large for it. A list of C is searched by
    cross-validation. With `probability`, sigmoids of held-out decision values give `predict_proba`.

    Attributes
    ----------
    C_ : float, the price of slack, chosen if several were given
    scores_ : array (n_folds, n_prices), accuracies on held-out rows where several prices were given
    support_ : array, the training rows that are support vectors of some machine, in order
    support_vectors_ : array (n_support, n_features), these rows, or the landmarks; not kept of sparse rows
    dual_coef_ : array (n_machines, n_support), alpha with the sign of the side: positive for the second class of a
        pair, or for the class against the rest; with landmarks the coefficients of their kernels
    intercept_ : array (n_machines,), b
    coef_ : array (n_machines, n_features), w of the linear kernel
    margin_ : array (n_machines,), width of the margin, 2 / |w|
    objective_ : array (n_machines,), the dual objective: sum of alpha less half of |w|^2
    violation_ : array (n_machines,), by how much the conditions of optimality are violated at most
    error_bound_ : float, share of the training rows that are support vectors: bounds the leave-one-out error of a
        machine of two classes
    n_iter_ : array (n_machines,), steps made

    Examples
    --------
    >>> from assay.models.kernel_machines import SVMClassifier
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], ["same", "other", "other", "same"]
    >>> model = SVMClassifier(kernel="polynomial", degree=2, gamma=1.0, C=10.0).fit(X, y)
    >>> model.predict(X).tolist()
    ['same', 'other', 'other', 'same']
    >>> line = SVMClassifier(kernel="linear", C=float("inf")).fit([[0.0], [1.0], [3.0]], [0, 0, 1])
    >>> line.support_vectors_.ravel(), line.margin_
    (array([1., 3.]), array([2.]))
    """

    _open_state = (*INFERENCE, "C_")

    C: Any = price_param(infinite=True)
    class_weight: Any = class_weight_param()
    multi_class: str = param(
        "ovo",
        Choice("ovo", "ovr"),
        "Three or more classes: a machine for each pair, or for each class against the rest.",
    )
    probability: bool = param(
        False,
        Boolean(),
        "Whether to learn probabilities from the decision values of held-out rows.",
    )
    cv: Any = cv_param(5, "5")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SVMClassifier:
        """Choose C where several are given, and solve the dual of each machine."""
        rows, codes, weights = self._begin(X, y, sample_weight)
        who, threads, tol = type(self).__name__, thread_count(self.n_jobs), float(self.tol)
        self._require_classes()
        prices = prices_of(who, self.C)
        validated = self.probability or prices.shape[0] > 1
        table = self._training(rows, codes, weights, kept_places(sample_weight, rows.shape[0]), apart=validated)
        cost = with_class_weights(who, self.class_weight, self.classes_, table.target, table.weights)
        assert cost is not None
        for name in ("scores_", "sigmoids_"):
            self.__dict__.pop(name, None)
        self.C_ = float(prices[0])
        shared, among = self._from_folds(table)
        if validated:
            folds = validation_folds(who, self.cv, table.rows, table.target, sample_weight, stratify=True)
            # (n_prices, n_rows, n_machines); NaN for rows no fold tests.
            held = np.full((prices.shape[0], table.n, sum(1 for _ in self._machines(table.target))), np.nan)
            known = self._shared_kernel(table.rows, table.n) if shared is None else shared
            in_threads(partial(self._hold_out, held, table, prices, known, among), folds, self.n_jobs)
            if prices.shape[0] > 1:
                self._choose(table, held, folds, prices)
            if self.probability:
                self._learn_sigmoids(table, held[int(np.searchsorted(prices, self.C_))])
        kernel = self._learn_kernel(table.rows, table.weights)
        columns = self._columns(table, kernel)
        source = None
        if columns is None and shared is not None:
            source = self._shared_source(table, shared, among)
        elif columns is None:
            source = self._source(kernel, table.rows, exact=self._hard)
        solutions, betas, coefs = [], [], []
        for chosen, sign in self._machines(table.target):
            price = self.C_ * (cost if chosen is None else cost[chosen])
            if columns is not None:
                X = columns.X if chosen is None else columns.X[chosen]
                machine = LinearMachine(LinearProblem(X, sign, price, None, threads), tol)
                for level in machine.levels():
                    level.end = damped_newton(level, level.point, LEVEL_STEPS, line=level.line)
                primal = machine.found
                coefs.append(primal.coef)
                found = as_dual(primal, primal.beta)
            elif np.isinf(self.C_):
                assert source is not None
                gram, row = source.of(chosen)
                found = hard_margin(who, gram, sign, tol, self.max_iter, threads, bool(self.shrinking))
                if self._is_linear:
                    found = in_columns(found, source.rows if chosen is None else source.rows[chosen], row)
            else:
                assert source is not None
                found = self._by_dual(source, chosen, sign, price, None)
            solutions.append(found)
            beta = found.beta
            if chosen is not None:
                beta = np.zeros(table.n)
                beta[chosen] = found.beta
            betas.append(beta)
        warn_unless_converged(who, solutions)
        self._keep(table, kernel, np.array(betas), solutions, columns, np.array(coefs))
        self._single_ = source is not None and source.single
        return self

    @property
    def _share_of_rows(self) -> float:
        n_classes = len(getattr(self, "classes_", ()))
        return 2.0 / n_classes if n_classes > 2 and self.multi_class == "ovo" else 1.0

    def _machines(self, codes: np.ndarray) -> Iterator[tuple[np.ndarray | None, np.ndarray]]:
        """The rows (None for all) and sides of each machine."""
        n_classes = self.classes_.shape[0]
        if n_classes == 2:
            yield None, np.where(codes == 1, 1.0, -1.0)
        elif self.multi_class == "ovr":
            for k in range(n_classes):
                yield None, np.where(codes == k, 1.0, -1.0)
        else:
            for first, second in class_pairs(n_classes):
                chosen = np.flatnonzero((codes == first) | (codes == second))
                yield chosen, np.where(codes[chosen] == second, 1.0, -1.0)

    def _dual(self, kernel: Any, row: np.ndarray, sign: np.ndarray, price: np.ndarray) -> Dual:
        bound = sign * price
        low, high = np.minimum(bound, 0.0), np.maximum(bound, 0.0)
        return Dual(kernel, row, sign, low, high, float(self.cache_bytes), bool(self.shrinking))

    def _keep(
        self,
        table: Training,
        kernel: Kernel,
        betas: np.ndarray,
        solutions: list[DualSolution],
        columns: Columns | None,
        coefs: np.ndarray,
    ) -> None:
        used = np.flatnonzero(betas.any(axis=0))
        self.error_bound_ = float(table.weights[used].sum() / table.weights.sum())
        self.__dict__.pop("coef_", None)
        if columns is not None and columns.landmarks is not None and columns.back is not None:
            self._keep_vectors(table, columns.landmarks)
            self.dual_coef_ = np.ascontiguousarray(coefs @ columns.back.T)
        else:
            self._keep_vectors(table, used)
            self.dual_coef_ = np.ascontiguousarray(betas[:, used])
            if columns is not None:
                self.coef_ = coefs
            elif self._is_linear:
                self.coef_ = np.array([found.coef for found in solutions])
        self.intercept_ = np.array([found.offset for found in solutions])
        # beta'K beta = |w|^2 = 2 (objective + sum of |beta|), since the targets are the signs of beta.
        total = np.abs(betas).sum(axis=1)
        self.objective_ = np.array([-found.objective for found in solutions])
        lengths = np.sqrt(np.maximum(2.0 * (total - self.objective_), np.finfo(float).tiny))
        if hasattr(self, "coef_"):  # exact where the two nearly cancel
            lengths = np.maximum(np.linalg.norm(self.coef_, axis=1), np.finfo(float).tiny)
        self.margin_ = 2.0 / lengths
        self.violation_ = np.array([found.violation for found in solutions])
        self.n_iter_ = np.array([found.n_iter for found in solutions])

    # -- held-out rows -----------------------------------------------------------------------------------------------
    def _hold_out(
        self, held: np.ndarray, table: Training, prices: np.ndarray, known: Any, where: np.ndarray, fold: Fold
    ) -> None:
        """The decision values of every machine for every price on the test rows of a fold, written into `held`.

        The kernel matrix is made once for all folds, machines and prices where they have it in common (`known`, with
        the rows at `where`); the decision values of rows that are left out come with the solution.
        """
        who, (train, test), labels = type(self).__name__, fold, self.classes_[table.target]
        if np.unique(table.target[train]).shape[0] < self.classes_.shape[0]:
            raise DataError(who, "parameter 'cv'", "must leave rows of every class in every training part")
        model = clone(self).set_params(probability=False, n_jobs=1)
        kernel = model._learn_kernel(table.rows[train], table.weights[train])
        matrix = model._fold_matrix(kernel, table, known)
        if matrix is None:
            for c, price in enumerate(prices):
                model.set_params(C=float(price)).fit(table.rows[train], labels[train], table.weights[train])
                held[c, test] = model.machine_decisions(table.rows[test])
            return
        cost = with_class_weights(who, self.class_weight, self.classes_, table.target, table.weights, train)
        assert cost is not None
        for k, (chosen, sign) in enumerate(self._machines(table.target[train])):
            rows, found = train if chosen is None else train[chosen], None
            for c, price in enumerate(prices):
                dual = model._dual(matrix, where[rows], sign, float(price) * cost[rows])
                start = dual.start_from(found, float(price / prices[c - 1]))
                found = dual.solve(float(self.tol), self.max_iter, 1, start)
                held[c, test, k] = found.f[where[test]] + found.offset

    def _choose(self, table: Training, held: np.ndarray, folds: list[Fold], prices: np.ndarray) -> None:
        """The price with the best accuracy, the smallest of equal ones."""
        scores = np.empty((len(folds), prices.shape[0]))
        for c in range(prices.shape[0]):
            right = self._codes_of(held[c]) == table.target
            for k, (_, test) in enumerate(folds):
                scores[k, c] = np.average(right[test], weights=table.weights[test])
        self.scores_ = scores
        self.C_ = float(prices[int(np.argmax(scores.mean(axis=0)))])

    def _learn_sigmoids(self, table: Training, held: np.ndarray) -> None:
        """A sigmoid for each machine, from the held-out rows of its classes."""
        found = []
        for k, (chosen, sign) in enumerate(self._machines(table.target)):
            rows = np.arange(table.n) if chosen is None else chosen
            known = np.isfinite(held[rows, k])
            rows = rows[known]
            search = Sigmoid(held[rows, k], sign[known] > 0, table.weights[rows])
            found.append(search.of(damped_newton(search, search.at(search.start), SIGMOID_STEPS)))
        self.sigmoids_ = np.array(found)

    def machine_decisions(self, X: Any) -> np.ndarray:
        """The decision value of each machine, (n_rows, n_machines)."""
        return self._decisions(X)

    def decision_function(self, X: Any) -> np.ndarray:
        """Two classes: w'phi(x) + b, positive for `classes_[1]`. More: a column for each class, its decision value
        against the rest, or the duels it wins plus its decision values squeezed so that they never outweigh one."""
        return self._scores_of(self._decisions(X))

    def _scores_of(self, values: np.ndarray) -> np.ndarray:
        n_classes = self.classes_.shape[0]
        if n_classes == 2:
            return values[:, 0]
        return values if self.multi_class == "ovr" else duel_scores(values, n_classes)

    def _codes_of(self, values: np.ndarray) -> np.ndarray:
        scores = self._scores_of(values)
        return (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)

    def predict(self, X: Any) -> np.ndarray:
        """The class on whose side each row lies, or with the highest score; the first in `classes_` wins a tie."""
        values = self._decisions(X)
        return self.classes_[self._codes_of(values)]

    @available_if(_learns_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class: the sigmoids of the machines, those of pairs coupled, others divided by their
        sum. Its largest need not be the class that `predict` gives."""
        return self._shares_of(self._decisions(X))

    def _shares_of(self, values: np.ndarray) -> np.ndarray:
        share = expit(self.sigmoids_[:, 0] * values + self.sigmoids_[:, 1])
        n_classes = self.classes_.shape[0]
        if n_classes == 2 or self.multi_class == "ovo":
            return couple(share[:, 0] if n_classes == 2 else share, n_classes)
        total = share.sum(axis=1, keepdims=True)
        return np.divide(share, total, out=np.full_like(share, 1.0 / n_classes), where=total > 0)

    def predict_with_reject(
        self,
        X: Any,
        threshold: float | None = None,
        *,
        reject_cost: float | None = None,
        margin: float | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """What `predict` says of each row, and a mask of the rows on which it should not be believed: those within
        `margin` of a decision that matters (1 is the edge of the margin), or, with `probability`, those whose best
        class has a probability below `threshold` or an expected cost above `reject_cost`."""
        values = self._decisions(X)
        codes = self._codes_of(values)
        if margin is None:
            if not self.probability:
                rule, way_out = "must be given where probability=False", "give margin=1.0, or fit with probability=True"
                raise ParameterError(type(self).__name__, "parameter 'margin'", rule, way_out=way_out)
            shares = self._shares_of(values)
            return self.classes_[codes], doubtful(type(self).__name__, shares, None, threshold, reject_cost)
        n_classes = self.classes_.shape[0]
        if n_classes == 2:
            return self.classes_[codes], np.abs(values[:, 0]) < margin
        if self.multi_class == "ovr":
            ordered = np.sort(values, axis=1)
            return self.classes_[codes], (ordered[:, -1] < margin) | (ordered[:, -2] > -margin)
        lead = np.full(values.shape[0], np.inf)
        for k, (first, second) in enumerate(class_pairs(n_classes)):
            lead = np.where(codes == first, np.minimum(lead, -values[:, k]), lead)
            lead = np.where(codes == second, np.minimum(lead, values[:, k]), lead)
        return self.classes_[codes], lead < margin

    def chosen(self) -> dict[str, int | float | str]:
        """The price of slack, where several were given."""
        check_is_fitted(self)
        return {"C": self.C_} if hasattr(self, "scores_") else {}

    def slacks(self, X: Any, y: Any) -> np.ndarray:
        """How far rows are from the right side of the margin of each machine, (n_rows, n_machines): 0 outside it, above
        1 for errors; NaN where a machine knows nothing of the row's class."""
        values = self._decisions(X)
        codes, known = class_places(self.classes_, np.asarray(y))
        if values.shape[0] != codes.shape[0] or not known.all():
            raise DataError(type(self).__name__, "y", "must hold one label of `classes_` for each row of X")
        out = np.full(values.shape, np.nan)
        for k, (chosen, sign) in enumerate(self._machines(codes)):
            places = slice(None) if chosen is None else chosen
            out[places, k] = np.maximum(0.0, 1.0 - sign * values[places, k])
        return out
