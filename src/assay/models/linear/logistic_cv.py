"""Logistic regression along a path of penalties, and the choice of the penalty by cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ...base.columns import renumber
from ...base.cost import Cost
from ...base.cv import choose_on_param, cv_param, drawn_rows, folds_of_sample
from ...base.errors import AssayWarning, DataError, ParameterError
from ...base.estimator import Fold, check_weights
from ...base.folds import Transforms, copy_columns
from ...base.parameters import ArrayLike, Boolean, Choice, Function, Integer, Nothing, param
from ...base.words import count
from .logistic import LogisticRegression
from .logistic_solver import log_probabilities_of
from .tables import table_of, validation_folds

Start = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class LogisticPath:
    """Coefficients for every C, smallest first: arrays over (C, class, column)."""

    Cs: np.ndarray
    classes: np.ndarray
    coefs: np.ndarray
    intercepts: np.ndarray
    n_iter: np.ndarray


def logistic_path(
    X: Any,
    y: Any,
    Cs: Any = 10,
    *,
    penalty: str = "auto",
    l1_ratio: float = 0.0,
    sample_weight: Any = None,
    **parameters: Any,
) -> LogisticPath:
    """Fit for every C, each fit starting from the one before; an integer is that many C from 1e-4 to 1e4.

    >>> path = logistic_path([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1], Cs=[0.1, 10.0])
    >>> path.coefs.shape, bool(path.coefs[0, 0, 0] < path.coefs[1, 0, 0])
    ((2, 1, 1), True)
    """
    model = LogisticRegression(penalty=penalty, l1_ratio=l1_ratio, **parameters)
    model._refuse_ignored()
    values, codes, weights = model._begin(X, y, sample_weight)
    grid = _grid("logistic_path", Cs)
    models = list(_fit_path(model, values, None, codes, weights, grid))
    return LogisticPath(
        grid,
        model.classes_,
        np.array([m.coef_ for m in models]),
        np.array([m.intercept_ for m in models]),
        np.array([m.n_iter_ for m in models]),
    )


def _grid(who: str, Cs: Any) -> np.ndarray:
    if isinstance(Cs, (int, np.integer)):
        return np.logspace(-4, 4, int(Cs))
    grid = np.unique(np.asarray(Cs, dtype=np.float64))
    if grid.ndim != 1 or not grid.size or not (np.isfinite(grid).all() and (grid > 0).all()):
        raise ParameterError(who, "parameter 'Cs'", "must be an integer >= 1 or hold positive finite numbers")
    return grid


def _fit_path(
    template: LogisticRegression,
    values: np.ndarray,
    rows: np.ndarray | None,
    codes: np.ndarray,
    weights: np.ndarray | None,
    grid: np.ndarray,
    starts: Sequence[Start] | None = None,
) -> Iterator[LogisticRegression]:
    """One model per C, in order of the grid (rising), each started from the one before.

    `starts` are solutions of a similar problem for the same grid: the start then moves on as they do.
    """
    start: Start | None = None
    for k, C in enumerate(grid):
        if starts is not None:
            start = starts[k] if start is None else _moved(start, starts[k - 1], starts[k])
        model = clone(template).set_params(C=float(C))
        model.classes_, model.n_features_in_ = template.classes_, template.n_features_in_
        if hasattr(template, "feature_names_in_"):
            model.feature_names_in_ = template.feature_names_in_
        model._fit_rows(values, rows, codes, weights, start)
        start = model.coef_, model.intercept_
        yield model


def _moved(start: Start, before: Start, after: Start) -> Start:
    return start[0] + (after[0] - before[0]), start[1] + (after[1] - before[1])


class LogisticCV(LogisticRegression):
    """Logistic regression whose penalty is chosen by cross-validation.

    Every fold runs the whole path of C with warm starts on the rows in place; the C (and l1_ratio) with the best mean
    score is fitted to all rows. The folds are scikit-learn's, balanced over the classes; equal rows share a fold, so
    that nothing leaks between folds by repetition, and repeating rows instead of weighting them changes nothing.
    With `choose_on` the paths run on a sample of the rows, which keeps the shares of the classes: C is the variance
    of a prior on the coefficients and does not depend on the number of rows.

    {parameters}

    Attributes
    ----------
    C_, l1_ratio_ : the values chosen
    Cs_ : array of the values tried, rising
    l1_ratios_ : array of the shares tried (elasticnet)
    n_chosen_on_ : how many rows were drawn to choose on; None for all
    scores_ : array (folds, l1_ratios, Cs) of scores, higher is better
    classes_, coef_, intercept_, n_iter_ : as in LogisticRegression; without `refit` the mean over the folds

    Examples
    --------
    >>> from assay.models.linear import LogisticCV
    >>> X = [[float(i)] for i in range(20)]
    >>> model = LogisticCV(cv=2, Cs=[0.01, 1.0]).fit(X, [0] * 10 + [1] * 10)
    >>> model.C_, model.scores_.shape
    (1.0, (2, 1, 2))
    """

    _by_batches = False

    Cs: Any = param(10, Integer(1) | ArrayLike(), "How many C from 1e-4 to 1e4 to try, or the values.")
    cv: Any = cv_param(5, "5")
    scoring: Any = param(
        "neg_log_loss",
        Choice("neg_log_loss", "accuracy", "balanced_accuracy", "roc_auc_ovr", "f1_macro", "neg_brier_score")
        | Function(),
        "What to maximise: a name, or a function of (model, X, y) with sample_weight.",
    )
    l1_ratios: Any = param(
        None,
        ArrayLike() | Nothing(),
        "Shares of the absolute part of the penalty to try; None is l1_ratio.",
    )
    choose_on: int | None = choose_on_param()
    refit: bool = param(True, Boolean(), "Whether to fit the best C to all rows; else the folds' fits are averaged.")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LogisticCV:
        """Score the paths of all folds, choose, and fit again."""
        values, codes, weights = self._begin(X, y, sample_weight)
        self._require_classes()
        self.Cs_ = _grid(type(self).__name__, self.Cs)
        self.l1_ratios_ = self._shares()
        return self._fit_inner(values, None, codes, weights, self._folds(values, codes, sample_weight), None)

    def fit_folds(
        self, X: Any, y: Any, folds: Iterable[Fold], sample_weight: Any = None, transforms: Transforms = None
    ) -> Iterator[LogisticCV]:
        """Yield one fitted clone per fold: the table is read once, rows are used in place, and every path starts from
        that of all rows and moves on as it does (which saves steps and does not move the optimum)."""
        whole: LogisticCV = clone(self)
        values, codes, _ = whole._begin(X, y)
        whole._require_classes()
        weights = check_weights(type(self).__name__, sample_weight, values.shape[0])
        whole.Cs_, whole.l1_ratios_ = _grid(type(self).__name__, self.Cs), whole._shares()
        starts: list[list[Start]] | None = None
        tried = False
        for k, (train, test) in enumerate(folds):
            used = train if weights is None else train[weights[train] > 0]
            if np.unique(codes[used]).shape[0] < whole.classes_.shape[0]:
                one = None if transforms is None else transforms.only(k)
                yield from super(LogisticRegression, self).fit_folds(X, y, [(train, test)], sample_weight, one)
                continue
            if not tried and self.penalty is not None and not self._samples(used.shape[0]):
                tried = True
                seen = values if transforms is None else transforms.whole.apply(values)
                starts = whole._paths_of_all_rows(seen, codes, weights)
            model: LogisticCV = clone(self)
            through = None if transforms is None else transforms.folds[k]
            copy_columns(whole, model, through)
            model.classes_, model.Cs_, model.l1_ratios_ = whole.classes_, whole.Cs_, whole.l1_ratios_
            given = None if weights is None else weights[train]
            if through is None or transforms is None:
                inner: list[Fold] = [(used[a], used[b]) for a, b in model._folds(values[used], codes[used], given)]
                yield model._fit_inner(values, used, codes, weights, inner, starts)
                continue
            begin = None
            if starts is not None:
                begin = [[(through.carried(c, transforms.whole), b) for c, b in path] for path in starts]
            part, of_part = through.apply(values, used), None if weights is None else weights[used]
            inner = model._folds(part, codes[used], given)
            yield model._fit_inner(part, None, codes[used], of_part, inner, begin)

    def _template(self) -> LogisticRegression:
        return LogisticRegression(
            **{name: value for name, value in self.get_params(deep=False).items() if name in _SHARED}
        )

    def _paths_of_all_rows(
        self, values: np.ndarray, codes: np.ndarray, weights: np.ndarray | None
    ) -> list[list[Start]] | None:
        """Coefficients of every share and C on all rows of positive weight, None where a class has no such row.

        An absolute penalty leaves nearly flat directions in which a solution to `tol` depends on the start: None there.
        """
        rows = None if weights is None else np.flatnonzero(weights > 0)
        if self.l1_ratios_.max() > 0:
            return None
        if rows is not None and np.unique(codes[rows]).shape[0] < self.classes_.shape[0]:
            return None
        found = []
        for share in self.l1_ratios_:
            part = self._template().set_params(l1_ratio=float(share))
            part.classes_, part.n_features_in_ = self.classes_, self.n_features_in_
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", AssayWarning)
                models = _fit_path(part, values, rows, codes, weights, self.Cs_)
                found.append([(m.coef_, m.intercept_) for m in models])
        return found

    def chosen(self) -> dict[str, int | float | str]:
        """The inverse penalty C, and the share of the absolute penalty where several were given; the name of C says
        so where a sample of the rows chose it."""
        check_is_fitted(self)
        several = self.l1_ratios_.shape[0] > 1
        name = "C" if self.n_chosen_on_ is None else f"C (by {count(self.n_chosen_on_, 'drawn row')})"
        return {name: float(self.C_), **({"l1_ratio": float(self.l1_ratio_)} if several else {})}

    def _samples(self, n_rows: int) -> bool:
        """Whether the choice is made on a sample of so many rows."""
        return self.choose_on is not None and n_rows > self.choose_on

    def _fit_inner(
        self,
        values: np.ndarray,
        rows: np.ndarray | None,
        codes: np.ndarray,
        weights: np.ndarray | None,
        folds: list[Fold],
        starts: list[list[Start]] | None,
    ) -> LogisticCV:
        """Score the folds (positions in `values`), choose, and fit to `rows`; `starts` by share and C."""
        template = self._template()
        scores, fitted = [], []
        for train, test in folds:
            found = [
                self._score_path(
                    template, values, codes, weights, train, test, share, None if starts is None else starts[k]
                )
                for k, share in enumerate(self.l1_ratios_)
            ]
            scores.append([fold_scores for fold_scores, _ in found])
            fitted.append([models for _, models in found])
        self.scores_ = np.array(scores)
        share, best = np.unravel_index(int(np.argmax(self.scores_.mean(axis=0))), self.scores_.shape[1:])
        self.C_, self.l1_ratio_ = float(self.Cs_[best]), float(self.l1_ratios_[share])
        start = None if starts is None else starts[share][best]
        if self.n_chosen_on_ is not None:
            near = fitted[-1][share][best]
            start = (near.coef_, near.intercept_) if near.classes_.shape == self.classes_.shape else None
        self._keep_best(template, values, rows, codes, weights, [models[share][best] for models in fitted], start)
        return self

    def _keep_best(
        self,
        template: LogisticRegression,
        values: np.ndarray,
        rows: np.ndarray | None,
        codes: np.ndarray,
        weights: np.ndarray | None,
        of_folds: list[LogisticRegression],
        start: Start | None,
    ) -> None:
        if self.refit:
            model = clone(template).set_params(C=self.C_, l1_ratio=self.l1_ratio_, trace=self.trace)
            model.classes_, model.n_features_in_ = self.classes_, self.n_features_in_
            model._fit_rows(values, rows, codes, weights, start)
            self.coef_, self.intercept_, self.n_iter_ = model.coef_, model.intercept_, model.n_iter_
            if self.trace:
                self.trace_ = model.trace_
            elif hasattr(self, "trace_"):
                del self.trace_
            return
        whole = [m for m in of_folds if m.classes_.shape == self.classes_.shape]
        self.coef_ = np.mean([m.coef_ for m in whole], axis=0)
        self.intercept_ = np.mean([m.intercept_ for m in whole], axis=0)
        self.n_iter_ = max(m.n_iter_ for m in whole)
        if self.trace:
            self.trace_ = [{"step": 0, "what": "chosen", "values": {"C": self.C_, "l1_ratio": self.l1_ratio_}}]

    def _shares(self) -> np.ndarray:
        if self.l1_ratios is None:
            self._refuse_ignored()
            return np.array([self._absolute_share()])
        if self.penalty not in ("auto", "elasticnet") or self.l1_ratio != 0.0:
            raise ParameterError(
                type(self).__name__,
                "parameter 'l1_ratios'",
                "must be None where penalty or l1_ratio says the share",
                f"got penalty={self.penalty!r} and l1_ratio={self.l1_ratio:g}",
                "leave them at 'auto' and 0",
            )
        shares = np.unique(np.asarray(self.l1_ratios, dtype=np.float64))
        if not (shares.size and (shares >= 0).all() and (shares <= 1).all()):
            raise ParameterError(type(self).__name__, "parameter 'l1_ratios'", "must hold numbers from 0 to 1")
        return shares

    def _folds(self, values: np.ndarray, codes: np.ndarray, sample_weight: Any) -> list[Fold]:
        """Training and test rows of every fold, as positions among the rows of positive weight."""
        folds = validation_folds(type(self).__name__, self.cv, values, codes, sample_weight, stratify=True)
        drawn = drawn_rows(codes.shape[0], self.choose_on, codes)
        self.n_chosen_on_ = None if drawn is None else int(drawn.shape[0])
        return folds_of_sample(folds, codes.shape[0], drawn)

    def _score_path(
        self,
        template: LogisticRegression,
        values: np.ndarray,
        codes: np.ndarray,
        weights: np.ndarray | None,
        train: np.ndarray,
        test: np.ndarray,
        share: float,
        starts: Sequence[Start] | None,
    ) -> tuple[list[float], list[LogisticRegression]]:
        part = clone(template).set_params(l1_ratio=float(share))
        present = np.bincount(codes[train], minlength=self.classes_.shape[0]) > 0
        part.classes_, part.n_features_in_ = self.classes_[present], self.n_features_in_
        if present.sum() < 2:
            raise DataError(
                type(self).__name__, "y", "has one class only in the training rows of a fold", way_out="use fewer folds"
            )
        of_part = renumber(codes, present)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AssayWarning)
            models = list(_fit_path(part, values, train, of_part, weights, self.Cs_, starts if present.all() else None))
        weight = None if weights is None else weights[test]
        position = np.where(present[codes[test]], of_part[test], -1)
        scores = []
        for model in models:
            if self.scoring in ("neg_log_loss", "accuracy"):
                decision = values[test] @ model.coef_.T + model.intercept_
                logs = log_probabilities_of(decision[:, 0] if decision.shape[1] == 1 else decision)
                each = _score_rows(self.scoring, logs, position)
                scores.append(float(np.average(each, weights=weight)))
            else:
                from sklearn.metrics import get_scorer  # which no prediction needs, and which reads half of SciPy

                scorer = self.scoring if callable(self.scoring) else get_scorer(self.scoring)
                extra = {} if weight is None else {"sample_weight": weight}
                scores.append(float(scorer(model, table_of(values[test]).scipy, self.classes_[codes[test]], **extra)))
        return scores, models

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """The paths of all folds, where a warm start saves more than half of a fit, and one fit more."""
        one = super().estimate_cost(n_rows, n_features, n_outputs)
        points = self.Cs if isinstance(self.Cs, int) else len(self.Cs)
        folds = self.cv if isinstance(self.cv, int) else 5
        share = 1.0 if self.choose_on is None else min(1.0, self.choose_on / max(1, n_rows))
        return Cost(seconds=one.seconds * (1 + 0.4 * share * points * folds), bytes=one.bytes)


_SHARED = frozenset(LogisticRegression.__parameters__) - {"trace", "C"}


def _score_rows(scoring: str, logs: np.ndarray, position: np.ndarray) -> np.ndarray:
    """Log probability of the row's own class (that of 1e-15 where the training rows had none), or right or wrong."""
    if scoring == "accuracy":
        return (logs.argmax(axis=1) == position).astype(float)
    own = logs[np.arange(position.shape[0]), np.maximum(position, 0)]
    return np.where(position >= 0, np.maximum(own, np.log(1e-15)), np.log(1e-15))
