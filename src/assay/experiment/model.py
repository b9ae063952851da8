"""A learner fitted on all rows of a plan, with the preparation it needs: a model that takes rows as they come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if

from .._lazy import later
from ..base.errors import DataError, plain
from ..data.profile import profile_table
from ..data.roles import nearest_free
from ..data.table import plain_rows
from ..prepare import Chain
from .plan import Learner, Plan


@dataclass(frozen=True, eq=False)
class PreparedModel:
    """A fitted estimator behind its preparation; rows are a frame with the columns of the table.

    `estimator` is the fitted learner, `chain` the fitted preparation, `columns` what it predicts from, and `facts` what
    travels with the model: target, task, profile of the columns, metrics, conformal scores, provenance.
    """

    learner: Learner
    chain: Chain
    estimator: Any
    columns: tuple[str, ...]
    classes_: np.ndarray | None
    facts: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def fit(cls, plan: Plan, learner: Learner, facts: Mapping[str, Any] | None = None) -> PreparedModel:
        """Fit a learner of the plan on every row that has a target."""
        frame = plan.features.frame
        roles = {name: plan.features.roles[name] for name in frame.columns}
        chain = Chain(plan.prepare, roles, learner.entry)
        rows, target = chain.fit_training(frame, plan.labels)
        estimator = learner.prototype().fit(learner.named(chain, rows), target)
        known = {"target": plan.target.name, "task": str(plan.task), "profile": profile_table(frame, roles)}
        classes = getattr(estimator, "classes_", None)
        return cls(learner, chain, estimator, tuple(frame.columns), classes, {**known, **(facts or {})})

    def predict(self, rows: Any) -> np.ndarray:
        """The class or the number of each row."""
        return np.asarray(self.estimator.predict(self._prepared(rows)))

    @available_if(lambda model: hasattr(model.estimator, "predict_proba"))
    def predict_proba(self, rows: Any) -> np.ndarray:
        """The probability of each class of `classes_` for each row."""
        return np.asarray(self.estimator.predict_proba(self._prepared(rows)))

    def save(self, path: str | PathLike[str], **options: Any) -> Path:
        """Write model and preparation to a package, one file without pickle; `assay.load` makes them again."""
        return later("assay.deploy", "save")(self, path, **options)

    def export(self, path: str | PathLike[str], **options: Any) -> Path:
        """Write model and preparation as SQL, standalone Python or ONNX, by the ending; see `assay.deploy.export`."""
        return later("assay.deploy", "export")(self, path, **options)

    def explain(self) -> list[str]:
        """The preparation in words."""
        return self.chain.explain()

    def _prepared(self, rows: Any) -> Any:
        frame = plain_rows(getattr(rows, "frame", rows), self.learner.title)
        missing = [name for name in self.columns if name not in frame.columns]
        if missing:
            raise DataError(
                self.learner.title,
                f"column '{plain(missing[0])}'" + (f" (and {len(missing) - 1} more)" if missing[1:] else ""),
                "is needed to predict",
                "the rows do not have it",
                nearest_free(missing[0], frame.columns, self.columns),
            )
        return self.learner.named(self.chain, self.chain.transform(frame.select(self.columns)))

    def __repr__(self) -> str:
        return f"PreparedModel({self.learner.title!r}, columns={list(self.columns)!r})"
