"""Logistic regression: linear log odds for two classes, softmax for more, with an L2, L1 or mixed penalty or none."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ...base.class_weight import class_weight_param, with_class_weights
from ...base.columns import renumber
from ...base.cost import Cost
from ...base.errors import AssayWarning, DataError, ParameterError, plain
from ...base.estimator import Classifier, Fold, check_weights
from ...base.folds import Transforms, copy_columns, through_folds
from ...base.parameters import Boolean, Choice, Instance, Integer, Nothing, Real, param
from ...base.threads import thread_count
from ...base.trace import Trace
from ...base.usual_parameters import n_jobs_param, trace_param
from ...base.views import Coefficients, coefficients_of
from .logistic_inference import LogisticInference
from .logistic_sample import look_first, sample_of, sample_of_batches, way_from
from .logistic_solver import DENSE_LIMIT, Solution, Task, log_probabilities_of, probabilities_of, solve
from .sparse import SparseInput
from .summary import combination_text
from .tables import only

# Rows that are enough for a start: beyond, a sample is nearly as good as all rows and costs less.
START_ROWS = 4096


class LogisticRegression(SparseInput, LogisticInference, Classifier):
    """Linear log odds: binary logistic regression, and softmax regression for three or more classes.

    Minimises the weighted sum of log losses plus ||coef||^2 / (2 C), intercepts free: the objective of scikit-learn;
    with l1_ratio=1 the penalty is ||coef||_1 / C, between 0 and 1 that share of it and the rest of the squared one.
    The iteration runs on standardised columns inside, so that units do not matter for its progress; the penalty
    stays that of the columns as given, so standardise them if they should be penalised alike. Without a penalty,
    columns that are linear combinations of others get coefficient 0 (warning W203), and classes that a hyperplane
    separates are reported (warning W202), since then no finite optimum exists.

    {parameters}

    Attributes
    ----------
    classes_ : array of the class labels
    coef_ : array, (1, n_features) for two classes (log odds of `classes_[1]`), else (n_classes, n_features)
    intercept_ : array, (1,) or (n_classes,)
    n_iter_ : int, Newton steps taken
    coef_se_, intercept_se_, p_values_, intercept_p_values_ : as coef_ and intercept_, without penalty or class weights
    log_likelihood_, deviance_, null_deviance_, aic_, bic_ : the same
    trace_ : with `trace`, the objective, largest gradient component and Newton step at each iteration

    Examples
    --------
    >>> from assay.models.linear import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"])
    >>> model.predict([[0.5], [2.5]])
    array(['no', 'yes'], dtype='<U3')
    >>> model.predict_proba([[1.5]]).round(3)
    array([[0.5, 0.5]])
    """

    penalty: str | None = param(
        "auto",
        Choice("auto", "l2", "l1", "elasticnet", None),
        "'auto' is what `l1_ratio` says, as in scikit-learn 1.8; else squared, absolute, both by `l1_ratio`, or none.",
    )
    l1_ratio: float = param(
        0.0,
        Real(0, 1),
        "Share of the absolute part of the penalty, which makes coefficients 0: 0 is l2, 1 is l1.",
    )
    C: float = param(1.0, Real(0, closed="neither", infinite=True), "Inverse strength of the penalty; inf is none.")
    fit_intercept: bool = param(True, Boolean(), "Whether the log odds have a constant.")
    class_weight: Any = class_weight_param()
    reference_class: Any = param(
        None,
        Instance(str, int, float, np.generic) | Nothing(),
        "Label whose coefficients are fixed at 0 (three or more classes); None for the symmetric softmax.",
    )
    tol: float = param(1e-8, Real(0), "Stop when no gradient component per unit of weight is larger.")
    max_iter: int = param(100, Integer(1), "Most Newton steps.")
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()

    _way_out = "take a sample of the rows or fewer columns"
    _sparse_square = DENSE_LIMIT
    _by_batches = True

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LogisticRegression:
        """Find the coefficients by Newton's method."""
        rows, codes, weights = self._begin(X, y, sample_weight)
        self._refuse_ignored()
        task, trace = self._task_of(rows, None, codes, weights), self._new_trace()
        sample = sample_of(task, float(self.tol))
        found = solve(*sample.search(int(self.max_iter))) if sample is not None and sample.start is None else None
        way, begin = way_from(sample, found, task, None)
        return self._keep(way(task, float(self.tol), int(self.max_iter), trace, begin), task, trace)

    def _fit_rows(
        self,
        X: np.ndarray,
        rows: np.ndarray | None,
        codes: np.ndarray,
        weights: np.ndarray | None,
        start: tuple[np.ndarray, np.ndarray] | None,
    ) -> LogisticRegression:
        """Fit on some rows of X (None for all); `classes_` is set, codes and weights have one value per row of X."""
        task, trace = self._task_of(X, rows, codes, weights), self._new_trace()
        sample = sample_of(task, float(self.tol)) if start is None else None
        found = solve(*sample.search(int(self.max_iter))) if sample is not None and sample.start is None else None
        way, begin = way_from(sample, found, task, start)
        return self._keep(way(task, float(self.tol), int(self.max_iter), trace, begin), task, trace)

    def _task_of(self, X: Any, rows: np.ndarray | None, codes: np.ndarray, weights: np.ndarray | None) -> Task:
        """What to solve, for the classes that are there."""
        self._require_classes()
        if self.classes_.shape[0] > 2:
            self._check_table_cost(X, self.classes_.shape[0])
        X, rows, codes, weights = only(X, rows, codes, weights)
        weights = with_class_weights(type(self).__name__, self.class_weight, self.classes_, codes, weights, rows)
        return self._task(X, rows, codes, weights, self.classes_.shape[0], self._reference_code())

    def _keep(self, solution: Solution, task: Task, trace: Trace) -> LogisticRegression:
        self.coef_, self.intercept_, self.n_iter_ = solution.coef, solution.intercept, solution.n_iter
        self._keep_trace(trace)
        self._infer(solution, task)
        self._warn_about(solution)
        return self

    def _task(
        self,
        X: np.ndarray,
        rows: np.ndarray | None,
        codes: np.ndarray,
        weights: np.ndarray | None,
        n_classes: int,
        reference: int | None,
    ) -> Task:
        """What to solve, by the parameters."""
        return Task(
            X=X,
            rows=rows,
            codes=codes,
            weights=weights,
            n_classes=n_classes,
            C=np.inf if self.penalty is None else float(self.C),
            fit_intercept=bool(self.fit_intercept),
            reference=reference,
            threads=thread_count(self.n_jobs),
            l1_ratio=self._absolute_share(),
        )

    def _looked_at(self, batches: Any) -> Any:
        """Parquet files from a gigabyte on are decoded once or twice and not copied, if this is the first fit of the
        batches: their first pass is made where a sample has its optimum. Once with two classes and a penalty, while two
        bytes a cell, up to a gigabyte, are kept in memory."""
        if self.class_weight is not None or self.reference_class is not None:
            return batches
        self._check_parameters()
        self._refuse_ignored()
        if self._absolute_share() == 0.0 or self.penalty is None or not np.isfinite(self.C):
            settings = self._task(np.empty((0, 0)), None, np.empty(0, dtype=np.int32), None, 2, None)
            drawn = sample_of_batches(batches, settings, float(self.tol))
            if drawn is not None:
                table = look_first(batches, *drawn, solve(*drawn[0].search(int(self.max_iter))))
                return batches if table is None else table
        return batches

    def _absolute_share(self) -> float:
        return {"l1": 1.0, "l2": 0.0, None: 0.0}.get(self.penalty, float(self.l1_ratio))

    def _refuse_ignored(self) -> None:
        """Refuse a parameter that `penalty` would silence."""
        who, came = type(self).__name__, f"with penalty={self.penalty!r}"
        if self.l1_ratio not in (0.0, self._absolute_share()):
            way_out = "leave `penalty` at 'auto', and l1_ratio decides"
            rule = f"must be {'0 or 1' if self.penalty == 'l1' else '0'} {came}, which does not read it"
            raise ParameterError(who, "parameter 'l1_ratio'", rule, f"got {self.l1_ratio:g}", way_out)
        if self.penalty is None and np.isfinite(self.C) and self.C != 1.0:
            rule = f"must be left at 1 or be inf {came}, which does not read it"
            raise ParameterError(who, "parameter 'C'", rule, f"got {self.C:g}", "drop C, or drop penalty=None")

    def fit_folds(
        self, X: Any, y: Any, folds: Iterable[Fold], sample_weight: Any = None, transforms: Transforms = None
    ) -> Iterator[Any]:
        """Yield one fitted clone per fold: the table is read once, rows are used in place, and with a penalty each
        fold starts from the fit to a sample of all rows (which saves steps and does not move the optimum)."""
        whole: LogisticRegression = clone(self)
        whole._check_parameters()
        whole._refuse_ignored()
        codes = whole._encode_target(y)
        labels, values = whole.classes_, whole._read(X, reset=True)
        if values.shape[0] != codes.shape[0]:
            raise DataError(
                type(self).__name__, "X and y", "must have as many rows", f"got {values.shape[0]} and {codes.shape[0]}"
            )
        whole._check_table_cost(values)
        weights = check_weights(type(self).__name__, sample_weight, values.shape[0])
        everything = np.arange(values.shape[0], dtype=np.int64)
        start: tuple[np.ndarray, np.ndarray] | None = None
        if self.penalty is not None and np.isfinite(self.C):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", AssayWarning)
                sample = _starting_rows(codes, weights, labels.shape[0])
                seen = values[sample] if transforms is None else transforms.whole.apply(values, sample)
                whole._fit_rows(seen, None, codes[sample], None if weights is None else weights[sample], None)
            start = whole.coef_, whole.intercept_
        for train, _, through in through_folds(folds, transforms):
            rows = everything[train]
            if weights is not None:
                rows = rows[weights[rows] > 0]
            model: LogisticRegression = clone(self)
            copy_columns(whole, model, through)
            present = np.bincount(codes[rows], minlength=labels.shape[0]) > 0
            model.classes_ = labels[present]
            known, begin = codes, start
            if not present.all():
                known, begin = renumber(codes, present), None
            if through is None or transforms is None:
                yield model._fit_rows(values, rows, known, weights, begin)
                continue
            if begin is not None:
                begin = through.carried(begin[0], transforms.whole), begin[1]
            part = None if weights is None else weights[rows]
            yield model._fit_rows(through.apply(values, rows), None, known[rows], part, begin)

    def _reference_code(self) -> int | None:
        if self.reference_class is None:
            return None
        found = np.flatnonzero(self.classes_ == self.reference_class)
        if not found.size:
            came = f"got {plain(repr(self.reference_class))}"
            raise self._parameter_error("reference_class", "must be a label of y", came)
        return int(found[0])

    def _parameter_error(self, name: str, rule: str, came: str) -> ParameterError:
        labels = ", ".join(plain(repr(label), 20) for label in self.classes_[:5].tolist())
        more = ", ..." if self.classes_.shape[0] > 5 else ""
        return ParameterError(type(self).__name__, f"parameter '{name}'", rule, came, f"y holds {labels}{more}")

    def _warn_about(self, solution: Solution) -> None:
        who = type(self).__name__
        if solution.dependent.size:
            text = combination_text(who, [self._column_name(int(j)) for j in solution.dependent])
            warnings.warn(AssayWarning("W203", text), stacklevel=5)
        if solution.status == "separated" or (solution.status == "max_iter" and solution.completely_separated):
            how = "a hyperplane separates the classes" if solution.completely_separated else "some rows are separated"
            text = f"{who}: {how}, so that coefficients without a penalty grow without bound; use a finite C."
            if solution.status == "separated" or self.penalty is None or np.isinf(self.C):
                warnings.warn(AssayWarning("W202", text), stacklevel=5)
                return
        if solution.status in ("max_iter", "stalled"):
            text = f"{who}: not converged after {solution.n_iter} iterations; raise max_iter or tol."
            warnings.warn(AssayWarning("W201", text), stacklevel=5)

    def decision_function(self, X: Any) -> np.ndarray:
        """Log odds of `classes_[1]` (two classes), or one value per class whose softmax is the probability."""
        check_is_fitted(self)
        values = self._read(X, reset=False)
        decision = values @ self.coef_.T + self.intercept_
        return decision[:, 0] if decision.shape[1] == 1 else decision

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row; the first in `classes_` wins a tie."""
        decision = self.decision_function(X)
        codes = (decision > 0).astype(np.intp) if decision.ndim == 1 else decision.argmax(axis=1)
        return self.classes_[codes]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class."""
        return probabilities_of(self.decision_function(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of the probability of each class; finite even where the probability underflows."""
        return log_probabilities_of(self.decision_function(X))

    def view(self) -> Coefficients:
        """The coefficients by class."""
        check_is_fitted(self)
        return coefficients_of(self, self.coef_, self.intercept_, self.classes_)

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Eight passes; n_outputs is 1 for two classes and the number of classes otherwise."""
        unknowns = n_outputs * (n_features + 1.0)
        cells = float(n_rows) * (n_features + 1.0)
        if unknowns <= DENSE_LIMIT:
            pairs = max(1.0, n_outputs * (n_outputs - 1) / 2)
            seconds = 8 * (cells * (1.5e-9 + 1e-10 * n_features * pairs + 1e-9 * n_outputs) + 1e-10 * unknowns**3)
            return Cost(seconds=seconds + 1e-3, bytes=8.0 * cells + 9 * 8.0 * pairs * n_features**2)
        return Cost(seconds=200 * cells * (1.5e-9 + 1e-9 * n_outputs), bytes=8.0 * (cells + 2.0 * n_rows * n_outputs))


def _starting_rows(codes: np.ndarray, weights: np.ndarray | None, n_classes: int) -> np.ndarray:
    """Rows from which the start of all folds comes: up to a fourth of them, in equal steps, with every class in it."""
    used = np.arange(codes.shape[0]) if weights is None else np.flatnonzero(weights > 0)
    sample = used[:: min(4, max(1, used.shape[0] // START_ROWS))]
    complete = np.bincount(codes[sample], minlength=n_classes).all()
    return sample if complete else used
