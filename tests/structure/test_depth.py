"""The path of one call: from a public method to a kernel stand at most four of our functions.

The functions of the compiled module are replaced by ones that count the frames of the package below them. The guard
around a public method and the thread count are not part of the path; neither are comprehensions, which are frames of
their own before Python 3.12.
"""

import sys

import numpy as np
import pytest

from assay import _kernels
from assay.models.ensembles import RandomForestClassifier
from assay.models.linear import (
    GLM,
    ElasticNet,
    GradientDescentClassifier,
    Lasso,
    LogisticRegression,
    Perceptron,
    Ridge,
)
from assay.models.neighbours import KNNClassifier

MOST = 4
ASIDE = ("max_threads",)


@pytest.fixture
def paths(monkeypatch):
    """The longest path to each kernel that was called."""
    found: dict[str, list[str]] = {}

    def counted(name, kernel):
        def call(*given, **named):
            frame, names = sys._getframe(1), []
            while frame is not None:
                module, function = frame.f_globals.get("__name__", ""), frame.f_code.co_name
                if module.startswith("assay.") and module != "assay.base.guard" and not function.startswith("<"):
                    names.append(f"{module}.{function}")
                frame = frame.f_back
            if len(names) > len(found.get(name, [])):
                found[name] = names[::-1]
            return kernel(*given, **named)

        return call

    for name, value in list(vars(_kernels).items()):
        if name.startswith("_") or name in ASIDE:
            continue
        if not isinstance(value, type):
            if callable(value):
                monkeypatch.setattr(_kernels, name, counted(name, value))
            continue
        for method, function in list(vars(value).items()):
            if type(function).__name__ == "nb_method":
                monkeypatch.setattr(value, method, counted(f"{name}.{method}", function))
    return found


def table(columns=4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, columns))
    signal = X[:, 0] + 0.5 * X[:, 1]
    return X, signal + rng.normal(size=60), rng.poisson(np.exp(0.5 * signal)).astype(float)


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
    "forest": lambda X, y, counts: RandomForestClassifier(n_estimators=3).fit(X, y > 0).predict(X),
}


@pytest.mark.parametrize("name", FITS)
def test_four_functions_at_most_stand_before_a_kernel(paths, name):
    FITS[name](*table())
    assert paths, "no kernel was called: nothing was measured"
    longest = max(paths.values(), key=len)
    assert len(longest) <= MOST, " -> ".join(longest)


def test_the_measure_sees_every_function_on_the_way(paths):
    X, _, counts = table()
    GLM(family="poisson").fit(X, counts)
    names = [name.rsplit(".", 1)[1] for name in paths["GlmPasses.sums"]]
    assert names in (["fit", "_fit_task", "start", "at"], ["fit", "_fit_task", "damped_newton", "at"])
