"""The path of one call: from a public method to a kernel stand at most four of our functions, with other options too.

`tests/conformance/test_depth.py` measures every method of the catalogue with its usual options.
"""

import warnings

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array
from tests.kernel_paths import MOST, kernel_paths, longest

from assay import _kernels
from assay.data import Batches
from assay.models.bayes import NaiveBayes
from assay.models.ensembles import RandomForestClassifier
from assay.models.graphs import Louvain
from assay.models.kernel_machines import SVMClassifier, SVMRegressor
from assay.models.linear import (
    GLM,
    ElasticNet,
    GradientDescentClassifier,
    Lasso,
    LinearRank,
    LogisticRegression,
    Perceptron,
    Ridge,
    logistic_sample,
    logistic_solver,
)
from assay.models.mixtures import GaussianMixture
from assay.models.neighbours import KNNClassifier
from assay.models.sequences import HiddenMarkovModel
from assay.prepare import BackwardSelector, ExhaustiveSelector, ForwardSelector

# Two repetitions of which neither tests every row, and whose training rows are not all the others.
OVERLAPPING = [(np.arange(0, 40), np.arange(35, 55)), (np.arange(20, 60), np.arange(0, 15))]


def table(columns=4, rows=60):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, columns))
    signal = X[:, 0] + 0.5 * X[:, 1]
    return X, signal + rng.normal(size=rows), rng.poisson(np.exp(0.5 * signal)).astype(float)


def target_frame(target, rows=60):
    """Four columns, weights, and one column to predict."""
    X, y, counts = table(rows=rows)
    targets = {"y": y, "counts": counts, "mark": (y > 0).astype(int), "level": np.digitize(y, [-1, 1])}
    targets["positive"] = np.exp(y)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, rows)
    return pl.DataFrame(X, schema=list("abcd")).with_columns(
        pl.Series("weight", weight), pl.Series(target, targets[target])
    )


FITS = {
    "least deviance": lambda X, y, counts: GLM(family="poisson").fit(X, counts),
    "least deviance with offset": lambda X, y, counts: GLM(family="poisson", alpha=0.1).fit(X, counts, offset=y),
    "absolute penalty": lambda X, y, counts: GLM(family="poisson", alpha=0.1, l1_ratio=0.5).fit(X, counts),
    "theta": lambda X, y, counts: GLM(family="negative_binomial", theta=2.0).fit(X, counts),
    "two classes": lambda X, y, counts: LogisticRegression().fit(X, y > 0),
    "three classes": lambda X, y, counts: LogisticRegression(l1_ratio=0.5).fit(X, np.digitize(y, [-1, 1])),
    "no penalty": lambda X, y, counts: LogisticRegression(penalty=None).fit(X, y > 0),
    "ridge": lambda X, y, counts: Ridge().fit(X, y).predict(X),
    "lasso": lambda X, y, counts: Lasso(alpha=0.1).fit(X, y),
    "lasso by columns": lambda X, y, counts: Lasso(alpha=0.1).fit(table(250)[0], y),
    "elastic net": lambda X, y, counts: ElasticNet(alpha=0.1).fit(X, y),
    "gradient descent": lambda X, y, counts: GradientDescentClassifier().fit(X, y > 0).predict(X),
    "perceptron": lambda X, y, counts: Perceptron().fit(X, X[:, 0] > 0).predict(X),
    "neighbours": lambda X, y, counts: KNNClassifier().fit(X, y > 0).predict(X),
    "ranking by the squared hinge": lambda X, y, counts: LinearRank(loss="squared_hinge").fit(X, counts).predict(X),
    "hard margin": lambda X, y, counts: SVMClassifier(C=np.inf).fit(X, X[:, 0] > 0).predict_with_reject(X, margin=1.0),
    "probabilities": lambda X, y, counts: SVMClassifier(probability=True, n_jobs=1).fit(X, y > 0).predict_proba(X),
    "probabilities of a line": lambda X, y, counts: SVMClassifier(
        kernel="linear", probability=True, C=[1.0, 2.0], n_jobs=1
    ).fit(X, np.digitize(y, [-1, 1])),
    "hidden mixtures": lambda X, y, counts: HiddenMarkovModel(2, n_components=2, max_iter=2).fit(X).bic(X),
    "rows to come": lambda X, y, counts: HiddenMarkovModel(2, max_iter=2).fit(X).predict_rows(X),
    "hidden counts": lambda X, y, counts: HiddenMarkovModel(2, emission="poisson", max_iter=2).fit(counts[:, None]),
    "tied covariances": lambda X, y, counts: GaussianMixture(2, covariance_type="tied").fit(X).predict(X),
    "folds that overlap": lambda X, y, counts: ForwardSelector(cv=OVERLAPPING).fit(X, y).transform(X),
    "backward on folds that overlap": lambda X, y, counts: BackwardSelector(cv=OVERLAPPING).fit(X, y),
    "every subset on folds that overlap": lambda X, y, counts: ExhaustiveSelector(cv=OVERLAPPING).fit(X, y),
    "curvature that may be negative": lambda X, y, counts: GLM(family="inverse_gaussian", link="log").fit(X, np.exp(y)),
    "constant mean out of range": lambda X, y, counts: GLM(family="gamma", link="inverse", fit_intercept=False).fit(
        np.exp(X), np.exp(y)
    ),
    "floating selection": lambda X, y, counts: BackwardSelector(criterion="mallows_cp", floating=True).fit(X, y),
    "graph of similar rows": lambda X, y, counts: Louvain(affinity="rbf").fit(X).draw(X),
    "forest": lambda X, y, counts: RandomForestClassifier(n_estimators=3).fit(X, y > 0).predict(X),
}


SPARSE = {
    "least deviance": lambda X, counts: GLM(family="poisson", alpha=0.1).fit(X[:, :5], counts).predict(X[:, :5]),
    "least deviance of a wide table": lambda X, counts: GLM(family="poisson", alpha=0.1).fit(X, counts),
    "theta": lambda X, counts: GLM(family="negative_binomial", alpha=0.1).fit(X[:, :5], counts),
    "two classes": lambda X, counts: LogisticRegression().fit(X[:, :5], counts > 0).predict_proba(X[:, :5]),
    "absolute penalty": lambda X, counts: GLM(family="poisson", alpha=0.1, l1_ratio=0.5).fit(X, counts),
    "absolute penalty, theta": lambda X, counts: GLM(family="negative_binomial", alpha=0.1, l1_ratio=1).fit(X, counts),
    "three classes, absolute penalty": lambda X, counts: LogisticRegression(l1_ratio=1.0).fit(X, np.minimum(counts, 2)),
    "two classes of a wide table": lambda X, counts: LogisticRegression().fit(X, counts > 0),
    "two classes by columns": lambda X, counts: LogisticRegression(l1_ratio=0.5).fit(X, counts > 0),
    "three classes": lambda X, counts: LogisticRegression(l1_ratio=0.5).fit(X[:, :5], np.minimum(counts, 2)),
    "no penalty": lambda X, counts: LogisticRegression(penalty=None).fit(X[:, :3], counts > 0),
    "ridge": lambda X, counts: Ridge().fit(X[:, :5], counts).predict(X[:, :5]),
    "ridge of a wide table": lambda X, counts: Ridge().fit(X, counts),
    "lasso": lambda X, counts: Lasso(alpha=0.1).fit(X[:, :5], counts),
    "lasso by columns": lambda X, counts: Lasso(alpha=0.1).fit(X, counts),
    "ranking": lambda X, counts: LinearRank().fit(X[:, :5], counts).score(X[:, :5], counts),
    "ranking by the squared hinge": lambda X, counts: LinearRank(loss="squared_hinge").fit(X, counts),
    "ranking by pairs": lambda X, counts: LinearRank().fit_pairs(X[:, :5], np.arange(80).reshape(40, 2)),
}


BLOCKS = {
    "two classes": (LogisticRegression, {}, "mark"),
    "two classes, absolute penalty": (LogisticRegression, {"l1_ratio": 0.5}, "mark"),
    "no penalty": (LogisticRegression, {"penalty": None}, "mark"),
    "three classes": (LogisticRegression, {}, "level"),
    "three classes, absolute penalty": (LogisticRegression, {"l1_ratio": 0.5}, "level"),
    "least deviance": (GLM, {"family": "poisson"}, "counts"),
    "absolute penalty": (GLM, {"family": "poisson", "alpha": 0.1, "l1_ratio": 0.5}, "counts"),
    "theta": (GLM, {"family": "negative_binomial"}, "counts"),
    "curvature that may be negative": (GLM, {"family": "inverse_gaussian", "link": "log"}, "positive"),
    "ridge": (Ridge, {}, "y"),
    "lasso": (Lasso, {"alpha": 0.01}, "y"),
    "columns as marks": (NaiveBayes, {"distributions": "bernoulli"}, "mark"),
}
"""Methods on a table in blocks, with the column that they predict."""


SMALL_MACHINES = {
    "several prices": {"C": [0.1, 1.0]},
    "several prices, one width": {"C": [0.1, 1.0], "gamma": 0.3},
    "several prices of a line": {"C": [0.1, 1.0], "kernel": "linear"},
    "a line through few rows": {"kernel": "linear"},
}
MACHINES = SMALL_MACHINES | {
    "linear": {"kernel": "linear"},
    "landmarks": {"n_landmarks": 20, "random_state": 0},
    "several prices for landmarks": {"n_landmarks": 20, "random_state": 0, "C": [0.1, 1.0]},
}


@pytest.mark.parametrize("name", FITS)
def test_four_functions_at_most_stand_before_a_kernel(name):
    with kernel_paths() as paths:
        FITS[name](*table())
    assert paths, "no kernel was called: nothing was measured"
    assert len(longest(paths)) <= MOST, " -> ".join(longest(paths))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("options", [{}, {"l1_ratio": 0.5}])
def test_many_rows_that_begin_at_a_sample_take_the_same_way(options, classes, monkeypatch):
    X, y, _ = table(25, rows=33_000)
    codes = np.digitize(y, [0.0] if classes == 2 else [-0.5, 0.5])
    begun = []
    kept = logistic_sample.Surrogate.__init__
    monkeypatch.setattr(logistic_sample.Surrogate, "__init__", lambda *given: begun.append(1) or kept(*given))
    with kernel_paths() as paths:
        LogisticRegression(n_jobs=1, **options).fit(X, codes)
    assert begun, "no sample came first"
    assert len(longest(paths)) <= MOST, " -> ".join(longest(paths))


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_tables_take_the_same_way(name):
    rng = np.random.default_rng(1)
    X = csr_array(rng.normal(size=(80, 1100)) * (rng.random((80, 1100)) < 0.05))
    counts = rng.poisson(1.0 + np.abs(X[:, [0]].toarray()[:, 0]))
    with kernel_paths() as paths:
        SPARSE[name](X, counts)
    assert paths, "no kernel was called: nothing was measured"
    assert len(longest(paths)) <= MOST, " -> ".join(longest(paths))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("name", BLOCKS)
def test_tables_in_blocks_take_no_longer_way_with_other_options(name, wide, weighted, monkeypatch):
    kind, options, target = BLOCKS[name]
    if wide:  # as with more unknowns than a Hessian is formed for
        monkeypatch.setattr(logistic_solver, "DENSE_LIMIT", 1)
    table_in_blocks = Batches([target_frame(target)], target, weight="weight" if weighted else None)
    with kernel_paths() as paths, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kind(**options).fit_batches(table_in_blocks)
    assert paths, "no kernel was called: nothing was measured"
    assert len(longest(paths)) <= MOST, " -> ".join(longest(paths))


@pytest.mark.parametrize("penalty", ["l2", None])
def test_files_that_are_decoded_twice_take_no_longer_way(penalty, tmp_path, monkeypatch):
    target_frame("mark", 12_000).write_parquet(tmp_path / "table.parquet", row_group_size=1000)
    monkeypatch.setattr("assay.data.batches.DECODED_BYTES", 1)
    decoded, kept = [], Batches.decoded
    monkeypatch.setattr(Batches, "decoded", lambda self, along: decoded.append(1) or kept(self, along))
    with kernel_paths() as paths:
        LogisticRegression(penalty=penalty, n_jobs=1).fit_batches(Batches(tmp_path / "table.parquet", "mark"))
    assert decoded, "no sample came first"
    assert len(longest(paths)) <= MOST, " -> ".join(longest(paths))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kind", [SVMClassifier, SVMRegressor])
@pytest.mark.parametrize("name", MACHINES)
def test_machines_with_any_option_take_four_functions(name, kind, sparse):
    X, y, _ = table(rows=80 if name in SMALL_MACHINES else 2100)
    rows = csr_array(np.where(np.abs(X) < 0.5, 0.0, X)) if sparse else X
    with kernel_paths() as paths:
        model = kind(n_jobs=1, **MACHINES[name]).fit(rows, y if kind is SVMRegressor else np.digitize(y, [-0.5, 0.5]))
        model.predict(rows)
    assert paths, "no kernel was called: nothing was measured"
    assert len(longest(paths)) <= MOST, " -> ".join(longest(paths))


def test_the_measure_sees_every_function_on_the_way():
    X, _, counts = table()
    for cells in (X, csr_array(X)):
        with kernel_paths() as paths:
            GLM(family="poisson").fit(cells, counts)
        names = [name.rsplit(".", 1)[1] for name in paths["GlmPasses.sums"]]
        assert names in (["fit", "_fit_task", "start", "at"], ["fit", "_fit_task", "damped_newton", "at"])


def test_a_graph_begins_a_new_count_and_an_index_does_not():
    X, y, _ = table()
    with kernel_paths() as of_graph, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Louvain().fit(X)
    assert [name.rsplit(".", 1)[1] for name in of_graph["euclidean_nearest"]] == [
        "of_rows",
        "_pairs",
        "nearest_to_itself",
        "nearest",
    ]
    assert of_graph["communities"][0].endswith("louvain.fit")
    with kernel_paths() as of_index:
        KNNClassifier(algorithm="brute").fit(X, y > 0).predict(X)
    assert of_index["euclidean_screen"][0].endswith(".fit"), "what stands in numeric is part of the path"


def test_a_function_without_a_name_is_counted():
    scope = {"__name__": "assay.somewhere", "kernels": _kernels}
    exec("def fit(self): return (lambda: [kernels.simd_level() for _ in range(1)])()", scope)
    with kernel_paths() as paths:
        scope["fit"](Ridge())
    assert paths["simd_level"] == ["assay.somewhere.fit", "assay.somewhere.<lambda>"]
