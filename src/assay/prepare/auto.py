"""The preparation a learner needs, found from the column roles and its catalogue entry."""

from __future__ import annotations

from collections.abc import Mapping as Roles
from datetime import datetime
from typing import Any

import numpy as np
import polars as pl
from sklearn.base import TransformerMixin
from sklearn.utils import Tags, get_tags
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from .. import catalogue
from ..base import Boolean, Choice, Estimator, Integer, Mapping, Nothing, param
from ..base.errors import DataError, UsageError, plain
from ..catalogue import Entry
from ..data.roles import Role, infer_roles, nearest
from ..data.table import plain_types, to_polars
from .bag_of_words import Words
from .dates import expand, origin_of, parts_of
from .encode import MISSING_LABEL, Indicators, as_text, ranks
from .impute import NumericBlock
from .step import free_name, is_frame, listed, table_like, to_pandas

_PLAIN = (pl.Float64, pl.Int64, pl.String, pl.Boolean, pl.Datetime("us"))


def auto_prepare(roles: Roles[str, Role], learner: Entry | str | Any) -> Preparation:
    """The preparation for one learner: only what its catalogue entry says it cannot do itself.

    A learner that takes nominal columns gets a Polars frame in which they are text; any other gets a float64 matrix
    with indicators. Columns are standardised for learners that depend on scale, but not inside such a frame: there the
    learner has to weigh numbers against labels itself. If the table has no nominal column, every learner gets a matrix.
    A learner that does not depend on scale gets no indicator for the first category: it loses nothing by that, and a
    full set, which sums to one, would be collinear with its intercept. Free text becomes columns of words, 0 and 1, or
    true and false beside labels.

    The learner is an entry of the catalogue, its id, a class or an instance. An estimator outside the catalogue gets a
    complete, standardised matrix, with missing cells left in if its scikit-learn tags say that it takes them.

    >>> from assay import catalogue
    >>> from assay.prepare import auto_prepare
    >>> from assay.data import load_dataset
    >>> features = load_dataset("weather").features("play")
    >>> preparation = auto_prepare(features.roles, catalogue.get("zero-r"))
    >>> preparation.fit_transform(features.frame).columns
    ['outlook', 'temperature', 'humidity', 'windy']
    >>> auto_prepare(features.roles, "ridge").fit(features.frame).explain()[-1]
    "windy: 1 for 'true' and 0 for 'false'; an unseen category counts as 'false'."
    """
    entry = _entry(learner)
    if entry is None:
        takes_missing = not isinstance(learner, type) and get_tags(learner).input_tags.allow_nan
        return Preparation(
            roles=dict(roles), missing="native" if takes_missing else "impute", standardise=True, drop_first=False
        )
    return Preparation(
        roles=dict(roles),
        nominal="native" if "nominal" in entry.native else "one-hot",
        missing="native" if "missing" in entry.native else "impute",
        standardise=entry.scales,
        drop_first=not entry.scales,
        text="native" if "text" in entry.native else "words",
    )


class Preparation(TransformerMixin, Estimator):
    """Makes numbers of a table's columns by their roles, with everything learned from the training rows.

    Numbers keep their value; ordinal labels become ranks 0, 1, ...; dates become elapsed days, month, day of the week
    and hour (see `DateParts`); nominal labels become indicators, or stay text when `nominal="native"`. Free text
    becomes a bag of words: a column for each of its most frequent words in the training rows, 1 where a text holds it
    (true or false when `nominal="native"`). Missing numbers become the median, with an indicator column, unless
    `missing="native"`. The numeric columns come first, then the missing indicators, the nominal columns and the words.

    Attributes
    ----------
    roles_ : dict, the role of each column
    numeric_ : list of the names of the numeric columns that come out
    labels_ : list of the names of the columns that are labels
    block_ : what the training rows say about them: what fills missing cells, means, deviations
    indicators_ : list of the one-hot codes of the nominal columns (empty if they stay text)
    words_ : list of the words of the columns of free text

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.DataFrame({"age": [20, None, 40], "plan": ["a", "b", "c"]})
    >>> preparation = Preparation().fit(frame)
    >>> preparation.get_feature_names_out().tolist()
    ['age', 'age missing', 'plan=a', 'plan=b', 'plan=c']
    >>> preparation.transform(frame)
    array([[20.,  0.,  1.,  0.,  0.],
           [30.,  1.,  0.,  1.,  0.],
           [40.,  0.,  0.,  0.,  1.]])
    """

    _allow_nan = True

    roles: dict[str, Role] | None = param(
        None, Mapping() | Nothing(), "Role of each column to use; None infers the roles of the training table."
    )
    nominal: str = param("one-hot", Choice("one-hot", "native"), "Indicators, or a frame in which labels stay text.")
    missing: str = param("impute", Choice("impute", "native"), "Fill missing cells, or leave them to the learner.")
    standardise: bool = param(False, Boolean(), "Give numeric columns mean 0 and standard deviation 1 (matrix only).")
    drop_first: bool = param(False, Boolean(), "Give the first category of a nominal column no indicator.")
    max_categories: int = param(100, Integer(2), "Indicators per column; rarer categories share one more.")
    text: str = param("words", Choice("words", "native"), "Free text becomes words, or stays text as labels do.")
    max_words: int = param(
        500, Integer(1), "Words per column of free text: the most frequent of those in two training texts or more."
    )

    def fit(self, X: Any, y: Any = None) -> Preparation:
        """Learn from the training rows."""
        self._learn(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Learn from the training rows and prepare them."""
        return self._close(self._learn(X), X)

    def transform(self, X: Any) -> Any:
        """Prepare rows by what the training rows said."""
        check_is_fitted(self)
        frame = self._frame(X, reset=False)
        columns, holes = self._numbers(frame)
        return self._close(self._assemble(frame, self.block_.apply(columns, holes)), X)

    def _close(self, out: Any, like: Any) -> Any:
        """A frame as the caller's kind of frame, or as `set_output` says; a matrix is scikit-learn's to wrap."""
        if not isinstance(out, pl.DataFrame):
            return out
        wanted = _get_output_config("transform", self)["dense"]
        if wanted == "pandas":
            import pandas as pd

            return to_pandas(out, getattr(like, "index", None), pd)
        return out if wanted == "polars" or not is_frame(like) else table_like(out, like)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns that come out."""
        check_is_fitted(self)
        names = self._block_names()
        names += self.labels_ if self.as_frame_ else []
        for code in self._coded:
            for name in code.names:
                names.append(free_name(name, names))
        return np.array(names, dtype=object)

    def explain(self) -> list[str]:
        """What is done to the columns, in words, one sentence per treatment.

        >>> import polars as pl
        >>> Preparation(standardise=True).fit(pl.DataFrame({"age": [20, 30, 50], "height": [1.5, 1.6, 1.9]})).explain()
        ['age, height: standardised by the mean and standard deviation of the training rows.']
        """
        check_is_fitted(self)
        sentences = []
        for name, role in self.roles_.items():
            if role.role == "ordinal":
                order = " < ".join(plain(label, 30) for label in (role.order or ())[:12])
                sentences.append(f"{plain(name)}: labels become ranks 0, 1, ... in the order {order}.")
            elif name in self.dates_:
                parts = ", ".join(self.dates_[name][1])
                sentences.append(f"{plain(name)}: the date becomes {parts}.")
        holed = [self.numeric_[j] for j in self.block_.indicated]
        if holed:
            sentences.append(
                f"{listed(holed)}: missing values become the median of the training rows, "
                "and a column of 0 and 1 marks them."
            )
        if self.block_.mean is not None and self.numeric_:
            sentences.append(
                f"{listed(self.numeric_)}: standardised by the mean and standard deviation of the training rows."
            )
        if self.as_frame_ and self.labels_:
            sentences.append(f"{listed(self.labels_)}: passed on as labels.")
            if self.missing == "impute" and self.missing_in_labels_:
                sentences.append(f"{listed(self.labels_)}: a missing label becomes the label '{self.missing_label_}'.")
        for code in self._coded:
            sentences.append(f"{plain(code.name)}: {plain(code.explain(), 300)}.")
        if self.left_missing_:
            sentences.append(f"{listed(self.left_missing_)}: missing values are left to the learner, which takes them.")
        return sentences or ["The columns are passed on as they are."]

    # -- the steps -----------------------------------------------------------------------------------------------
    def _learn(self, X: Any) -> Any:
        self._check_parameters()
        frame = self._frame(X, reset=True)
        self._learn_layout(frame)
        columns, holes = self._numbers(frame, reset=True)
        self.block_, values = NumericBlock.fit(
            columns, holes, impute=self.missing == "impute", standardise=self.standardise and not self.as_frame_
        )
        texts = [] if self.as_frame_ else [as_text(frame[name]) for name in self.labels_]
        self.indicators_ = [Indicators.fit(text, self.max_categories, self.drop_first) for text in texts]
        self.words_ = [Words.fit(as_text(frame[name]), self.max_words) for name in self.texts_]
        left = [name for name in self.roles_ if name not in self.texts_] if self.missing == "native" else []
        self.left_missing_ = [name for name in left if frame[name].null_count()]
        self.missing_in_labels_ = any(frame[name].null_count() for name in self.labels_)
        if self.texts_ and not self.get_feature_names_out().size:
            raise DataError(
                type(self).__name__,
                f"column '{plain(self.texts_[0])}'",
                "holds no word that two training rows share, and there is no other column",
                way_out="bring more rows or columns",
            )
        return self._assemble(frame, values)

    def _learn_layout(self, frame: pl.DataFrame) -> None:
        """Which columns are dates and which are labels, and whether a frame or a matrix comes out."""
        self.dates_: dict[str, tuple[str | None, list[str]]] = {}
        self.labels_: list[str] = []
        self.texts_: list[str] = []
        for name, role in self.roles_.items():
            series = frame[name]
            if role.role == "datetime":
                origin = origin_of(series)
                self.dates_[name] = (None if origin is None else origin.isoformat(), parts_of(series))
            elif role.role == "text" and self.text == "words":
                self.texts_.append(name)
            elif _is_labels(series, role):
                self.labels_.append(name)
        self.as_frame_ = self.nominal == "native" and bool(self.labels_ or self.texts_)
        self.only_numbers_ = len(self.labels_) == 0 and all(
            r.role in ("numeric", "binary") for r in self.roles_.values()
        )
        self.missing_label_ = _free_label(frame, self.labels_) if self.as_frame_ else MISSING_LABEL

    def _frame(self, X: Any, *, reset: bool) -> pl.DataFrame:
        """The used columns as a Polars frame of plain types, in the order of the roles."""
        if not isinstance(X, pl.DataFrame):
            if hasattr(X, "columns") and not isinstance(X, np.ndarray):
                X = to_polars(X)
            else:
                matrix = self._read(X, reset=reset)
                X = pl.DataFrame(matrix, schema=[f"x{j}" for j in range(matrix.shape[1])])
                X = X.fill_nan(None)
        if reset:
            if X.height == 0 or X.width == 0:
                raise DataError(
                    type(self).__name__,
                    "the table",
                    f"has {X.height} rows and {X.width} columns (0 sample(s) or features)",
                )
            self.roles_ = dict(self.roles) if self.roles is not None else infer_roles(plain_types(X, {}))
            self.feature_names_in_ = np.array(list(self.roles_), dtype=object)
            self.n_features_in_ = len(self.roles_)
        names = list(self.roles_)
        if X.columns != names:
            lost = [name for name in names if name not in X.columns]
            if lost:
                raise DataError(
                    type(self).__name__,
                    f"column '{plain(lost[0])}'",
                    "is not in the table",
                    f"X has {X.width} features, but {type(self).__name__} is expecting {len(names)} features as input",
                    nearest(lost[0], X.columns),
                )
            X = X.select(names)
        if any(dtype not in _PLAIN for dtype in X.dtypes):
            X = plain_types(X, {})
        return X

    def _numbers(self, frame: pl.DataFrame, *, reset: bool = False) -> tuple[np.ndarray, bool]:
        """The numeric columns as a fresh float64 array (columns, rows) with NaN for missing, and whether it has any."""
        if self.only_numbers_:
            numbers = frame
        else:
            columns: list[pl.Series] = []
            for name, role in self.roles_.items():
                if name in self.dates_:
                    columns += self._date_columns(frame[name])
                elif role.role == "ordinal":
                    columns.append(ranks(frame[name], role.order or ()))
                elif name not in self.labels_ and name not in self.texts_:
                    columns.append(frame[name])
            numbers = pl.DataFrame(columns)
        if reset:
            self.numeric_ = numbers.columns
        if any(dtype != pl.Float64 for dtype in numbers.dtypes):
            numbers = self._as_float(numbers)
        if numbers.width == 0:
            return np.empty((0, frame.height)), False
        holes = any(series.null_count() for series in numbers.get_columns())
        by_column = numbers.to_numpy(order="fortran").T
        # A single column may come as a view of the frame's own memory, which must not be written to.
        fresh = by_column.flags.writeable and by_column.flags.c_contiguous and numbers.width > 1
        return by_column if fresh else np.array(by_column, order="C"), holes

    def _as_float(self, numbers: pl.DataFrame) -> pl.DataFrame:
        for series in numbers.get_columns():
            if series.dtype == pl.String and series.null_count() < series.len():
                cells = series.drop_nulls()
                text = cells.filter(cells.cast(pl.Float64, strict=False).is_null())  # or all are numbers
                raise DataError(
                    type(self).__name__,
                    f"column '{plain(series.name)}'",
                    "holds text where numbers are expected",
                    f"first: '{plain(text[0] if text.len() else cells[0], 30)}'",
                    "clean it or give it another role",
                )
        return numbers.cast(pl.Float64)

    def _date_columns(self, series: pl.Series) -> list[pl.Series]:
        origin, parts = self.dates_[series.name]
        if not series.dtype.is_temporal():
            if series.null_count() < series.len():
                raise DataError(
                    type(self).__name__,
                    f"column '{plain(series.name)}'",
                    "holds no dates",
                    f"its type is {series.dtype}",
                )
            series = series.cast(pl.Datetime("us"), strict=False)
        return expand(series, None if origin is None else datetime.fromisoformat(origin), parts)

    def _block_names(self) -> list[str]:
        names, others = list(self.numeric_), self.labels_ if self.as_frame_ else []
        for j in self.block_.indicated:
            names.append(free_name(f"{self.numeric_[j]} missing", [*names, *others]))
        return names

    def _assemble(self, frame: pl.DataFrame, numbers: np.ndarray) -> Any:
        widths = [len(code.names) for code in self._coded]
        if self.as_frame_:
            table = pl.DataFrame(numbers, schema=self._block_names()) if numbers.shape[1] else pl.DataFrame()
            table = table.fill_nan(None) if self.missing == "native" else table
            labels = [as_text(frame[name]) for name in self.labels_]
            if self.missing == "impute":
                labels = [label.fill_null(self.missing_label_) for label in labels]
            labels += self._flags(frame, sum(widths)) if widths else []
            return table.with_columns(labels) if table.width else pl.DataFrame(labels)
        if not widths:
            return numbers
        out = np.zeros((frame.height, numbers.shape[1] + sum(widths)))
        out[:, : numbers.shape[1]] = numbers
        at = numbers.shape[1]
        for code, width in zip(self._coded, widths):
            code.write(as_text(frame[code.name]), out[:, at : at + width])
            at += width
        return out

    @property
    def _coded(self) -> list[Indicators | Words]:
        """What becomes columns of 0 and 1: nominal labels, then free text."""
        return [*self.indicators_, *self.words_]

    def _flags(self, frame: pl.DataFrame, width: int) -> list[pl.Series]:
        """The words as columns of true and false, which a learner that takes labels counts as such."""
        out, at = np.zeros((frame.height, width), order="F"), 0
        for code in self.words_:
            code.write(as_text(frame[code.name]), out[:, at : at + len(code.names)])
            at += len(code.names)
        names = self.get_feature_names_out().tolist()[-width:] if width else []
        return [pl.Series(str(name), out[:, j] != 0.0) for j, name in enumerate(names)]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        return tags


def _entry(learner: Any) -> Entry | None:
    """The catalogue entry of a learner given by entry, id, class or instance; None if it is not in the catalogue."""
    if isinstance(learner, Entry):
        return learner
    if isinstance(learner, str):
        return catalogue.get(learner)
    cls = learner if isinstance(learner, type) else type(learner)
    if not hasattr(cls, "fit"):
        raise UsageError(
            "auto_prepare",
            "parameter 'learner'",
            "must be a catalogue entry, its id, or an estimator",
            f"got {plain(repr(learner))}",
        )
    return catalogue.of_class(cls)


def _is_labels(series: pl.Series, role: Role) -> bool:
    """Whether a column goes on as labels: nominal, or binary and not a number."""
    return role.role in ("nominal", "text", "id") or (role.role == "binary" and not series.dtype.is_numeric())


def _free_label(frame: pl.DataFrame, names: list[str]) -> str:
    """A label for missing cells that no column uses."""
    label = MISSING_LABEL
    while any(bool((as_text(frame[name]) == label).any()) for name in names):
        label += "'"
    return label
