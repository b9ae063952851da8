"""Naive Bayes for mixed columns: each column has the distribution of its role, given the class."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from ... import _kernels
from ...base.batches import BatchedTable
from ...base.columns import class_places, column_names, renumber
from ...base.cost import Cost
from ...base.decisions import Decisions, costs_param, given_priors
from ...base.errors import DataError, ParameterError, plain, quoted
from ...base.estimator import Classifier, Fold, check_lengths, check_weights
from ...base.folds import Transforms, are_complementary, cut_at, fold_blocks, row_lists, split_all_rows
from ...base.parameters import ArrayLike, Boolean, Choice, Mapping, Nothing, Real, param
from ...base.threads import thread_count
from ...base.usual_parameters import categorical_features_param, n_jobs_param
from ...base.views import Contributions, LogOdds
from ...data.columns import ColumnSchema, MixedInput, fit_columns, read_columns
from ...numeric.class_moments import ClassStatistics, central_values, holds_zero_one
from .sparse_scores import sparse_scores
from .views import gaussian_gains

DISTRIBUTIONS = ("gaussian", "bernoulli", "multinomial", "categorical")


class NaiveBayes(MixedInput, Decisions, Classifier):
    """Bayes' rule with columns taken as independent given the class, each with a distribution that suits its role.

    By default a nominal column is categorical, a column of 0 and 1 Bernoulli and any other numeric column Gaussian.
    Missing cells are skipped, in fit and in prediction; so are categories never seen. Everything is one pass over the
    table and sums over rows, so `partial_fit` and `fit_folds` give the same model as a fit on the rows concerned. A
    sparse table (counts of words) is summed and scored by its cells; all its columns are numeric.

    Attributes
    ----------
    classes_, class_count_, class_prior_ : the labels, their summed weights and their prior probabilities
    distributions_ : the distribution of each column
    gaussian_columns_, theta_, var_ : column numbers; mean and variance (n_classes, n_gaussian)
    constant_ : mask of the Gaussian columns that hold one value only and are left out of the prediction
    bernoulli_columns_, bernoulli_prob_ : column numbers; probability of 1 (n_classes, n_bernoulli)
    multinomial_columns_, multinomial_log_prob_ : column numbers; log probability of each column's event
    categorical_columns_, category_log_prob_ : column numbers; one array (n_classes, n_categories) for each

    A share `var_smoothing` of a column's variance is added to its variance in each class. (scikit-learn adds the same
    share of the largest variance of any column, which drowns columns of small scale.) A class in which a column has no
    present cell takes the mean and variance of all classes.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.bayes import NaiveBayes
    >>> X = np.array([["sunny", 30.0], ["sunny", 28.0], ["rain", 18.0], ["rain", 20.0]], dtype=object)
    >>> model = NaiveBayes().fit(X, ["out", "out", "in", "in"])
    >>> model.distributions_
    ['categorical', 'gaussian']
    >>> model.predict(np.array([["rain", None]], dtype=object)), model.predict_proba([["rain", None]]).round(2)
    (array(['in'], dtype='<U3'), array([[0.75, 0.25]]))
    """

    _folds_in_one_pass = True

    _squares = True
    _by_batches = True

    distributions: Any = param(
        "auto",
        Choice("auto", *DISTRIBUTIONS) | Mapping(),
        "Distribution of the columns given the class: by role ('auto'), one for all numeric columns ('categorical' for "
        "all columns), or a dict from column name or number to a name, by role for the rest. Columns that are "
        "'multinomial' are the counts of one multinomial; a 'bernoulli' column counts as 1 where it is > 0.",
    )
    alpha: float = param(1.0, Real(0), "Laplace smoothing: added to every count of a discrete distribution.")
    epsilon: float = param(1e-10, Real(1e-15, 0.5, "left"), "Smallest probability that a discrete event can have.")
    var_smoothing: float = param(1e-9, Real(0), "Share of a column's variance added to its variance in each class.")
    fit_prior: bool = param(True, Boolean(), "Whether priors are the class shares; if not, they are equal.")
    class_prior: Any = param(
        None, ArrayLike() | Nothing(), "Prior probabilities of the classes, instead of `fit_prior`."
    )
    prior_smoothing: float = param(0.0, Real(0), "Added to the weight of every class before its share is the prior.")
    costs: Any = costs_param()
    categorical_features: Any = categorical_features_param()
    n_jobs: int | None = n_jobs_param()

    # -- learning ------------------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> NaiveBayes:
        """Sum up the classes in one pass and turn the sums into distributions."""
        values, codes, weights = self._begin(X, y, sample_weight)
        return self._learn(self._as_events(values), codes, weights, self.schema_, self.classes_)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> NaiveBayes:
        """Add rows to what was learned; the first call must name all `classes`."""
        self._check_parameters()
        first = not hasattr(self, "count_")
        if first:
            if classes is None:
                raise DataError(type(self).__name__, "classes", "must be passed on the first call to partial_fit")
            self.classes_ = np.unique(column_or_1d(classes))
            values = self._read(X, reset=True)
        else:
            values = self._read_more(X)
        codes = self._codes_of(y, values.shape[0])
        weights = check_weights(type(self).__name__, sample_weight, values.shape[0])
        if weights is not None and not weights.all():
            kept = weights > 0
            values, codes, weights = values[kept], codes[kept], weights[kept]
        values = self._as_events(values)
        zero_one = holds_zero_one(values)
        shift = central_values(values, zero_one) if first else self.shift_
        statistics = self._sum_up(values, codes, weights, self.schema_, self.classes_.shape[0], shift)
        if not first:
            statistics = self._statistics().plus(statistics)
            zero_one &= self.zero_one_
        return self._settle(statistics, self.schema_, self.classes_, zero_one)

    def _learn(
        self,
        values: Any,
        codes: np.ndarray,
        weights: np.ndarray | None,
        schema: ColumnSchema,
        classes: np.ndarray,
        rows: np.ndarray | None = None,
    ) -> NaiveBayes:
        """Fit on encoded values, or on the listed rows of them; categories without a row are left out."""
        zero_one = holds_zero_one(values, rows)
        shift = central_values(values, zero_one, rows)
        statistics = self._sum_up(values, codes, weights, schema, classes.shape[0], shift, rows)
        if _shift_is_far(statistics):
            better = shift + statistics.sum.sum(axis=0) / np.maximum(statistics.count.sum(axis=0), 1e-300)
            statistics = self._sum_up(values, codes, weights, schema, classes.shape[0], better, rows)
        present = _present_categories(values, schema, rows)
        return self._settle(statistics.of_categories(present), _narrowed(schema, present), classes, zero_one)

    def _sum_up(
        self,
        values: Any,
        codes: np.ndarray,
        weights: np.ndarray | None,
        schema: ColumnSchema,
        n_classes: int,
        shift: np.ndarray,
        rows: np.ndarray | None = None,
    ) -> ClassStatistics:
        nominal = np.flatnonzero(schema.nominal).astype(np.int32)
        return ClassStatistics.of(
            values,
            codes,
            n_classes,
            weights,
            nominal=nominal,
            sizes=schema.n_categories[nominal],
            shift=shift,
            threads=thread_count(self.n_jobs),
            rows=rows,
        )

    def _settle(
        self, statistics: ClassStatistics, schema: ColumnSchema, classes: np.ndarray, zero_one: np.ndarray
    ) -> NaiveBayes:
        """Keep the sums and derive priors and distributions from them."""
        self.schema_, self.classes_, self.zero_one_ = schema, classes, zero_one
        self.class_count_, self.count_ = statistics.class_weight, statistics.count
        self.sum_, self.square_, self.tally_ = statistics.sum, statistics.square, statistics.tally
        self.shift_, self.tally_sizes_ = statistics.shift, statistics.sizes
        self.class_prior_ = self._priors(self.class_count_)
        self._costs()
        self.distributions_ = self._choose(statistics)
        columns = {name: [j for j, d in enumerate(self.distributions_) if d == name] for name in DISTRIBUTIONS}
        self.gaussian_columns_ = np.array(columns["gaussian"], dtype=np.int32)
        self.bernoulli_columns_ = np.array(columns["bernoulli"], dtype=np.int32)
        self.multinomial_columns_ = np.array(columns["multinomial"], dtype=np.int32)
        self.categorical_columns_ = np.array(columns["categorical"], dtype=np.int32)
        self.theta_, self.var_, self.constant_ = _gaussians(statistics, self.gaussian_columns_, self.var_smoothing)
        totals = statistics.sum + statistics.shift * statistics.count
        ones, seen = totals[:, self.bernoulli_columns_], statistics.count[:, self.bernoulli_columns_]
        self.bernoulli_prob_ = np.minimum(self._probability(np.maximum(ones, 0.0), seen, 2), 1.0 - self.epsilon)
        events = np.maximum(totals[:, self.multinomial_columns_], 0.0)
        self.multinomial_log_prob_ = np.log(
            self._probability(events, events.sum(axis=1, keepdims=True), events.shape[1])
        )
        self.category_log_prob_ = [
            np.log(self._probability(tally, tally.sum(axis=1, keepdims=True), tally.shape[1]))
            for tally in statistics.column_tallies()
        ]
        return self

    def _probability(self, events: np.ndarray, total: np.ndarray, kinds: int) -> np.ndarray:
        """(events + alpha) / (total + kinds alpha), equal shares where nothing was seen, at least epsilon."""
        below = np.broadcast_to(total + kinds * self.alpha, events.shape)
        share = np.divide(events + self.alpha, below, out=np.full(events.shape, 1.0 / max(kinds, 1)), where=below > 0)
        return np.maximum(share, self.epsilon)

    def _priors(self, class_count: np.ndarray) -> np.ndarray:
        """The priors by the weights of the classes, (classes,) or (folds, classes)."""
        n_classes = self.classes_.shape[0]
        if self.class_prior is not None:
            given = given_priors(type(self).__name__, "class_prior", self.class_prior, n_classes)
            return np.broadcast_to(given, class_count.shape)
        if not self.fit_prior:
            return np.full(class_count.shape, 1.0 / n_classes)
        # By a power of two, so that the largest smoothing has a sum.
        smoothed = np.ldexp(class_count + self.prior_smoothing, -16)
        return smoothed / smoothed.sum(axis=-1, keepdims=True)

    def _choose(self, statistics: ClassStatistics) -> list[str]:
        """The distribution of each column: as asked for, else by role."""
        count = statistics.count.sum(axis=0)
        ones = (statistics.sum + statistics.shift * statistics.count).sum(axis=0)
        both = (ones > 1e-9 * count) & (ones < (1 - 1e-9) * count)
        asked = self._asked()
        chosen = []
        for j, nominal in enumerate(self.schema_.nominal):
            by_role = "categorical" if nominal else "bernoulli" if self.zero_one_[j] and both[j] else "gaussian"
            chosen.append("categorical" if nominal else asked.get(j, by_role))
        return chosen

    def _asked(self) -> dict[int, str]:
        """Distributions asked for, by column number."""
        if isinstance(self.distributions, str):
            names = [] if self.distributions == "auto" else range(self.n_features_in_)
            return dict.fromkeys(names, self.distributions)
        known = [str(name) for name in getattr(self, "feature_names_in_", [])]
        asked = {}
        for column, name in self.distributions.items():
            number = known.index(column) if isinstance(column, str) and column in known else column
            if not isinstance(number, (int, np.integer)) or not 0 <= number < self.n_features_in_:
                problem = f"names the column {plain(repr(column))}, which X does not have"
            elif name not in DISTRIBUTIONS:
                problem = f"must map to one of {', '.join(DISTRIBUTIONS)}; got {plain(repr(name))}"
            else:
                asked[int(number)] = name
                continue
            raise ParameterError(type(self).__name__, "parameter 'distributions'", problem)
        return asked

    def _as_events(self, values: Any) -> Any:
        """Columns declared Bernoulli as 0 and 1; columns declared multinomial checked to be counts."""
        asked = self._asked()
        numeric = {j: name for j, name in asked.items() if not self.schema_.nominal[j]}
        for j, name in asked.items():
            text = self.schema_.categories[j]
            if name != "categorical" and text is not None and isinstance(self.distributions, dict):
                raise ParameterError(
                    type(self).__name__,
                    "parameter 'distributions'",
                    f"asks for '{name}' in column '{plain(self.schema_.names[j])}', which is nominal",
                    way_out="use 'categorical' or leave it out",
                )
        counts = [j for j, name in numeric.items() if name == "multinomial"]
        below = _below_zero(values) if counts else np.zeros(0, dtype=bool)
        if counts and below[counts].any():
            j = next(j for j in counts if below[j])
            raise DataError(
                type(self).__name__,
                f"column '{plain(self.schema_.names[j])}'",
                "must not be negative in a multinomial (Negative values in data passed to NaiveBayes)",
                way_out="choose another distribution for it",
            )
        marks = [j for j, name in numeric.items() if name == "bernoulli"]
        if marks and issparse(values):
            marked = np.isin(values.indices, marks)
            return csr_array(
                (np.where(marked, values.data > 0, values.data), values.indices, values.indptr), shape=values.shape
            )
        if marks and isinstance(values, BatchedTable):
            zero_one = values.facts.zero_one.copy()
            zero_one[marks] = True
            return values.through(functools.partial(_as_marks, marks), replace(values.facts, zero_one=zero_one))
        return _as_marks(marks, values) if marks else values

    def _statistics(self) -> ClassStatistics:
        return ClassStatistics(
            self.class_count_,
            self.count_,
            self.sum_,
            self.square_,
            self.tally_,
            self.shift_,
            self.tally_sizes_,
        )

    # -- reading -------------------------------------------------------------------------------------------------
    def _read(self, X: Any, *, reset: bool) -> Any:
        return self._read_sparse(X, reset=reset) if issparse(X) else super()._read(X, reset=reset)

    def _read_sparse(self, X: Any, *, reset: bool) -> csr_array:
        """A sparse table in rows; its columns are numbers."""
        table = csr_array(self._sparse_rows(X, reset=reset))
        table.sum_duplicates()
        width = table.shape[1]
        if reset:
            names = tuple(column_names(self))
            self.schema_ = ColumnSchema(names, np.zeros(width, dtype=bool), (None,) * width)
            self._refuse_nominal([name == "categorical" for name in self._asked().values()])
        self._refuse_nominal(self.schema_.nominal)
        return table

    def _refuse_nominal(self, nominal: Any) -> None:
        if np.any(nominal):
            raise DataError(
                type(self).__name__,
                "X",
                "must not be sparse with nominal columns",
                way_out="give a dense table or other distributions",
            )

    def _nominal_wish(self) -> Any:
        """`categorical_features` together with the columns declared categorical in `distributions`."""
        if self.distributions == "auto":
            return self.categorical_features
        declared = [j for j, name in self._asked().items() if name == "categorical"]
        given = self.categorical_features
        if given is None or isinstance(given, str):
            return declared
        wanted = np.asarray(given)
        listed = np.flatnonzero(wanted).tolist() if wanted.dtype.kind == "b" else wanted.tolist()
        return np.array([*listed, *declared], dtype=object)

    def _read_more(self, X: Any) -> Any:
        """Another batch for `partial_fit`: categories not seen before are added, with tallies of zero."""
        if issparse(X):
            return self._read_sparse(X, reset=False)
        validate_data(self, X, reset=False, skip_check_array=True)
        _, batch = fit_columns(self, X, self.schema_.nominal)
        merged, present = [], []
        for old, new in zip(self.schema_.categories, batch.categories, strict=True):
            if old is None or new is None:
                merged.append(old)
                continue
            if old.dtype.kind != new.dtype.kind and new.shape[0] and old.shape[0]:
                raise DataError(type(self).__name__, "X", "holds categories of another type than before")
            union = np.union1d(old, new) if old.shape[0] else new
            merged.append(union)
            present.append(np.isin(union, old))
        if present:
            known = np.concatenate(present)
            tally = np.zeros((self.classes_.shape[0], known.shape[0]))
            tally[:, known] = self.tally_
            self.tally_, self.tally_sizes_ = tally, np.array([m.shape[0] for m in present], dtype=np.int32)
        self.schema_ = ColumnSchema(self.schema_.names, self.schema_.nominal, tuple(merged))
        return read_columns(self, X, self.schema_)

    def _codes_of(self, y: Any, n_rows: int) -> np.ndarray:
        labels = column_or_1d(y, warn=True)
        check_classification_targets(labels)
        check_lengths(type(self).__name__, n_rows, labels.shape[0])
        codes, known = class_places(self.classes_, labels)
        if not known.all():
            raise DataError(
                type(self).__name__,
                "y",
                f"holds the label {quoted(labels[~known][0])}",
                "which is not in the classes of the first call to partial_fit",
                "name every class there",
            )
        return codes.astype(np.int32)

    # -- prediction ----------------------------------------------------------------------------------------------
    def _arrays(self) -> Any:
        """The fitted distributions as the kernel takes them."""
        n_classes = self.classes_.shape[0]
        tables = [*self.category_log_prob_]
        for p in self.bernoulli_prob_.T:
            tables.append(np.log(np.column_stack([1.0 - p, p])))
        tabled = np.concatenate([self.categorical_columns_, self.bernoulli_columns_])
        binary = np.repeat([0, 1], [self.categorical_columns_.shape[0], self.bernoulli_columns_.shape[0]])
        return _kernels.NaiveBayesArrays(
            **self._gaussian_arrays(self.class_prior_, self.var_, self.constant_),
            gaussian=self.gaussian_columns_,
            mean=self.theta_,
            proportional=self.multinomial_columns_,
            slope=np.ascontiguousarray(self.multinomial_log_prob_),
            tabled=tabled.astype(np.int32),
            table_sizes=np.array([t.shape[1] for t in tables], dtype=np.int32),
            binary=binary.astype(np.uint8),
            table=np.ascontiguousarray(np.hstack(tables)) if tables else np.zeros((n_classes, 0)),
        )

    @staticmethod
    def _gaussian_arrays(priors: np.ndarray, var: np.ndarray, left_out: np.ndarray) -> dict[str, np.ndarray]:
        """Logarithms and constants of normal columns; the first axis may be that of folds.

        A constant column is the same for every class: left out, as its cells could be large enough to hide the rest.
        """
        with np.errstate(divide="ignore"):
            log_prior = np.log(priors)
        return {
            "log_prior": log_prior,
            "half_precision": np.where(left_out, 0.0, 0.5 / var),
            "constant": np.where(left_out, 0.0, -0.5 * np.log(2.0 * np.pi * var)),
        }

    def _scores(self, X: Any, wanted: int) -> np.ndarray:
        check_is_fitted(self)
        values = self._read(X, reset=False)
        if issparse(values):
            joint = sparse_scores(self, values)
            return joint if wanted == 0 else (log_softmax if wanted == 1 else softmax)(joint, axis=1)
        return _kernels.naive_bayes_scores(values, self._arrays(), wanted, thread_count(self.n_jobs))

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """log P(class) + log P(row | class), one column per class."""
        return self._scores(X, 0)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Log of the class probabilities of each row."""
        return self._scores(X, 1)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The class probabilities of each row."""
        return self._scores(X, 2)

    def predict(self, X: Any) -> np.ndarray:
        """The class of least expected cost of each row (the most probable one without `costs`); the first in
        `classes_` wins a tie."""
        if self.costs is not None:
            return super().predict(X)
        check_is_fitted(self)
        values = self._read(X, reset=False)
        if issparse(values):
            return self.classes_[sparse_scores(self, values).argmax(axis=1)]
        return self.classes_[_kernels.naive_bayes_labels(values, self._arrays(), thread_count(self.n_jobs))]

    def contributions(self, X: Any) -> np.ndarray:
        """What each column says about each row: log P(cell | class), (rows, classes, columns); 0 for missing cells.

        With the log of the priors they sum to `predict_joint_log_proba`; the difference between two classes is the
        column's part of their log odds.

        >>> import numpy as np
        >>> from assay.models.bayes import NaiveBayes
        >>> model = NaiveBayes().fit([[0.0], [1.0], [4.0], [5.0]], ["low", "low", "high", "high"])
        >>> said = model.contributions([[1.0]])
        >>> bool(said[0, 1, 0] > said[0, 0, 0])
        True
        """
        check_is_fitted(self)
        values = self._read(X, reset=False)
        cells = values.toarray() if issparse(values) else values
        said = np.zeros((cells.shape[0], self.classes_.shape[0], self.n_features_in_))
        for place, j in enumerate(self.gaussian_columns_):
            if not self.constant_[place]:
                mean, var = self.theta_[:, place], self.var_[:, place]
                said[:, :, j] = -0.5 * np.log(2 * np.pi * var) - (cells[:, j, None] - mean) ** 2 / (2 * var)
        for j, p in zip(self.bernoulli_columns_, self.bernoulli_prob_.T):
            said[:, :, j] = np.where(cells[:, j, None] > 0, np.log(p), np.log1p(-p))
        for j, slope in zip(self.multinomial_columns_, self.multinomial_log_prob_.T):
            said[:, :, j] = cells[:, j, None] * slope
        for j, table in zip(self.categorical_columns_, self.category_log_prob_):
            known = cells[:, j] >= 0
            said[known, :, j] = table[:, cells[known, j].astype(np.int64)].T
        return np.where(np.isnan(cells)[:, None, :], 0.0, said)

    def explain_row(self, row: Any) -> LogOdds:
        """Why this row gets its prediction: the part of each column in the log odds of each class (see `LogOdds`).

        `row` is a table of one row.
        """
        said = self.contributions(row)
        if said.shape[0] != 1:
            raise DataError(type(self).__name__, "row", "must be a table of one row", f"got {said.shape[0]} rows")
        with np.errstate(divide="ignore"):
            prior = np.maximum(np.log(self.class_prior_), -745.0)
        return LogOdds(
            names=column_names(self),
            classes=self.classes_.tolist(),
            values=(said[0] - said[0].mean(axis=0)).tolist(),
            prior=(prior - prior.mean()).tolist(),
            probabilities=self.predict_proba(row)[0].tolist(),
        )

    def view(self) -> Contributions:
        """How much each column speaks for each class on the rows of that class, on average (see `Contributions`)."""
        check_is_fitted(self)
        said = np.zeros((self.classes_.shape[0], self.n_features_in_))
        prior = self.class_prior_ / self.class_prior_.sum()
        gain = gaussian_gains(prior, self.theta_, self.var_)
        said[:, self.gaussian_columns_] = np.where(self.constant_, 0.0, gain)
        tables = list(zip(self.categorical_columns_.tolist(), map(np.exp, self.category_log_prob_)))
        tables += [
            (int(j), np.column_stack([1.0 - p, p])) for j, p in zip(self.bernoulli_columns_, self.bernoulli_prob_.T)
        ]
        if self.multinomial_columns_.size:
            share = np.exp(self.multinomial_log_prob_)
            said[:, self.multinomial_columns_] = np.maximum(share * np.log(share / (prior @ share)), 0.0)
        for column, table in tables:
            overall = np.maximum(prior @ table, 1e-300)
            said[:, column] = (table * np.log(np.maximum(table, 1e-300) / overall)).sum(axis=1)
        return Contributions(
            names=column_names(self), classes=self.classes_.tolist(), values=said.tolist(), prior=prior.tolist()
        )

    # -- folds and cost --------------------------------------------------------------------------------------------
    def fit_folds(
        self, X: Any, y: Any, folds: Iterable[Fold], sample_weight: Any = None, transforms: Transforms = None
    ) -> Iterator[NaiveBayes]:
        """One fitted clone per fold: the sums of all rows less those of the rows left out."""
        if transforms is not None:
            yield from super().fit_folds(X, y, folds, sample_weight, transforms)
            return
        template = clone(self)
        values, codes, _ = template._begin(X, y)
        weights = check_weights(type(self).__name__, sample_weight, values.shape[0])
        values, schema, classes = template._as_events(values), template.schema_, template.classes_
        zero_one = holds_zero_one(values)
        shift = central_values(values, zero_one)
        whole = template._sum_up(values, codes, weights, schema, classes.shape[0], shift)
        for train, test in folds:
            model = clone(self)
            for name in ("n_features_in_", "feature_names_in_"):
                if hasattr(template, name):
                    setattr(model, name, getattr(template, name))
            rows = train if weights is None else train[weights[train] > 0]
            present = np.bincount(codes[rows], minlength=classes.shape[0]) > 0
            left_out = template._sum_up(values, codes, weights, schema, classes.shape[0], shift, test)
            rest = whole.minus(left_out).of_classes(present)
            split = are_complementary(train, test, values.shape[0])
            if split and rest.holds_digits_of(whole.of_classes(present), ~schema.nominal & ~zero_one):
                kept = _present_categories(values, schema, rows)
                narrow = rest.of_categories(kept)
                yield model._settle(narrow, _narrowed(schema, kept), classes[present], holds_zero_one(values, rows))
            else:
                yield model._learn(values, renumber(codes, present), weights, schema, classes[present], rows)

    def _predict_folds(
        self, X: np.ndarray, y: Any, folds: Sequence[Fold], transforms: Transforms = None
    ) -> Iterator[np.ndarray | None] | None:
        """What the models of `fit_folds` say of their test rows, where all columns are normal."""
        template = clone(self)
        values, codes, _ = template._begin(X, y)
        if transforms is not None or not isinstance(values, np.ndarray) or template.schema_.nominal.any():
            return None
        zero_one = holds_zero_one(values)
        # In training rows that hold 0 and 1 alone a column has another distribution.
        longest = max((fold[1].shape[0] for fold in folds), default=0)
        if not any(_other_cells(values[:rows]).min() > longest for rows in (2 * longest + 64, values.shape[0])):
            return None
        shift = central_values(values, zero_one)
        whole = template._sum_up(values, codes, None, template.schema_, template.classes_.shape[0], shift)
        template._settle(whole, template.schema_, template.classes_, zero_one)
        if set(template.distributions_) != {"gaussian"}:
            return None
        return template._said_of_folds(values, codes, whole, folds)

    def _said_of_folds(
        self, values: np.ndarray, codes: np.ndarray, whole: ClassStatistics, folds: Sequence[Fold]
    ) -> Iterator[np.ndarray | None]:
        """The class probabilities of the test rows of each fold; None where its sums lost digits or a class."""
        threads, numeric = thread_count(self.n_jobs), np.ones(values.shape[1], dtype=bool)
        for some in fold_blocks(folds, self.classes_.shape[0]):
            tests = row_lists(folds[k][1] for k in some)
            left_out = ClassStatistics.of_folds(
                values, codes, whole.class_weight.shape[0], tests, shift=whole.shift, threads=threads
            )
            rest = whole.minus(left_out)
            theta, var, constant = _gaussians(rest, self.gaussian_columns_, self.var_smoothing)
            sure = rest.holds_digits_of(whole, numeric) & (rest.class_weight > 0).all(axis=1)
            sure &= np.isfinite(theta).all(axis=(1, 2)) & np.isfinite(var).all(axis=(1, 2))
            sure &= split_all_rows([folds[k] for k in some], values.shape[0], threads) > 0
            kept = [test for test, holds in zip(tests, sure, strict=True) if holds]
            said = self._said_by(theta[sure], var[sure], constant[sure], self._priors(rest.class_weight[sure]))
            answers = iter(cut_at(_kernels.naive_bayes_fold_scores(values, kept, **said, threads=threads), kept))
            yield from (next(answers) if holds else None for holds in sure)

    def _said_by(
        self, theta: np.ndarray, var: np.ndarray, constant: np.ndarray, priors: np.ndarray
    ) -> dict[str, np.ndarray]:
        """The normal distributions of some folds as the kernel takes them, one fold below the other."""
        arrays = self._gaussian_arrays(priors, var, constant[:, None, :])
        width = theta.shape[2]
        return {
            "gaussian": self.gaussian_columns_,
            "mean": theta.reshape(-1, width),
            **{name: part if name == "log_prior" else part.reshape(-1, width) for name, part in arrays.items()},
        }

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """One read of the table."""
        return Cost(seconds=1e-3 + 3e-9 * n_rows * n_features, bytes=8.0 * n_rows * n_features)


def _other_cells(values: np.ndarray) -> np.ndarray:
    """How many cells of each column are numbers other than 0 and 1."""
    return ((values != 0.0) & (values != 1.0) & ~np.isnan(values)).sum(axis=0)


def _gaussians(
    statistics: ClassStatistics, columns: np.ndarray, smoothing: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and variance per class, a share of the column's variance added; and which columns are constant.

    The sums may be those of many folds, along a first axis.
    """
    count, total = statistics.count[..., columns], statistics.sum[..., columns]
    shift, seen = statistics.shift[columns], count.sum(axis=-2, keepdims=True)
    none = np.zeros(seen.shape)
    pooled_mean = np.divide(total.sum(axis=-2, keepdims=True), seen, out=none.copy(), where=seen > 0)
    squares = statistics.square[..., columns].sum(axis=-2, keepdims=True)
    second = np.divide(squares, seen, out=none, where=seen > 0)
    pooled = np.maximum(second - pooled_mean**2, 0.0)
    noise = (8 * np.finfo(float).eps * (np.abs(shift) + np.abs(pooled_mean))) ** 2
    constant = pooled <= noise
    known = (count > 0) & ~constant
    mean = np.divide(total, count, out=np.broadcast_to(pooled_mean, count.shape).copy(), where=known)
    squares = statistics.centred_squares()[..., columns]
    variance = np.divide(squares, count, out=np.broadcast_to(pooled, count.shape).copy(), where=known)
    variance = np.where(constant, 1.0, np.maximum(variance + smoothing * pooled, 1e-15 * pooled))
    return np.ascontiguousarray(mean + shift), np.ascontiguousarray(variance), constant[..., 0, :]


def _shift_is_far(statistics: ClassStatistics) -> bool:
    """Whether some column mean lies many standard deviations from the shift."""
    seen = np.maximum(statistics.count.sum(axis=0), 1e-300)
    offset = statistics.sum.sum(axis=0) / seen
    spread = np.sqrt(np.maximum(statistics.square.sum(axis=0) / seen - offset**2, 0.0))
    return bool(np.any((np.abs(offset) > 100 * spread) & (np.abs(offset) > 1e-10 * np.abs(statistics.shift))))


def _as_marks(marks: list[int], values: np.ndarray) -> np.ndarray:
    """The rows with 1 in the marked columns where a cell is > 0, 0 where it is not."""
    values = values.copy()
    part = values[:, marks]
    values[:, marks] = np.where(np.isnan(part), np.nan, part > 0)
    return values


def _below_zero(values: Any) -> np.ndarray:
    """For each column, whether some cell is negative."""
    if isinstance(values, BatchedTable):
        return values.facts.low < 0
    if not issparse(values):
        return (values < 0).any(axis=0)
    answer = np.zeros(values.shape[1], dtype=bool)
    answer[values.indices[values.data < 0]] = True
    return answer


def _present_categories(values: Any, schema: ColumnSchema, rows: np.ndarray | None) -> list[np.ndarray]:
    """For each nominal column, which of its categories occur (in the listed rows)."""
    if isinstance(values, BatchedTable):
        return [tally > 0 for tally in values.tallies()] if schema.nominal.any() else []
    present = []
    for j in np.flatnonzero(schema.nominal):
        column = values[:, j] if rows is None else values[rows, j]
        codes = column[column >= 0].astype(np.int64)
        present.append(np.bincount(codes, minlength=int(schema.n_categories[j])) > 0)
    return present


def _narrowed(schema: ColumnSchema, present: list[np.ndarray]) -> ColumnSchema:
    """The schema with only the categories that occur."""
    masks = iter(present)
    categories = tuple(None if c is None else c[next(masks)] for c in schema.categories)
    return ColumnSchema(schema.names, schema.nominal, categories)
