"""Small tables: fit and predict (or transform) of each learner with a twin in scikit-learn, call overhead counted.

A run is twenty fits (fewer of the slow learners), each followed by one prediction of the same rows.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, Size

CALLS = 20
FEWER_CALLS = {"boosting": 3, "random-forest": 5, "logistic-cv": 5}
SHAPES = ((150, 4), (500, 10), (1500, 20))
PENALTIES = (0.1, 1.0, 10.0)

# id: kind of target, our class and options, scikit-learn's class and options. Where the two stop differently, both get
# the same number of epochs or rounds; regression by descent gets the same steps too.
TWINS: dict[str, tuple[str, str, dict[str, Any], str, dict[str, Any]]] = {
    "least-squares": ("number", "linear.LeastSquares", {}, "linear_model.LinearRegression", {}),
    "ridge": ("number", "linear.Ridge", {}, "linear_model.Ridge", {}),
    "ridge-cv": ("number", "linear.RidgeCV", {"alphas": PENALTIES}, "linear_model.RidgeCV", {"alphas": PENALTIES}),
    "lasso": ("number", "linear.Lasso", {"alpha": 0.1}, "linear_model.Lasso", {"alpha": 0.1}),
    "elastic-net": ("number", "linear.ElasticNet", {"alpha": 0.1}, "linear_model.ElasticNet", {"alpha": 0.1}),
    "lasso-cv": ("number", "linear.LassoCV", {}, "linear_model.LassoCV", {}),
    "elastic-net-cv": ("number", "linear.ElasticNetCV", {}, "linear_model.ElasticNetCV", {}),
    "poisson": ("count", "linear.GLM", {"family": "poisson", "alpha": 1.0}, "linear_model.PoissonRegressor", {}),
    "gamma": ("amount", "linear.GLM", {"family": "gamma", "alpha": 1.0}, "linear_model.GammaRegressor", {}),
    "tweedie": (
        "count",
        "linear.GLM",
        {"family": "tweedie", "alpha": 1.0},
        "linear_model.TweedieRegressor",
        {"power": 1.5},
    ),
    "logistic": ("class", "linear.LogisticRegression", {}, "linear_model.LogisticRegression", {}),
    "logistic-cv": ("class", "linear.LogisticCV", {}, "linear_model.LogisticRegressionCV", {}),
    "descent-classifier": (
        "class",
        "linear.GradientDescentClassifier",
        {"batch_size": 1, "max_iter": 20, "tol": None, "random_state": 0},
        "linear_model.SGDClassifier",
        {"loss": "log_loss", "max_iter": 20, "tol": None, "random_state": 0},
    ),
    "descent-regressor": (
        "number",
        "linear.GradientDescentRegressor",
        {
            "batch_size": 1,
            "max_iter": 20,
            "tol": None,
            "learning_rate": "invscaling",
            "eta0": 0.01,
            "power_t": 0.25,
            "random_state": 0,
        },
        "linear_model.SGDRegressor",
        {"max_iter": 20, "tol": None, "random_state": 0},
    ),
    "perceptron": ("class", "linear.Perceptron", {"random_state": 0}, "linear_model.Perceptron", {"random_state": 0}),
    "perceptron-noise": (
        "noise",
        "linear.Perceptron",
        {"random_state": 0},
        "linear_model.Perceptron",
        {"random_state": 0},
    ),
    "naive-bayes": ("class", "bayes.NaiveBayes", {}, "naive_bayes.GaussianNB", {}),
    "knn-classifier": ("class", "neighbours.KNNClassifier", {}, "neighbors.KNeighborsClassifier", {}),
    "knn-regressor": ("number", "neighbours.KNNRegressor", {}, "neighbors.KNeighborsRegressor", {}),
    "cart-classifier": ("class", "trees.CartClassifier", {}, "tree.DecisionTreeClassifier", {"random_state": 0}),
    "cart-regressor": ("number", "trees.CartRegressor", {}, "tree.DecisionTreeRegressor", {"random_state": 0}),
    "random-forest": (
        "class",
        "ensembles.RandomForestClassifier",
        {"random_state": 0},
        "ensemble.RandomForestClassifier",
        {"random_state": 0},
    ),
    "boosting": (
        "class",
        "ensembles.GradientBoostingClassifier",
        {"n_estimators": 50},
        "ensemble.HistGradientBoostingClassifier",
        {"max_iter": 50, "early_stopping": False},
    ),
    "zero-r": ("class", "baselines.ZeroRClassifier", {}, "dummy.DummyClassifier", {}),
    "pca": ("none", "prepare.PCA", {"n_components": 2}, "decomposition.PCA", {"n_components": 2}),
    "lda": ("class", "prepare.LDAProjection", {}, "discriminant_analysis.LinearDiscriminantAnalysis", {}),
    "scale": ("none", "prepare.Scale", {}, "preprocessing.StandardScaler", {}),
    "polynomial": ("none", "prepare.Polynomial", {}, "preprocessing.PolynomialFeatures", {"include_bias": False}),
    "discretise": ("none", "prepare.Discretise", {}, "preprocessing.KBinsDiscretizer", {"encode": "ordinal"}),
    "impute-simple": ("holes", "prepare.ImputeSimple", {}, "impute.SimpleImputer", {}),
    "impute-knn": ("holes", "prepare.ImputeKNN", {}, "impute.KNNImputer", {}),
}


def _make(kind: str) -> Callable[..., Any]:
    def make(rows: int, columns: int) -> tuple[np.ndarray, np.ndarray | None]:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(rows, columns))
        signal = X @ rng.normal(size=columns) / np.sqrt(columns)
        if kind == "holes":
            X[rng.random(X.shape) < 0.1] = np.nan
        if kind in ("none", "holes"):
            return X, None
        target = {
            "number": signal + rng.normal(size=rows),
            "class": (signal + 0.3 * rng.normal(size=rows) > 0).astype(int),
            "noise": (rng.normal(size=rows) > 0).astype(int),
            "count": rng.poisson(np.exp(0.5 * signal)).astype(float),
            "amount": np.exp(0.5 * signal) * rng.gamma(2.0, size=rows) + 1e-3,
        }
        return X, target[kind]

    return make


def _calls(module: str, path: str, options: dict[str, Any], calls: int) -> Callable[[Any], Any]:
    """Fits with their predictions; gives back the last prediction."""

    def run(data: Any) -> np.ndarray:
        X, y = data
        room, _, name = path.rpartition(".")
        learner = getattr(importlib.import_module(f"{module}.{room}"), name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(calls):
                model = learner(**options).fit(X, y)
                said = model.transform(X) if hasattr(model, "transform") else model.predict(X)
        return said

    return run


def _quality(data: Any, said: np.ndarray) -> float:
    """Of predictions the share of right ones, or R squared; of a transformed table the mean size of a cell."""
    y = data[1]
    if y is None or said.ndim == 2:
        return float(np.abs(said).mean())
    if y.dtype.kind == "i":
        return float((said == y).mean())
    return float(1.0 - ((y - said) ** 2).mean() / y.var())


def _problem(name: str) -> Problem:
    kind, ours, our_options, peer, peer_options = TWINS[name]
    module = "assay" if ours.startswith("prepare.") else "assay.models"
    calls = FEWER_CALLS.get(name, CALLS)
    return Problem(
        id=f"small-{name}",
        title=f"Small tables, {calls} calls: {name}",
        make=_make(kind),
        sizes=tuple(Size(f"{n} x {d}", n, {"rows": n, "columns": d}) for n, d in SHAPES),
        ours=Contender(f"assay {ours}", "assay", _calls(module, ours, our_options, calls)),
        peers=(
            Contender(f"scikit-learn {peer}", "scikit-learn", _calls("sklearn", peer, peer_options, calls), aim=1.0),
        ),
        quality=_quality,
        # Noise has nothing to learn, LDA scales its axes by convention, and a tie of votes may go either way.
        gate={"perceptron-noise": 1.0, "lda": 1e9}.get(name, 0.03),
        quality_name="training score",
        limit="the checks around a call: a few microseconds each",
        tried="scikit-learn with assume_finite and skip_parameter_validation, on eleven of these at the "
        "smallest and the largest size: up to a third faster, and nowhere faster than ours, which checks.",
    )


PROBLEMS: tuple[Problem, ...] = tuple(_problem(name) for name in TWINS)
