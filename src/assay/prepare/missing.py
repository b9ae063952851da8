"""Missing cells: rows or columns left out, or cells filled from the column, its group, or the nearest rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from sklearn.utils.validation import check_is_fitted

from ..base.cost import Cost, check_cost
from ..base.errors import DataError, ParameterError, plain
from ..base.parameters import ArrayLike, Boolean, Choice, Instance, Integer, Nothing, Real, param
from ..base.threads import thread_count
from ..numeric.neighbours import nearest_known
from .encode import MISSING_LABEL, as_text, from_text
from .step import (
    CellCost,
    RowStep,
    TableStep,
    columns_param,
    free_name,
    is_quantity,
    is_value,
    kind_of,
    listed,
    matrix_of,
)

Filling = float | int | str | bool


class DropMissing(RowStep):
    """Leaves out rows or columns of which more than a share of the cells is missing.

    Rows are left out of training only (`fit_resample`): a row that has to be predicted passes as it is. Columns are
    judged by the training rows and left out everywhere.

    Attributes
    ----------
    shares_ : dict, the missing share of each column in the training rows
    dropped_ : list of the columns that are left out

    Examples
    --------
    >>> import polars as pl
    >>> from assay.prepare import DropMissing
    >>> table = pl.DataFrame({"age": [31.0, None, 45.0], "note": [None, None, "late"]})
    >>> DropMissing(axis="columns", max_share=0.5).fit_transform(table).columns
    ['age']
    >>> rows, _ = DropMissing(axis="rows", max_share=0.5).fit_resample(table)
    >>> rows["age"].to_list()
    [31.0, 45.0]
    """

    axis: str = param("rows", Choice("rows", "columns"), "Whether rows or columns are left out.")
    max_share: float = param(0.0, Real(0, 1), "The largest share of missing cells that is kept.")
    columns: Any = columns_param("Columns that count, by name or position; None for all.")

    def _learn(self, frame: pl.DataFrame, y: np.ndarray | None) -> None:
        self.counted_ = self._chosen(frame, lambda series: True, "cells")
        self.shares_ = {name: frame[name].null_count() / frame.height for name in self.counted_}
        over = [name for name, share in self.shares_.items() if share > self.max_share]
        self.dropped_ = over if self.axis == "columns" else []
        self.names_out_ = [name for name in frame.columns if name not in self.dropped_]
        if not self.names_out_:
            raise DataError(
                type(self).__name__, "the table", "would lose every column", way_out="give max_share a larger value"
            )

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame.select(self.names_out_)

    def _kept(self, frame: pl.DataFrame, y: np.ndarray | None) -> np.ndarray:
        if self.axis == "columns" or not self.counted_:
            return np.arange(frame.height)
        missing = frame.select(pl.sum_horizontal(pl.col(self.counted_).is_null())).to_series().to_numpy()
        return np.flatnonzero(missing <= self.max_share * len(self.counted_) * (1 + 1e-12))

    def explain(self) -> list[str]:
        """What is left out, in words."""
        check_is_fitted(self)
        if self.axis == "columns":
            return [
                f"{plain(name)}: left out, {100 * self.shares_[name]:.3g}% of its training cells are missing."
                for name in self.dropped_
            ]
        share = "any cell" if self.max_share == 0 else f"more than {100 * self.max_share:.3g}% of the cells"
        return [f"Training rows with {share} missing in {listed(self.counted_)} are left out."]

    # One pass over the cells' marks.
    _cell_cost = CellCost(seconds=1e-9, start=1e-5, bytes=9.0)


class ImputeSimple(TableStep):
    """Fills missing cells by one value per column: mean, median, most frequent value or a constant.

    Columns of labels take their most frequent label where the strategy is "mean" or "median"; of several equally
    frequent values the smallest is taken. With "constant", a number fills columns of numbers and a text columns of
    text; without `fill_value` these are 0 and '(missing)'. A column without any value in the training rows gets the
    same two. Dates pass through.

    Attributes
    ----------
    fillings_ : dict, what fills the missing cells of each column
    indicated_ : list of the columns that get a column of 0 and 1 which marks their missing cells

    Examples
    --------
    >>> import polars as pl
    >>> from assay.prepare import ImputeSimple
    >>> table = pl.DataFrame({"age": [20.0, None, 40.0, 60.0], "plan": ["a", "b", None, "b"]})
    >>> step = ImputeSimple(strategy="median", add_indicator=True).fit(table)
    >>> step.transform(table).row(1)
    (40.0, 'b', 1.0, 0.0)
    >>> step.get_feature_names_out().tolist()
    ['age', 'plan', 'age missing', 'plan missing']
    """

    _floats_stay = True

    strategy: str = param(
        "mean", Choice("mean", "median", "most_frequent", "constant"), "What of a column fills its missing cells."
    )
    fill_value: Any = param(
        None, Real() | Instance(str) | Nothing(), 'The number or text that fills with strategy "constant".'
    )
    add_indicator: bool = param(
        False, Boolean(), "Add a column of 0 and 1 for each column with missing cells in the training rows."
    )
    columns: Any = columns_param()

    def _learn(self, frame: pl.DataFrame, y: np.ndarray | None) -> None:
        fits = is_value
        if self.strategy == "constant" and self.fill_value is not None and self.columns is None:
            fits = _is_text if isinstance(self.fill_value, str) else is_quantity
        chosen = self._chosen(frame, fits, "numbers or labels")
        self.kinds_ = {name: kind_of(frame[name]) for name in chosen}
        self.fillings_ = {name: self._filling(frame[name]) for name in chosen}
        self.indicated_ = [name for name in chosen if frame[name].null_count()] if self.add_indicator else []
        self.names_out_ = list(frame.columns)
        for name in self.indicated_:
            self.names_out_.append(free_name(f"{name} missing", self.names_out_))

    def _by_cells(self) -> bool:
        return self.columns is None and not isinstance(self.fill_value, str)

    def _learn_cells(self, cells: np.ndarray, y: np.ndarray | None) -> None:
        holed = np.isnan(cells).any(axis=0)
        self.kinds_ = dict.fromkeys(self.names_in_, "number")
        self.fillings_ = {}
        for j, name in enumerate(self.names_in_):
            column = cells[:, j][~np.isnan(cells[:, j])] if holed[j] else cells[:, j]
            if self.strategy == "constant" or not column.size:
                self.fillings_[name] = self._constant() if self.strategy == "constant" else 0
            else:
                self.fillings_[name] = number_of(column, self.strategy)
        self.indicated_ = [self.names_in_[j] for j in np.flatnonzero(holed)] if self.add_indicator else []
        self.names_out_ = list(self.names_in_)
        for name in self.indicated_:
            self.names_out_.append(free_name(f"{name} missing", self.names_out_))

    def _apply_cells(self, cells: np.ndarray) -> np.ndarray:
        gone = np.isnan(cells)
        filled = np.where(gone, np.array(list(self.fillings_.values()), dtype=np.float64), cells)
        if not self.indicated_:
            return filled
        marked = [self.names_in_.index(name) for name in self.indicated_]
        return np.hstack([filled, gone[:, marked]])

    def _constant(self) -> Filling:
        if self.fill_value is None:
            return 0
        return self.fill_value if isinstance(self.fill_value, str) else _whole_or_float(self.fill_value)

    def _filling(self, series: pl.Series) -> Filling:
        number = kind_of(series) == "number"
        if self.strategy != "constant":
            return filling_of(series, self.strategy)
        if self.fill_value is None:
            return 0 if number else MISSING_LABEL if kind_of(series) == "text" else False
        if isinstance(self.fill_value, str) != (kind_of(series) == "text"):
            raise ParameterError(
                type(self).__name__,
                "parameter 'fill_value'",
                f"must be {'a number' if number else 'text'} for column '{plain(series.name)}'",
                f"got {plain(repr(self.fill_value))}",
            )
        return self._constant()

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        frame = self._like_fit(frame, self.kinds_)
        marks = self.names_out_[frame.width :]
        added = [pl.col(name).is_null().cast(pl.Float64).alias(mark) for name, mark in zip(self.indicated_, marks)]
        filled = [_typed(frame[name], value).fill_null(value) for name, value in self.fillings_.items()]
        return frame.with_columns(*filled, *added)

    def inverse_transform(self, X: Any) -> Any:
        """The table with its missing cells, as the indicators mark them; needs `add_indicator=True`."""
        frame = self._open_prepared(X)
        if not self.add_indicator:
            who, why = type(self).__name__, "without indicators nobody knows which cells were missing"
            raise ParameterError(who, "parameter 'add_indicator'", "must be True for the way back", way_out=why)
        width = frame.width - len(self.indicated_)
        marks = self.names_out_[width:]
        empty = [
            pl.when(pl.col(mark) == 1).then(None).otherwise(pl.col(name)).alias(name)
            for name, mark in zip(self.indicated_, marks)
        ]
        return self._close(frame.with_columns(empty).select(self.names_out_[:width]), X)

    def explain(self) -> list[str]:
        """What fills each column, in words."""
        check_is_fitted(self)
        sentences = []
        for name, value in self.fillings_.items():
            what = {"most_frequent": "most frequent value", "constant": "constant"}.get(self.strategy, self.strategy)
            if what in ("mean", "median") and self.kinds_[name] != "number":
                what = "most frequent value"
            mark = ", and a column of 0 and 1 marks them" if name in self.indicated_ else ""
            sentences.append(f"{plain(name)}: missing cells become {_shown(value)} (the {what}){mark}.")
        return sentences

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """One pass over the cells, or a selection in each column, and a copy."""
        cells = float(n_rows) * n_features
        return Cost(seconds=(2e-9 if self.strategy == "mean" else 2e-8) * cells + 1e-5, bytes=16.0 * cells)


class ImputeGroup(TableStep):
    """Fills missing cells by the mean, median or most frequent value of the row's group.

    The groups are those of the columns `by` in the training rows, such as gender: a missing height of a woman becomes
    the mean height of the women. A row whose group is missing, unseen or without any value gets the value of all
    training rows. Columns of labels take the most frequent label of the group.

    Attributes
    ----------
    by_ : list of the grouping columns
    groups_ : dict, for each grouping column the label of every group
    values_ : dict, for each filled column the value of every group (None where it has none)
    fillings_ : dict, for each filled column the value of all training rows

    Examples
    --------
    >>> import polars as pl
    >>> from assay.prepare import ImputeGroup
    >>> people = pl.DataFrame({"gender": ["f", "f", "m", "f", "m", None],
    ...                        "height": [160.0, 170.0, 180.0, None, None, None]})
    >>> ImputeGroup(by=["gender"]).fit_transform(people)["height"].to_list()
    [160.0, 170.0, 180.0, 165.0, 180.0, 170.0]
    """

    by: Any = param(
        None, ArrayLike() | Instance(str) | Nothing(), "Columns whose values make the groups; None for one group."
    )
    strategy: str = param("mean", Choice("mean", "median", "most_frequent"), "What of a group fills its missing cells.")
    columns: Any = columns_param()

    def _learn(self, frame: pl.DataFrame, y: np.ndarray | None) -> None:
        wanted = [] if self.by is None else [self.by] if isinstance(self.by, str) else list(self.by)
        self.by_ = list(dict.fromkeys(self._column(frame, item, "by") for item in wanted))
        chosen = self._chosen(frame, is_value, "numbers or labels")
        if self.columns is None:
            chosen = [name for name in chosen if name not in self.by_]
        self.kinds_ = {name: kind_of(frame[name]) for name in [*self.by_, *chosen]}
        self.fillings_ = {name: filling_of(frame[name], self.strategy) for name in chosen}
        self.names_out_ = list(frame.columns)
        keys = self._keys(frame)
        groups = keys.drop_nulls().unique().sort(keys.columns) if keys.width else pl.DataFrame()
        self.groups_ = {name: groups[f"key {i}"].to_list() for i, name in enumerate(self.by_)}
        self.values_: dict[str, list[Filling | None]] = {}
        for name in chosen if self.by_ else []:
            found = self._group_values(keys.with_columns(frame[name].alias("value")).drop_nulls())
            joined = groups.join(found, on=keys.columns, how="left", maintain_order="left")
            self.values_[name] = joined["value"].to_list()

    def _group_values(self, cells: pl.DataFrame) -> pl.DataFrame:
        keys = [name for name in cells.columns if name != "value"]
        if self.strategy != "most_frequent" and cells["value"].dtype.is_numeric():
            number = pl.col("value").cast(pl.Float64)
            return cells.group_by(keys).agg(number.mean() if self.strategy == "mean" else number.median())
        counts = cells.group_by(cells.columns).len("how many")
        most = pl.col("how many") == pl.col("how many").max()
        return counts.group_by(keys).agg(pl.col("value").filter(most).min())

    def _keys(self, frame: pl.DataFrame) -> pl.DataFrame:
        columns = []
        for i, name in enumerate(self.by_):
            kind = pl.Float64 if frame[name].dtype.is_numeric() else pl.String
            columns.append(frame[name].cast(kind).alias(f"key {i}"))
        return pl.DataFrame(columns)

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        frame = self._like_fit(frame, self.kinds_)
        found = self._fillings_of_rows(frame) if self.values_ else None
        filled = []
        for i, (name, overall) in enumerate(self.fillings_.items()):
            series = _typed(frame[name], overall)
            if found is not None and series.null_count():
                series = pl.select(pl.coalesce(series, found[f"value {i}"].cast(series.dtype))).to_series()
            filled.append(series.fill_null(overall).alias(name))
        return frame.with_columns(filled)

    def _fillings_of_rows(self, frame: pl.DataFrame) -> pl.DataFrame:
        keys = self._keys(frame)
        table = {f"key {i}": self.groups_[name] for i, name in enumerate(self.by_)}
        values = {
            f"value {i}": pl.Series(self.values_[name], dtype=_typed(frame[name], overall).dtype, strict=False)
            for i, (name, overall) in enumerate(self.fillings_.items())
        }
        groups = pl.DataFrame({**{k: pl.Series(v, dtype=keys.schema[k]) for k, v in table.items()}, **values})
        return keys.join(groups, on=keys.columns, how="left", maintain_order="left")

    def explain(self) -> list[str]:
        """What fills each column, in words."""
        check_is_fitted(self)
        sentences = []
        for name, overall in self.fillings_.items():
            what = self.strategy if self.kinds_[name] == "number" else "most_frequent"
            what = what.replace("most_frequent", "most frequent value")
            within = f" among the rows of the same {listed(self.by_)}; otherwise" if self.by_ else ","
            sentences.append(f"{plain(name)}: missing cells become the {what}{within} {_shown(overall)}.")
        return sentences

    # One grouping of the rows per column, and a copy.
    _cell_cost = CellCost(seconds=6e-8, start=1e-4, bytes=40.0)


class ImputeKNN(TableStep):
    """Fills missing cells from the nearest training rows in which the cell is present.

    Distances are Euclidean over the numeric columns that both rows have, scaled up for those that they have not
    (as in scikit-learn's `KNNImputer`). They depend on the scale of the columns: standardise first.
    A missing label becomes the label that most of its neighbours have; without a numeric column to measure by, the
    most frequent one. The training rows are kept, and every row with a missing cell is compared with all of them.

    Attributes
    ----------
    measured_ : list of the columns of numbers, which are filled and measured by
    rows_ : ndarray, these columns of the training rows
    labels_ : dict, the categories of each column of labels
    codes_ : dict, the label of each training row as a position among them (-1 if missing)

    Examples
    --------
    >>> import numpy as np
    >>> from assay.prepare import ImputeKNN
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0], [np.nan, 6.0], [8.0, 8.0]])
    >>> ImputeKNN(n_neighbors=2).fit_transform(X)[2]
    array([5.5, 6. ])
    """

    _way_out = "impute by group or column, or take a sample of the rows"
    _open_state = ("rows_",)

    labels_: dict[str, list[str]]
    codes_: dict[str, np.ndarray]

    _floats_stay = True

    n_neighbors: int = param(5, Integer(1), "How many neighbours a cell is filled from.")
    weights: str = param("uniform", Choice("uniform", "distance"), "Whether near neighbours count more: by 1/distance.")
    columns: Any = columns_param()

    def _by_cells(self) -> bool:
        return self.columns is None

    def _learn_cells(self, cells: np.ndarray, y: np.ndarray | None) -> None:
        self.kinds_ = dict.fromkeys(self.names_in_, "number")
        self.measured_, self.names_out_ = list(self.names_in_), list(self.names_in_)
        self.rows_, self.labels_, self.codes_ = cells.copy(), {}, {}

    def _apply_cells(self, cells: np.ndarray) -> np.ndarray:
        holed = np.flatnonzero(np.isnan(cells).any(axis=1))
        self._check_pairs(float(self.rows_.shape[0]) * holed.size)
        return self._filled_numbers(cells, holed)

    def _check_pairs(self, pairs: float) -> None:
        """Refuse more comparisons of rows than there is time for."""
        cost = Cost(seconds=4e-9 * pairs * (1 + len(self.measured_)), bytes=24.0 * self.rows_.size)
        check_cost(type(self).__name__, cost, self._way_out)

    def _learn(self, frame: pl.DataFrame, y: np.ndarray | None) -> None:
        chosen = self._chosen(frame, is_value, "numbers or labels")
        self.kinds_ = {name: kind_of(frame[name]) for name in chosen}
        self.measured_ = [name for name, kind in self.kinds_.items() if kind == "number"]
        self.rows_ = matrix_of(frame.select(self.measured_), frame.height)
        self.labels_, self.codes_ = {}, {}
        for name in chosen:
            if name not in self.measured_:
                text = as_text(frame[name])
                labels = text.drop_nulls().unique().sort().to_list() or [MISSING_LABEL]
                codes = text.cast(pl.Enum(labels), strict=False).to_physical().cast(pl.Int64).fill_null(-1)
                self.labels_[name], self.codes_[name] = labels, codes.to_numpy().copy()
        self.names_out_ = list(frame.columns)

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        frame = self._like_fit(frame, self.kinds_)
        cells = matrix_of(frame.select(self.measured_), frame.height)
        holed = np.flatnonzero(np.isnan(cells).any(axis=1))
        labels = sum(frame[name].null_count() for name in self.labels_)
        self._check_pairs(float(self.rows_.shape[0]) * (holed.size + labels))
        filled = [self._filled_labels(frame[name], cells) for name in self.labels_ if frame[name].null_count()]
        if holed.size:
            cells = self._filled_numbers(cells, holed)
        filled += [pl.Series(name, cells[:, j]) for j, name in enumerate(self.measured_)]
        return frame.with_columns(filled)

    def _filled_numbers(self, cells: np.ndarray, holed: np.ndarray) -> np.ndarray:
        """Each missing cell as the mean over the nearest training rows that have it; of all of them if no distance is
        known, and 0 for a column without any value."""
        cells, given, threads = cells.copy(), cells, thread_count(None)
        for j in np.flatnonzero(np.isnan(given[holed]).any(axis=0)):
            receivers = holed[np.isnan(given[holed, j])]
            donors = np.flatnonzero(~np.isnan(self.rows_[:, j]))
            if not donors.size:
                cells[receivers, j] = 0.0
                continue
            voters = min(self.n_neighbors, donors.size)
            near, gap = nearest_known(self.rows_[donors], given[receivers], voters, threads)
            weight = self._weight(np.where(np.isnan(given[receivers]).all(axis=1, keepdims=True), np.inf, gap))
            total = weight.sum(axis=1)
            found = (self.rows_[donors, j][near] * weight).sum(axis=1) / np.where(total > 0, total, 1.0)
            cells[receivers, j] = np.where(total > 0, found, self.rows_[donors, j].mean())
        return cells

    def _weight(self, gap: np.ndarray) -> np.ndarray:
        """The weight of neighbours at these distances: none where it is infinite, all to those at distance 0."""
        if self.weights == "uniform":
            return np.isfinite(gap).astype(float)
        with np.errstate(divide="ignore"):
            weight = 1.0 / gap
        exact = np.isinf(weight)
        return np.where(exact.any(axis=1, keepdims=True), exact, weight).astype(float)

    def _filled_labels(self, series: pl.Series, cells: np.ndarray) -> pl.Series:
        name, labels, codes = series.name, self.labels_[series.name], self.codes_[series.name]
        donors = np.flatnonzero(codes >= 0)
        counts = np.bincount(codes[donors], minlength=len(labels))
        holes = np.flatnonzero(series.is_null().to_numpy())
        chosen = np.full(holes.size, int(counts.argmax()))
        if self.measured_ and donors.size:
            chosen = self._votes(cells[holes], donors, codes, counts)
        text = pl.Series(name, [labels[c] for c in chosen], dtype=pl.String)
        return series.scatter(holes, from_text(text, self.kinds_[name]))

    def _votes(self, cells: np.ndarray, donors: np.ndarray, codes: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """The code that most of the nearest donors of each row have; the most frequent if no distance is known."""
        near, gap = nearest_known(
            self.rows_[donors], np.ascontiguousarray(cells), min(self.n_neighbors, donors.size), thread_count(None)
        )
        gap = np.where(np.isnan(cells).all(axis=1, keepdims=True), np.inf, gap)
        votes = np.zeros((cells.shape[0], counts.size))
        np.add.at(votes, (np.arange(cells.shape[0])[:, None], codes[donors][near]), self._weight(gap))
        return np.where(votes.any(axis=1), votes.argmax(axis=1), counts.argmax())

    def explain(self) -> list[str]:
        """What fills the columns, in words."""
        check_is_fitted(self)
        how = "" if self.weights == "uniform" else ", weighted by 1/distance,"
        near = f"the {self.n_neighbors} nearest training rows{how} that have it"
        sentences = []
        if self.measured_:
            sentences.append(f"{listed(self.measured_)}: a missing cell becomes the mean of {near}.")
        if self.labels_:
            by = f"the label most frequent among {near}" if self.measured_ else "the most frequent label"
            sentences.append(f"{listed(list(self.labels_))}: a missing cell becomes {by}.")
        return sentences

    # A copy of the rows to fit; filling compares every row that has a hole with all of them.
    _cell_cost = CellCost(seconds=5e-9, start=1e-5, bytes=24.0)


def _whole_or_float(value: float) -> int | float:
    return int(value) if float(value).is_integer() else float(value)


def number_of(column: np.ndarray, strategy: str) -> float:
    """The mean, median or most frequent number of a column without missing cells; the smallest of equally frequent.

    >>> number_of(np.array([3.0, 1.0, 3.0, 1.0]), "most_frequent")
    1.0
    """
    if strategy == "most_frequent":
        values, counts = np.unique(column, return_counts=True)
        return float(values[counts.argmax()])
    return float(column.mean() if strategy == "mean" else np.median(column))


def filling_of(series: pl.Series, strategy: str) -> Filling:
    """The mean, median or most frequent value of a column; labels have only the last.

    >>> import polars as pl
    >>> filling_of(pl.Series("plan", ["b", "a", None, "a"]), "median")
    'a'
    """
    present = series.drop_nulls()
    number = present.dtype.is_numeric()
    if present.len() == 0:
        return 0 if number else MISSING_LABEL if present.dtype == pl.String else False
    if number and strategy in ("mean", "median"):
        return number_of(present.to_numpy(), strategy)
    if number:
        ordered = present.sort()
        starts = np.flatnonzero((ordered != ordered.shift(1)).fill_null(True).to_numpy())
        return ordered[int(starts[np.argmax(np.diff(starts, append=ordered.len()))])]
    counts = present.alias("value").value_counts()
    frequent = counts.filter(pl.col("count") == pl.col("count").max())["value"]
    return bool(frequent.min()) if present.dtype == pl.Boolean else str(frequent.min())


def _typed(series: pl.Series, filling: Filling) -> pl.Series:
    """The column in a type that can hold what fills it."""
    number = isinstance(filling, float) and series.dtype.is_integer()
    return series.cast(pl.Float64) if number or (series.dtype == pl.Boolean and _is_number(filling)) else series


def _is_number(value: Filling) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_text(series: pl.Series) -> bool:
    return series.dtype == pl.String


def _shown(value: Filling) -> str:
    return (
        f"{value:.6g}"
        if isinstance(value, float)
        else f"'{plain(value, 40)}'"
        if isinstance(value, str)
        else str(value)
    )
