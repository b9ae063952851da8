"""The estimator base: scikit-learn's protocol, declared parameters, cost, trace and fold sharing.

A learner is a class that declares its parameters with `param`, and whose `fit` starts with one of the `_begin`
methods below, which validate parameters, data, weights and cost in that order.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import Any, dataclass_transform

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from .._lazy import later
from .batches import BatchedTable, CodedLabels
from .cells import holds_no, naming_cells, plain_cells, require_table
from .columns import renumber
from .cost import Cost, check_cost
from .errors import DataError, UsageError, plain
from .folds import Fold as Fold
from .folds import Transforms, fit_separately
from .folds import take_rows as take_rows
from .guard import GUARDED, INFERENCE, guarded, is_squared, require_squares_of_columns, squaring
from .parameters import Parameter, build_init, collect, document
from .randomness import Stream
from .trace import Trace
from .views import View


def is_missing(label: Any) -> bool:
    """Whether a label is None, NaN or the missing value of a frame.

    >>> is_missing(None), is_missing(float("nan")), is_missing("no")
    (True, True, False)
    """
    return label is None or type(label).__name__ in ("NAType", "NaTType") or bool(label != label)


def check_lengths(who: str, n_rows: int, n_target: int) -> None:
    """Refuse a target that has not one value per row.

    >>> check_lengths("fit", 3, 3)
    """
    if n_rows != n_target:
        raise DataError(
            who,
            "X and y",
            "must have the same number of rows",
            f"Found input variables with inconsistent numbers of samples: [{n_rows}, {n_target}]",
        )


def check_finite(who: str, target: np.ndarray) -> None:
    """Refuse a target, of one column or several, with missing or infinite values.

    >>> check_finite("fit", np.array([1.0, 2.0]))
    """
    finite = np.isfinite(target)
    if not finite.all():
        raise DataError(
            who,
            "y",
            "must be finite (Input y contains NaN or infinity)",
            f"first at row {int(np.flatnonzero(~finite.reshape(target.shape[0], -1).all(1))[0])}",
            "drop those rows first",
        )


def check_weights(who: str, sample_weight: Any, n_rows: int) -> np.ndarray | None:
    """Sample weights as float64, or None: one per row, finite, not negative, not all zero.

    >>> check_weights("fit", [1, 2], 2)
    array([1., 2.])
    """
    if sample_weight is None:
        return None
    try:
        weights = np.require(sample_weight, np.float64, ["C", "ALIGNED"])
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(who, "sample_weight", "must hold numbers", plain(error)) from None
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.ndim != 1:
        raise DataError(who, "sample_weight", "must be 1D array or scalar", f"got shape {weights.shape}")
    if weights.shape[0] != n_rows:
        raise DataError(
            who, "sample_weight", f"must have one value for each of {n_rows} rows", f"got {weights.shape[0]}"
        )
    if not np.isfinite(weights).all():
        raise DataError(who, "sample_weight", "must be finite", "got NaN or infinity")
    if (weights < 0).any():
        row = int(np.flatnonzero(weights < 0)[0])
        raise DataError(
            who,
            "sample_weight",
            "must not be negative",
            f"got {weights[row]:g} at row {row}",
            "use weights >= 0",
        )
    if not weights.any():
        raise DataError(who, "sample_weight", "must not be zero for every row", way_out="give some row a weight > 0")
    return _summable(weights)


def _summable(weights: np.ndarray) -> np.ndarray:
    """Weights of which sums and squares are numbers: the largest is brought between 2**-256 and 2**256, exactly.

    A common factor changes no method that divides by the sum of the weights, and one with a penalty is at its limit
    long before: 10**77 rows overrule any penalty, and 10**-77 rows are overruled by any.

    >>> bool(_summable(np.array([1e308, 1e308])).sum() < 1e78)
    True
    """
    exponent = int(np.frexp(weights.max(initial=0.0))[1])
    if abs(exponent) <= 256:
        return weights
    scaled = np.ldexp(weights, (256 if exponent > 0 else -256) - exponent)
    # A row with weight stays one, however little.
    return np.where(weights > 0, np.maximum(scaled, np.finfo(np.float64).smallest_subnormal), 0.0)


_PLAIN = (type(None), bool, int, float, str)
_REQUESTS = frozenset({"_metadata_request", "_sklearn_output_config", "_skl_callbacks"})
"""What scikit-learn keeps in an estimator beside its parameters, and takes along into clones."""


@dataclass_transform(kw_only_default=True)
class Estimator(BaseEstimator):
    """Base of every method: parameters come from declarations, the constructor only stores them."""

    __parameters__: dict[str, Parameter] = {}
    _learned: dict[str, str] = {}
    """Attributes that a fit leaves behind, with their meaning; those of base classes need not be said again."""
    _way_out = "take a sample of the rows"
    _allow_nan = False
    _allow_sparse = False
    _squares = False
    """Whether distances or products of cells are taken, so that columns must lie where float64 has their squares."""
    _open_state: tuple[str, ...] = INFERENCE
    """Fitted attributes that may hold NaN or infinity for a reason; every other must be finite after `fit`."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        parameters = collect(cls)
        cls.__parameters__ = parameters
        cls.__init__ = build_init(cls, parameters)  # type: ignore[method-assign]
        document(cls, parameters)
        for name in GUARDED:
            method = inspect.getattr_static(cls, name, None)
            if inspect.isfunction(method) and not hasattr(method, "__assay_guarded__"):
                setattr(cls, name, guarded(method))
            elif inspect.isfunction(getattr(method, "fn", None)) and not hasattr(method.fn, "__assay_guarded__"):
                method.fn = guarded(method.fn)  # what `available_if` holds
        reader = inspect.getattr_static(cls, "_read", None)
        if cls._squares and inspect.isfunction(reader) and not hasattr(reader, "__assay_guarded__"):
            cls._read = squaring(reader)  # type: ignore[method-assign]

    def _needs_squares(self) -> bool:
        """Whether the choices made here take squares, for a class with `_squares`."""
        return True

    # -- parameters, cost, randomness, trace ---------------------------------------------------------------
    @classmethod
    def _get_param_names(cls) -> list[str]:
        # The declarations know the names; scikit-learn would inspect the signature at every clone.
        return sorted(cls.__parameters__)

    def __sklearn_clone__(self) -> Any:
        # Parameters that are plain values need no copies of their own, and every fold of a run is a clone.
        given = {name: getattr(self, name) for name in self.__parameters__}
        if _REQUESTS.isdisjoint(vars(self)) and all(type(value) in _PLAIN for value in given.values()):
            return type(self)(**given)
        return super().__sklearn_clone__()

    def _check_parameters(self) -> None:
        for name, declared in self.__parameters__.items():
            declared.check(type(self).__name__, getattr(self, name))

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Seconds and bytes of `fit` on a table of this size (an order of magnitude, on one core)."""
        cells = float(n_rows) * n_features
        return Cost(seconds=2e-9 * cells * n_outputs, bytes=16.0 * cells)

    def estimate_predict_cost(self, n_rows: int, n_features: int, n_queries: int) -> Cost:
        """Seconds and bytes of `predict` on `n_queries` rows after `fit` on `n_rows` (an order of magnitude)."""
        cells = float(n_queries) * n_features
        return Cost(seconds=1e-9 * cells, bytes=16.0 * cells)

    def _check_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> None:
        cost = self.estimate_cost(n_rows, n_features, n_outputs)
        check_cost(type(self).__name__, cost, self._way_out)

    def _check_table_cost(self, rows: Any, n_outputs: int = 1) -> None:
        if isinstance(rows, BatchedTable):
            # Blocks come and go; what is held has one value per row.
            seconds = self.estimate_cost(*rows.shape, n_outputs).seconds
            check_cost(type(self).__name__, Cost(seconds, self._batched_bytes(*rows.shape)), self._way_out)
            return
        self._check_cost(rows.shape[0], rows.shape[1], n_outputs)

    def _batched_bytes(self, n_rows: int, n_features: int) -> float:
        """What a fit by batches holds: the target, weights and predictions of every row, and some blocks."""
        return 24.0 * n_rows + 2.0**26

    # Whether cells are looked at: a learner that does not takes any table as it is.
    _reads_cells = True

    # Whether all folds of one `fit_folds` take little more than one fit (sums over rows, one search): then a run does
    # not divide them among its threads, which would do the common work once each.
    _folds_in_one_pass = False

    def _draws(self) -> bool:
        """Whether a fit with these parameters makes random choices."""
        return "random_state" in self.__parameters__

    def _stream(self) -> Stream:
        return Stream.of(getattr(self, "random_state", None))

    def _new_trace(self) -> Trace:
        return Trace(on=bool(getattr(self, "trace", False)))

    def _keep_trace(self, trace: Trace) -> None:
        if trace.on:
            self.trace_ = trace.records
        elif hasattr(self, "trace_"):
            del self.trace_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._allow_nan
        tags.input_tags.sparse = self._allow_sparse
        return tags

    def view(self) -> View | None:
        """What the fitted model looks like: a record that draws itself (see `base.views`); None if there is nothing."""
        return None

    def chosen(self) -> dict[str, int | float | str]:
        """What the fit chose by itself inside the training rows, by name, such as {"k": 11}; empty if nothing."""
        return {}

    # -- packages ----------------------------------------------------------------------------------------------
    def save(self, path: str | PathLike[str], **options: Any) -> Path:
        """Write the fitted model to a package, one file without pickle; `assay.load` makes it again.

        `options` are those of `assay.deploy.save`: `check` (rows whose answers are tried on loading), `facts` and
        `trusted`.
        """
        return later("assay.deploy", "save")(self, path, **options)

    def export(self, path: str | PathLike[str], **options: Any) -> Path:
        """Write the fitted model for other programs, as `*.sql`, `*.py` or `*.onnx`, tried against `predict` first.

        See `assay.deploy.export`; a form that would not be exact is refused.
        """
        return later("assay.deploy", "export")(self, path, **options)

    def _saved(self) -> dict[str, Any]:
        """What a package holds of the model: everything, but for what `_loaded` makes again."""
        return dict(vars(self))

    def _loaded(self) -> None:
        """Called when a package is read, before anything else: check what kernels index by, make what was left out."""
        self._check_parameters()

    # -- data ------------------------------------------------------------------------------------------------
    def _read(self, X: Any, *, reset: bool) -> np.ndarray:
        """X as a C-ordered float64 matrix; remembers or checks the number and names of columns."""
        return self._numbers_of(X, reset=reset, ensure_all_finite="allow-nan" if self._allow_nan else True)

    def _numbers_of(self, X: Any, *, reset: bool, ensure_all_finite: Any) -> np.ndarray:
        """What `_read` gives, with finite cells or not; one sentence names the column that holds no numbers."""
        cells = self._plain_cells(X, reset=reset, ensure_all_finite=ensure_all_finite)
        if cells is not None:
            return cells
        require_table(type(self).__name__, X)
        with naming_cells(self, X):
            return validate_data(
                self,
                X,
                reset=reset,
                dtype=np.float64,
                order="C",
                accept_sparse=self._allow_sparse,
                ensure_all_finite=ensure_all_finite,
            )

    def _plain_cells(
        self, X: Any, *, reset: bool, ensure_all_finite: Any = True, lists: bool = True, framed: str = "fiu"
    ) -> np.ndarray | None:
        """X as `_numbers_of` gives it where nothing can be wrong with it, for which one conversion and one look at the
        cells are enough; None where scikit-learn has to look. Remembers or checks the columns."""
        cells = plain_cells(X, lists=lists, framed=framed)
        if cells is None or not self._knows_columns(X, cells.shape[1], reset=reset):
            return None
        if ensure_all_finite is False or is_squared(cells):
            return cells
        return cells if holds_no(cells, missing=ensure_all_finite is True) else None

    def _knows_columns(self, X: Any, width: int, *, reset: bool) -> bool:
        """Whether the columns of an array, list or pandas frame are as in fit, or with `reset` can be remembered."""
        fitted = getattr(self, "feature_names_in_", None)
        if hasattr(X, "columns"):
            names = X.columns.tolist()
            if reset:
                if not all(type(name) is str for name in names):
                    return False
                self.feature_names_in_ = np.array(names, dtype=object)
            elif fitted is None or fitted.tolist() != names:
                return False
        elif fitted is not None:
            return False
        if reset:
            self.n_features_in_ = width
        return width == getattr(self, "n_features_in_", None)

    def _sparse_rows(self, X: Any, *, reset: bool) -> Any:
        """A SciPy sparse matrix by row, of finite float64: X itself where it is one already; remembers or
        checks the number of columns."""
        ready = X.format == "csr" and X.dtype == np.float64 and X.ndim == 2 and 0 not in X.shape
        if ready and holds_no(X.data, missing=True) and self._knows_columns(X, X.shape[1], reset=reset):
            return X
        return validate_data(self, X, reset=reset, dtype=np.float64, accept_sparse="csr")

    def _begin_rows(
        self, X: Any, target: np.ndarray, sample_weight: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Read X, check that lengths agree, check cost and weights, and leave out rows of weight zero."""
        rows: Any = self._read_batches(X) if isinstance(X, BatchedTable) else self._read(X, reset=True)
        who = type(self).__name__
        check_lengths(who, rows.shape[0], target.shape[0])
        if rows.shape[0] == 0:
            raise DataError(who, "X", "must have at least one row", "Found array with 0 sample(s)")
        weights = check_weights(who, sample_weight, rows.shape[0])
        self._check_table_cost(rows, 1 if target.ndim == 1 else target.shape[1])
        if weights is not None and not weights.all():
            kept = weights > 0
            rows, target, weights = rows[kept], target[kept], weights[kept]
        return rows, target, weights

    # -- tables larger than memory --------------------------------------------------------------------------------
    _by_batches = False
    """Whether `fit` takes a `BatchedTable`."""

    def fit_batches(self, batches: Any) -> Any:
        """Fit on a table that is read batch by batch (an `assay.data.Batches`), however large it is.

        The model is that of `fit` on all rows at once, to rounding; target and weights are those of the batches.
        """
        if not self._by_batches:
            raise UsageError(
                type(self).__name__,
                "fit_batches",
                "needs a method whose fit is sums over rows",
                way_out="take one that `assay methods --json` calls out_of_core, or fit a sample of the rows",
            )
        opened = self._looked_at(batches)
        table = getattr(opened, "table", opened)
        if not isinstance(table, BatchedTable):
            raise UsageError(
                type(self).__name__,
                "fit_batches",
                "takes a table with its target as assay.data.Batches",
                f"got a {type(batches).__name__}",
                "write Batches(path, target)",
            )
        if table.target is None and isinstance(self, (LabelClassifier, Regressor)):
            raise UsageError(
                type(self).__name__,
                "fit_batches",
                "needs the name of the target",
                way_out="write Batches(path, target)",
            )
        extra = {} if table.weights is None else {"sample_weight": table.weights}
        return self.fit(table, table.target, **extra)

    def _looked_at(self, batches: Any) -> Any:
        """The batches, or a table of them that the learner made with a first look of its own."""
        return batches

    def _read_batches(self, table: BatchedTable) -> BatchedTable:
        """The table as `_read` would give it, with the same refusals from what was seen in its columns."""
        found = table.read_by(self)
        if self._squares and self._needs_squares():
            facts = np.vstack([table.facts.low, table.facts.high])
            require_squares_of_columns(type(self).__name__, facts, table.names, learning=True)
        return found

    # -- fold sharing ------------------------------------------------------------------------------------------
    def fit_folds(
        self, X: Any, y: Any, folds: Iterable[Fold], sample_weight: Any = None, transforms: Transforms = None
    ) -> Iterator[Any]:
        """Yield one fitted clone per fold, equal to separate fits on each training part.

        `folds` are pairs (training rows, test rows). With `transforms` X is a matrix that all folds share, and the
        model of a fold is fitted to its training rows as the fold's transform gives them. The model of a fold depends
        on that fold alone, not on which other folds are asked for, so an interrupted run resumes with the same
        numbers. Learners that can share work across folds override this and do the common work once.
        """
        weights = None if sample_weight is None else np.asarray(sample_weight)
        yield from fit_separately(self, X, np.asarray(y), folds, weights, transforms)


def count_labels(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Classes and codes of integer labels that lie close together, without sorting; None for any others.

    >>> count_labels(np.array([7, 5, 7, 7, 5, 5, 7, 7]))
    (array([5, 7]), array([1, 0, 1, 1, 0, 0, 1, 1], dtype=int32))
    """
    if labels.dtype.kind not in "iu" or labels.size == 0:
        return None
    low, high = int(labels.min()), int(labels.max())
    # So many classes may deserve a warning.
    if high - low > labels.size // 4 or max(-low, high) > 2**62:
        return None
    shifted = labels.astype(np.int64, copy=False)
    if low != 0:
        shifted = shifted - low
    present = np.bincount(shifted) > 0
    classes = (np.flatnonzero(present) + low).astype(labels.dtype)
    return classes, renumber(shifted, present)


def distinct_labels(who: str, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The labels that occur, in order, and for each row the place of its own; labels that have no order are refused.

    >>> distinct_labels("LDAProjection", np.array(["b", "a", "b"]))
    (array(['a', 'b'], dtype='<U1'), array([1, 0, 1]))
    """
    try:
        if labels.dtype.kind == "U" and labels.ndim == 1:
            found = np.unique(labels, return_inverse=True)
            if 4 * found[0].shape[0] <= labels.shape[0]:  # more classes may deserve a warning
                return found
        check_classification_targets(labels)
        return np.unique(labels, return_inverse=True)
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in labels}))
        raise DataError(who, "y", "must hold labels of one kind", f"got {kinds}", "make text of them first") from None


class LabelClassifier(ClassifierMixin, Estimator):
    """Base of classifiers that give labels and no probabilities: any labels, two or more classes."""

    _learned = {"classes_": "array of the class labels"}

    def _encode_target(self, y: Any) -> np.ndarray:
        """Labels as codes 0..K-1 (int32); sets `classes_`."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__}: requires y to be passed, but the target y is None; give one label per row."
            )
        if isinstance(y, CodedLabels):
            self.classes_ = y.labels
            return y.codes
        labels = y if type(y) is np.ndarray and y.ndim == 1 else column_or_1d(y, warn=True)
        if labels.dtype.kind == "O":
            labels = self._labels_from_objects(labels)
        counted = count_labels(labels)
        if counted is not None:
            self.classes_, codes = counted
            return codes
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise DataError(
                type(self).__name__,
                "y",
                "must not hold missing or infinite labels (Input y contains NaN or infinity)",
                way_out="drop those rows first",
            )
        self.classes_, codes = distinct_labels(type(self).__name__, labels)
        return codes.astype(np.int32)

    def _labels_from_objects(self, labels: np.ndarray) -> np.ndarray:
        missing = np.array([is_missing(v) for v in labels], dtype=bool)
        if missing.any():
            raise DataError(
                type(self).__name__,
                "y",
                f"holds {int(missing.sum())} missing labels (Input y contains NaN)",
                f"first at row {int(np.flatnonzero(missing)[0])}",
                "drop those rows first",
            )
        if all(isinstance(v, str) for v in labels):
            return labels.astype(str)
        if all(isinstance(v, (bool, np.bool_)) for v in labels):
            return labels.astype(bool)
        return labels

    def _begin(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Validated (X, class codes, weights or None) for a fit; classes without weight are left out."""
        self._check_parameters()
        codes = self._encode_target(y)
        rows, codes, weights = self._begin_rows(X, codes, sample_weight)
        return rows, self._only_present(codes), weights

    def _only_present(self, codes: np.ndarray) -> np.ndarray:
        """Codes among the classes that some row has; the others leave `classes_`."""
        present = np.bincount(codes, minlength=self.classes_.shape[0]) > 0
        if present.all():
            return codes
        self.classes_ = self.classes_[present]
        return renumber(codes, present)

    def _require_classes(self, least: int = 2) -> None:
        if self.classes_.shape[0] < least:
            raise DataError(
                type(self).__name__,
                "y",
                f"must hold at least {least} classes",
                f"got {self.classes_.shape[0]} class",
                "check the target column",
            )


class Classifier(LabelClassifier):
    """Base of classifiers with probabilities: `predict` from `predict_proba`."""

    def predict_proba(self, X: Any) -> np.ndarray:
        raise NotImplementedError  # pragma: no cover

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row; the first in `classes_` wins a tie."""
        check_is_fitted(self)
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


class Regressor(RegressorMixin, Estimator):
    """Base of regressors."""

    _multi_output = False

    def _begin(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Validated (X, float64 target, weights or None) for a fit."""
        self._check_parameters()
        return self._begin_rows(X, self._target_numbers(y), sample_weight)

    def _target_numbers(self, y: Any) -> np.ndarray:
        """The target as finite float64."""
        who = type(self).__name__
        if y is None:
            raise ValueError(f"{who}: requires y to be passed, but the target y is None; give one number per row.")
        if isinstance(y, CodedLabels):
            if y.labels.dtype.kind != "b":
                came = f"got labels such as '{plain(y.labels[0], 40)}'"
                raise DataError(who, "y", "must be numeric for regression", came, "take a classifier")
            y = y.labels[y.codes]
        target = np.asarray(y) if self._multi_output else y
        column = type(target) is np.ndarray and target.ndim == 1
        if not column and not (self._multi_output and target.ndim == 2):
            target = column_or_1d(target, warn=True)
        try:
            target = np.ascontiguousarray(target, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(who, "y", "must be numeric for regression", str(error)) from None
        check_finite(who, target)
        return target

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._multi_output
        return tags
