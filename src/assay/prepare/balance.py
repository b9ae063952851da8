"""Balance: classes of unequal size, by weights or by training rows left out or added."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from sklearn.utils.validation import check_is_fitted, column_or_1d

from ..base import Choice, Cost, DataError, UsageError, param, plain, random_state_param
from ..base.columns import class_places
from .encode import as_text, from_text
from .step import RowStep, class_codes, is_quantity, is_value, kind_of, listed, matrix_of

NEIGHBOURS = 5
"""SMOTE draws between a row and one of this many nearest rows of its class (or as many as there are)."""


def class_weights(y: Any) -> dict[Any, float]:
    """Weights that give every class the same total: rows / (classes x rows of the class).

    >>> from assay.prepare import class_weights
    >>> class_weights(["no", "no", "no", "yes"])
    {'no': 0.6666666666666666, 'yes': 2.0}
    """
    classes, codes = class_codes("class_weights", y)
    counts = np.bincount(codes)
    return dict(zip(classes.tolist(), (codes.size / (classes.size * counts)).tolist()))


class Balance(RowStep):
    """Evens out classes of unequal size among the training rows; rows that have to be predicted are never touched.

    "weights" changes no row and says how much each should weigh (`class_weights_`, `sample_weight(y)`). "down" draws
    as many rows of every class as the smallest has, "over" repeats rows at random until every class has as many as the
    largest, and "smote" adds rows between a row and its nearest neighbours of the same class (imbalanced-learn; with
    columns of labels its variants for these, which give a new row the label of most neighbours). Probabilities of a
    model trained on balanced rows are those of balanced classes.

    Attributes
    ----------
    classes_ : ndarray, the classes
    counts_ : ndarray, the training rows of each
    class_weights_ : ndarray, the weight of each, which gives every class the same total

    Examples
    --------
    >>> import numpy as np
    >>> from assay.prepare import Balance
    >>> X, y = np.arange(5.0).reshape(-1, 1), np.array(["no", "no", "no", "no", "yes"])
    >>> rows, target = Balance(strategy="over", random_state=0).fit_resample(X, y)
    >>> target.tolist()
    ['no', 'no', 'no', 'no', 'yes', 'yes', 'yes', 'yes']
    >>> Balance().fit(X, y).sample_weight(y)
    array([0.625, 0.625, 0.625, 0.625, 2.5  ])
    """

    _requires_y = True

    strategy: str = param(
        "weights", Choice("weights", "down", "over", "smote"), "Weigh, leave out, repeat, or invent rows."
    )
    random_state: Any = random_state_param()

    def _learn(self, frame: pl.DataFrame, y: np.ndarray | None) -> None:
        self.names_out_ = list(frame.columns)
        labels = np.asarray(y).reshape(frame.height, -1)[:, 0]
        self.classes_, codes = np.unique(
            labels.astype(str) if labels.dtype.kind == "O" else labels, return_inverse=True
        )
        self.counts_ = np.bincount(codes)
        self.class_weights_ = frame.height / (self.classes_.size * self.counts_)

    def _apply(self, frame: pl.DataFrame) -> pl.DataFrame:
        return frame

    def sample_weight(self, y: Any) -> np.ndarray:
        """One weight per row, by its class; a class that training did not hold weighs 0."""
        check_is_fitted(self)
        labels = np.asarray(y)
        labels = labels.astype(str) if labels.dtype.kind == "O" else labels
        place, known = class_places(self.classes_, labels)
        return np.where(known, self.class_weights_[place], 0.0)

    def fit_resample(self, X: Any, y: Any = None, **fitted: Any) -> tuple[Any, Any]:
        """The balanced training rows and their targets."""
        self._check_parameters()
        if y is not None:
            class_codes(type(self).__name__, y)
        if self.strategy != "smote":
            return super().fit_resample(X, y, **fitted)
        self.fit(X, y)
        frame = self._open(X, reset=False)
        table, target = self._invented(frame, column_or_1d(np.asarray(y)))
        self.__dict__.pop("sample_indices_", None)
        if hasattr(y, "iloc"):
            target = type(y)(target, name=y.name)
        return self._close(table, X), target

    def _kept(self, frame: pl.DataFrame, y: np.ndarray | None) -> np.ndarray:
        if self.strategy == "weights":
            return np.arange(frame.height)
        classes, codes = class_codes(type(self).__name__, y)
        stream, counts = self._stream(), np.bincount(codes)
        parts = [] if self.strategy == "down" else [np.arange(frame.height)]
        for k in range(classes.size):
            rows, draw = np.flatnonzero(codes == k), stream.child(k).generator()
            if self.strategy == "down":
                parts.append(draw.choice(rows, size=counts.min(), replace=False))
            else:
                parts.append(draw.choice(rows, size=counts.max() - counts[k], replace=True))
        kept = np.concatenate(parts)
        return np.sort(kept) if self.strategy == "down" else kept

    def _invented(self, frame: pl.DataFrame, y: np.ndarray) -> tuple[pl.DataFrame, np.ndarray]:
        """The training rows followed by those that SMOTE adds."""
        sampler, labelled = self._sampler(frame, int(self.counts_.min()))
        kinds = {series.name: kind_of(series) for series in frame.get_columns()}
        if not labelled:
            cells, target = sampler.fit_resample(matrix_of(frame), y)
            return pl.DataFrame(cells, schema=frame.columns), target
        rows = np.empty(frame.shape, dtype=object)
        for j, series in enumerate(frame.get_columns()):
            rows[:, j] = (as_text(series) if series.name in labelled else series.cast(pl.Float64)).to_list()
        cells, target = sampler.fit_resample(rows, y)
        columns = []
        for j, (name, kind) in enumerate(kinds.items()):
            values = cells[:, j].tolist()
            text = name in labelled
            series = pl.Series(name, values, dtype=pl.String if text else pl.Float64)
            columns.append(from_text(series, kind).alias(name) if text else series)
        return pl.DataFrame(columns), target

    def _sampler(self, frame: pl.DataFrame, smallest: int) -> tuple[Any, list[str]]:
        who = type(self).__name__
        try:
            from imblearn.over_sampling import SMOTE, SMOTEN, SMOTENC
        except ImportError:
            raise UsageError(
                who, "strategy 'smote'", "needs the package imbalanced-learn", way_out="pip install assay[balance]"
            ) from None
        for series in frame.get_columns():
            if series.null_count() or not is_value(series):
                raise DataError(
                    who,
                    f"column '{plain(series.name)}'",
                    "must hold numbers or labels without missing cells for strategy 'smote'",
                    "it has missing cells" if series.null_count() else "it holds dates",
                    "impute first" if series.null_count() else "expand it with DateParts first",
                )
        if smallest < 2:
            raise DataError(
                who,
                "y",
                "must have two rows of every class for strategy 'smote'",
                f"class '{plain(self.classes_[self.counts_.argmin()])}' has one",
                "use strategy='over'",
            )
        seed = int(self._stream().generator().integers(2**31 - 1))
        fixed = {"random_state": seed, "k_neighbors": min(NEIGHBOURS, smallest - 1)}
        labelled = [series.name for series in frame.get_columns() if not is_quantity(series)]
        if not labelled:
            return SMOTE(**fixed), labelled
        if len(labelled) == frame.width:
            return SMOTEN(**fixed), labelled
        return SMOTENC([frame.columns.index(name) for name in labelled], **fixed), labelled

    def explain(self) -> list[str]:
        """What happens to the training rows, in words."""
        check_is_fitted(self)
        shares = listed([f"{plain(c)} ({n})" for c, n in zip(self.classes_, self.counts_)])
        words = {
            "weights": "rows are weighted so that every class has the same total weight",
            "down": f"training rows are left out at random until every class has {self.counts_.min()}",
            "over": f"training rows are repeated at random until every class has {self.counts_.max()}",
            "smote": f"training rows are added between near rows of a class until every class has {self.counts_.max()}",
        }[self.strategy]
        return [f"Classes {shares}: {words}."]

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """A sort of the target and a copy of the rows; SMOTE looks for neighbours."""
        cells = float(n_rows) * n_features
        seconds = 1e-7 * n_rows + (1e-7 * cells * np.log2(n_rows + 2.0) if self.strategy == "smote" else 1e-8 * cells)
        return Cost(seconds=seconds + 1e-5, bytes=32.0 * cells + 32.0 * n_rows)
