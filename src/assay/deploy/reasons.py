"""Why a row was predicted so, in a cell: the columns with the largest Shapley values and what they brought."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.errors import plain
from ..explain import exact_shap, sampling_shap
from .checks import as_rows
from .package import Package

_EXACT = 8


def reasons(model: Any, table: Any, package: Package, count: int) -> list[str]:
    """For each row the `count` columns that moved its prediction most, with the sign and size of what they brought.

    Values are measured against the rows that travel with the model, which lie where its training rows lay; for classes
    they are of the probability of the class that was predicted.
    """
    background = as_rows(package.rows)
    if hasattr(model, "chain"):
        table, background = table.select(model.columns), background.select(model.columns)
    names = (
        [str(name) for name in table.columns] if hasattr(table, "columns") else [f"x{j}" for j in range(table.shape[1])]
    )
    way = exact_shap if len(names) <= _EXACT else sampling_shap
    output = "probability" if hasattr(model, "predict_proba") else "auto"
    values = np.asarray(way(model, table, background, output=output).values)
    if values.ndim == 3:
        predicted = np.argmax(np.asarray(model.predict_proba(table)), axis=1)
        values = values[np.arange(values.shape[0]), :, predicted]
    elif output == "probability":  # of the second class
        values = np.where(np.asarray(model.predict(table) == model.classes_[0])[:, None], -values, values)
    said = []
    for row in values:
        order = np.argsort(-np.abs(row), kind="stable")[:count]
        said.append("; ".join(f"{plain(names[j], 60)} {row[j]:+.4g}" for j in order if row[j]))
    return said
