"""Explanations against scikit-learn's inspection and shap: each contender explains the same fitted model."""

from __future__ import annotations

from typing import Any

from benchmarks.versus.harness import Contender, Problem, Size, by_rows

REPEATS, POINTS, TREES = 5, 50, 100
IN_PREDICTIONS = "permutation_importance, predictions in parallel"


def make_forest(rows: int) -> dict[str, Any]:
    """A forest of scikit-learn on 50 columns, of which 10 count, and rows that it has not seen."""
    import numpy as np
    from sklearn.ensemble import RandomForestClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * rows, 50)).astype(np.float32).astype(np.float64)
    score = X[:, :5].sum(axis=1) + X[:, 5] * X[:, 6] + np.abs(X[:, 7]) + X[:, 8] * (X[:, 9] > 0)
    y = (score + rng.normal(size=2 * rows) > 0.8).astype(int)
    model = RandomForestClassifier(TREES, random_state=0, n_jobs=-1).fit(X[:rows], y[:rows])
    return {"model": model, "X": X[rows:], "y": y[rows:]}


# -- permutation importance --------------------------------------------------------------------------------------------
def permuted(data: dict[str, Any]) -> Any:
    """Ours, with intervals."""
    from assay.explain import permutation_importance

    return permutation_importance(data["model"], data["X"], data["y"], n_repeats=REPEATS).values[0]


def permuted_by_sklearn(data: dict[str, Any]) -> Any:
    """The usual function; the forest predicts on all cores, columns one after the other, which is its fastest way."""
    from sklearn.inspection import permutation_importance

    return permutation_importance(
        data["model"], data["X"], data["y"], n_repeats=REPEATS, random_state=0
    ).importances_mean


def permuted_in_processes(data: dict[str, Any]) -> Any:
    """The same with columns in parallel and one core for each prediction."""
    from sklearn.inspection import permutation_importance

    model = data["model"].set_params(n_jobs=1)
    return permutation_importance(
        model, data["X"], data["y"], n_repeats=REPEATS, random_state=0, n_jobs=-1
    ).importances_mean


def order_agrees(data: dict[str, Any], found: Any) -> float:
    """Share of the importance that is given to the ten columns that count; what chance gives the others cancels."""
    import numpy as np

    return float(np.asarray(found)[:10].sum() / np.asarray(found).sum())


# -- partial dependence ------------------------------------------------------------------------------------------------
def curves(data: dict[str, Any]) -> Any:
    """Ours: eight columns in one call."""
    import numpy as np

    from assay.explain import partial_dependence

    grid = np.linspace(-2, 2, POINTS)
    columns = list(range(8))
    found = partial_dependence(data["model"], data["X"], columns, grid=dict.fromkeys(columns, grid))
    return [one.values[:, 0] for one in found]


def curves_by_sklearn(data: dict[str, Any]) -> Any:
    """The usual function by predictions of every changed table (its shortcut for trees is another quantity)."""
    import numpy as np
    from sklearn.inspection import partial_dependence

    grid = np.linspace(-2, 2, POINTS)
    return [
        partial_dependence(data["model"], data["X"], [j], custom_values={j: grid}, method="brute")["average"][0]
        for j in range(8)
    ]


def curves_in_processes(data: dict[str, Any]) -> Any:
    """The same with columns in parallel and one core for each prediction."""
    import numpy as np
    from joblib import Parallel, delayed
    from sklearn.inspection import partial_dependence

    grid, model = np.linspace(-2, 2, POINTS), data["model"].set_params(n_jobs=1)
    work = (
        delayed(partial_dependence)(model, data["X"], [j], custom_values={j: grid}, method="brute") for j in range(8)
    )
    return [found["average"][0] for found in Parallel(n_jobs=-1)(work)]


def ends_of_curves(data: dict[str, Any], found: Any) -> float:
    """Minus the largest gap, at both ends of each curve, to the mean of the model's own predictions there."""
    import numpy as np

    gaps = []
    for j, curve in enumerate(found):
        for value, mean in ((-2.0, curve[0]), (2.0, curve[-1])):
            changed = data["X"].copy()
            changed[:, j] = value
            gaps.append(abs(float(data["model"].predict_proba(changed)[:, 1].mean()) - float(mean)))
    return -float(np.max(gaps))


# -- Shapley values of any model ---------------------------------------------------------------------------------------
def make_net(rows: int, columns: int) -> dict[str, Any]:
    """A multilayer perceptron of scikit-learn, 100 background rows, and exact values of the first rows."""
    import numpy as np
    from sklearn.neural_network import MLPRegressor

    from assay.explain import exact_shap

    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, columns))
    y = X[:, 0] * X[:, 1] * X[:, 2] + np.sin(X[:, 3]) + X[:, 4] * X[:, 5] + X[:, 6]
    model = MLPRegressor(hidden_layer_sizes=(32, 32), max_iter=150, random_state=0).fit(X, y)
    data = {"predict": model.predict, "X": X[:rows], "background": X[1000:1100]}
    return data | {"exact": exact_shap(model.predict, data["X"][:8], data["background"]).values}


def sampled(data: dict[str, Any]) -> Any:
    """Ours: 800 orders of the columns with their reverses, 8 for each background row."""
    from assay.explain import sampling_shap

    return sampling_shap(data["predict"], data["X"], data["background"], n_permutations=800).values


def by_kernel(data: dict[str, Any]) -> Any:
    """The usual package at its defaults: 2 columns + 2,048 coalitions, each against every background row."""
    import shap

    return shap.KernelExplainer(data["predict"], data["background"]).shap_values(data["X"], silent=True)


def by_permutations(data: dict[str, Any]) -> Any:
    """Its explainer by orders of the columns, with as many as it needs for the same error."""
    import shap

    explainer = shap.PermutationExplainer(data["predict"], data["background"], seed=0)
    return explainer(data["X"], max_evals=160 * (2 * data["X"].shape[1] + 1), silent=True).values


def closeness(data: dict[str, Any], found: Any) -> float:
    """Minus the root mean square error against all coalitions, over the spread of the exact values."""
    import numpy as np

    error = np.asarray(found)[: data["exact"].shape[0]] - data["exact"]
    return -float(np.sqrt((error**2).mean()) / data["exact"].std())


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="permuted-columns",
        title="Permutation importance of a forest of 100 trees, 50 columns, 5 shuffles",
        make=make_forest,
        sizes=(
            *by_rows("{n} x 50", 1_000, 5_000),
            Size("20,000 x 50", 20_000, {"rows": 20_000}, repeats=1, without=(IN_PREDICTIONS,)),
        ),
        ours=Contender("permutation_importance", "assay", permuted),
        peers=(
            Contender(IN_PREDICTIONS, "scikit-learn", permuted_by_sklearn, aim=10),
            Contender("permutation_importance, columns in parallel", "scikit-learn", permuted_in_processes, aim=10),
        ),
        quality=order_agrees,
        gate=0.05,  # of two runs that differ by their shuffles alone
        quality_name="share given to the columns that count",
        limit="one walk per row and tree, and one from each test that shuffled cells answer otherwise",
        tried="predictions in parallel take twice to four times as long as columns in parallel, and minutes at 20,000",
    ),
    Problem(
        id="partial-dependence",
        title="Partial dependence of 8 columns at 50 values, a forest of 100 trees",
        make=make_forest,
        sizes=(*by_rows("{n} x 50", 500, 2_000), Size("8,000 x 50", 8_000, {"rows": 8_000}, repeats=1)),
        ours=Contender("partial_dependence", "assay", curves),
        peers=(
            Contender("partial_dependence (brute), predictions in parallel", "scikit-learn", curves_by_sklearn, aim=10),
            Contender("partial_dependence (brute), columns in parallel", "scikit-learn", curves_in_processes, aim=10),
        ),
        quality=ends_of_curves,
        gate=1e-6,
        quality_name="minus largest gap to the model's own mean",
        limit="one walk per row and tree, and one from each test on the column that it meets, whatever the values",
        tried="method='recursion' takes no forest of classes and gives another quantity (shares of training rows)",
    ),
    Problem(
        id="kernel-shap",
        title="Shapley values of a net, 12 columns, 100 background rows",
        make=make_net,
        sizes=tuple(Size(f"{rows} rows x 12", rows, {"rows": rows, "columns": 12}) for rows in (8, 32, 128)),
        ours=Contender("sampling_shap", "assay", sampled),
        peers=(
            Contender("KernelExplainer", "shap", by_kernel, aim=10),
            Contender("PermutationExplainer", "shap", by_permutations, aim=10),
        ),
        quality=closeness,
        gate=0.005,
        quality_name="minus relative error against all coalitions",
        limit="predictions of the model: two for each order and column",
        tried="PermutationExplainer with 20 orders is four times as far from the exact values; with 160 it is level; "
        "KernelExplainer with 1,000 samples takes half and misses the gate; ExactExplainer takes twice as long",
    ),
)
