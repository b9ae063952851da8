"""What training leaves behind epoch by epoch, the same for every net: curves, trace and their picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.views import LossCurve

LEARNED = {
    "n_iter_": "int, epochs run",
    "loss_": "float, mean loss plus penalty in the last epoch, as seen on the way",
    "best_loss_": "float, the least of `loss_curve_` (of the validation rows with `early_stopping`)",
    "loss_curve_": "list, the loss of each epoch (after `partial_fit`, of the last 1,000)",
    "validation_curve_": "array with `early_stopping`, the mean loss of the held-out rows after each epoch",
    "trace_": "with `trace`, loss and step of each epoch",
}
"""The attributes that `keep_losses` sets, with their meaning."""


def keep_losses(model: Any, loss: Sequence[float], step: Sequence[float], validation: Sequence[float]) -> None:
    """Keep losses and steps of the epochs on a model; `validation` may be empty."""
    model.loss_curve_ = [float(one) for one in loss]
    model.loss_, model.n_iter_ = model.loss_curve_[-1], len(model.loss_curve_)
    model.best_loss_ = float(min(validation if len(validation) else model.loss_curve_))
    if len(validation):
        model.validation_curve_ = np.array(validation, dtype=np.float64)
    elif hasattr(model, "validation_curve_"):
        del model.validation_curve_
    trace = model._new_trace()
    for epoch, value in enumerate(model.loss_curve_ if trace.on else []):
        values = {"loss": value, "step": float(step[epoch])}
        if len(validation):
            values["validation_loss"] = float(validation[epoch])
        trace.record("epoch", **values)
    model._keep_trace(trace)


def best_epoch(model: Any) -> int | None:
    """The epoch, from 1, after which the held-out rows were predicted best; None without `early_stopping`."""
    return int(np.argmin(model.validation_curve_)) + 1 if hasattr(model, "validation_curve_") else None


def loss_view(model: Any) -> LossCurve:
    """The losses of a fitted model as a picture."""
    validation = model.validation_curve_.tolist() if hasattr(model, "validation_curve_") else None
    return LossCurve(loss=list(model.loss_curve_), validation=validation, best=best_epoch(model), words=model.explain())
