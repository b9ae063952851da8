"""Stacking: a combiner learns, from what members say of rows they did not see, how to join their answers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.validation import _num_samples, check_is_fitted

from ...base.around import takes_weights
from ...base.cells import missing_cells
from ...base.cost import Cost
from ...base.cv import cv_param
from ...base.errors import DataError, ParameterError, plain
from ...base.folds import Fold, open_seeds
from ...base.guard import INFERENCE
from ...base.parameters import Boolean, Choice, Instance, Nothing, param
from ...base.views import Coefficients, View
from ...data.columns import ColumnSchema, fit_columns, read_columns
from ..linear import LogisticRegression, RidgeCV
from .combiner import ClassCombiner, NamedMembers, NumberCombiner, Training, out_of_fold
from .usual_members import usual_classifiers, usual_regressors


class Stacked(NamedMembers):
    """Members and a learner above them."""

    _open_state = (*INFERENCE, "out_of_fold_")

    final_estimator: Any = param(
        None,
        Instance(BaseEstimator) | Nothing(),
        "The combiner, fitted to what the members say of rows they did not see; None is logistic regression, or ridge "
        "regression with its penalty chosen by leave-one-out.",
    )
    cv: Any = cv_param(None, "5")
    passthrough: bool = param(False, Boolean(), "Whether the combiner also gets the columns of X.")
    stack_method: str = param(
        "auto",
        Choice("auto", "predict_proba", "decision_function", "predict"),
        "What members hand on; 'auto' is the first of these that they have.",
    )

    _learned = {
        "final_estimator_": "the fitted combiner",
        "columns_": "names of the combiner's columns",
        "out_of_fold_": "array (rows, columns), what the members said of the training rows without having seen them",
    }
    final_estimator_: Any
    columns_: list[str]
    out_of_fold_: np.ndarray
    schema_: ColumnSchema | None

    def _default_final(self) -> Any:
        raise NotImplementedError  # pragma: no cover

    def _final(self) -> Any:
        return self._default_final() if self.final_estimator is None else self.final_estimator

    def _check_members(self) -> None:
        super()._check_members()
        wanted, noun = (is_classifier, "classifier") if is_classifier(self) else (is_regressor, "regressor")
        if not wanted(self._final()):
            raise ParameterError(
                type(self).__name__,
                "parameter 'final_estimator'",
                f"must be a {noun}",
                f"got {plain(type(self._final()).__name__)}",
            )

    def _fit_members(self, training: Training) -> None:
        members, stream = self._members(), self._stream()
        folds = self._validation_folds(training, self.cv)
        self._check_folds(training, folds)
        prototypes = [self._prototype(member, stream.child(k)) for k, (_, member) in enumerate(members)]
        said = [
            out_of_fold(prototype, training, folds, self._said, open_seeds(member))
            for prototype, (_, member) in zip(prototypes, members, strict=True)
        ]
        self.names_ = [name for name, _ in members]
        self.columns_ = [
            name if outputs.shape[1] == 1 else f"{name}: {label}"
            for name, (outputs, _) in zip(self.names_, said)
            for label in self._output_names(outputs.shape[1])
        ]
        self.out_of_fold_ = np.hstack([outputs for outputs, _ in said])
        known = np.flatnonzero(said[0][1] > 0)
        self.estimators_ = [clone(prototype).fit(**training.whole()) for prototype in prototypes]
        final = clone(self._final()).set_params(**self._settings(self._final(), stream.child(len(members))))
        if "categorical_features" in final.get_params(deep=False):
            final.set_params(categorical_features="from_dtype")
        rows = self._passed(training.X, self.out_of_fold_, final)[known]
        extra: dict[str, Any] = {}
        if training.weights is not None:
            if not takes_weights(final):
                raise ParameterError(
                    type(self).__name__,
                    "sample_weight",
                    "must be taken by the combiner",
                    f"{type(final).__name__} does not",
                    "leave it out",
                )
            extra["sample_weight"] = training.weights[known]
        self.final_estimator_ = final.fit(rows, training.target[known], **extra)

    def _check_folds(self, training: Training, folds: list[Fold]) -> None:
        """Refuse folds whose training rows no member could learn from."""

    def _passed(self, X: Any, outputs: np.ndarray, final: Any = None) -> np.ndarray:
        """What the combiner gets: the members' outputs and, with `passthrough`, the columns of X behind them (codes for
        labels). `final` is told which columns hold labels, in fit."""
        if not self.passthrough:
            return outputs
        if final is None:
            assert self.schema_ is not None
            return np.hstack([outputs, self._complete(read_columns(self, X, self.schema_), self.final_estimator_)])
        cells, self.schema_ = fit_columns(self, X, self.categorical_features)
        labels = np.flatnonzero(self.schema_.nominal)
        if labels.size and "categorical_features" not in final.get_params(deep=False):
            raise ParameterError(
                type(self).__name__,
                "parameter 'passthrough'",
                "must be False for a table with labels unless the combiner takes them",
                f"column '{plain(self.schema_.names[labels[0]])}' holds labels",
                "choose a final_estimator with categorical_features, such as NewtonBoostingClassifier",
            )
        if labels.size:
            final.set_params(categorical_features=(labels + outputs.shape[1]).tolist())
        self.columns_ = [*self.columns_, *self.schema_.names]
        return np.hstack([outputs, self._complete(cells, final)])

    def _complete(self, cells: np.ndarray, final: Any) -> np.ndarray:
        """The columns of X, refused where a cell is missing that the combiner cannot take."""
        assert self.schema_ is not None
        lacking = np.argwhere(np.isnan(cells).T)
        if lacking.size and not get_tags(final).input_tags.allow_nan:
            column, row = lacking[0].tolist()
            raise missing_cells(type(self).__name__, f"column '{plain(self.schema_.names[column], 40)}'", row)
        return cells

    def _said(self, member: Any, X: Any) -> np.ndarray:
        """What a member hands on, (rows, outputs)."""
        raise NotImplementedError  # pragma: no cover

    def _output_names(self, width: int) -> list[str]:
        return [""] * width

    def member_outputs(self, X: Any) -> np.ndarray:
        """What the combiner gets for these rows; `columns_` names the columns."""
        rows = self._check_rows(X)
        return self._passed(rows, np.hstack([self._said(member, rows) for member in self.estimators_]))

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Each member once on all rows and once for each fold."""
        one = self._learners_cost(n_rows, n_features, n_outputs)
        fits = 1 + (int(self.cv) if isinstance(self.cv, int) else 5)
        return Cost(seconds=fits * one.seconds, bytes=one.bytes + 8.0 * n_rows * len(self._members()))

    def view(self) -> View | None:
        """What the combiner looks like, if it has a view, with the members' outputs as its columns."""
        check_is_fitted(self)
        inner = self.final_estimator_.view() if hasattr(self.final_estimator_, "view") else None
        if isinstance(inner, Coefficients):
            return Coefficients(
                names=list(self.columns_), values=inner.values, intercept=inner.intercept, classes=inner.classes
            )
        return inner


class StackingClassifier(Stacked, ClassCombiner):
    """A combiner is trained on what the members say of rows that they did not see.

    Every member is fitted once for each fold, and its outputs for the test rows of the folds (probabilities, one
    column for two classes) are the combiner's training rows; then the members are fitted to all rows. So no output
    depends on the row's own label. The folds of a member share their work where it can.

    Examples
    --------
    >>> from assay.data import load_dataset
    >>> from assay.models.ensembles import StackingClassifier
    >>> frame = load_dataset("iris").frame
    >>> model = StackingClassifier(random_state=0).fit(frame.drop("species"), frame["species"])
    >>> model.columns_[:3], model.out_of_fold_.shape
    (['naive-bayes: setosa', 'naive-bayes: versicolor', 'naive-bayes: virginica'], (150, 9))
    """

    def _default_members(self) -> list[Any]:
        return usual_classifiers()

    def _default_final(self) -> Any:
        return LogisticRegression()

    def _fit_members(self, training: Training) -> None:
        self._require_classes()
        super()._fit_members(training)

    def _check_folds(self, training: Training, folds: list[Fold]) -> None:
        assert training.codes is not None
        # The members learn from the training rows of each fold, the combiner from all test rows.
        parts = [*(train for train, _ in folds), np.concatenate([test for _, test in folds])]
        if all(np.unique(training.codes[part]).shape[0] > 1 for part in parts):
            return
        sizes = np.bincount(training.codes)
        rare = int(sizes.argmin())
        raise DataError(
            type(self).__name__,
            "y",
            "must have at least 2 classes with rows enough to be trained on and tested in the folds",
            f"class '{plain(self.classes_[rare], 40)}' has {sizes[rare]} row{'' if sizes[rare] == 1 else 's'} for "
            f"{len(folds)} folds",
            "add rows of that class, or give other folds by cv",
        )

    def _said(self, member: Any, X: Any) -> np.ndarray:
        wanted = self.stack_method
        if wanted == "auto":
            wanted = next(name for name in ("predict_proba", "decision_function", "predict") if hasattr(member, name))
        if wanted != "predict" and not hasattr(member, wanted):
            raise ParameterError(
                type(self).__name__,
                "parameter 'stack_method'",
                "must be something that every member has",
                f"{type(member).__name__} has no {wanted}",
            )
        n_classes = self.classes_.shape[0]
        if wanted == "decision_function":
            scores = np.asarray(member.decision_function(X), dtype=np.float64)
            if scores.ndim == 1 and n_classes == 2:
                return scores[:, None]
            found = np.full((_num_samples(X), n_classes), scores.min(initial=0.0))
            found[:, self._class_columns(member)] = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
            return found
        if wanted == "predict":
            found = np.zeros((_num_samples(X), n_classes))
            found[np.arange(found.shape[0]), np.searchsorted(self.classes_, member.predict(X))] = 1.0
        else:
            found = self._shares(member, X)
        return found[:, 1:] if n_classes == 2 else found

    def _output_names(self, width: int) -> list[str]:
        labels = self.classes_[1:] if width == 1 else self.classes_
        return [plain(label, 40) for label in labels.tolist()]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The combiner's probabilities."""
        rows = self.member_outputs(X)
        final, found = self.final_estimator_, np.zeros((rows.shape[0], self.classes_.shape[0]))
        if not hasattr(final, "predict_proba"):
            found[np.arange(found.shape[0]), np.searchsorted(self.classes_, final.predict(rows))] = 1.0
            return found
        found[:, self._class_columns(final)] = final.predict_proba(rows)
        return found


class StackingRegressor(Stacked, NumberCombiner):
    """A combiner is trained on what the members predict for rows that they did not see.

    As `StackingClassifier`, for numbers: a member hands on one column, its prediction, and where no combiner is given
    ridge regression weighs them.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.ensembles import StackingRegressor
    >>> X = np.random.default_rng(0).uniform(0, 6, (300, 1))
    >>> model = StackingRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> model.columns_, bool(abs(model.predict([[1.5]])[0] - np.sin(1.5)) < 0.05)
    (['tree', 'forest', 'extra-trees'], True)
    """

    def _default_members(self) -> list[Any]:
        return usual_regressors()

    def _default_final(self) -> Any:
        return RidgeCV()

    def _said(self, member: Any, X: Any) -> np.ndarray:
        return np.asarray(member.predict(X), dtype=np.float64)[:, None]

    def predict(self, X: Any) -> np.ndarray:
        """The combiner's predictions."""
        rows = self.member_outputs(X)
        return self.final_estimator_.predict(rows)
