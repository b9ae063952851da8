"""The fold engine: one estimator on many folds of one table, with the work that folds have in common done once.

`fit_folds` gives one fitted model per fold for any estimator. Learners that can share override `Estimator.fit_folds`.
Where a preparation is fitted on the training rows, the folds share one matrix and each fold sees it through its own
`FoldTransform`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone

from .. import _kernels
from .errors import DataError
from .randomness import Stream

Fold = Sequence[np.ndarray]
"""Training rows and test rows: a pair, or a `RestFold`."""


class RestFold(Sequence[np.ndarray]):
    """A fold that trains on every row that it does not test: a pair whose training rows are listed when asked for.

    Folds are many and their training rows long, and who takes sums of the test rows off those of all rows needs no
    list of them.

    >>> train, test = RestFold(np.array([1]), 3)
    >>> train, test
    (array([0, 2]), array([1]))
    """

    __slots__ = ("n_rows", "test")

    def __init__(self, test: np.ndarray, n_rows: int):
        """`test` are rows in ascending order, each once, of a table of `n_rows` rows."""
        self.test, self.n_rows = test, n_rows

    @property
    def train(self) -> np.ndarray:
        """The training rows, ascending."""
        kept = np.ones(self.n_rows, dtype=bool)
        kept[self.test] = False
        return np.flatnonzero(kept)

    def __len__(self) -> int:
        return 2

    def __iter__(self) -> Iterator[np.ndarray]:
        yield self.train
        yield self.test

    def __getitem__(self, side: Any) -> Any:
        return self.test if side == 1 else (self.train, self.test)[side]


def take_rows(X: Any, rows: np.ndarray) -> Any:
    """Rows of an array, sparse matrix or frame, in the given order.

    >>> take_rows(np.arange(6).reshape(3, 2), np.array([2, 0]))
    array([[4, 5],
           [0, 1]])
    """
    if isinstance(X, np.ndarray):
        return X[rows]
    if issparse(X):
        return (X if X.format in ("csr", "csc", "lil") else X.tocsr())[rows]
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "to_batches"):  # Arrow
        return X.take(np.asarray(rows))
    if hasattr(X, "__getitem__") and hasattr(X, "columns"):
        return X[np.asarray(rows)]
    return [X[i] for i in rows]


def are_complementary(train: np.ndarray, test: np.ndarray, n_rows: int) -> bool:
    """Whether the two row lists split all rows between them, each row once.

    >>> are_complementary(np.array([0, 2]), np.array([1]), 3)
    True
    """
    if train.shape[0] + test.shape[0] != n_rows:
        return False
    seen = np.zeros(n_rows, dtype=bool)
    seen[train] = True
    seen[test] = True
    return bool(seen.all())


def fold_sizes(fold: Fold) -> tuple[int, int]:
    """How many training rows and test rows a fold has."""
    train = fold.n_rows - fold.test.shape[0] if isinstance(fold, RestFold) else fold[0].shape[0]
    return train, fold[1].shape[0]


def split_all_rows(folds: Sequence[Fold], n_rows: int, threads: int = 1) -> np.ndarray:
    """What `are_complementary` says of each fold, and 2 where both lists ascend as well.

    >>> split_all_rows([RestFold(np.array([1]), 3), (np.array([2, 0]), np.array([1])), (np.array([0]),) * 2], 3)
    array([2, 1, 0], dtype=uint8)
    """
    split = np.array([2 * (isinstance(fold, RestFold) and fold.n_rows == n_rows) for fold in folds], dtype=np.uint8)
    asked = np.flatnonzero(split == 0)
    if asked.size:
        trains, tests = (row_lists(folds[k][side] for k in asked.tolist()) for side in (0, 1))
        split[asked] = _kernels.complementary(trains, tests, n_rows, threads)
    return split


MOST_ANSWERS, MOST_FOLDS = 2**20, 64
"""Numbers said of test rows, and folds, that one call of a kernel takes at most (of one fold any number)."""


def fold_blocks(folds: Sequence[Fold], answers: int = 1) -> Iterator[range]:
    """The places of folds that are worked on in one call: many short folds, or a long one by itself.

    `answers` is how many numbers are said of each test row, such as the probabilities of classes.

    >>> rows = [np.zeros(size) for size in (10, 2**20, 5, 5)]
    >>> [list(some) for some in fold_blocks([(rows[0], test) for test in rows])]
    [[0], [1], [2, 3]]
    """
    begin = held = 0
    for k, fold in enumerate(folds):
        tested = fold[1].shape[0]
        if k > begin and ((held + tested) * answers > MOST_ANSWERS or k - begin == MOST_FOLDS):
            yield range(begin, k)
            begin, held = k, 0
        held += tested
    if folds:
        yield range(begin, len(folds))


def row_lists(lists: Iterable[np.ndarray]) -> list[np.ndarray]:
    """Lists of row numbers as kernels over many folds take them."""
    return [np.ascontiguousarray(rows, dtype=np.int64) for rows in lists]


def cut_at(rows: np.ndarray, lists: Sequence[np.ndarray]) -> list[np.ndarray]:
    """What belongs to each list, of an array that holds the rows of all lists one below the other.

    >>> cut_at(np.arange(3), [np.array([7]), np.array([8, 9])])
    [array([0]), array([1, 2])]
    """
    ends = np.cumsum([0, *(one.shape[0] for one in lists)]).tolist()
    return [rows[a:b] for a, b in pairwise(ends)]


@dataclass(frozen=True, eq=False)
class FoldTransform:
    """What a preparation fitted on the training rows of one fold makes of a matrix that all folds share.

    First come columns of numbers, (z - mean) * inverse with z the column `source` of the shared matrix; where column
    `mask` holds 1 the cell is missing, holds the stand-in `held` there and becomes `fill` before that. Then come
    columns that are taken over as they are (`picked`): indicators of missing cells and of categories, codes of labels.
    As a whole it is an affine map of the columns, so that sums over rows (a Gram matrix, class moments) go through it
    without a look at the rows.
    """

    source: np.ndarray
    picked: np.ndarray
    mean: np.ndarray | None = None
    inverse: np.ndarray | None = None
    mask: np.ndarray | None = None
    """For each column of numbers the column that marks its missing cells, -1 where none is missing."""
    held: np.ndarray | None = None
    fill: np.ndarray | None = None
    labels: tuple[int, ...] = ()
    """Places, among the columns that come out, of those that hold codes of labels."""

    @property
    def width(self) -> int:
        """The number of columns that come out."""
        return int(self.source.shape[0] + self.picked.shape[0])

    @cached_property
    def columns(self) -> np.ndarray:
        """For each column that comes out the column of the shared matrix that it is made of."""
        return np.concatenate([self.source, self.picked])

    @cached_property
    def _in_place(self) -> bool:
        return self._masked.shape[0] == 0 and bool((self.columns == np.arange(self.width)).all())

    @property
    def scales(self) -> bool:
        """Whether every column comes out at its place, moved and scaled at most."""
        return self._in_place and self.picked.shape[0] == 0 and (self.mean is None) == (self.inverse is None)

    @property
    def fills(self) -> bool:
        """Whether cells are missing that it fills."""
        return self._masked.shape[0] > 0

    @cached_property
    def _masked(self) -> np.ndarray:
        return np.empty(0, dtype=np.int64) if self.mask is None else np.flatnonzero(self.mask >= 0)

    def apply(self, X: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """The prepared rows (all, or those listed) of the shared matrix, C-ordered."""
        cells = X if rows is None else np.take(X, rows, axis=0)
        numbers = self.source.shape[0]
        # Rows that were taken are a copy already, and need no second one where no column moves or is filled.
        whole = rows is not None and self._in_place and self.width == X.shape[1]
        out = cells if whole else self._chosen(cells)
        block = out[:, :numbers]
        for column in self._masked:
            assert self.mask is not None and self.fill is not None
            block[cells[:, self.mask[column]] != 0.0, column] = self.fill[column]
        if self.mean is not None and self.inverse is not None:
            np.subtract(block, self.mean, out=block)
            np.multiply(block, self.inverse, out=block)
        return out

    @cached_property
    def _runs(self) -> list[tuple[int, int, int]]:
        """Columns that come out side by side as they lie in the shared matrix: first, end, and the first there."""
        ends = np.flatnonzero(np.diff(self.columns) != 1) + 1
        edges = [0, *ends.tolist(), self.width]
        return [(a, b, int(self.columns[a])) for a, b in pairwise(edges) if b > a]

    def _chosen(self, cells: np.ndarray) -> np.ndarray:
        """The columns that come out, copied; a few runs of them are copied faster than one column after the other."""
        if 4 * len(self._runs) > self.width:
            return np.take(cells, self.columns, axis=1)
        out = np.empty((cells.shape[0], self.width))
        for begin, end, first in self._runs:
            out[:, begin:end] = cells[:, first : first + end - begin]
        return out

    def combine(self, sums: np.ndarray) -> np.ndarray:
        """`sums` (k, columns of the shared matrix), linear in the columns, for the columns that come out."""
        out = self._filled(sums)
        if self.inverse is not None:
            out[:, : self.source.shape[0]] *= self.inverse
        return out

    def combine_squares(
        self, squares: np.ndarray, sums: np.ndarray, shift: np.ndarray, weight: np.ndarray
    ) -> np.ndarray:
        """Sums of squares (k, columns of the shared matrix) about `shift`, with the sums about it and the total weights
        of their rows, for the columns that come out, about where `place` puts the shift.

        A filled column needs its products with the mark of its missing cells; these hold one value, so that the sums
        know them.
        """
        out = squares[:, self.columns]
        for column in self._masked:
            assert self.mask is not None and self.fill is not None and self.held is not None
            own, mark, held = self.source[column], self.mask[column], self.held[column]
            by, total = self.fill[column] - held, sums[:, mark] + shift[:, mark] * weight
            product = (held - shift[:, own]) * total - shift[:, mark] * sums[:, own]
            out[:, column] += by * (2.0 * product + by * squares[:, mark])
        if self.inverse is not None:
            out[:, : self.source.shape[0]] *= self.inverse**2
        return out

    def place(self, points: np.ndarray) -> np.ndarray:
        """Where points (k, columns of the shared matrix) come out; far from zero this keeps the digits that
        `combine` and `offset` would lose against each other."""
        out = self._filled(points)
        if self.mean is not None and self.inverse is not None:
            out[:, : self.source.shape[0]] = (out[:, : self.source.shape[0]] - self.mean) * self.inverse
        return out

    def _filled(self, sums: np.ndarray) -> np.ndarray:
        out = sums[:, self.columns]
        for column in self._masked:
            assert self.mask is not None and self.fill is not None and self.held is not None
            out[:, column] += sums[:, self.mask[column]] * (self.fill[column] - self.held[column])
        return out

    def carried(self, coef: np.ndarray, other: FoldTransform) -> np.ndarray:
        """Coefficients (k, columns) of another fold for the columns of this one, 0 for columns that it lacks."""
        place = np.full(1 + max(int(self.columns.max(initial=0)), int(other.columns.max(initial=0))), -1)
        place[other.columns] = np.arange(other.width)
        found = place[self.columns]
        return np.where(found >= 0, coef[:, found], 0.0)

    @cached_property
    def offset(self) -> np.ndarray:
        """The constant of the affine map."""
        out = np.zeros(self.width)
        if self.mean is not None and self.inverse is not None:
            out[: self.source.shape[0]] = -self.mean * self.inverse
        return out


@dataclass(frozen=True, eq=False)
class FoldTransforms:
    """The preparations of some folds, in their order, and that of all rows, from which a warm start may come."""

    folds: tuple[FoldTransform, ...]
    whole: FoldTransform
    standardise: ClassVar[bool] = False
    """Whether it is known that each fold takes the means of its training rows off and divides by their deviations."""

    def scale(self, width: int) -> bool:
        """Whether so many columns come out at their places, moved and scaled at most."""
        return all(one.scales and one.width == width for one in self.folds)

    def only(self, *places: int) -> FoldTransforms:
        """Those of some of the folds."""
        return FoldTransforms(tuple(self.folds[k] for k in places), self.whole)


class StandardisedFolds(FoldTransforms):
    """The preparations of folds that standardise each of `width` complete columns of numbers and do nothing else.

    They are found when first asked for, and who has the sums of the training rows anyway need not ask.
    """

    standardise: ClassVar[bool] = True
    _width: int
    _find: Callable[[], FoldTransforms]

    def __init__(self, width: int, find: Callable[[], FoldTransforms]):
        vars(self).update(_width=width, _find=find)

    @cached_property
    def _found(self) -> FoldTransforms:
        return self._find()

    @property
    def folds(self) -> tuple[FoldTransform, ...]:
        return self._found.folds

    @property
    def whole(self) -> FoldTransform:
        return self._found.whole

    def scale(self, width: int) -> bool:
        return width == self._width


Transforms = FoldTransforms | None
"""What the preparations of the folds do to the columns; None where they do nothing."""


def through_folds(
    folds: Iterable[Fold], transforms: FoldTransforms | None
) -> Iterator[tuple[np.ndarray, np.ndarray, FoldTransform | None]]:
    """Each fold with its transform, None where there is nothing to prepare."""
    if transforms is None:
        for train, test in folds:
            yield train, test, None
    else:
        for (train, test), through in zip(folds, transforms.folds, strict=True):
            yield train, test, through


def prepared(X: Any, rows: np.ndarray, through: FoldTransform | None) -> Any:
    """Rows of a table, as the fold's preparation gives them."""
    return take_rows(X, rows) if through is None else through.apply(X, rows)


def copy_columns(template: Any, model: Any, through: FoldTransform | None = None) -> None:
    """Give a clone the number and names of columns that its template saw, or the number that the fold's preparation
    gives."""
    if through is not None:
        model.n_features_in_ = through.width
        return
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(template, name):
            setattr(model, name, getattr(template, name))


def open_seeds(estimator: Any) -> tuple[str, ...]:
    """The `random_state` parameters, own and of parts, that are None where a fit makes random choices.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> open_seeds(DecisionTreeClassifier()), open_seeds(DecisionTreeClassifier(random_state=1))
    (('random_state',), ())
    """
    if not hasattr(estimator, "get_params") or not getattr(estimator, "_draws", lambda: True)():
        return ()
    given = estimator.get_params(deep=True).items()
    return tuple(sorted(name for name, v in given if v is None and name.rpartition("__")[2] == "random_state"))


def seeds_of(names: Iterable[str], stream: Stream) -> dict[str, int]:
    """A seed for each of these parameters, from the fold's own stream: the rule by which every fold of every method
    gets its seeds, whatever the order of the work.

    >>> seeds_of(["random_state"], Stream.of(7).child(0)) == seeds_of(["random_state"], Stream.of(7).child(1))
    False
    """
    return {name: stream.child(i).key % 2**31 for i, name in enumerate(names)}


def fit_separately(
    estimator: Any,
    X: Any,
    y: np.ndarray,
    folds: Iterable[Fold],
    sample_weight: np.ndarray | None = None,
    transforms: Transforms = None,
) -> Iterator[Any]:
    """One fitted clone per fold, each on its own training rows."""
    for train, _, through in through_folds(folds, transforms):
        model = clone(estimator)
        if through is not None and through.labels:
            model.set_params(categorical_features=list(through.labels))
        extra = {} if sample_weight is None else {"sample_weight": sample_weight[train]}
        yield model.fit(prepared(X, train, through), y[train], **extra)


def fit_folds(
    estimator: Any,
    X: Any,
    y: Any,
    folds: Iterable[Fold],
    sample_weight: Any = None,
    transforms: Transforms = None,
    settings: Sequence[Mapping[str, Any]] | None = None,
) -> Iterator[Any]:
    """One fitted clone per fold of any estimator: with shared work where the estimator can share, else separately.

    `settings` are parameters of each fold, such as a seed of its own; then work is shared by `row_fits`, where the
    estimator has it: a function of row numbers and parameters that gives a fitted clone.

    >>> from sklearn.dummy import DummyRegressor
    >>> folds = [(np.array([0, 1]), np.array([2])), (np.array([1, 2]), np.array([0]))]
    >>> models = fit_folds(DummyRegressor(), np.zeros((3, 1)), [0.0, 2.0, 4.0], folds)
    >>> [float(model.predict([[0.0]])[0]) for model in models]
    [1.0, 3.0]
    """
    if settings is not None:
        return _fit_by_settings(estimator, X, y, list(folds), sample_weight, transforms, settings)
    if hasattr(estimator, "fit_folds") and not _replaced(estimator, "fit_folds", "fit"):
        extra = {} if transforms is None else {"transforms": transforms}
        return estimator.fit_folds(X, y, folds, sample_weight=sample_weight, **extra)
    weights = None if sample_weight is None else np.asarray(sample_weight)
    return fit_separately(estimator, X, np.asarray(y), folds, weights, transforms)


def predict_folds(
    estimator: Any,
    X: Any,
    y: Any,
    folds: Sequence[Fold],
    transforms: Transforms = None,
    settings: Sequence[Mapping[str, Any]] | None = None,
) -> Iterator[np.ndarray | None] | None:
    """What the models of `fit_folds` say of their test rows, fold by fold, where that is known without the models.

    Each fold gives class probabilities with a column for each class of y, or numbers; None where it needs its model.
    The whole is None for estimators that cannot do without models. `settings` are those of `fit_folds`.
    """
    shared = getattr(estimator, "_predict_folds", None)
    if shared is None or not isinstance(X, np.ndarray):
        return None
    if _replaced(estimator, "_predict_folds", "fit", "fit_folds", "predict", "predict_proba"):
        return None
    if settings is not None and not answers_are_fits(estimator):
        return None
    said = shared(X, y, folds, transforms, **({} if settings is None else {"settings": settings}))
    # Where an answer is beyond the range of float64 its model says so in a sentence.
    return None if said is None else (None if a is None or not np.isfinite(a.sum()) else a for a in said)


def answers_are_fits(estimator: Any) -> bool:
    """Whether `predict_folds` fits a model for each fold, which it then does not keep: its time is that of a fit, and
    folds may have settings of their own."""
    return bool(getattr(estimator, "_answers_are_fits", False))


def _replaced(estimator: Any, shared: str, *methods: str) -> bool:
    """Whether a subclass from elsewhere has its own version of a method, which the shared way would pass over."""
    for cls in type(estimator).__mro__:
        if shared in vars(cls):
            return False
        if not cls.__module__.startswith("assay.") and any(method in vars(cls) for method in methods):
            return True
    return False


def _fit_by_settings(
    estimator: Any,
    X: Any,
    y: Any,
    folds: Sequence[Fold],
    sample_weight: Any,
    transforms: Transforms,
    settings: Sequence[Mapping[str, Any]],
) -> Iterator[Any]:
    shares = transforms is None and len(folds) > 1 and hasattr(estimator, "row_fits")
    shares = shares and not _replaced(estimator, "row_fits", "fit")
    fit = estimator.row_fits(X, y, sample_weight) if shares and estimator.shares_rows(X) else None
    for k, (fold, given) in enumerate(zip(folds, settings, strict=True)):
        if fit is not None:
            yield fit(fold[0], **given)
            continue
        one = None if transforms is None else transforms.only(k)
        yield from fit_folds(clone(estimator).set_params(**given), X, y, [fold], sample_weight, one)


def weighted_fits(estimator: Any, X: Any, y: np.ndarray) -> Callable[..., Any]:
    """A function of sample weights (one per row, 0 leaves the row out) and parameters that gives a fitted clone.

    What many weightings of one table have in common (bootstrap samples, say) is done once where the estimator can
    share, by a method of this name. An estimator whose `fit` takes no weights gets rows repeated by whole weights. The
    function may be called from several threads.

    >>> from sklearn.dummy import DummyRegressor
    >>> fit = weighted_fits(DummyRegressor(), np.zeros((3, 1)), np.array([0.0, 2.0, 5.0]))
    >>> float(fit(np.array([3.0, 1.0, 0.0])).predict([[0.0]])[0])
    0.5
    """
    if hasattr(estimator, "weighted_fits"):
        return estimator.weighted_fits(X, y)
    takes = "sample_weight" in inspect.signature(estimator.fit).parameters

    def fit(weights: np.ndarray, **parameters: Any) -> Any:
        model = clone(estimator).set_params(**parameters)
        if weights.min() == weights.max() == 1.0:
            return model.fit(X, y)
        rows = np.flatnonzero(weights)
        if takes:
            return model.fit(take_rows(X, rows), y[rows], sample_weight=weights[rows])
        rows = np.repeat(rows, weights[rows].astype(np.int64))
        return model.fit(take_rows(X, rows), y[rows])

    return fit


def hold_out_rows(
    who: str, n_rows: int, share: float, strata: np.ndarray | None, generator: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Training and validation rows for early stopping; each class (code in `strata`) gives its share.

    >>> train, held_out = hold_out_rows("fit", 10, 0.2, None, np.random.default_rng(0))
    >>> train.shape, held_out.shape
    ((8,), (2,))
    """
    order = generator.permutation(n_rows)
    held_out = np.zeros(n_rows, dtype=bool)
    for group in [order] if strata is None else [order[strata[order] == k] for k in range(strata.max() + 1)]:
        held_out[group[: round(share * group.shape[0])]] = True
    if not held_out.any() or held_out.all():
        raise DataError(
            who,
            "early_stopping",
            "needs rows on both sides",
            f"got {int(held_out.sum())} of {n_rows} rows to hold out",
            "change validation_fraction or set early_stopping=False",
        )
    return np.flatnonzero(~held_out), np.flatnonzero(held_out)
