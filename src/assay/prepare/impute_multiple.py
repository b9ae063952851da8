"""Multiple imputation by chained equations: several completed tables, each a plausible one."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from sklearn.utils.validation import check_is_fitted

from .. import _kernels
from ..base.cost import Cost
from ..base.errors import AssayWarning, DataError, ParameterError, plain
from ..base.parameters import Boolean, Choice, Integer, Mapping, Real, param
from ..base.randomness import Stream
from ..base.threads import thread_count
from ..base.usual_parameters import n_jobs_param, random_state_param, trace_param
from ..base.words import listing
from ..data.columns import UNSEEN, ColumnSchema, fit_columns, read_columns
from .convergence import Convergence
from .step import TableStep, columns_param, is_label, is_number

METHODS = {"norm": 0, "pmm": 1, "logistic": 2, "tree": 3}
FOR_NUMBERS, FOR_LABELS = ("pmm", "norm", "tree"), ("logistic", "tree")
LEAST_RIDGE = 1e-5
"""The ridge where cells are drawn, as a share of each column's sum of squares, and the least that is chosen."""
MOST_LOGISTIC = 10
"""Categories above which "auto" takes a tree: the logistic model has a coefficient per category and column."""


class ImputeMultiple(TableStep):
    """Completes a table several times, each missing cell by draws from its distribution given the rest of its row.

    Chained equations: every column with missing cells is modelled by all other columns, in turn, sweep after sweep,
    with parameters and cells drawn from their posterior. Each chain ends in one completed table; what differs between
    the tables is what the observed cells do not settle. Analyse each table and combine the answers with `pool`, or
    let `fit_multiple` do both.

    `fit_transform_all(X)` gives the completed training tables; `transform_all(X)` completes other rows, once for each
    chain, by the models that the training rows gave, never by the new rows. `transform(X)` gives one table, for
    prediction: the mean over the chains of each cell's expected value, or the category that most chains find most
    probable. Observed cells never change; columns of numbers come out as floats, and dates pass through.

    With `sample_posterior=False` nothing is drawn: one chain, each cell at its expected value, as scikit-learn's
    IterativeImputer does by default, with linear models that shrink as far as the data ask. That is good for prediction
    and wrong for inference.

    Attributes
    ----------
    columns_ : list of the columns that are completed and predict each other
    methods_ : dict, the conditional model of each of them
    sampled_ : dict, columns with more than `max_categories` labels: labels and their shares, from which cells are drawn
    empty_ : list of columns without any value in the training rows; they stay missing
    imputed_ : array (chains, missing cells), what each chain put into the missing cells of the training rows
    missing_cells_ : array (missing cells, 2), their rows and positions among `columns_`
    chains_ : dict with "mean" and "deviation", arrays (chains, sweeps, columns_), of the imputed cells
    n_iter_ : sweeps that were made
    conditionals_ : dict of the arrays that hold the fitted conditional models

    Examples
    --------
    >>> import numpy as np
    >>> from assay.prepare import ImputeMultiple
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 1)) + 0.1 * rng.normal(size=(200, 3))
    >>> X[rng.random(X.shape) < 0.2] = np.nan
    >>> imputer = ImputeMultiple(n_imputations=4, random_state=0)
    >>> tables = imputer.fit_transform_all(X)
    >>> len(tables), bool(np.isnan(tables[0]).any())
    (4, False)
    >>> imputer.transform(np.array([[1.0, 1.0, np.nan]])).round(0)
    array([[1., 1., 1.]])
    """

    _way_out = "use fewer imputations or sweeps, or a sample of the rows"
    _open_state = ("chains_",)

    n_imputations: int = param(5, Integer(1), "Completed tables: chains that run side by side.")
    max_iter: int = param(10, Integer(1), "Sweeps over the columns with missing cells.")
    method: Any = param(
        "auto",
        Choice("auto", "norm", "pmm", "logistic", "tree") | Mapping(),
        "Conditional models: 'norm' (linear, normal noise), 'pmm' (predictive mean matching), 'logistic', 'tree', one "
        "for each column in a dict, or 'auto': 'pmm' for numbers, 'logistic' for labels, 'tree' for more than 10 "
        "labels. A name takes columns that it suits; others have 'auto'.",
    )
    n_donors: int = param(
        5, Integer(1), "Rows a cell's value is drawn from: nearest in 'pmm', least in a leaf of 'tree'."
    )
    sample_posterior: bool = param(
        True, Boolean(), "Draw parameters and cells; False takes expected values, in one chain, with 'norm' for 'pmm'."
    )
    ridge: Any = param(
        "auto",
        Choice("auto") | Real(0),
        "Ridge of linear models, as a share of each column's sum of squares; 'auto' is 1e-5 with draws, and without "
        "draws what the data make likeliest, column by column.",
    )
    initial: str = param("draw", Choice("draw", "mean"), "Start from draws of observed cells, or from mean and mode.")
    imputation_order: str = param(
        "ascending",
        Choice("ascending", "descending", "roman", "arabic", "random"),
        "Columns from fewest to most missing cells, the reverse, left to right, right to left, or shuffled.",
    )
    max_categories: int = param(
        50, Integer(2), "A column with more labels predicts nothing, and its cells are drawn from all its labels."
    )
    columns: Any = columns_param("Columns to complete and to predict each other by; None for all but dates.")
    random_state: Any = random_state_param()
    n_jobs: int | None = n_jobs_param()
    trace: bool = trace_param()

    columns_: list[str]
    sampled_: dict[str, dict[str, np.ndarray]]

    # -- learning --------------------------------------------------------------------------------------------------
    def _learn(self, frame: pl.DataFrame, y: np.ndarray | None) -> None:
        self.names_out_ = list(frame.columns)
        self._share_columns(frame)
        self._tell_empty()
        cells, self.schema_ = self._encode_training(frame)
        self.methods_ = self._choose_methods(frame)
        self._run(cells)

    def _by_cells(self) -> bool:
        return self.columns is None and isinstance(self.method, str)

    def _learn_cells(self, cells: np.ndarray, y: np.ndarray | None) -> None:
        names, told = self.names_in_, np.logical_or.reduce(cells == cells, axis=0)  # a cell that is known equals itself
        self.names_out_, self.sampled_ = list(names), {}
        self.empty_ = [name for name, some in zip(names, told) if not some]
        self.columns_ = [name for name, some in zip(names, told) if some]
        self._tell_empty()
        count = len(self.columns_)
        self.schema_ = ColumnSchema(tuple(self.columns_), np.zeros(count, dtype=bool), (None,) * count)
        self.methods_ = self._choose_methods(None)
        self._run(self._known_columns(cells))

    def _run(self, cells: np.ndarray) -> None:
        """The chains on the columns that take part."""
        stream = self._stream()
        chains = self.n_imputations if self.sample_posterior else 1
        self.keys_ = np.array([stream.child(1).child(c).key for c in range(chains)], dtype=np.uint64)
        missing = np.isnan(cells)
        self.missing_cells_ = np.argwhere(missing)
        order = self._order(missing.sum(axis=0), stream.child(2))
        if self.columns_:
            keys = np.array([stream.child(0).child(c).key for c in range(chains)], dtype=np.uint64)
            self.conditionals_, self.imputed_, mean, deviation = _kernels.run_chains(
                cells,
                self.schema_.n_categories,
                np.array([METHODS[name] for name in self.methods_.values()], dtype=np.int32),
                order,
                keys,
                self.max_iter,
                self.n_donors,
                LEAST_RIDGE if self.ridge == "auto" else self.ridge,
                self.ridge == "auto" and not self.sample_posterior,
                self.sample_posterior,
                self.initial == "draw" and self.sample_posterior,
                thread_count(self.n_jobs),
            )
        else:
            self.conditionals_, self.imputed_ = {}, np.empty((chains, 0))
            mean = deviation = np.empty((chains * self.max_iter, 0))
        shape = (chains, self.max_iter, len(self.columns_))
        self.n_iter_ = self.max_iter
        self.chains_ = {"mean": mean.reshape(shape), "deviation": deviation.reshape(shape)}
        self._record(order)

    def _share_columns(self, frame: pl.DataFrame) -> None:
        """Which columns take part, which are drawn alone, and which hold nothing."""
        chosen = self._chosen(frame, lambda s: is_number(s) or is_label(s) or s.dtype == pl.Null, "numbers or labels")
        self.empty_ = [name for name in chosen if frame[name].null_count() == frame.height]
        self.columns_, self.sampled_ = [], {}
        for name in chosen:
            if name in self.empty_:
                continue
            column = frame[name]
            if column.dtype == pl.String and column.n_unique() - (column.null_count() > 0) > self.max_categories:
                counts = column.drop_nulls().alias("label").value_counts().sort("label")
                share = counts["count"].to_numpy() / (frame.height - column.null_count())
                self.sampled_[name] = {"labels": np.array(counts["label"].to_list(), dtype=str), "shares": share}
            else:
                self.columns_.append(name)

    def _tell_empty(self) -> None:
        if self.empty_:
            text = (
                f"{type(self).__name__}: {listing([plain(name) for name in self.empty_])} "
                f"{'has' if len(self.empty_) == 1 else 'have'} no value in the training rows and stay missing; leave "
                "such columns out or give them a value."
            )
            warnings.warn(AssayWarning("W601", text), stacklevel=5)

    def _encode_training(self, frame: pl.DataFrame) -> tuple[np.ndarray, ColumnSchema]:
        if not self.columns_:
            return np.empty((frame.height, 0)), ColumnSchema((), np.zeros(0, dtype=bool), ())
        cells, schema = fit_columns(type(self).__name__, frame.select(self.columns_), "from_dtype")
        return np.ascontiguousarray(cells), replace(schema, names=tuple(self.columns_))

    def _choose_methods(self, frame: pl.DataFrame | None) -> dict[str, str]:
        """The conditional of each column; `frame` has the columns that a dict may name."""
        asked: dict[str, str] = {}
        if frame is not None and isinstance(self.method, dict):
            for item, name in self.method.items():
                asked[self._method_column(frame, item)] = name
        methods = {}
        for column, count in zip(self.columns_, self.schema_.n_categories.tolist(), strict=True):
            suited = FOR_LABELS if count else FOR_NUMBERS
            name = asked.get(column, self.method if isinstance(self.method, str) else "auto")
            if column in asked and name != "auto" and name not in suited:
                raise ParameterError(
                    type(self).__name__,
                    "parameter 'method'",
                    f"must be {listing(['auto', *suited], 'or')} for column '{plain(column)}', which holds "
                    f"{'labels' if count else 'numbers'}",
                    f"got {plain(repr(name))}",
                )
            if name not in suited:
                name = "tree" if count > MOST_LOGISTIC else suited[0]
                if name == "pmm" and not self.sample_posterior:
                    name = "norm"
            methods[column] = name
        return methods

    def _method_column(self, frame: pl.DataFrame, item: Any) -> str:
        name = frame.columns[item] if isinstance(item, int) and 0 <= item < frame.width else item
        if name not in frame.columns:
            raise ParameterError(
                type(self).__name__, "parameter 'method'", "must name columns of X", f"got {plain(repr(item))}"
            )
        return name

    def _order(self, counts: np.ndarray, stream: Stream) -> np.ndarray:
        """The columns with missing cells, in the order of a sweep."""
        holed = np.flatnonzero(counts)
        if self.imputation_order == "arabic":
            holed = holed[::-1]
        elif self.imputation_order == "ascending":
            holed = holed[np.argsort(counts[holed], kind="stable")]
        elif self.imputation_order == "descending":
            holed = holed[np.argsort(-counts[holed], kind="stable")]
        elif self.imputation_order == "random":
            holed = stream.generator().permutation(holed)
        return holed.astype(np.int32)

    def _record(self, order: np.ndarray) -> None:
        trace = self._new_trace()
        names = [self.columns_[j] for j in order]
        trace.record("start", missing_cells=int(self.missing_cells_.shape[0]), order=names)
        if trace.on:
            for sweep in range(self.max_iter if names else 0):
                means = self.chains_["mean"][:, sweep, order].T.tolist()
                deviations = self.chains_["deviation"][:, sweep, order].T.tolist()
                trace.record(
                    "sweep",
                    sweep=sweep + 1,
                    mean=dict(zip(names, means, strict=True)),
                    deviation=dict(zip(names, deviations, strict=True)),
                )
        self._keep_trace(trace)

    # -- completing --------------------------------------------------------------------------------------------------
    def fit_transform_all(self, X: Any, y: Any = None) -> list[Any]:
        """Learn from the training rows and return their completed tables, one from each chain."""
        self.fit(X, y)
        if self._of_cells and all(self._are_finite(values) for values in self.imputed_):
            return [self._filled_cells(X, values) for values in self.imputed_]
        return [self._close(table, X) for table in self._training_tables(self._open(X, reset=False))]

    def transform_all(self, X: Any) -> list[Any]:
        """Complete rows once for each chain, by draws from the models of the training rows; the same draws every time.

        >>> imputer = ImputeMultiple(random_state=0).fit([[1.0, 2.0], [2.0, 4.1], [3.0, 5.9], [4.0, 8.2], [5.0, 9.7]])
        >>> {table[0, 1].item() for table in imputer.transform_all([[3.0, np.nan]])} <= {2.0, 4.1, 5.9, 8.2, 9.7}
        True
        """
        check_is_fitted(self)
        frame = self._open(X, reset=False)
        cells = self._cells(frame)
        values = self._values(cells, draw=self.sample_posterior)
        return [self._close(self._filled(frame, np.isnan(cells), row, c), X) for c, row in enumerate(values)]

    def _apply_cells(self, cells: np.ndarray) -> np.ndarray:
        best = self._values(self._known_columns(cells), draw=False).mean(axis=0)
        if not self._are_finite(best):  # which the sentence about a column of a frame tells
            return self._close(self._apply(self._open(cells, reset=False)), cells)
        return self._filled_cells(cells, best)

    def _known_columns(self, cells: np.ndarray) -> np.ndarray:
        """The columns of a matrix that had a value in fit."""
        if not self.empty_:
            return cells
        return np.ascontiguousarray(cells[:, [self.names_in_.index(name) for name in self.columns_]])

    def _are_finite(self, values: np.ndarray) -> bool:
        return bool(np.isfinite(values.sum())) or not np.isinf(values).any()

    def _filled_cells(self, cells: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The matrix with `values` in its missing cells, row by row; columns that had no value in fit stay missing."""
        missing = np.isnan(cells)
        if self.empty_:
            missing[:, [self.names_in_.index(name) for name in self.empty_]] = False
        filled = cells.copy()
        filled[missing] = values
        return filled

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        cells = self._cells(frame)
        values, missing = self._values(cells, draw=False), np.isnan(cells)
        columns = np.nonzero(missing)[1]
        best = values.mean(axis=0)
        nominal = self.schema_.nominal[columns] if columns.size else np.zeros(0, dtype=bool)
        if nominal.any():
            votes = values[:, nominal].astype(np.int64)
            ballots = np.zeros((votes.shape[1], int(votes.max()) + 1), dtype=np.int64)
            for row in votes:
                ballots[np.arange(row.size), row] += 1
            best[nominal] = ballots.argmax(axis=1)
        return self._filled(frame, missing, best, None)

    def _cells(self, frame: pl.DataFrame) -> np.ndarray:
        """The columns as codes with NaN for missing cells and for labels that the training rows did not have."""
        if not self.columns_:
            return np.empty((frame.height, 0))
        cells = read_columns(type(self).__name__, frame.select(self.columns_), self.schema_)
        if not self.schema_.nominal.any():
            return np.ascontiguousarray(cells)
        return np.where((cells == UNSEEN) & self.schema_.nominal, np.nan, cells)

    def _training_tables(self, frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
        missing = np.isnan(self._cells(frame))
        return (self._filled(frame, missing, values, c) for c, values in enumerate(self.imputed_))

    def _values(self, cells: np.ndarray, *, draw: bool) -> np.ndarray:
        """What each chain puts into the missing cells: chains x cells."""
        if not self.columns_:
            return np.empty((self.keys_.size, 0))
        return _kernels.complete_rows(
            self.conditionals_, cells, self.keys_, self.max_iter, self.n_donors, draw, thread_count(self.n_jobs)
        )

    def _filled(self, frame: pl.DataFrame, missing: np.ndarray, values: np.ndarray, chain: int | None) -> pl.DataFrame:
        """The frame with `values` in its missing cells; labels that are not known stay as they came."""
        count = missing.sum(axis=1)
        place = np.cumsum(count) - count  # of a row's next cell among the values, which stand row by row
        done = []
        for j, name in enumerate(self.columns_):
            column, categories = frame[name], self.schema_.categories[j]
            rows = np.flatnonzero(missing[:, j])
            drawn = values[place[rows]]
            place[rows] += 1
            if categories is None:
                full = column.cast(pl.Float64).to_numpy().copy()
                full[rows] = drawn
                done.append(pl.Series(name, full))
            elif column.null_count():
                codes = np.zeros(frame.height, dtype=np.int64)
                codes[rows] = drawn
                picked = categories[codes]
                filling = pl.Series(
                    name, picked.tolist(), dtype=pl.Boolean if categories.dtype.kind == "b" else pl.String
                )
                kept = column if column.dtype == filling.dtype else column.cast(filling.dtype)
                done.append(kept.zip_with(column.is_not_null(), filling))
        done += [self._drawn_alone(frame[name], chain, k) for k, name in enumerate(self.sampled_)]
        return frame.with_columns(done)

    def _drawn_alone(self, column: pl.Series, chain: int | None, number: int) -> pl.Series:
        """A column of many labels: each missing cell is a draw from all of them, or the most frequent."""
        known = self.sampled_[column.name]
        if chain is None or not self.sample_posterior:
            return column.fill_null(str(known["labels"][known["shares"].argmax()]))
        generator = Stream(int(self.keys_[chain])).child(number).generator()
        picked = known["labels"][generator.choice(known["shares"].size, size=column.len(), p=known["shares"])]
        return column.zip_with(column.is_not_null(), pl.Series(column.name, picked.tolist(), dtype=pl.String))

    # -- what it learned ---------------------------------------------------------------------------------------------
    def convergence(self) -> Convergence:
        """The paths of the chains and R-hat, for the columns with missing cells in the training rows."""
        check_is_fitted(self)
        holed = np.unique(self.missing_cells_[:, 1])
        return Convergence(
            [self.columns_[j] for j in holed],
            self.chains_["mean"][:, :, holed],
            self.chains_["deviation"][:, :, holed],
        )

    def convergence_plot(self, columns: list[str] | None = None) -> str:
        """The paths of the chains as SVG text, one line per chain; see `Convergence`."""
        return self.convergence().figure(columns)

    def explain(self) -> list[str]:
        """What becomes of missing cells, in words."""
        check_is_fitted(self)
        words = {
            "norm": "by a linear model with normal noise",
            "pmm": f"by values of the {self.n_donors} rows with the nearest prediction",
            "logistic": "by a logistic model",
            "tree": "by values from the leaf of a tree",
        }
        sentences = []
        for method, phrase in words.items():
            names = [plain(name) for name, chosen in self.methods_.items() if chosen == method]
            if names:
                given = " on all other columns" if len(self.columns_) > 1 else ", with no other column to tell from"
                sentences.append(f"{listing(names)}: missing cells are filled {phrase}{given}.")
        for name in self.sampled_:
            sentences.append(f"{plain(name)}: has too many labels to model; missing cells are drawn from all of them.")
        for name in self.empty_:
            sentences.append(f"{plain(name)}: had no value in the training rows and stays as it is.")
        return sentences

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Seconds of all sweeps if a tenth of the cells are missing, and the tables of the chains that run at once."""
        cells = float(n_rows) * n_features
        chains = self.n_imputations if self.sample_posterior else 1
        trees = self.method == "tree" or (isinstance(self.method, dict) and "tree" in self.method.values())
        step = (1e-7 * n_features if trees else 8e-8) + 5e-12 * n_features**2
        running = min(chains, thread_count(self.n_jobs))
        return Cost(seconds=1e-4 + chains * self.max_iter * step * cells, bytes=(40.0 + 24.0 * running) * cells)


def completed_tables(imputer: ImputeMultiple, frame: pl.DataFrame) -> list[pl.DataFrame]:
    """Fit on a frame and return its completed frames, whatever `set_output` says.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"a": [1.0, 2.0, None, 4.0], "b": [2.0, 4.0, 6.0, 8.0]})
    >>> [table["a"].null_count() for table in completed_tables(ImputeMultiple(n_imputations=2, random_state=0), frame)]
    [0, 0]
    """
    if frame.width == 0:
        raise DataError(type(imputer).__name__, "the table", "must have columns")
    imputer.fit(frame)
    return list(imputer._training_tables(frame))
