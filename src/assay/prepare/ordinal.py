"""Labels as whole numbers: ranks in an order, or codes of a target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import polars as pl
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..base import Choice, DataError, Mapping, Nothing, ParameterError, param, plain
from ..base.columns import class_places
from ..data.roles import guess_order
from .encode import as_text, counted_labels, from_text, label_places, ranks, text_counts
from .step import CellCost, TableStep, columns_param, is_frame, is_label, is_value, kind_of


class OrderedLabels(TableStep):
    """Base of steps on labels that have an order: the orders, what is not in them, and the way back."""

    orders: Any = param(None, Mapping() | Nothing(), "For each column (name or position) its labels from low to high.")
    handle_unknown: str = param(
        "missing", Choice("missing", "error"), "A label outside the order becomes missing or is refused."
    )

    def _learn_orders(self, frame: pl.DataFrame, guess: Any, columns: Any = None) -> None:
        """Set `orders_` (labels as text) and `kinds_`; `guess(series)` gives the order of a column without one."""
        given = self._by_column(frame, self.orders, "orders")
        names = list(given) if columns is None and self.orders is not None else None
        if names is None:
            names = self._chosen(frame, is_label if columns is None else is_value, "labels", columns)
        self.orders_: dict[str, list[str]] = {}
        for name in names:
            order = self._checked(frame[name], given[name]) if name in given else guess(as_text(frame[name]))
            if order is not None:
                self.orders_[name] = order
        self.kinds_ = {name: kind_of(frame[name]) for name in self.orders_}

    def _checked(self, series: pl.Series, order: Any) -> list[str]:
        plain_list = isinstance(order, (list, tuple, np.ndarray)) and len(order) > 0
        if not plain_list or kind_of(series) == "date":
            raise ParameterError(
                type(self).__name__,
                "parameter 'orders'",
                f"must be a list of labels for column '{plain(series.name)}'",
                f"got {plain(repr(order))}" if not plain_list else "it holds dates",
            )
        labels = as_text(pl.Series(list(order), strict=False)).to_list()
        if len(set(labels)) < len(labels) or None in labels:
            raise ParameterError(
                type(self).__name__,
                "parameter 'orders'",
                f"must name every label of column '{plain(series.name)}' once",
                f"got {plain(repr(list(order)))}",
            )
        return labels

    def _codes(self, frame: pl.DataFrame, name: str) -> pl.Series:
        """Ranks 0, 1, ... with null for missing and for labels outside the order."""
        text = as_text(frame[name])
        codes = ranks(text, self.orders_[name])
        if self.handle_unknown == "error" and codes.null_count() > text.null_count():
            row = int((codes.is_null() & text.is_not_null()).arg_max() or 0)
            raise DataError(
                type(self).__name__,
                f"column '{plain(name)}'",
                "holds a label outside its order",
                f"got '{plain(text[row], 40)}' at row {row}",
                "add it to orders, or use handle_unknown='missing'",
            )
        return codes

    def _labels(self, codes: pl.Series, name: str) -> pl.Series:
        """The labels of ranks; what is no rank is missing."""
        order = self.orders_[name]
        whole = codes.cast(pl.Float64).round().cast(pl.Int64, strict=False)
        text = pl.Series(name, order, dtype=pl.String).gather(whole.set((whole < 0) | (whole >= len(order)), None))
        return from_text(text, self.kinds_[name]).alias(name)

    # A look-up per cell, and a copy.
    _cell_cost = CellCost(seconds=4e-8, start=1e-5, bytes=40.0)


class OrdinalCode(OrderedLabels):
    """Gives labels their rank 0, 1, ... in an order; other columns pass through.

    `orders` names the labels of a column from low to high, also those the training rows do not hold. Without `orders`
    every column of text or booleans is coded: labels of a known scale (low < medium < high) in its order, others in
    that of the alphabet. A label outside the order becomes missing or is refused, and missing stays missing.

    Attributes
    ----------
    orders_ : dict, the labels of each coded column from low to high, as text

    Examples
    --------
    >>> import polars as pl
    >>> from assay.prepare import OrdinalCode
    >>> table = pl.DataFrame({"risk": ["high", "low", "medium", None]})
    >>> step = OrdinalCode(orders={"risk": ["low", "medium", "high"]}).fit(table)
    >>> step.transform(table)["risk"].to_list()
    [2.0, 0.0, 1.0, None]
    >>> step.inverse_transform(step.transform(table)).equals(table)
    True
    """

    columns: Any = columns_param(
        "Columns to code, by name or position; None for those of `orders`, or all of text and booleans."
    )

    def _learn(self, frame: pl.DataFrame, y: np.ndarray | None) -> None:
        self._learn_orders(frame, _scale_or_alphabet, self.columns)
        self.names_out_ = list(frame.columns)

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        frame = self._like_fit(frame, self.kinds_)
        # No expression, which would wake the threads of Polars.
        coded = [self._codes(frame, s.name) if s.name in self.orders_ else s for s in frame.get_columns()]
        return pl.DataFrame(coded)

    def _by_cells(self) -> bool:
        return self.orders is None

    def _learn_cells(self, cells: np.ndarray, y: np.ndarray | None) -> None:
        self.orders_, self.names_out_ = {}, list(self.names_in_)
        columns = np.sort(cells.T, axis=1)
        for name, place in self._asked_cells().items():
            labels = sorted(counted_labels(columns[place])[0])  # numbers alone stand on no known scale
            if labels:
                self.orders_[name] = labels
        self.kinds_ = dict.fromkeys(self.orders_, "number")

    def _apply_cells(self, cells: np.ndarray) -> np.ndarray:
        coded = cells.copy()
        for name, order in self.orders_.items():
            place = self.names_in_.index(name)
            found, unseen = label_places(order, np.ascontiguousarray(cells[:, place]))
            if self.handle_unknown == "error" and (unseen & ~np.isnan(cells[:, place])).any():
                # which the sentence about a column of a frame tells
                return self._close(self._apply(self._open(cells, reset=False)), cells)
            coded[:, place] = found
            coded[unseen, place] = np.nan
        return coded

    def inverse_transform(self, X: Any) -> Any:
        """The labels again; what is no rank becomes missing."""
        frame = self._open_prepared(X)
        return self._close(frame.with_columns([self._labels(frame[name], name) for name in self.orders_]), X)

    def explain(self) -> list[str]:
        """The order of each column, in words."""
        check_is_fitted(self)
        unseen = "becomes missing" if self.handle_unknown == "missing" else "is refused"
        return [
            f"{plain(name)}: labels become ranks 0, 1, ... in the order {in_order(order)}; another label {unseen}."
            for name, order in self.orders_.items()
        ]


class LabelCode(TableStep):
    """Gives labels the codes 0 to K - 1 in sorted order: a target, or columns of labels.

    A one-dimensional target becomes an array of integers (as in scikit-learn's `LabelEncoder`); it may hold any labels,
    but no missing ones. In a table every column of text or booleans is coded, others pass through, and missing stays
    missing.

    Attributes
    ----------
    classes_ : dict, the labels of each coded column; for a target, the array of its labels

    Examples
    --------
    >>> from assay.prepare import LabelCode
    >>> step = LabelCode().fit(["spam", "ham", "spam"])
    >>> step.transform(["ham", "spam"])
    array([0, 1])
    >>> step.inverse_transform([1, 0]).tolist()
    ['spam', 'ham']
    """

    handle_unknown: str = param(
        "error", Choice("error", "missing"), "An unseen label is refused, or missing (-1 in a target)."
    )
    columns: Any = columns_param("Columns to code, by name or position; None for those of text and booleans.")

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the labels of a target (one-dimensional) or of a table's columns."""
        target = self._as_target(X)
        if target is None:
            return super().fit(X, y)
        self._check_parameters()
        self._check_cost(target.shape[0], 1)
        self.classes_: Any = np.unique(target)
        self.n_features_in_, self.names_in_, self.names_out_ = 1, ["x0"], ["x0"]
        self.__dict__.pop("feature_names_in_", None)
        return self

    def transform(self, X: Any) -> Any:
        """Codes of the labels."""
        check_is_fitted(self)
        target = self._as_target(X) if isinstance(self.classes_, np.ndarray) else None
        if target is None:
            self._refuse_mismatch(isinstance(self.classes_, np.ndarray))
            return super().transform(X)
        place, known = class_places(self.classes_, target)
        if self.handle_unknown == "error" and not known.all():
            row = int((~known).argmax())
            self._refuse_unseen("the target", target[row], row)
        return np.where(known, place, -1).astype(np.int64)

    def inverse_transform(self, X: Any) -> Any:
        """The labels again; what is no code is refused in a target and missing in a table."""
        check_is_fitted(self)
        if isinstance(self.classes_, np.ndarray):
            codes = np.asarray(X, dtype=np.int64).ravel()
            wrong = (codes < 0) | (codes >= self.classes_.shape[0])
            if wrong.any():
                rule, came = f"must hold codes from 0 to {self.classes_.shape[0] - 1}", codes[wrong][0]
                raise DataError(type(self).__name__, "the target", rule, f"got {came} at row {int(wrong.argmax())}")
            return self.classes_[codes]
        frame = self._open_prepared(X)
        columns = []
        for name, labels in self.classes_.items():
            whole = frame[name].cast(pl.Float64).round().cast(pl.Int64, strict=False)
            whole = whole.set((whole < 0) | (whole >= len(labels)), None)
            text = pl.Series(name, labels, dtype=pl.String).gather(whole)
            columns.append(from_text(text, self.kinds_[name]).alias(name))
        return self._close(frame.with_columns(columns), X)

    def _as_target(self, X: Any) -> np.ndarray | None:
        """X as one-dimensional labels, or None if it is a table."""
        if is_frame(X):
            return None
        labels = np.asarray(X)
        if labels.ndim != 1 or labels.shape[0] == 0:
            return None
        if labels.dtype.kind == "O":
            missing = np.array([v is None or v != v for v in labels], dtype=bool)
            if missing.any():
                first, way_out = f"first at row {int(missing.argmax())}", "drop those rows first"
                raise DataError(type(self).__name__, "the target", "must not hold missing labels", first, way_out)
            labels = labels.astype(str) if any(isinstance(v, str) for v in labels) else np.array(labels.tolist())
        if labels.dtype.kind in "OcM" or (labels.dtype.kind == "f" and type_of_target(labels) == "continuous"):
            raise DataError(
                type(self).__name__,
                "X",
                "must be a table (2D array) or a target of labels",
                "got a 1D array of other values; Reshape your data",
            )
        return column_or_1d(labels)

    def _refuse_mismatch(self, target: bool) -> None:
        if target:
            raise DataError(
                type(self).__name__, "X", "must be one-dimensional", "it was fitted on a target", "fit again"
            )

    def _refuse_unseen(self, where: str, label: Any, row: int) -> None:
        raise DataError(
            type(self).__name__,
            where,
            "holds a label that the training rows do not",
            f"got '{plain(label, 40)}' at row {row}",
            "use handle_unknown='missing'",
        )

    def _learn(self, frame: pl.DataFrame, y: np.ndarray | None) -> None:
        coded = self._chosen(frame, is_label if self.columns is None else is_value, "labels")
        self.kinds_ = {name: kind_of(frame[name]) for name in coded}
        self.classes_ = {name: _sorted_labels(frame[name]) for name in coded}
        self.names_out_ = list(frame.columns)

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        frame = self._like_fit(frame, self.kinds_)
        columns = []
        for name, labels in self.classes_.items():
            text = as_text(frame[name])
            codes = ranks(text, labels)
            if self.handle_unknown == "error" and codes.null_count() > text.null_count():
                row = int((codes.is_null() & text.is_not_null()).arg_max() or 0)
                self._refuse_unseen(f"column '{plain(name)}'", text[row], row)
            columns.append(codes)
        return frame.with_columns(columns)

    def explain(self) -> list[str]:
        """The codes, in words."""
        check_is_fitted(self)
        named = {"The target": self.classes_} if isinstance(self.classes_, np.ndarray) else self.classes_
        return [
            f"{plain(name)}: {len(labels)} labels become the codes 0 to {len(labels) - 1}, sorted: "
            f"{', '.join(plain(label, 30) for label in list(labels)[:12])}{', ...' if len(labels) > 12 else ''}."
            for name, labels in named.items()
        ]

    # A look-up per cell, and a copy.
    _cell_cost = CellCost(seconds=4e-8, start=1e-5, bytes=40.0)


def in_order(labels: Sequence[str]) -> str:
    """Labels from low to high, at most twelve.

    >>> in_order(["low", "high"])
    'low < high'
    """
    return " < ".join(plain(label, 30) for label in labels[:12]) + (" < ..." if len(labels) > 12 else "")


def _sorted_labels(series: pl.Series) -> list[str]:
    """The labels of a column as text, in the order of its values."""
    return as_text(series.drop_nulls().unique().sort()).to_list()


def _scale_or_alphabet(text: pl.Series) -> list[str] | None:
    labels = sorted(text_counts(text))
    return list(guess_order(labels) or labels) if labels else None
