"""Subset selection: which columns a linear model needs, by forward, backward, floating or exhaustive search."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from .. import _kernels
from ..base.cells import naming_cells, require_squares, require_table
from ..base.cost import Cost, check_cost
from ..base.cv import Folds, make_folds
from ..base.errors import AssayWarning, DataError, ParameterError, plain
from ..base.estimator import Fold, check_finite, check_lengths, check_weights, is_missing
from ..base.parameters import ArrayLike, Boolean, Choice, Integer, Nothing, Real, Seed, param
from ..base.threads import thread_count
from ..base.trace import Trace
from ..base.usual_parameters import n_jobs_param, trace_param
from .stability import ColumnSelector
from .subset_scores import (
    CRITERIA,
    Criterion,
    GramParts,
    Learner,
    LearnerScores,
    LinearScores,
    ScoreName,
    fold_summary,
    information_row,
    stratifies,
    subset_errors,
)
from .subset_search import Path, Rules, backward, forward


class _SubsetSelector(ColumnSelector):
    """What the selectors share: reading, folds, fixed columns, the table of scores."""

    max_features: Any = param(None, Integer(1) | Nothing(), "Greatest number of columns where the criterion decides.")
    always: Any = param(None, ArrayLike() | Nothing(), "Columns that are in every subset: names, numbers or a mask.")
    cv: Any = param(5, Integer(2) | Folds(), "Number of folds, pairs of row numbers (train, test), or a splitter.")
    fit_intercept: bool = param(True, Boolean(), "Whether the linear model has an intercept.")
    random_state: Any = param(None, Seed(), "None: folds are blocks of rows in order; a seed: rows are shuffled first.")
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()

    _way_out = "drop columns first or take a sample of the rows"
    # A size that was not tried has no score.
    _open_state = ("scores_", "path_")
    support_: np.ndarray
    path_: dict[str, Any]

    # -- reading -----------------------------------------------------------------------------------------------
    def _learner(self) -> Any:
        return getattr(self, "estimator", None)

    def _start(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, np.ndarray, tuple[Any, ...], list[Fold] | None]:
        """What was read, which columns stay in, (least, most, whether the criterion decides), and the folds."""
        read = self._begin(X, y, sample_weight)
        always = self._always(getattr(self, "feature_names_in_", None))
        sizes = self._sizes(int(always.sum()))
        return read, always, sizes, self._folds(*read[:3]) if self.criterion == "cv" else None

    def _begin(self, X: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray, Any, np.ndarray | None]:
        """Validated (X, y, kept rows, weights); rows of weight zero are still there but not among the kept."""
        self._check_parameters()
        who, learner = type(self).__name__, self._learner()
        if y is None:
            raise ValueError(f"{who}: requires y to be passed, but the target y is None; give one value per row.")
        if learner is not None and getattr(self, "criterion", "cv") != "cv":
            raise ParameterError(
                who, "parameter 'criterion'", "must be 'cv' when an estimator is given", f"got {self.criterion!r}"
            )
        takes_nan = learner is not None and get_tags(learner).input_tags.allow_nan
        require_table(who, X)
        finite = "allow-nan" if takes_nan else True
        with naming_cells(self, X):
            rows = validate_data(
                self, X, reset=True, dtype=np.float64, order="C", ensure_all_finite=finite, ensure_min_samples=2
            )
        target = column_or_1d(y, warn=True)
        if learner is None:
            target = _numbers(who, target)
        check_lengths(who, rows.shape[0], target.shape[0])
        weights = check_weights(who, sample_weight, rows.shape[0])
        self._check_cost(rows.shape[0], rows.shape[1])
        kept = np.ones(rows.shape[0], dtype=bool) if weights is None else weights > 0
        return rows, target, kept, weights

    def _always(self, names: Any) -> np.ndarray:
        """The mask of the columns named in `always`."""
        count = self.n_features_in_
        mask = np.zeros(count, dtype=bool)
        given = np.asarray([] if self.always is None else self.always)
        known = None if names is None else [str(name) for name in names]
        if given.dtype == bool and given.shape == (count,):
            return given.copy()
        for item in given.ravel().tolist():
            if known is not None and isinstance(item, str) and item in known:
                mask[known.index(item)] = True
            elif isinstance(item, int) and not isinstance(item, bool) and -count <= item < count:
                mask[item] = True
            else:
                raise ParameterError(
                    type(self).__name__,
                    "parameter 'always'",
                    "must be names or numbers of columns, or a mask",
                    f"got {plain(repr(item))}",
                )
        return mask

    def _sizes(self, fixed: int) -> tuple[int, int, bool]:
        """(least, most, whether the criterion decides) for the number of columns, `always` included."""
        wanted: Any = self.n_features_to_select
        if isinstance(wanted, str):
            least: int = max(self.min_features, fixed)
            most: int = self.max_features or self.n_features_in_
            least, most = min(least, self.n_features_in_), min(most, self.n_features_in_)
            if most < least:
                raise ParameterError(
                    type(self).__name__,
                    "parameter 'max_features'",
                    f"must be at least the {least} columns of 'min_features' and 'always'",
                    f"got {most}",
                )
            return least, most, True
        if not fixed <= wanted <= self.n_features_in_:
            raise ParameterError(
                type(self).__name__,
                "parameter 'n_features_to_select'",
                f"must be between the {fixed} columns of 'always' and the {self.n_features_in_} of X",
                f"got {wanted}",
            )
        return int(wanted), int(wanted), False

    def _parts(
        self, rows: np.ndarray, target: np.ndarray, kept: np.ndarray, weights: np.ndarray | None, folds: Any
    ) -> GramParts:
        if not kept.all():
            rows, target = rows[kept], target[kept]
        parts = GramParts.of(
            rows,
            target,
            None if weights is None else weights[kept],
            folds,
            fit_intercept=self.fit_intercept,
            threads=thread_count(self.n_jobs),
        )
        who = type(self).__name__
        if not np.isfinite(parts.total_squares):
            raise DataError(who, "y", "is too large to square in float64", way_out="divide it by its largest value")
        if not parts.usable.any():
            raise DataError(who, "X", "must have a column that varies", "got constant columns only")
        return parts

    def _folds(self, rows: np.ndarray, target: np.ndarray, kept: np.ndarray) -> list[Fold]:
        cv, seed = self.cv, self.random_state
        return make_folds(
            type(self).__name__, cv, target[kept], stratify=stratifies(self._learner()), kept=kept, random_state=seed
        )

    # -- what was found ----------------------------------------------------------------------------------------
    def _keep(self, path: Path, size: int) -> None:
        """Store the chosen subset and the table over sizes."""
        chosen = path.columns[size]
        self.support_ = np.zeros(self.n_features_in_, dtype=bool)
        self.support_[chosen] = True
        self.n_features_to_select_ = size
        self.order_ = np.array(chosen, dtype=np.int64)
        sizes = sorted(path.loss)
        names = list(path.rows[sizes[0]])
        self.scores_ = {name: np.array([path.rows[m][name] for m in sizes]) for name in names}
        self.scores_["size"] = np.array(sizes)
        self.path_ = {
            "sizes": np.array(sizes),
            "criterion": self.scores_["criterion"].copy(),
            "subsets": [np.array(sorted(path.columns[m]), dtype=np.int64) for m in sizes],
        }

    def _warn_fewer(self, wanted: int, found: int) -> None:
        text = (
            f"{type(self).__name__}: only {found} of {wanted} columns were chosen; every other column is constant or "
            "depends on the chosen ones."
        )
        warnings.warn(AssayWarning("W151", text), stacklevel=5)

    def summary(self) -> str:
        """The table of sizes, criteria and subsets as text; the chosen line is marked."""
        check_is_fitted(self)
        names = self._names()
        heads = [name for name in self.scores_ if name != "size"]
        lines = [["", "size", *heads, "columns"]]
        for i, size in enumerate(self.path_["sizes"]):
            mark = "*" if size == self.n_features_to_select_ else ""
            cells = [f"{self.scores_[name][i]:.6g}" for name in heads]
            columns = plain(", ".join(names[j] for j in self.path_["subsets"][i]), 60)
            lines.append([mark, str(size), *cells, columns])
        widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
        table = ["  ".join(cell.rjust(w) for cell, w in zip(line[:-1], widths)) + "  " + line[-1] for line in lines]
        chosen = ", ".join(plain(names[j], 40) for j in np.flatnonzero(self.support_)) or "none"
        return "\n".join([*table, f"chosen: {chosen}"])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        learner = self._learner()
        if learner is not None:
            tags.input_tags.allow_nan = get_tags(learner).input_tags.allow_nan
        return tags


class _StepwiseSelector(_SubsetSelector):
    """What forward and backward selection share."""

    n_features_to_select: Any = param(
        "auto",
        Choice("auto", "best") | Integer(1),
        "'auto' stops when no step is worth more than `tol`, 'best' walks to the end and takes the size of best "
        "criterion, a number asks for that many columns.",
    )
    criterion: str = param(
        "cv",
        Choice(*CRITERIA),
        "What is made best: squared error on held-out rows, Akaike's or Bayes' criterion, adjusted R2, Mallows' Cp.",
    )
    estimator: Any = param(
        None, Nothing() | Learner(), "The learner to select for, refitted for every candidate; None is least squares."
    )
    scoring: Any = param(
        None, Nothing() | ScoreName(), "With `estimator`: scikit-learn's name of a score, or a scorer; None is its own."
    )
    floating: bool = param(False, Boolean(), "After each step, take back earlier ones while that beats what was known.")
    tol: float = param(
        0.0, Real(0), "What a column must bring: a share of the error with 'cv', points of the criterion or score else."
    )
    min_features: int = param(1, Integer(0), "Least number of columns where the criterion decides.")
    random_state: Any = param(
        None,
        Seed(),
        "None: folds are blocks of rows in order; a seed: rows are shuffled first, and an estimator whose own seed is "
        "open gets one for each fold.",
    )

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Walk from subset to subset and keep the one that the criterion names."""
        (rows, target, kept, weights), always, (least, most, decides), folds = self._start(X, y, sample_weight)
        trace = self._new_trace()
        usable = np.ones(rows.shape[1], dtype=bool)
        scores: Any
        if self.estimator is None:
            parts = self._parts(rows, target, kept, weights, folds)
            usable, threads = parts.usable, thread_count(self.n_jobs)
            scores = LinearScores(parts, self.criterion, type(self).__name__, removals=self._removes(), threads=threads)
        else:
            part = None if weights is None else weights[kept]
            stream = self._stream()
            scores = LearnerScores(
                self.estimator, self.scoring, rows[kept], target[kept], part, folds or [], self.n_jobs, stream
            )
        rules = Rules(
            always=always,
            allowed=usable & ~always,
            least=least,
            most=most,
            stops=self.n_features_to_select == "auto",
            tol=self.tol,
            relative=self.criterion == "cv" and self.estimator is None,
            floating=self.floating,
        )
        path = self._walk(scores, rules, trace)
        if decides:
            path = path.among([size for size in path.loss if size <= most] or [min(path.loss)])
        size = path.best_size(least) if self.n_features_to_select == "best" else path.end
        if size < least:
            self._warn_fewer(least, size)
        self._keep(path, size)
        self._keep_trace(trace)
        return self

    _walk: Callable[[Any, Rules, Trace], Path]

    def _removes(self) -> bool:
        raise NotImplementedError  # pragma: no cover

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """One Gram matrix over all folds, then sweeps; with an estimator, its own cost for every candidate."""
        folds = (self.cv if isinstance(self.cv, int) else 5) if self.criterion == "cv" else 0
        wanted = self.n_features_to_select if isinstance(self.n_features_to_select, int) else self.max_features
        size = float(min(wanted or n_features, n_features))
        if self.estimator is not None:
            cells = float(n_rows) * n_features
            fits = max(folds, 1) * n_features * size
            return Cost(seconds=fits * (1e-4 + 1e-9 * n_rows * size), bytes=24.0 * cells)
        width = n_features + 2.0
        swept = self._swept(size, width) * (2 * folds + 1.0)
        return Cost(
            seconds=3e-3 + n_rows * width * (5e-9 + 5e-11 * width) + 2e-8 * folds * width**2 + 5e-10 * swept,
            bytes=8.0 * n_rows * width + 8.0 * width**2 * (3.0 * folds + 3.0) + 8.0 * (folds + 1.0) * size * width,
        )

    def _swept(self, size: float, width: float) -> float:
        """Cells touched by the sweeps of one part."""
        return 1.5 * size**2 * width


class ForwardSelector(_StepwiseSelector):
    """Forward selection: start with no column and take in the best one, again and again.

    Every candidate of a step is scored from one sweep over Gram matrices, in all folds at once: the result is that of
    refitting least squares for each candidate and fold. A column that depends on the chosen ones is never taken; one
    that depends on them in the training rows of a fold only has coefficient zero there. Of columns that tie, the first
    is taken. With `floating`, earlier columns are taken out again while that beats the best subset known of the smaller
    size (Pudil, Novovičová & Kittler, 1994).

    The criterion 'cv' is the mean over folds of the mean squared error on held-out rows. Since it chose the columns, it
    is an optimistic estimate of the error of what comes out: judge that on rows that took no part, or cross-validate a
    pipeline with the selector inside. Targets of two text labels count as 0 and 1 in sorted order (linear probability);
    for more classes, or another loss, give an `estimator`.

    Attributes
    ----------
    support_ : mask of the chosen columns
    order_ : array, the chosen columns in order of entry
    n_features_to_select_ : int, how many were chosen
    path_ : dict of `sizes`, `criterion` and `subsets`: the best subset met of each size
    scores_ : dict of arrays over the same sizes: `criterion`, `cv_error` and its standard error, `rss`, `r2`, `aic` ...
    trace_ : list, with `trace=True`: every step with all its candidates and their losses

    Examples
    --------
    >>> import numpy as np
    >>> from assay.prepare import ForwardSelector
    >>> X = np.random.default_rng(0).normal(size=(100, 6))
    >>> y = 3 * X[:, 4] - X[:, 1] + 0.1 * X[:, 2]
    >>> selector = ForwardSelector(n_features_to_select=2).fit(X, y)
    >>> selector.order_
    array([4, 1])
    >>> selector.transform(X).shape
    (100, 2)
    """

    _walk = staticmethod(forward)

    def _removes(self) -> bool:
        return self.floating


class BackwardSelector(_StepwiseSelector):
    """Backward elimination: start with all columns and take out the one that is missed least, again and again.

    Every removal is scored from one inverse of the Gram matrix, in all folds at once: the result is that of refitting
    least squares without each column in each fold. Columns that depend on columns before them are taken out first. With
    `floating`, columns come back in while that beats the best subset known of the larger size (Pudil, Novovičová &
    Kittler, 1994). Criterion, folds and targets are those of `ForwardSelector`.

    Attributes
    ----------
    order_ : array, the columns that were taken out, in that order
    support_, n_features_to_select_, path_, scores_, trace_ : as those of `ForwardSelector`

    Examples
    --------
    >>> import numpy as np
    >>> from assay.prepare import BackwardSelector
    >>> X = np.random.default_rng(0).normal(size=(100, 4))
    >>> y = 3 * X[:, 3] - X[:, 1] + 0.1 * X[:, 2]
    >>> BackwardSelector(n_features_to_select=2).fit(X, y).order_
    array([0, 2])
    """

    _walk = staticmethod(backward)

    def _removes(self) -> bool:
        return True

    def _keep(self, path: Path, size: int) -> None:
        super()._keep(path, size)
        out = [column for column in path.left if not self.support_[column]]
        others = [j for j in np.flatnonzero(~self.support_) if j not in out]
        self.order_ = np.array([*others, *out], dtype=np.int64)

    def _swept(self, size: float, width: float) -> float:
        return 3.0 * width**3


class ExhaustiveSelector(_SubsetSelector):
    """The best subset of every size under least squares, exactly, by leaps and bounds.

    For each size the subset of least residual sum of squares is found among all subsets (Furnival & Wilson, 1974), up
    to about 40 columns; the criterion then chooses between sizes. With 'cv' the whole search runs anew on the training
    rows of each fold, so that the error of a size counts the choice of the subset too. Targets of two text labels count
    as 0 and 1 in sorted order (linear probability).

    Attributes
    ----------
    support_ : mask of the chosen columns
    order_ : array, the chosen columns, the one that would be missed most first
    n_features_to_select_ : int, how many were chosen
    path_ : dict of `sizes`, `criterion` and `subsets`: the best subset of each size
    scores_ : dict of arrays over the same sizes: `criterion`, `rss`, `r2`, `aic`, `bic`, `adjusted_r2`, ...
    subsets_ : dict of arrays, one entry per subset kept: `size`, `rank` (1 is best), `members` (mask), `rss`, `r2`

    Examples
    --------
    >>> import numpy as np
    >>> from assay.prepare import ExhaustiveSelector
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> y = X[:, 2] - 2 * X[:, 5] + 0.1 * X[:, 7]
    >>> selector = ExhaustiveSelector(criterion="bic", max_features=3).fit(X, y)
    >>> [subset.tolist() for subset in selector.path_["subsets"]]
    [[5], [2, 5], [2, 5, 7]]
    """

    n_features_to_select: Any = param(
        "auto", Choice("auto") | Integer(1), "'auto' takes the size of best criterion, a number asks for that size."
    )
    criterion: str = param(
        "bic",
        Choice(*CRITERIA),
        "What chooses the size: squared error on held-out rows, Akaike's or Bayes' criterion, adjusted R2 or Cp.",
    )
    n_best: int = param(1, Integer(1), "How many subsets of each size to keep in `subsets_`.")
    min_features: int = param(1, Integer(1), "Least number of columns.")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ExhaustiveSelector:
        """Find the best subsets of each size and the size that the criterion names."""
        (rows, target, kept, weights), always, (least, most, decides), folds = self._start(X, y, sample_weight)
        parts = self._parts(rows, target, kept, weights, folds)
        order = [*np.flatnonzero(always), *np.flatnonzero(parts.usable & ~always)]
        least, wanted = min(least, len(order)), least
        search = _Leaps(np.array(order), int(always.sum()), min(most, len(order)))
        self._require_searchable(search, parts)
        most_of_a_size = math.comb(len(order), len(order) // 2)
        best = min(self.n_best, most_of_a_size)
        kept_bytes = 32.0 * best * (len(order) + 1) ** 2
        check_cost(type(self).__name__, Cost(seconds=0.0, bytes=kept_bytes), "keep fewer subsets (n_best)")
        found, nodes = search.best(parts.whole, best)
        if not found:
            raise DataError(
                type(self).__name__,
                "X",
                "must have a column that varies over the rows that count",
                "nearly all of the weight may lie on a row or two",
                "bring the weights nearer together",
            )
        if max(found) < wanted:
            least = max(found)
            self._warn_fewer(wanted, least)
        path, table = self._rank(parts, found, search)
        self._keep(path, path.best_size(least) if decides else max(found))
        self.subsets_ = table
        self._order_by_need(parts)
        trace = self._new_trace()
        trace.record("search", nodes=nodes, columns=len(order))
        for size in sorted(found):
            trace.record("size", size=size, columns=path.columns[size], loss=path.loss[size])
        self._keep_trace(trace)
        return self

    def _require_searchable(self, search: _Leaps, parts: GramParts) -> None:
        count = search.order.shape[0]
        if count > 63:
            raise DataError(
                type(self).__name__,
                "X",
                "must have at most 63 columns that vary",
                f"got {count}",
                "select with ForwardSelector first",
            )
        if parts.weight <= count and count > 20:
            raise DataError(
                type(self).__name__,
                "X",
                "must have more rows than columns above 20 columns: else many subsets fit perfectly",
                f"got {parts.weight:g} rows and {count} columns",
                "use ForwardSelector",
            )

    def _rank(
        self, parts: GramParts, found: dict[int, list[tuple[list[int], float]]], search: _Leaps
    ) -> tuple[Path, dict[str, np.ndarray]]:
        """The best subset of each size with its criterion, and the table of all subsets kept."""
        criterion, path = Criterion.of(parts, self.criterion, type(self).__name__), Path()
        fold_errors = self._fold_errors(parts, search) if self.criterion == "cv" else {}
        table: dict[str, list[Any]] = {name: [] for name in ("size", "rank", "members", "rss", "r2")}
        for size, subsets in sorted(found.items()):
            for rank, (columns, share) in enumerate(subsets, 1):
                members = np.isin(np.arange(self.n_features_in_), columns)
                values = (size, rank, members, share * parts.total_squares, 1.0 - share)
                for name, value in zip(table, values, strict=True):
                    table[name].append(value)
            columns, share = subsets[0]
            if self.criterion == "cv":
                summary = fold_summary(fold_errors[size])
                loss = summary["cv_error"]
            else:
                summary, loss = {}, float(criterion.loss(share, size))
            path.columns[size], path.loss[size] = columns, loss
            head = {"size": float(size), "criterion": criterion.shown(loss)}
            path.rows[size] = head | summary | information_row(parts, share, size)
        return path, {name: np.array(values) for name, values in table.items()}

    def _fold_errors(self, parts: GramParts, search: _Leaps) -> dict[int, np.ndarray]:
        """Mean squared error on the test rows of each fold, of the best subset of each size on its training rows."""
        assert parts.train is not None and parts.test is not None
        train, test = parts.train, parts.test

        def one(f: int) -> dict[int, float]:
            found, _ = search.best(train[f], 1)
            last, errors = float("nan"), {}
            for size in range(search.smallest, search.largest + 1):
                if size in found:
                    swept, _ = subset_errors(train[f], train[f : f + 1], test[f : f + 1], found[size][0][0])
                    last = float(swept[1]) / parts.test_weight[f] * parts.total_squares
                errors[size] = last
            return errors

        by_fold = Parallel(n_jobs=thread_count(self.n_jobs), prefer="threads")(
            delayed(one)(f) for f in range(train.shape[0])
        )
        return {size: np.array([errors[size] for errors in by_fold]) for size in by_fold[0]}

    def _order_by_need(self, parts: GramParts) -> None:
        """Sort the chosen columns by the error without them."""
        chosen = np.flatnonzero(self.support_)
        sweep = _kernels.SubsetSweep(parts.whole, None, None, 1e-10, True, 1)
        for column in chosen:
            sweep.add(int(column))
        need = sweep.removals()[0][chosen]
        self.order_ = chosen[np.argsort(-need, kind="stable")]

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """One Gram matrix, then a search that doubles with every second column where nothing stands out."""
        folds = (self.cv if isinstance(self.cv, int) else 5) if self.criterion == "cv" else 0
        width = n_features + 2.0
        search = 3e-6 * 2.0 ** min(n_features / 2.0, 60.0) * (folds + 1.0)
        return Cost(
            seconds=1e-3 + n_rows * width * (3e-9 + 3e-11 * width) + search,
            bytes=8.0 * n_rows * width + 8.0 * width**2 * (3.0 * folds + 3.0) + 8.0 * width**3,
        )


@dataclass(frozen=True)
class _Leaps:
    """Which columns are searched: `order` lists the fixed ones first."""

    order: np.ndarray
    fixed: int
    largest: int

    @property
    def smallest(self) -> int:
        """The least size: the fixed columns, or one."""
        return max(self.fixed, 1)

    def best(self, gram: np.ndarray, keep: int) -> tuple[dict[int, list[tuple[list[int], float]]], int]:
        """For each size the best subsets (columns, share of the total left over), and the nodes visited.

        Subsets with dependent columns are left out: a smaller one says the same.
        """
        fixed = [int(column) for column in self.order[: self.fixed]]
        excess = self.fixed - subset_errors(gram, None, None, fixed)[1]
        places = np.append(self.order, gram.shape[0] - 1)
        part = np.ascontiguousarray(gram[np.ix_(places, places)])
        result = _kernels.best_subsets(part, self.fixed, self.smallest, self.largest, keep)
        found: dict[int, list[tuple[list[int], float]]] = {}
        for row, size in enumerate(range(self.smallest, self.largest + 1)):
            for mask, error in zip(result["members"][row], result["error"][row], strict=True):
                columns = sorted(int(self.order[j]) for j in range(len(self.order)) if int(mask) >> j & 1)
                if not np.isfinite(error):
                    continue
                if result["singular"]:
                    errors, rank = subset_errors(gram, None, None, columns)
                    if rank < size - excess:
                        continue
                    error = float(errors[0])
                found.setdefault(size, []).append((columns, max(float(error), 0.0)))
        return found, int(result["nodes"])


def _numbers(who: str, target: np.ndarray) -> np.ndarray:
    """The target as finite float64; two text labels become 0 and 1."""
    if target.dtype.kind in "OUS":
        try:
            numbers = target.astype(np.float64)
        except (TypeError, ValueError):
            missing = [is_missing(v) for v in target.tolist()]
            if any(missing):
                raise DataError(who, "y", "must not hold missing labels (Input y contains NaN)") from None
            labels, codes = np.unique(target.astype(str), return_inverse=True)
            if labels.shape[0] > 2:
                raise DataError(
                    who,
                    "y",
                    "must be numbers or two labels",
                    f"got {labels.shape[0]} labels",
                    "give a classifier as estimator",
                ) from None
            numbers = codes.astype(np.float64)
    else:
        numbers = np.ascontiguousarray(target, dtype=np.float64)
    check_finite(who, numbers)
    require_squares(who, numbers)
    return numbers
