"""Small tables: fit and predict (transform, cluster) of each learner with a twin in scikit-learn, overhead counted.

A run is twenty fits (fewer of the slow learners), each followed by one prediction of the same rows.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from benchmarks.versus.harness import Contender, Problem, Size

CALLS = 20
FEWER_CALLS = {
    **{
        "boosting": 3,
        "spectral-all-pairs": 3,
        "logistic-eight-classes": 10,
        "random-forest": 5,
        "logistic-cv": 5,
        "extra-trees": 5,
        "adaboost": 5,
        "bagging": 5,
    },
    **{"k-means": 5, "gaussian-mixture": 3, "spectral": 3, "kernel-ridge": 5, "mlp-classifier": 5, "parzen": 5},
}
SEED = {"random_state": 0}
SHAPES = ((150, 4), (500, 10), (1500, 20))
PENALTIES = (0.1, 1.0, 10.0)
EVERY = "every column"
"""As `columns`: ours codes columns of numbers only where they are named."""

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
    "one-hot": (
        "levels",
        "prepare.OneHot",
        {"columns": EVERY},
        "preprocessing.OneHotEncoder",
        {"sparse_output": False, "handle_unknown": "ignore"},
    ),
    "ordinal-code": ("levels", "prepare.OrdinalCode", {"columns": EVERY}, "preprocessing.OrdinalEncoder", {}),
    "impute-simple": ("holes", "prepare.ImputeSimple", {}, "impute.SimpleImputer", {}),
    "impute-knn": ("holes", "prepare.ImputeKNN", {}, "impute.KNNImputer", {}),
    "select-filter": (
        "class",
        "prepare.SelectFilter",
        {"measure": "f", "k": 2},
        "feature_selection.SelectKBest",
        {"k": 2},
    ),
    "factor-analysis": (
        "none",
        "prepare.FactorAnalysis",
        {"n_components": 2},
        "decomposition.FactorAnalysis",
        {"n_components": 2},
    ),
    "k-means": (
        "groups",
        "clustering.KMeans",
        {"n_clusters": 5, "n_init": 3, **SEED},
        "cluster.KMeans",
        {"n_clusters": 5, "n_init": 3, **SEED},
    ),
    "dbscan": ("groups", "clustering.DBSCAN", {"eps": 2.5}, "cluster.DBSCAN", {"eps": 2.5}),
    "ward": (
        "groups",
        "clustering.Hierarchical",
        {"n_clusters": 5},
        "cluster.AgglomerativeClustering",
        {"n_clusters": 5},
    ),
    "single-linkage": (
        "groups",
        "clustering.Hierarchical",
        {"n_clusters": 5, "linkage": "single"},
        "cluster.AgglomerativeClustering",
        {"n_clusters": 5, "linkage": "single"},
    ),
    "average-linkage": (
        "groups",
        "clustering.Hierarchical",
        {"n_clusters": 5, "linkage": "average"},
        "cluster.AgglomerativeClustering",
        {"n_clusters": 5, "linkage": "average"},
    ),
    "gaussian-mixture": (
        "groups",
        "mixtures.GaussianMixture",
        {"n_components": 5, **SEED},
        "mixture.GaussianMixture",
        {"n_components": 5, **SEED},
    ),
    "spectral": (
        "groups",
        "graphs.Spectral",
        {"n_clusters": 5, "n_neighbors": 10, **SEED},
        "cluster.SpectralClustering",
        {"n_clusters": 5, "affinity": "nearest_neighbors", **SEED},
    ),
    "parzen": ("none", "density.ParzenDensity", {"bandwidth": 1.0}, "neighbors.KernelDensity", {}),
    "kernel-ridge": (
        "number",
        "kernel_machines.KernelRidge",
        {"gamma": 0.1, "fit_intercept": False},
        "kernel_ridge.KernelRidge",
        {"kernel": "rbf", "gamma": 0.1},
    ),
    "svm-classifier": ("class", "kernel_machines.SVMClassifier", {}, "svm.SVC", {}),
    "svm-line": ("class", "kernel_machines.SVMClassifier", {"kernel": "linear"}, "svm.SVC", {"kernel": "linear"}),
    "svm-regressor": ("number", "kernel_machines.SVMRegressor", {}, "svm.SVR", {}),
    "one-class-svm": ("none", "kernel_machines.OneClassSVM", {}, "svm.OneClassSVM", {}),
    "lda-classifier": ("class", "bayes.LDA", {}, "discriminant_analysis.LinearDiscriminantAnalysis", {}),
    "qda": ("class", "bayes.QDA", {}, "discriminant_analysis.QuadraticDiscriminantAnalysis", {}),
    "nearest-mean": ("class", "bayes.NearestMean", {}, "neighbors.NearestCentroid", {}),
    "naive-bayes-bernoulli": (
        "marks",
        "bayes.NaiveBayes",
        {"distributions": "bernoulli"},
        "naive_bayes.BernoulliNB",
        {},
    ),
    "naive-bayes-multinomial": (
        "levels",
        "bayes.NaiveBayes",
        {"distributions": "multinomial"},
        "naive_bayes.MultinomialNB",
        {},
    ),
    "naive-bayes-categorical": (
        "levels",
        "bayes.NaiveBayes",
        {"distributions": "categorical"},
        "naive_bayes.CategoricalNB",
        {},
    ),
    "logistic-eight-classes": ("eight", "linear.LogisticRegression", {}, "linear_model.LogisticRegression", {}),
    "naive-bayes-sparse": (
        "sparse",
        "bayes.NaiveBayes",
        {"distributions": "multinomial"},
        "naive_bayes.MultinomialNB",
        {},
    ),
    "spectral-all-pairs": (
        "groups",
        "graphs.Spectral",
        {"n_clusters": 5, "affinity": "rbf", "gamma": 0.02, **SEED},
        "cluster.SpectralClustering",
        {"n_clusters": 5, "gamma": 0.02, **SEED},
    ),
    "svm-cubic": (
        "class",
        "kernel_machines.SVMClassifier",
        {"kernel": "polynomial", "coef0": 0.0},
        "svm.SVC",
        {"kernel": "poly"},
    ),
    "svm-eight-classes": ("eight", "kernel_machines.SVMClassifier", {}, "svm.SVC", {}),
    "svm-line-regressor": (
        "number",
        "kernel_machines.SVMRegressor",
        {"kernel": "linear"},
        "svm.SVR",
        {"kernel": "linear"},
    ),
    "one-hot-text": (
        "text",
        "prepare.OneHot",
        {},
        "preprocessing.OneHotEncoder",
        {"sparse_output": False, "handle_unknown": "ignore"},
    ),
    "ordinal-text": ("text", "prepare.OrdinalCode", {}, "preprocessing.OrdinalEncoder", {}),
    "adaboost": (
        "class",
        "ensembles.AdaBoostClassifier",
        {"n_estimators": 50, **SEED},
        "ensemble.AdaBoostClassifier",
        {"n_estimators": 50, **SEED},
    ),
    "bagging": ("class", "ensembles.BaggingClassifier", SEED, "ensemble.BaggingClassifier", SEED),
    "extra-trees": ("class", "ensembles.ExtraTreesClassifier", SEED, "ensemble.ExtraTreesClassifier", SEED),
    "mlp-classifier": (
        "class",
        "neural.MLPClassifier",
        {"max_iter": 100, "n_iter_no_change": 200, **SEED},
        "neural_network.MLPClassifier",
        {"max_iter": 100, "n_iter_no_change": 200, **SEED},
    ),
}
# A quicker way at one of the sizes: what is changed of scikit-learn's options, the package, and its class if another.
QUICKER: dict[str, tuple[dict[str, Any], str, str]] = {
    "lasso-cv": ({}, "scikit-learn", "linear_model.LassoLarsCV"),
    "poisson": ({"solver": "newton-cholesky"}, "scikit-learn", ""),
    "gamma": ({"solver": "newton-cholesky"}, "scikit-learn", ""),
    "logistic": ({"solver": "liblinear"}, "scikit-learn", ""),
    "knn-classifier": ({"algorithm": "brute"}, "scikit-learn", ""),
    "knn-regressor": ({"algorithm": "brute"}, "scikit-learn", ""),
    "qda": ({"solver": "eigen"}, "scikit-learn", ""),
    "parzen": ({"algorithm": "ball_tree"}, "scikit-learn", ""),
    "factor-analysis": ({"svd_method": "lapack"}, "scikit-learn", ""),
    "spectral": ({"assign_labels": "cluster_qr"}, "scikit-learn", ""),
    "random-forest": ({}, "scikit-learn-intelex", ""),
    "extra-trees": ({}, "scikit-learn-intelex", ""),
    "k-means": ({}, "scikit-learn-intelex", ""),
    "dbscan": ({}, "scikit-learn-intelex", ""),
    "svm-classifier": ({}, "scikit-learn-intelex", ""),
}
# How far the scores may lie apart where more than rounding decides: noise has nothing to learn, LDA scales its axes by
# convention and factors have a sign, outliers are no group, other starts end elsewhere, nets of few steps too.
GATES = {
    **{"perceptron-noise": 1.0, "lda": 1e9, "factor-analysis": 1e9, "one-class-svm": 0.5},
    **{
        "mlp-classifier": 0.02,
        "spectral": 0.1,
        "spectral-all-pairs": 0.1,
        "gaussian-mixture": 0.2,
        "bagging": 0.05,
        "adaboost": 0.05,
    },
}


def _make(kind: str) -> Callable[..., Any]:
    def make(rows: int, columns: int) -> tuple[Any, np.ndarray | None]:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(rows, columns))
        signal = X @ rng.normal(size=columns) / np.sqrt(columns)
        if kind == "holes":
            X[rng.random(X.shape) < 0.1] = np.nan
        if kind == "text":
            return np.array(["none", "low", "middle", "high", "very high"], dtype=object)[
                rng.integers(5, size=X.shape)
            ], None
        if kind == "sparse":
            counts = csr_matrix(rng.poisson(0.1, size=(rows, 5 * columns)).astype(float))
            return counts, (counts @ rng.normal(size=5 * columns) > 0).astype(int)
        if kind == "eight":
            return X, (X @ rng.normal(size=(columns, 8)) + 0.8 * rng.normal(size=(rows, 8))).argmax(axis=1)
        if kind == "groups":
            X += 1.5 * rng.normal(size=(5, columns))[rng.integers(5, size=rows)]
        if kind in ("none", "holes", "groups"):
            return X, None
        if kind in ("marks", "levels"):
            X = rng.integers(0, 2 if kind == "marks" else 5, size=X.shape).astype(float)
            return X, (X[:, 0] + rng.random(rows) > X[:, 0].mean() + 0.5).astype(int)
        target = {
            "number": signal + rng.normal(size=rows),
            "class": (signal + 0.3 * rng.normal(size=rows) > 0).astype(int),
            "noise": (rng.normal(size=rows) > 0).astype(int),
            "count": rng.poisson(np.exp(0.5 * signal)).astype(float),
            "amount": np.exp(0.5 * signal) * rng.gamma(2.0, size=rows) + 1e-3,
        }
        return X, target[kind]

    return make


def _calls(
    module: str, path: str, options: dict[str, Any], questions: tuple[str, ...], calls: int
) -> Callable[[Any], Any]:
    """Fits with their predictions; gives back the last prediction."""

    def run(data: Any) -> np.ndarray:
        X, y = data
        room, _, name = path.rpartition(".")
        learner = getattr(importlib.import_module(f"{module}.{room}"), name)
        given = {key: list(range(X.shape[1])) if value == EVERY else value for key, value in options.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(calls):
                model = learner(**given).fit(X, y)
                said = _said(model, X, questions)
        return said

    return run


def _said(model: Any, X: np.ndarray, questions: tuple[str, ...]) -> np.ndarray:
    """The answer to the first of the questions that the model takes; its labels if it takes none."""
    for question in questions:
        if hasattr(model, question):
            return getattr(model, question)(X)
    return model.labels_


def _quality(data: Any, said: np.ndarray) -> float:
    """Of predictions the share of right ones, or R squared; of groups the share of the variance between them; of scores
    and of a transformed table the mean size of a cell."""
    X, y = data
    if y is None and said.ndim == 1 and said.dtype.kind == "i":
        within = sum(((X[said == group] - X[said == group].mean(axis=0)) ** 2).sum() for group in np.unique(said))
        return float(1.0 - within / ((X - X.mean(axis=0)) ** 2).sum())
    if y is None or said.ndim == 2:
        return float(np.abs(said).mean())
    if y.dtype.kind == "i":
        return float((said == y).mean())
    return float(1.0 - ((y - said) ** 2).mean() / y.var())


def _peers(name: str, questions: tuple[str, ...], calls: int) -> tuple[Contender, ...]:
    """scikit-learn's twin as it is, and the quicker way where one is known."""
    *_, peer, options = TWINS[name]
    plain = _calls("sklearn", peer, options, questions, calls)
    peers = [Contender(f"scikit-learn {peer}", "scikit-learn", plain, aim=1.0)]
    if name in QUICKER:
        changed, package, other = QUICKER[name]
        module = "sklearn" if package == "scikit-learn" else "sklearnex"
        words = ", ".join(f"{key}={value!r}" for key, value in changed.items())
        run = _calls(module, other or peer, {**options, **changed}, questions, calls)
        peers.append(Contender(f"{package} {other or peer}{words and ', ' + words}", package, run, aim=1.0))
    return tuple(peers)


def _problem(name: str) -> Problem:
    kind, ours, our_options, *_ = TWINS[name]
    step = ours.startswith("prepare.")
    module, questions = "assay" if step else "assay.models", ("transform",) if step else ("predict", "score_samples")
    calls = FEWER_CALLS.get(name, CALLS)
    return Problem(
        id=f"small-{name}",
        title=f"Small tables, {calls} calls: {name}",
        make=_make(kind),
        sizes=tuple(Size(f"{n} x {d}", n, {"rows": n, "columns": d}) for n, d in SHAPES),
        ours=Contender(f"assay {ours}", "assay", _calls(module, ours, our_options, questions, calls)),
        peers=_peers(name, questions, calls),
        quality=_quality,
        gate=GATES.get(name, 0.03),
        quality_name="training score",
        limit="the checks around a call: a few microseconds each",
        tried="scikit-learn with assume_finite and skip_parameter_validation, on eleven of these at the "
        "smallest and the largest size: up to a third faster, and nowhere faster than ours, which checks. Other "
        "solvers and algorithms of linear models, neighbours, discriminants, densities and principal axes, and their "
        "twins in scikit-learn-intelex: what is a tenth quicker at 150 or 1,500 rows stands as a second peer.",
    )


PROBLEMS: tuple[Problem, ...] = tuple(_problem(name) for name in TWINS)
