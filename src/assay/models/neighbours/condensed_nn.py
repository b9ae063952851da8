"""The condensed nearest neighbour: as few rows as decide like all of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ... import _kernels
from ...base.cost import Cost
from ...base.estimator import Classifier
from ...base.parameters import Choice, param
from ...base.threads import thread_count
from ...base.usual_parameters import n_jobs_param, random_state_param, trace_param
from ...base.views import Shares
from ...numeric.distances import get
from ...numeric.neighbours import NeighbourIndex


class CondensedNN(Classifier):
    """Keeps a subset of the training rows by which the nearest neighbour gets every training row right, and uses it.

    Hart's rule: rows come in a random order, again and again, and a row that the kept ones get wrong is kept, until a
    pass keeps nothing. The subset is consistent: every training row has the class of its nearest kept row, unless an
    equal row has another class (`n_conflicts_` counts these). Any number of classes. Of two kept rows at the same
    distance the earlier one in the table is nearer. Columns enter with the scale they have: standardise them first.

    Attributes
    ----------
    classes_ : array of the class labels
    kept_ : numbers of the kept training rows, in their order (of the rows with weight)
    prototypes_, codes_ : the kept rows, and the class of each as an index into `classes_`
    n_passes_ : passes over the table
    n_conflicts_ : training rows that the kept rows get wrong, as an equal row has another class

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.neighbours import CondensedNN
    >>> X, y = np.arange(20.0)[:, None], np.repeat(["low", "high"], 10)
    >>> model = CondensedNN(random_state=0).fit(X, y)
    >>> model.score(X, y), len(model.kept_) < 10
    (1.0, True)
    """

    _squares = True
    _way_out = "take a sample of the rows"

    metric: str = param("euclidean", Choice("euclidean", "manhattan", "chebyshev"), "Distance.")
    random_state: Any = random_state_param()
    trace: bool = trace_param()
    n_jobs: int | None = n_jobs_param()

    def fit(self, X: Any, y: Any) -> CondensedNN:
        """Keep rows until the kept ones get every row right."""
        rows, codes, _ = self._begin(X, y)
        distance, trace = get(self.metric), self._new_trace()
        order = self._stream().generator().permutation(rows.shape[0])
        found, after = _kernels.condense(distance.code, rows, codes, order)
        self.kept_ = np.sort(found)
        self.prototypes_, self.codes_ = np.ascontiguousarray(rows[self.kept_]), codes[self.kept_]
        self.n_passes_ = int(after.shape[0])
        for number, kept in enumerate(after.tolist()):
            trace.record("pass", number=number + 1, kept=kept)
        self._keep_trace(trace)
        index = NeighbourIndex(self.prototypes_, distance, threads=thread_count(self.n_jobs))
        self._searched = index.state()
        nearest = index.nearest(rows, 1, thread_count(self.n_jobs))[0][:, 0]
        self.n_conflicts_ = int((self.codes_[nearest] != codes).sum())
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """1 for the class of the nearest kept row, 0 for the others."""
        check_is_fitted(self)
        index = NeighbourIndex.of_state(self._searched, get(self.metric))
        nearest = index.nearest(self._read(X, reset=False), 1, thread_count(self.n_jobs))[0][:, 0]
        return np.eye(self.classes_.shape[0])[self.codes_[nearest]]

    def view(self) -> Shares:
        """The share of each class among the kept rows."""
        check_is_fitted(self)
        size = np.bincount(self.codes_, minlength=self.classes_.shape[0])
        return Shares(classes=self.classes_.tolist(), shares=(size / size.sum()).tolist())

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 1) -> Cost:
        """Every row meets every kept row, perhaps a tenth of them."""
        n, d = float(n_rows), float(n_features)
        return Cost(seconds=1e-5 + 1e-11 * n * n * d + 2e-8 * n * d, bytes=40.0 * n * d)
