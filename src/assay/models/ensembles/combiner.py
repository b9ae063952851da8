"""The algebra of combiners: members that answer, and a rule that makes one answer of theirs.

A combiner says how its members are fitted (`_fit_members`) and by which rule they are joined; tables go to the members
as they came, so that nominal columns and missing cells are used natively by those that can.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.utils.metaestimators import _BaseComposition
from sklearn.utils.validation import _num_samples

from ...base.around import AroundLearners, Members, in_threads, named_members
from ...base.columns import column_names
from ...base.cost import Cost
from ...base.cv import make_folds
from ...base.errors import DataError, ParameterError, plain
from ...base.estimator import Classifier, Regressor
from ...base.folds import Fold, fit_folds, open_seeds, seeds_of, take_rows
from ...base.parameters import Instance, Nothing, param
from ...base.randomness import Stream
from ...base.threads import thread_count
from ...base.usual_parameters import categorical_features_param, n_jobs_param, random_state_param
from ...base.views import ColumnShares, View
from ...data.columns import named_columns
from .units import contents, first_copies
from .vote_rules import combine, to_probabilities

# Cells of the members' answers that are held at a time.
CELLS = 2**23


@dataclass(frozen=True)
class Training:
    """What a combiner is fitted to: rows of positive weight, as they came."""

    X: Any
    target: np.ndarray
    """Labels, or numbers."""
    codes: np.ndarray | None
    """Numbers of the classes; None for numbers."""
    weights: np.ndarray | None
    kept: np.ndarray | None
    """Mask of these rows among those given; None for all."""

    @property
    def n_rows(self) -> int:
        """How many."""
        return int(self.target.shape[0])

    def whole(self) -> dict[str, Any]:
        """Arguments of `fit` for all rows, as they are."""
        extra = {} if self.weights is None else {"sample_weight": self.weights}
        return {"X": self.X, "y": self.target, **extra}

    def part(self, rows: np.ndarray) -> dict[str, Any]:
        """Arguments of `fit` for some of the rows."""
        extra = {} if self.weights is None else {"sample_weight": self.weights[rows]}
        return {"X": take_rows(self.X, rows), "y": self.target[rows], **extra}


class Combiner(AroundLearners):
    """Members and a rule; subclasses say what the members are and how they are fitted."""

    categorical_features: Any = categorical_features_param()
    random_state: Any = random_state_param()
    n_jobs: int | None = n_jobs_param()

    estimators_: list[Any]
    _members_name = "estimators"
    _side_by_side = False
    """Whether members are fitted and asked at the same time, one thread each."""

    # -- fitting -----------------------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit the members."""
        self._check_parameters()
        self._check_members()
        training = self._training(X, y, sample_weight)
        self._check_cost(training.n_rows, self.n_features_in_, 1)
        self._fit_members(training)
        return self

    def _training(self, X: Any, y: Any, sample_weight: Any) -> Training:
        """Rows and target as the members get them."""
        raise NotImplementedError  # pragma: no cover

    # -- members -----------------------------------------------------------------------------------------------------
    def _members(self) -> list[tuple[str, Any]]:
        """The unfitted members with their names."""
        raise NotImplementedError  # pragma: no cover

    def _templates(self) -> list[Any]:
        return [member for _, member in self._members()]

    def _check_members(self) -> None:
        wanted, noun = (is_classifier, "classifier") if is_classifier(self) else (is_regressor, "regressor")
        for _, member in self._members():
            if not wanted(member):
                several = "s" if self._members_name == "estimators" else ""
                raise ParameterError(
                    type(self).__name__,
                    f"parameter '{self._members_name}'",
                    f"must be {noun}s" if several else f"must be a {noun}",
                    f"got {plain(type(member).__name__)}",
                )

    def _draws(self) -> bool:
        return any(open_seeds(member) for member in self._templates())

    def _settings(self, member: Any, stream: Stream, columns: np.ndarray | None = None) -> dict[str, Any]:
        """What a member is told: its own seeds, one thread where members share the threads, which columns are nominal
        (`columns` are those it sees)."""
        told: dict[str, Any] = dict(seeds_of(open_seeds(member), stream))
        own = member.get_params(deep=False)
        if "n_jobs" in own and own["n_jobs"] is None:
            # Many members share the threads among them; few use them one after the other.
            told["n_jobs"] = 1 if self._side_by_side and thread_count(self.n_jobs) > 1 else self.n_jobs
        given = self.categorical_features
        if "categorical_features" in own and not (given is None or isinstance(given, str)):
            told["categorical_features"] = given if columns is None else self._among(given, columns)
        return told

    def _among(self, given: Any, columns: np.ndarray) -> list[int]:
        """The nominal columns as they are numbered among some of the columns."""
        return np.flatnonzero(named_columns(self, column_names(self), given)[columns]).tolist()

    def _prototype(self, member: Any, stream: Stream) -> Any:
        return clone(member).set_params(**self._settings(member, stream))

    def _fit_members(self, training: Training) -> None:
        """Set `estimators_`: the members, fitted to labels or numbers."""
        raise NotImplementedError  # pragma: no cover

    def _validation_folds(self, training: Training, cv: Any) -> list[Fold]:
        """The folds of `cv`; equal rows stay together, so that weights mean repetition, unless too few are distinct."""
        target = training.target if training.codes is None else training.codes
        settings: dict[str, Any] = {"stratify": training.codes is not None, "kept": training.kept}
        columns = contents(self, training.X, training.target, self.categorical_features)
        try:
            copies = partial(first_copies, columns, training.n_rows)
            return make_folds(type(self).__name__, cv, target, copies=copies, **settings)
        except DataError:
            return make_folds(type(self).__name__, cv, target, **settings)

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """One fit of each member."""
        return self._learners_cost(n_rows, n_features, n_outputs)

    # -- answers -----------------------------------------------------------------------------------------------------
    def _columns_of(self, member: int) -> np.ndarray | None:
        """The columns that a member sees; None for all."""
        return None

    def _asked(self, X: Any, answer: Callable[[Any, Any], np.ndarray]) -> np.ndarray:
        """What `answer(member, its columns of X)` gives, stacked with members first."""

        def one(k: int) -> np.ndarray:
            columns = self._columns_of(k)
            return answer(self.estimators_[k], X if columns is None else take_columns(X, columns))

        return np.array(in_threads(one, range(len(self.estimators_)), self.n_jobs if self._side_by_side else 1))

    def _in_parts(self, X: Any, width: int, work: Callable[[Any], np.ndarray]) -> np.ndarray:
        """`work` on some rows after the other, so that the members' answers to all rows need not be held at once."""
        n_rows, size = _num_samples(X), max(1024, CELLS // max(1, width))
        if n_rows <= size:
            return work(X)
        parts = [np.arange(begin, min(begin + size, n_rows)) for begin in range(0, n_rows, size)]
        return np.concatenate([work(take_rows(X, rows)) for rows in parts])

    def predict_members(self, X: Any) -> np.ndarray:
        """What each member predicts, (members, rows): for measures of diversity (`assay.evaluate.diversity`)."""
        return self._asked(self._check_rows(X), lambda member, rows: np.asarray(member.predict(rows)))

    def view(self) -> View | None:
        """The mean importances of the columns where every member knows them, else nothing."""
        shares = [getattr(member, "feature_importances_", None) for member in self.estimators_]
        if not shares or any(share is None for share in shares):
            return None
        total = np.zeros(self.n_features_in_)
        for k, share in enumerate(shares):
            columns = self._columns_of(k)
            total[slice(None) if columns is None else columns] += np.asarray(share)
        return ColumnShares(
            title=f"Importance of columns: mean over {len(shares)} members",
            names=column_names(self),
            values=(total / max(total.sum(), 1e-300)).tolist(),
        )


class ClassCombiner(Combiner, Classifier):
    """Members that classify."""

    def _training(self, X: Any, y: Any, sample_weight: Any) -> Training:
        X, codes, weights = self._begin_around(X, self._encode_target(y), sample_weight)
        codes = self._only_present(codes)
        return Training(X, self.classes_[codes], codes, weights, positive(sample_weight))

    def _class_columns(self, member: Any) -> np.ndarray:
        """The places of a member's classes among all classes: its training rows may have lacked some."""
        return np.searchsorted(self.classes_, member.classes_)

    def _shares(self, member: Any, X: Any) -> np.ndarray:
        """The probabilities that a member gives to all classes, 1 for its label where it has none."""
        columns = self._class_columns(member)
        found = np.zeros((_num_samples(X), self.classes_.shape[0]))
        if hasattr(member, "predict_proba"):
            found[:, columns] = member.predict_proba(X)
        else:
            found[np.arange(found.shape[0]), np.searchsorted(self.classes_, member.predict(X))] = 1.0
        return found

    def member_probabilities(self, X: Any) -> np.ndarray:
        """The probabilities of each member, (members, rows, classes)."""
        return self._asked(self._check_rows(X), self._shares)

    def _joined(self, X: Any, rule: str, weights: np.ndarray | None = None) -> np.ndarray:
        """The members' probabilities joined by a rule."""

        def part(rows: Any) -> np.ndarray:
            given = self._asked(rows, self._shares)
            return to_probabilities(combine(rule, given, weights), given)

        return self._in_parts(X, len(self.estimators_) * self.classes_.shape[0], part)


class NumberCombiner(Combiner, Regressor):
    """Members that predict numbers."""

    def _training(self, X: Any, y: Any, sample_weight: Any) -> Training:
        X, target, weights = self._begin_around(X, self._target_numbers(y), sample_weight)
        return Training(X, target, None, weights, positive(sample_weight))

    def _joined(self, X: Any, rule: str, weights: np.ndarray | None = None) -> np.ndarray:
        """The members' numbers joined by a rule."""

        def part(rows: Any) -> np.ndarray:
            given = self._asked(rows, lambda member, some: np.asarray(member.predict(some), dtype=np.float64))
            return combine(rule, given[:, :, None], weights)[:, 0]

        return self._in_parts(X, len(self.estimators_), part)


class OneKind(Combiner):
    """A combiner of many copies of one learner."""

    _members_name = "estimator"
    _side_by_side = True
    estimator: Any = param(
        None, Instance(BaseEstimator) | Nothing(), "The learner to repeat; None is a tree grown to the end."
    )

    def _default_member(self) -> Any:
        raise NotImplementedError  # pragma: no cover

    def _template(self) -> Any:
        return self._default_member() if self.estimator is None else self.estimator

    def _members(self) -> list[tuple[str, Any]]:
        return [("estimator", self._template())]


class NamedMembers(_BaseComposition, Combiner):
    """A combiner of different learners, whose parameters can be set by `name__parameter`."""

    estimators: Any = param(
        None,
        Members() | Nothing(),
        "The members: estimators, or pairs (name, estimator). None is a small usual choice that takes any table.",
    )

    _learned = {"estimators_, names_": "the fitted members and their names"}
    names_: list[str]

    def _default_members(self) -> Iterable[Any]:
        raise NotImplementedError  # pragma: no cover

    def _members(self) -> list[tuple[str, Any]]:
        return named_members(self._default_members() if self.estimators is None else self.estimators)

    def _check_members(self) -> None:
        super()._check_members()
        names = [name for name, _ in self._members()]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ParameterError(
                type(self).__name__,
                "parameter 'estimators'",
                "must give each member a name of its own",
                f"got '{plain(twice)}' {names.count(twice)} times",
                "rename one of them",
            )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters, and with `deep` those of the members by `name__parameter`."""
        return self._get_params("estimators", deep=deep)

    def set_params(self, **params: Any) -> Any:
        """Set parameters, members by their names, or parameters of members by `name__parameter`."""
        return self._set_params("estimators", **params)


def out_of_fold(
    prototype: Any,
    training: Training,
    folds: Sequence[Fold],
    answer: Callable[[Any, Any], np.ndarray],
    drawn: Sequence[str] = (),
) -> tuple[np.ndarray, np.ndarray]:
    """What models that did not see a row say of it, (rows, outputs), by the fold engine, and how many said so.

    `answer(model, rows of X)` gives (rows, outputs). A row tested in several folds gets the mean, one never tested NaN.
    `drawn` names the seeds of the prototype that its user left open: each fold has its own, from their stream.
    """
    total, asked = None, np.zeros(training.n_rows)
    settings = None
    if drawn:
        stream = Stream.of(prototype.get_params(deep=True)[drawn[0]])
        settings = [seeds_of(drawn, stream.child(k)) for k in range(len(folds))]
    models = fit_folds(prototype, training.X, training.target, folds, training.weights, settings=settings)
    for (_, test), model in zip(folds, models, strict=True):
        found = answer(model, take_rows(training.X, test))
        total = np.zeros((training.n_rows, found.shape[1])) if total is None else total
        np.add.at(total, test, found)
        np.add.at(asked, test, 1.0)
    assert total is not None
    with np.errstate(invalid="ignore"):
        return total / asked[:, None], asked


def positive(sample_weight: Any) -> np.ndarray | None:
    """The mask of rows of positive weight; None where every row counts.

    >>> positive([0.0, 2.0])
    array([False,  True])
    """
    given = None if sample_weight is None else np.asarray(sample_weight)
    return None if given is None or given.ndim == 0 else given > 0


def take_columns(X: Any, columns: np.ndarray) -> Any:
    """Some columns of an array, sparse matrix or frame.

    >>> taken = take_columns(np.array([[1, 2, 3], [4, 5, 6]]), np.array([2, 0]))
    >>> taken.tolist(), taken.flags.c_contiguous
    ([[3, 1], [6, 4]], True)
    """
    if hasattr(X, "iloc"):
        return X.iloc[:, columns]
    if hasattr(X, "to_batches"):  # Arrow
        return X.select(columns.tolist())
    if hasattr(X, "columns"):
        return X[[X.columns[j] for j in columns.tolist()]]
    # C-ordered, which an index gives only of rows: learners take such an array as it is.
    return np.take(X, columns, axis=1) if isinstance(X, np.ndarray) else X[:, columns]
