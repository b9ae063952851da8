"""Lasso and elastic net with the penalty chosen by cross-validation, all folds and penalties in one go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from ...base.cost import Cost
from ...base.cv import cv_param
from ...base.errors import ParameterError, plain
from ...base.estimator import Fold, check_weights
from ...base.folds import Transforms, copy_columns, through_folds
from ...base.parameters import ArrayLike, Boolean, Integer, Real, param
from ...base.threads import thread_count
from .elastic_net import SparseLinear, alpha_grid
from .elastic_net_solver import MomentSource, Paths, Source, column_source, prefers_moments, table_prefers_moments
from .fold_statistics import ChosenRows, ChunkedGram, FoldStatistics
from .free_columns import without_free
from .gram import Centred
from .sparse import SparseTable
from .tables import table_of, validation_folds


class _ChosenPenalty(SparseLinear):
    """The penalty of smallest mean squared error over the folds."""

    _learned = {
        "alpha_": "float, the chosen penalty",
        "alphas_": "array (n_alphas,), the grid, descending; one row per share where several are given",
        "mse_path_": "array (n_alphas, n_folds), mean squared error on each test part; likewise by share",
        "coef_, intercept_": "the fit of the chosen penalty to all rows",
        "dual_gap_, n_iter_": "its duality gap and sweeps",
    }

    eps: float = param(1e-3, Real(0, 1, closed="neither"), "Smallest alpha of the grid over its largest.")
    alphas: Any = param(100, Integer(1) | ArrayLike(), "Penalties to try, or how many, from the largest that matters.")
    cv: Any = cv_param(None, "5")
    one_standard_error: bool = param(
        False,
        Boolean(),
        "Choose the largest alpha whose error is within one standard error of the smallest, not the smallest itself.",
    )

    def _l1_ratios(self) -> np.ndarray:
        return np.ones(1)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Follow the path on every training part, choose the penalty, and fit it to all rows."""
        rows, target, weights = self._begin(X, y, sample_weight)
        folds = validation_folds(type(self).__name__, self.cv, rows, target, sample_weight)
        statistics = None
        if table_prefers_moments(rows):
            shared: Any = {"fit_intercept": self.fit_intercept, "threads": thread_count(self.n_jobs)}
            statistics = FoldStatistics.of(rows, target, weights, folds, **shared)
        if statistics is None or not np.isfinite(statistics.whole.sums).all():
            self._require_finite(rows)
        return self._fit_inner(rows, target, weights, folds, statistics)

    def fit_folds(
        self, X: Any, y: Any, folds: Iterable[Fold], sample_weight: Any = None, transforms: Transforms = None
    ) -> Iterator[Any]:
        """One fitted clone per fold; on tall tables the Gram matrices of its own folds come from those of fixed blocks
        of rows, computed once, less the rows left out."""
        template = clone(self)
        rows, target, _ = template._begin(X, y)
        weights = check_weights(type(self).__name__, sample_weight, rows.shape[0])
        if not table_prefers_moments(rows) or not ChunkedGram.pays_for(rows):
            yield from super().fit_folds(X, y, folds, sample_weight, transforms)
            return
        template._require_finite(rows)
        threads = thread_count(self.n_jobs)
        chunks = ChunkedGram.of(rows, target[:, None], weights, fit_intercept=self.fit_intercept, threads=threads)
        for train, _, through in through_folds(folds, transforms):
            given = None if weights is None else weights[train]
            used = train if given is None else train[given > 0]
            part, of_part = ChosenRows(rows, used, through), target[used]
            inner = validation_folds(type(self).__name__, self.cv, part, of_part, given)
            model = clone(template)
            copy_columns(template, model, through)
            statistics = chunks.folds(used, inner) if table_prefers_moments(rows, used.shape[0]) else None
            if statistics is not None:
                statistics = statistics.through(through)
            taken: Any = part if statistics is not None else part[:]
            of_rows = None if weights is None else weights[used]
            if statistics is None and table_prefers_moments(taken):
                shared: Any = {"fit_intercept": self.fit_intercept, "threads": threads}
                statistics = FoldStatistics.of(taken, of_part, of_rows, inner, **shared)
            yield model._fit_inner(taken, of_part, of_rows, inner, statistics)

    def _fit_inner(
        self,
        rows: np.ndarray | SparseTable | ChosenRows,
        target: np.ndarray,
        weights: np.ndarray | None,
        folds: list[Fold],
        statistics: FoldStatistics | None,
    ) -> Any:
        """Follow the paths of the folds, choose and fit; by columns where there are no `statistics`."""
        parts = _Parts(rows, target, weights, folds, self.fit_intercept, thread_count(self.n_jobs), statistics)
        factors = self._penalty_weights(parts.whole, 0, rows.shape[1])
        ratios = self._l1_ratios()
        whole, held = without_free(parts.whole, factors)
        grids = [
            alpha_grid(type(self).__name__, self.alphas, self.eps, whole.cross(0), held, float(ratio), self.positive)
            for ratio in ratios
        ]
        errors, found = [], []
        for ratio, grid in zip(ratios, grids, strict=True):
            paths = [self._follow(parts, group, grid, float(ratio), factors) for group in self._groups(parts)]
            found.append([(group, k) for group in paths for k in range(len(group.coefficients))])
            errors.append(np.stack([parts.errors(fold, *of) for fold, of in enumerate(found[-1])], axis=1))
        which, point = self._choose(np.array(errors), parts.test_weights)
        self._describe(ratios, grids, np.array(errors), which, point)
        start = None
        if not isinstance(self.penalty_weights, str):
            near = found[which]
            if statistics is None and table_of(rows).by_column:
                # The folds use many more columns together than a fit to all rows does, and those are what it costs.
                path = self._penalties(grids[which][: point + 1], held, float(ratios[which]))
                near = [(whole.solve(path), 0)]
            start = np.zeros((1, rows.shape[1]))
            for group, k in near:
                columns, values = group.coefficients[k].point(point)
                start[0, columns] += values / len(near)
            del near, group
        del found, paths  # not held beside the exact steps of the last fit
        return self._fit_chosen(parts.whole, factors, float(ratios[which]), float(grids[which][point]), start)

    def _groups(self, parts: _Parts) -> list[Any]:
        """Folds solved together: all of them, or one by one where each has penalty weights of its own; by moments as
        many as there are threads where the moments of all would take more than half of the table."""
        count, (n_rows, width) = len(parts.folds), parts.rows.shape
        at_once = 1 if isinstance(self.penalty_weights, str) else count
        if parts.statistics is not None and 2 * count * width > n_rows:
            at_once = min(at_once, thread_count(self.n_jobs))
        return [list(range(k, min(k + at_once, count))) for k in range(0, count, at_once)]

    def _follow(self, parts: _Parts, group: list[int], grid: np.ndarray, l1_ratio: float, factors: np.ndarray) -> Paths:
        source = parts.training(group)
        if isinstance(self.penalty_weights, str):
            factors = self._penalty_weights(source, 0, factors.shape[0])
        rest, held = without_free(source, factors)
        paths = rest.solve(self._penalties(grid, held, l1_ratio))
        self._warn_if_open(paths, grid)
        return paths

    def _choose(self, errors: np.ndarray, weights: np.ndarray) -> tuple[int, int]:
        """The place (l1_ratio, alpha) of the chosen penalty in `errors` (n_l1_ratios, n_alphas, n_folds)."""
        mean = np.average(errors, axis=2, weights=weights)
        which, point = np.unravel_index(int(np.argmin(mean)), mean.shape)
        if self.one_standard_error:
            spread = np.std(errors[which, point], ddof=1) / np.sqrt(errors.shape[2])
            point = np.flatnonzero(mean[which] <= mean[which, point] + spread)[0]
        return int(which), int(point)

    def chosen(self) -> dict[str, int | float | str]:
        """The penalty, and the share of the absolute penalty where several were given."""
        check_is_fitted(self)
        several = np.ndim(getattr(self, "l1_ratio", 1.0)) > 0
        return {"alpha": float(self.alpha_), **({"l1_ratio": float(self.l1_ratio_)} if several else {})}

    def _describe(
        self, ratios: np.ndarray, grids: list[np.ndarray], errors: np.ndarray, which: int, point: int
    ) -> None:
        self.alpha_ = float(grids[which][point])
        self.alphas_, self.mse_path_ = grids[0], errors[0]

    def _fit_chosen(
        self, whole: Source, factors: np.ndarray, l1_ratio: float, alpha: float, start: np.ndarray | None
    ) -> Any:
        rest, held = without_free(whole, factors)
        paths = rest.solve(self._penalties([alpha], held, l1_ratio, refine=True), start)
        self._warn_if_open(paths, np.array([alpha]))
        self.coef_ = paths.coef(0)[0]
        self.intercept_ = float(paths.intercept[0, 0])
        self.dual_gap_ = float(paths.gaps[0, 0])
        self.n_iter_ = int(paths.sweeps[0, 0])
        if self.penalty_weights is not None:
            self.penalty_weights_ = factors
        return self

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Two Gram matrices and sweeps over each fold's, or reads of the columns and each fold's working block."""
        width = n_features + 2.0
        folds = self.cv if isinstance(self.cv, (int, np.integer)) else 5
        points = float(self.alphas) if isinstance(self.alphas, (int, np.integer)) else float(np.size(self.alphas))
        points *= len(self._l1_ratios())
        if prefers_moments(n_rows, n_features):
            return Cost(
                seconds=1e-3 + n_rows * width * (1e-9 + 3e-11 * width) + 1e-9 * folds * points * width**2,
                bytes=8.0 * n_rows * width + (16.0 * width**2 + 8 * points * width) * (folds + 1),
            )
        active = float(min(n_rows, n_features))
        return Cost(
            seconds=1e-3 + points * (1e-9 * n_rows * width + folds * 1e-8 * active**2),
            bytes=20.0 * n_rows * width + folds * (16.0 * active**2 + 8 * points * width),
        )


class LassoCV(_ChosenPenalty):
    """Lasso whose penalty is chosen by cross-validation along the whole path.

    The Gram matrix of each training part is that of all rows less that of the test part; wide tables are kept by column
    and read once for all folds at each penalty. The error of a penalty is the mean over all left-out rows, each with
    its weight, where scikit-learn takes the plain mean over folds. Equal rows stay in one fold, so that weights mean
    what repetition means; with distinct rows the folds are scikit-learn's.

    {parameters}

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.linear import LassoCV
    >>> X = np.random.default_rng(0).normal(size=(60, 5))
    >>> model = LassoCV(cv=3).fit(X, 2 * X[:, 1] + 1)
    >>> model.coef_.round(1) + 0.0, round(model.intercept_, 1), model.mse_path_.shape
    (array([0., 2., 0., 0., 0.]), 1.0, (100, 3))
    """


class ElasticNetCV(_ChosenPenalty):
    """Elastic net whose penalty and share of the absolute penalty are chosen by cross-validation.

    Works as `LassoCV`, for each `l1_ratio` given.

    {parameters}

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.linear import ElasticNetCV
    >>> X = np.random.default_rng(0).normal(size=(60, 5))
    >>> model = ElasticNetCV(l1_ratio=[0.5, 0.9], cv=3).fit(X, 2 * X[:, 1] + 1)
    >>> model.l1_ratio_, model.mse_path_.shape
    (0.9, (2, 100, 3))
    """

    _learned = {"l1_ratio_": "float, the chosen share of the absolute penalty"}

    l1_ratio: Any = param(
        0.5,
        Real(0, 1, closed="right") | ArrayLike(),
        "Share of the absolute penalty, or a list of them to choose from.",
    )

    def _l1_ratios(self) -> np.ndarray:
        try:
            ratios = np.atleast_1d(np.asarray(self.l1_ratio, dtype=np.float64))
        except (TypeError, ValueError):
            ratios = np.array([np.nan])
        if ratios.ndim != 1 or ratios.shape[0] == 0 or not ((ratios > 0) & (ratios <= 1)).all():
            raise ParameterError(
                type(self).__name__,
                "parameter 'l1_ratio'",
                "must be a number > 0 and <= 1 or a list of them",
                f"got {plain(repr(self.l1_ratio))}",
            )
        return ratios

    def _describe(
        self, ratios: np.ndarray, grids: list[np.ndarray], errors: np.ndarray, which: int, point: int
    ) -> None:
        several = np.ndim(self.l1_ratio) > 0
        self.alpha_, self.l1_ratio_ = float(grids[which][point]), float(ratios[which])
        self.alphas_ = np.array(grids) if several else grids[0]
        self.mse_path_ = errors if several else errors[0]


class _Parts:
    """One table and its folds: the source of all rows, those of the training parts, and errors on the test parts."""

    def __init__(
        self,
        rows: np.ndarray | SparseTable | ChosenRows,
        target: np.ndarray,
        weights: np.ndarray | None,
        folds: Sequence[Fold],
        fit_intercept: bool,
        threads: int,
        statistics: FoldStatistics | None,
    ):
        self.rows, self.target, self.folds, self.statistics = rows, target, folds, statistics
        self.weights = np.ones(rows.shape[0]) if weights is None else weights
        self.test_weights = np.array([self.weights[test].sum() for _, test in folds])
        self.whole: Source
        if statistics is not None:
            self.whole = MomentSource(_Moments(statistics, [None]), fit_intercept, threads)
        else:
            counted = [np.bincount(t, weights=self.weights[t], minlength=rows.shape[0]) for t, _ in folds]
            self._columns = column_source(rows).of(rows, target, np.array(counted), fit_intercept, threads)
            self.whole = self._columns.only(0, self.weights)

    def training(self, group: list[int]) -> Source:
        """The source of the training parts of some folds."""
        if self.statistics is not None:
            whole = self.whole
            assert isinstance(whole, MomentSource)
            return MomentSource(_Moments(self.statistics, group), whole.fit_intercept, whole.threads)
        return self._columns.some(group)

    def errors(self, fold: int, paths: Paths, problem: int) -> np.ndarray:
        """Mean squared error on the test rows of a fold for each solution of its path, that of a problem of `paths`."""
        intercept = paths.intercept[problem]
        if self.statistics is not None:
            errors = self.statistics.test_errors(fold, paths.coef(problem), intercept)
            if self.statistics.errors_hold(fold, errors):
                return errors
        test = self.folds[fold][1]
        columns, path = paths.coefficients[problem].in_use()
        cells = table_of(self.rows).block(test, columns)
        residual = self.target[test, None] - cells @ path.T - intercept
        return np.average(residual**2, axis=0, weights=self.weights[test])


@dataclass(frozen=True)
class _Moments(Sequence[Centred]):
    """Averaged moments of the training parts of some folds (None: of all rows), made when they are asked for and not
    kept."""

    statistics: FoldStatistics
    group: Sequence[int | None]

    def __len__(self) -> int:
        return len(self.group)

    def __getitem__(self, problem: Any) -> Any:
        return self.statistics.averaged(self.group[problem])
