"""Tables and models that several tests of explainers share."""

from __future__ import annotations

import numpy as np
import polars as pl

from assay.models.trees import CartClassifier


def mixed_table(n=240, seed=0):
    """Numbers, labels, gaps, and a class that depends on three of the columns."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n)
    colour = rng.choice(["red", "green", "blue"], n)
    age = rng.integers(20, 60, n).astype(float)
    frame = pl.DataFrame({"size": size, "colour": colour, "age": age, "noise": rng.normal(size=n)})
    gaps = rng.random(n) < 0.1
    frame = frame.with_columns(pl.Series("age", [None if gap else value for gap, value in zip(gaps, age)]))
    y = np.where((size > 0) & (colour != "blue") | (age > 50), "yes", "no")
    return frame, y


def mixed_tree(n=240):
    """A tree that reads labels and gaps."""
    frame, y = mixed_table(n)
    return CartClassifier(max_depth=4, random_state=0).fit(frame, y), frame, y


class Plain:
    """The same model without anything but predict and predict_proba, as of another library."""

    def __init__(self, model):
        self.model, self.classes_ = model, getattr(model, "classes_", None)
        if hasattr(model, "predict_proba"):
            self.predict_proba = model.predict_proba

    def predict(self, X):
        return self.model.predict(X)
