"""Importance of columns to a fitted model: permuted, dropped, by impurity, by coefficients, by the target alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from ..base.columns import column_names
from ..base.cv import make_folds
from ..base.errors import DataError, ParameterError, UsageError, plain
from ..base.folds import Fold, fit_folds, open_seeds, seeds_of, take_rows
from ..base.randomness import Stream
from ..data.cell_table import CellTable
from ..evaluate.fits import choose_metric, read_target, score_folds
from ..evaluate.intervals import check_alpha, corrected_interval
from ..evaluate.multiplicity import holm
from ..evaluate.resampling import make_design
from .asked import Asked
from .conditional import conditional_copies
from .explanation import Explanation
from .scored import Judge, MetricLike, classes_of, judged

Groups = Mapping[str, Any] | Sequence[Any] | None
_AT_ONCE = 64_000_000  # numbers of outputs that are held at once


def read_groups(who: str, groups: Groups, table: CellTable, names: Sequence[str]) -> tuple[list[str], list[list[int]]]:
    """Names and columns of the groups; every column by itself if none are given."""
    if groups is None:
        return list(names), [[j] for j in range(len(names))]
    if isinstance(groups, Mapping):
        found = {str(name): _places(who, table, names, columns) for name, columns in groups.items()}
    else:
        found = {}
        for columns in groups:
            places = _places(who, table, names, columns)
            found[" + ".join(names[j] for j in places)] = places
    empty = next((name for name, places in found.items() if not places), None)
    if not found or empty is not None:
        raise ParameterError(who, "parameter 'groups'", "must name at least one column in each group")
    return list(found), [sorted(set(places)) for places in found.values()]


def _places(who: str, table: CellTable, names: Sequence[str], columns: Any) -> list[int]:
    given = [columns] if isinstance(columns, (str, int, np.integer)) else list(columns)
    known = {name: j for j, name in enumerate(names)}
    return [known[str(one)] if str(one) in known else table.column(who, one) for one in given]


def permutation_importance(
    model: Any,
    X: Any,
    y: Any,
    *,
    metric: MetricLike = None,
    groups: Groups = None,
    conditional: bool = False,
    n_repeats: int = 5,
    sample_weight: Any = None,
    alpha: float = 0.05,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Explanation:
    """How much worse a fitted model scores if the cells of a column are shuffled over the rows.

    Any model with `predict`, of Assay or not; a model made of trees is asked only where a shuffled cell can change its
    way. The intervals are those of the rows: how the importance of this model would vary over other rows like these.
    For functions of the user's and with weights they are those of the shuffling alone, and the notes say so.

    Give rows that the model has not seen: on its training rows it values what it has learned by heart.

    Parameters
    ----------
    model : fitted model
    X, y : table and target to score on
    metric : name, `Metric`, or function of truth and prediction (more is better); accuracy or R² by default
    groups : {name: columns} or a list of lists of columns that are shuffled together; every column by itself by default
    conditional : shuffle only what the other columns do not say of the column, so that rows stay possible
    n_repeats : shuffles of each column
    sample_weight : weights of the rows in the score
    alpha : 1 - level of the intervals
    random_state : seed of the shuffles
    n_jobs : threads of tree models; never changes the result

    Examples
    --------
    >>> from assay.data import load_dataset
    >>> from assay.models.trees import CartClassifier
    >>> iris = load_dataset("iris").frame
    >>> model = CartClassifier(max_depth=2, random_state=0).fit(iris.drop("species"), iris["species"].to_list())
    >>> found = permutation_importance(model, iris.drop("species"), iris["species"].to_list())
    >>> found.names[int(found.values.argmax())], float(found.values.min())
    ('petal_length', 0.0)
    """
    who = "permutation_importance"
    check_alpha(who, alpha)
    if isinstance(n_repeats, bool) or not isinstance(n_repeats, (int, np.integer)) or n_repeats < 1:
        raise ParameterError(who, "parameter 'n_repeats'", "must be an integer from 1 on", f"got {plain(n_repeats)}")
    asked, judge = judged(who, model, X, y, metric, sample_weight=sample_weight, n_jobs=n_jobs)
    assert asked.table is not None
    names, columns = read_groups(who, groups, asked.table, asked.names)
    own = asked.outputs(asked.cells)
    score, own_values = judge.score(own), judge.values(own)
    n_rows, stream = asked.cells.shape[0], Stream.of(random_state)
    drops = np.empty((len(columns), n_repeats))
    spread = np.full(len(columns), np.nan)
    at_once = max(1, _AT_ONCE // max(1, n_rows * n_repeats * own.shape[1]))
    for begin in range(0, len(columns), at_once):
        batch = list(range(begin, min(begin + at_once, len(columns))))
        said, donors = _shuffled(asked, [columns[g] for g in batch], conditional, n_repeats, stream, batch)
        for g, outputs, given in zip(batch, said, donors):
            drops[g] = [judge.sign * (score - judge.score(one)) for one in outputs]
            spread[g] = _row_error(judge, own_values, outputs, given)
    values = drops.mean(axis=1)
    by_rows = np.isfinite(spread).all()
    if by_rows:
        half = stats.t.ppf(1 - alpha / 2, n_rows - 1) * spread
    elif n_repeats > 1:
        half = stats.t.ppf(1 - alpha / 2, n_repeats - 1) * drops.std(axis=1, ddof=1) / math.sqrt(n_repeats)
    else:
        half = np.full(len(columns), np.nan)
    notes = [] if by_rows else ["the intervals speak of the shuffling alone, not of other rows"]
    way = "conditional permutation" if conditional else "permutation"
    change = "fall" if judge.metric.greater_is_better else "rise"
    return Explanation(
        method=f"{way}, {n_repeats} times",
        scope="global",
        values=values[None, :],
        base_values=np.array([score]),
        names=names,
        unit=f"{change} of {judge.metric.title}",
        low=(values - half)[None, :],
        high=(values + half)[None, :],
        level=1 - alpha,
        notes=notes,
    )


def _shuffled(
    asked: Asked,
    groups: list[list[int]],
    conditional: bool,
    n_repeats: int,
    stream: Stream,
    numbers: Sequence[int],
) -> tuple[np.ndarray, np.ndarray]:
    """Outputs with each group shuffled: groups x repeats x rows x outputs, and whose cells each row was given.

    Plain shuffles are shared by all groups.
    """
    cells, n_rows = asked.cells, asked.cells.shape[0]
    if not conditional:
        shared = np.stack([stream.child(r).generator().permutation(n_rows) for r in range(n_repeats)])
        donors = np.broadcast_to(shared, (len(groups), n_repeats, n_rows))
        return asked.replaced(cells, cells, groups, donors), donors
    found, given = [], []
    for g, group in zip(numbers, groups):
        copies, from_rows = conditional_copies(cells, asked.nominal, group, n_repeats, stream.child(g))
        source = np.tile(cells, (n_repeats, 1))
        source[:, group] = copies.reshape(-1, len(group))
        donors = np.arange(n_repeats * n_rows).reshape(1, n_repeats, n_rows)
        found.append(asked.replaced(cells, source, [group], donors)[0])
        given.append(from_rows)
    return np.stack(found), np.stack(given)


def _row_error(judge: Judge, own: np.ndarray | None, outputs: np.ndarray, donors: np.ndarray) -> float:
    """The standard error over rows of the mean fall of the score; NaN if rows have no values of their own.

    A row counts twice: by what it loses with a foreign cell, and by what another row loses with its cell. The variance
    of such a mean over pairs is that of the sum of both (Hoeffding's projection).
    """
    if own is None:
        return math.nan
    parts = [judge.values(one) for one in outputs]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return math.nan
    as_owner = own - np.asarray(known)
    as_donor = np.empty_like(as_owner)
    np.put_along_axis(as_donor, donors, as_owner, axis=1)
    both = as_owner.mean(axis=0) + as_donor.mean(axis=0)
    return float(both.std(ddof=1) / math.sqrt(both.shape[0]))


def drop_column_importance(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    metric: MetricLike = None,
    groups: Groups = None,
    design: Any = "3x5",
    cv: Any = None,
    alpha: float = 0.05,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Explanation:
    """How much worse an estimator scores on new rows if it never sees a column: it is fitted without it.

    Every fit is made on the same folds, which share their work where the estimator can. The intervals are Nadeau and
    Bengio's for differences of resampled scores.

    Parameters
    ----------
    estimator : estimator, fitted or not (it is cloned)
    X, y : table and target
    metric : name or `Metric`; accuracy or R² by default
    groups : {name: columns} or a list of lists of columns that are left out together
    design : name of a design, such as "3x5" (three times five folds) or "10-fold", or a `Design`
    cv : a number of folds, a splitter or pairs of rows in place of the design, as `columns_that_matter` takes them
    alpha : 1 - level of the intervals
    random_state : seed of the folds and of the fits
    n_jobs : threads over folds; never changes the result

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.linear import LeastSquares
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> found = drop_column_importance(LeastSquares(), X, 3 * X[:, 0], design="5-fold")
    >>> found.values.round(2).tolist()[0][1]
    0.0
    """
    who = "drop_column_importance"
    check_alpha(who, alpha)
    if callable(metric) and not isinstance(metric, str) and not hasattr(metric, "needs"):
        raise ParameterError(who, "parameter 'metric'", "must be the name of a metric or a Metric here")
    chosen = choose_metric(who, estimator, metric)  # type: ignore[arg-type]
    target = read_target(who, X, y, is_classifier(estimator))
    table = CellTable.of(who, X)
    names, columns = read_groups(who, groups, table, table.names)
    if any(len(group) == len(table.names) for group in columns):
        raise ParameterError(who, "parameter 'groups'", "must leave at least one column to fit on")
    stream = Stream.of(random_state)
    if cv is None:
        chosen_design = make_design(design)
        splits = chosen_design.splits(target, is_classifier(estimator), stream.child(0).key & 0x7FFFFFFF)
        folds: list[Any] = [split.rows for split in splits]
        judged_by = chosen_design.describe()
    else:
        folds = _folds(who, estimator, target, cv, stream)
        judged_by = f"{len(folds)} folds"
    streams = [stream.child(k + 1) for k in range(len(folds))]

    def scores(kept: list[int]) -> np.ndarray:
        rows = _chosen_columns(X, table, kept)
        return score_folds(estimator, chosen, rows, target, folds, streams, n_jobs)[:, 1]

    whole = scores(list(range(len(table.names))))
    sign = 1.0 if chosen.greater_is_better else -1.0
    n_train, n_test = (float(np.mean([part.shape[0] for part in side])) for side in zip(*folds))
    values, low, high = np.empty(len(columns)), np.empty(len(columns)), np.empty(len(columns))
    for g, group in enumerate(columns):
        without = scores([j for j in range(len(table.names)) if j not in set(group)])
        differences = sign * (whole - without)
        values[g] = differences.mean()
        low[g], high[g] = corrected_interval(differences, n_train=n_train, n_test=n_test, alpha=alpha)
    change = "fall" if chosen.greater_is_better else "rise"
    return Explanation(
        method=f"fitting without it, {judged_by}",
        scope="global",
        values=values[None, :],
        base_values=np.array([whole.mean()]),
        names=names,
        unit=f"{change} of {chosen.title}",
        low=low[None, :],
        high=high[None, :],
        level=1 - alpha,
    )


def _chosen_columns(X: Any, table: CellTable, kept: list[int]) -> Any:
    if isinstance(X, np.ndarray):
        return X[:, kept]
    if table.named:
        return X[[X.columns[j] for j in kept]] if hasattr(X, "columns") else X.select([table.names[j] for j in kept])
    return np.asarray(X)[:, kept]


def columns_that_matter(
    model: Any,
    X: Any,
    y: Any,
    *,
    metric: MetricLike = None,
    groups: Groups = None,
    cv: Any = None,
    n_repeats: int = 10,
    alpha: float = 0.05,
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Explanation:
    """Which columns say something about the target that the other columns do not: tests, corrected for their number.

    For each column the loss of every row is held against its loss with the column drawn anew given the other columns
    (conditional permutation). If the column says nothing beyond the others, neither loss is larger on average; a t test
    over rows says whether it is, and Holm's correction bounds by `alpha` the chance that any column that says nothing
    is called one that matters. `docs/guide/explaining.md` has the rates from a simulation.

    `X` and `y` must be rows that the model has not seen; with `cv` the model is fitted anew on the training rows of
    each of so many folds, and every row is judged by the model that has not seen it.

    Parameters
    ----------
    model : fitted model; with `cv`, any estimator
    X, y : table and target
    metric : a metric that is a mean over rows; log loss (accuracy without probabilities) or mean squared error
    groups : {name: columns} or a list of lists of columns that are judged together
    cv : folds, as every method takes them (a number, a splitter, pairs of row numbers), those of a number dealt at
        random; or None for a fitted model and new rows
    n_repeats : copies of each column
    alpha : level of the tests
    random_state : seed of the copies and folds
    n_jobs : threads of tree models; never changes the result

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.linear import LeastSquares
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = 2 * X[:, 0] + rng.normal(size=300)
    >>> found = columns_that_matter(LeastSquares().fit(X[:150], y[:150]), X[150:], y[150:])
    >>> found.extra["matters"].tolist()
    [True, False, False]
    """
    who = "columns_that_matter"
    check_alpha(who, alpha)
    stream = Stream.of(random_state)
    table = CellTable.of(who, X)
    named, places = read_groups(who, groups, table, table.names)
    losses: list[np.ndarray] = []
    rows_met: list[np.ndarray] = []
    total, title, column_names_ = 0.0, "", named
    for part, (fitted, rows) in enumerate(_unseen(who, model, X, y, cv, stream)):
        own_metric: MetricLike = metric
        if metric is None:
            plain_loss = "log_loss" if hasattr(fitted, "predict_proba") else "accuracy"
            own_metric = "mse" if classes_of(fitted) is None else plain_loss
        asked, judge = judged(who, fitted, take_rows(X, rows), np.asarray(y)[rows], own_metric, n_jobs=n_jobs)
        names, columns = read_groups(who, groups, table, asked.names) if groups is not None else (asked.names, places)
        own = asked.outputs(asked.cells)
        base = judge.values(own)
        if base is None:
            way_out = "choose log_loss, brier, accuracy, mse or mae"
            raise UsageError(who, f"metric '{judge.metric.name}'", "must be a mean over rows", way_out=way_out)
        found = np.empty((len(columns), rows.shape[0]))
        own_stream = stream.child(part + 1)
        for g, group in enumerate(columns):
            outputs = _shuffled(asked, [group], True, n_repeats, own_stream, [g])[0][0]
            values = [judge.values(one) for one in outputs]
            if any(one is None for one in values):
                raise UsageError(who, f"metric '{judge.metric.name}'", "must be a mean over rows")
            found[g] = judge.sign * (base - np.mean([one for one in values if one is not None], axis=0))
        losses.append(found)
        rows_met.append(rows)
        total += judge.score(own) * rows.shape[0]
        title, column_names_ = judge.metric.title, names
    differences = np.concatenate(losses, axis=1)
    n_rows = differences.shape[1]
    if n_rows < 3:
        raise DataError(who, "X", "must have at least 3 rows to test on", f"got {n_rows}")
    mean = differences.mean(axis=1)
    error = differences.std(axis=1, ddof=1) / math.sqrt(n_rows)
    rounding = 1e-12 * np.maximum(np.abs(differences).max(axis=1), 1e-300)
    varies = error > rounding
    t = np.where(varies, mean / np.where(varies, error, 1.0), 0.0)
    p = np.where(varies, stats.t.sf(t, n_rows - 1), 1.0)
    adjusted = holm(p)
    half = stats.t.ppf(1 - alpha / 2, n_rows - 1) * error
    return Explanation(
        method=f"conditional permutation of {n_rows:,} rows, one-sided t tests with Holm's correction",
        scope="global",
        values=mean[None, :],
        base_values=np.array([total / n_rows]),
        names=column_names_,
        unit=f"change of {title} for the worse",
        low=(mean - half)[None, :],
        high=(mean + half)[None, :],
        level=1 - alpha,
        extra={"p": p, "adjusted p": adjusted, "matters": adjusted <= alpha},
    )


_FITS = 1 << 20
"""The stream of the seeds of a fold's fit, beside those of its copies of columns."""


def _unseen(who: str, model: Any, X: Any, y: Any, cv: Any, stream: Stream) -> Any:
    """Fitted models, each with the rows that it is judged on."""
    n_rows = len(np.asarray(y))
    if cv is None:
        if hasattr(model, "fit") and hasattr(model, "get_params"):
            check_is_fitted(model)
        return [(model, np.arange(n_rows))]
    target = read_target(who, X, y, is_classifier(model))
    folds = _folds(who, model, target, cv, stream)
    seeds = open_seeds(model)
    settings = [seeds_of(seeds, stream.child(k + 1).child(_FITS)) for k in range(len(folds))] if seeds else None
    return zip(fit_folds(clone(model), X, target, folds, settings=settings), [test for _, test in folds])


def _folds(who: str, model: Any, target: np.ndarray, cv: Any, stream: Stream) -> list[Fold]:
    """What `cv` means (`base.cv`), the rows in random order."""
    if isinstance(cv, (str, bool)) or (isinstance(cv, (int, np.integer)) and cv < 2):
        came, way_out = f"got {plain(cv)}", "give the name of a design as `design`" if isinstance(cv, str) else ""
        raise ParameterError(who, "parameter 'cv'", "must be None, a number from 2 on or folds", came, way_out)
    return make_folds(who, cv, target, stratify=is_classifier(model), random_state=stream.child(0).key)


# -- what the model or the table says by itself ------------------------------------------------------------------------
def impurity_importance(model: Any) -> Explanation:
    """The share of the gain that the tests on each column brought while trees grew; of tree models only.

    It is made on the training rows, favours columns with many different values, and can fall for a column when the
    model comes to depend on it more (`docs/guide/explaining.md` shows it); permutation and Shapley values do not.

    >>> from assay.models.trees import CartRegressor
    >>> impurity_importance(CartRegressor().fit([[0.0, 0.0], [1.0, 0.0]], [0.0, 1.0])).values.tolist()
    [[1.0, 0.0]]
    """
    check_is_fitted(model)
    values = getattr(model, "feature_importances_", None)
    if values is None:
        raise UsageError("impurity_importance", "model", "must be made of trees", f"got {type(model).__name__}")
    values = np.asarray(values, dtype=np.float64)
    return Explanation(
        method="impurity",
        scope="global",
        values=values[None, :],
        base_values=np.empty(0),
        names=column_names(model, values.shape[0]),
        unit="share of the gain of all tests",
    )


def target_importance(X: Any, y: Any, measure: str = "pearson") -> Explanation:
    """How much each column by itself says about the target, without a model.

    `measure` is one of `SelectFilter`'s: "pearson" (correlation, correlation ratio or Cramér's V by the kind of the
    columns), "total-variation" (largest distance between the densities of two classes), "mutual-information",
    "chi-square", "f" or "gain-ratio".

    >>> target_importance([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.5]).values.round(2).tolist()
    [[0.99]]
    """
    from ..prepare import SelectFilter

    select: Any = SelectFilter

    table = CellTable.of("target_importance", X)
    rows: Any = X if table.named else table.rebuild(table.cells)
    step: Any = select(measure=measure, k=None).fit(rows, np.asarray(y))
    scores = np.asarray(step.scores_, dtype=np.float64)
    p_values = np.asarray(step.p_values_, dtype=np.float64)
    return Explanation(
        method=measure.replace("-", " ") if measure != "pearson" else "correlation",
        scope="global",
        values=np.where(np.isfinite(scores), scores, 0.0)[None, :],
        base_values=np.empty(0),
        names=table.names,
        unit="each column by itself, without the model",
        extra={"p": p_values} if np.isfinite(p_values).any() else {},
    )
