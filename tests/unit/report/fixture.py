"""Results as `assay compare --json` gives them, made up but coherent; also behind the picture in the docs."""

from __future__ import annotations

import random
from itertools import combinations
from typing import Any

NASTY = (
    "<script>alert(1)</script>",
    "\"quoted\" & 'single'",
    "{{ 7*7 }}",
    "{% raw %}",
    "right\u202eto\u2066left",
    "bell\x07 and escape\x1b[31m",
    "]]></style></svg><img src=x onerror=alert(1)>",
    "w" * 500,
    "lone \ud800 surrogate",
)
VERSIONS = {"assay": "0.1.0", "python": "3.12.4", "numpy": "2.1.3", "scipy": "1.14.1", "scikit-learn": "1.5.2"}


def _scores(rng: random.Random, mean: float, sd: float, shape: tuple[int, int]) -> list[list[float]]:
    return [[rng.gauss(mean, sd) for _ in range(shape[1])] for _ in range(shape[0])]


def _learner(
    rng: random.Random,
    id: str,
    title: str,
    summary: str,
    simplicity: int,
    mean: float,
    sd: float,
    group: str,
    shape: tuple[int, int],
    **more: Any,
) -> dict[str, Any]:
    scores = _scores(rng, mean, sd, shape)
    flat = [score for line in scores for score in line]
    middle = sum(flat) / len(flat)
    spread = (sum((score - middle) ** 2 for score in flat) / (len(flat) - 1)) ** 0.5
    return {
        "id": id,
        "title": title,
        "summary": summary,
        "simplicity": simplicity,
        "parameters": {},
        "preparation": [],
        "choices": [],
        "scores": scores,
        "mean": middle,
        "sd": spread,
        "interval": [middle - 1.2 * spread, middle + 1.2 * spread],
        "group": group,
        "metrics": {},
        "confusion": None,
        "view": None,
        "warnings": [],
        "error": None,
        **more,
    }


def _comparison(
    learners: list[dict[str, Any]], metric: str, greater: bool, recommended: str, reason: str
) -> dict[str, Any]:
    ranked = sorted(learners, key=lambda one: -one["mean"] if greater else one["mean"])
    pairs = []
    for first, second in combinations(ranked, 2):
        difference = first["mean"] - second["mean"]
        half = 1.1 * (first["sd"] + second["sd"])
        reject = not set(first["group"]) & set(second["group"])
        p = 0.0004 + 0.01 * abs(half / (difference or 1)) if reject else 0.2 + 0.5 * min(1.0, half)
        verdict = "significant" if reject else "not significant"
        pairs.append(
            {
                "a": first["id"],
                "b": second["id"],
                "difference": difference,
                "interval": [difference - half, difference + half],
                "statistic": 3.1,
                "df": [10, 5],
                "p_value": p / 3,
                "p_adjusted": p,
                "reject": reject,
                "sentence": f"{first['title']} is better than {second['title']} by {abs(difference):.3f} "
                f"(95 % interval of the difference {difference - half:.3f} to {difference + half:.3f}); "
                f"after correction for the number of pairs this is {verdict} at 5 % (p = {p:.3f}).",
            }
        )
    groups: dict[str, list[str]] = {}
    for one in ranked:
        for letter in one["group"]:
            groups.setdefault(letter, []).append(one["id"])
    best, tied = ranked[0], [one["title"] for one in ranked[1:] if "a" in one["group"]]
    title = next(one["title"] for one in learners if one["id"] == recommended)
    smallest = 0.0187 if greater else 3.1
    low, high = best["interval"]
    return {
        "procedure": "combined 5x2cv F test",
        "alpha": 0.05,
        "correction": f"Holm, over {len(pairs)} pairs",
        "metric": metric,
        "summary": {one["id"]: {key: one[key] for key in ("mean", "sd", "interval", "group")} for one in learners},
        "pairs": pairs,
        "best": ranked[0]["id"],
        "groups": list(groups.values()),
        "recommendation": {"id": recommended, "reason": reason},
        "smallest_detectable_difference": smallest,
        "left_out": [],
        "sentence": f"{best['title']} has the best mean {metric}, {best['mean']:.3f} "
        f"(95 % interval {low:.3f} to {high:.3f}); "
        f"it cannot be told apart from {', '.join(tied)}. Recommended: {title}. "
        f"A true difference below {smallest} would probably not have been seen.",
    }


def customers_tree() -> dict[str, Any]:
    """A tree over mixed columns, three levels deep with one longer branch."""

    def node(id, parent, depth, condition, test, rows, yes, children):
        share = [1 - yes, yes]
        return {
            "id": id,
            "parent": parent,
            "depth": depth,
            "condition": condition,
            "test": test,
            "rows": float(rows),
            "impurity": 2 * share[0] * share[1],
            "value": share,
            "prediction": "yes" if yes > 0.5 else "no",
            "children": children,
        }

    return {
        "kind": "tree",
        "classes": ["no", "yes"],
        "nodes": [
            node(0, -1, 0, "", "contract = monthly", 1496, 0.266, [1, 2]),
            node(1, 0, 1, "contract in {one year, two years, not stated}", "complaints <= 2.5", 864, 0.079, [3, 4]),
            node(2, 0, 1, "contract = monthly", "tenure_months <= 11.5", 632, 0.522, [5, 6]),
            node(3, 1, 2, "complaints <= 2.5", None, 793, 0.05, []),
            node(4, 1, 2, "complaints > 2.5", "satisfaction <= 2", 71, 0.394, [7, 8]),
            node(5, 2, 2, "tenure_months <= 11.5", "monthly_charge <= 61.35", 301, 0.711, [9, 10]),
            node(6, 2, 2, "tenure_months > 11.5", "satisfaction <= 2", 331, 0.35, [11, 12]),
            node(7, 4, 3, "satisfaction <= 2", None, 29, 0.724, []),
            node(8, 4, 3, "satisfaction > 2", None, 42, 0.167, []),
            node(9, 5, 3, "monthly_charge <= 61.35", "payment in {card, transfer}", 96, 0.51, [13, 14]),
            node(10, 5, 3, "monthly_charge > 61.35", None, 205, 0.805, []),
            node(11, 6, 3, "satisfaction <= 2", None, 118, 0.585, []),
            node(12, 6, 3, "satisfaction > 2", None, 213, 0.221, []),
            node(13, 9, 4, "payment in {card, transfer}", None, 51, 0.333, []),
            node(14, 9, 4, "payment in {cheque, cash, direct debit}", None, 45, 0.711, []),
        ],
    }


def classification() -> dict[str, Any]:
    """Two classes, mixed columns, six learners of which two tie for the best place."""
    rng = random.Random(7)
    shape = (5, 2)
    as_numbers = [
        "Missing values of income and satisfaction are filled (median, most frequent) and marked in extra columns.",
        "contract, payment and region become one column per value; plan becomes ranks.",
        "joined becomes year, month and weekday.",
    ]
    scaled = [*as_numbers, "All columns are standardised to mean 0 and standard deviation 1."]
    names = [
        "contract = monthly",
        "tenure_months",
        "satisfaction",
        "complaints",
        "monthly_charge",
        "payment = cheque",
        "plan",
        "income",
        "region = north",
        "income is missing",
        "joined: month",
        "region = west",
        "contract = two years",
        "age",
    ]
    values = [1.214, -0.973, -0.701, 0.655, 0.512, 0.298, -0.211, -0.174, 0.092, 0.081, -0.066, 0.043, -0.402, -0.018]
    learners = [
        _learner(
            rng,
            "zero-r",
            "ZeroR",
            "Predicts the most frequent class, whatever the row: the score any model must beat.",
            1,
            0.734,
            0.0006,
            "d",
            shape,
            metrics={"accuracy": 0.734, "balanced_accuracy": 0.5, "f1_macro": 0.4233, "log_loss": 0.5797},
            confusion=[[5490, 0], [1990, 0]],
            view={"kind": "shares", "classes": ["no", "yes"], "shares": [0.734, 0.266]},
        ),
        _learner(
            rng,
            "one-r",
            "1R",
            "One rule on the single column that predicts best.",
            2,
            0.772,
            0.009,
            "c",
            shape,
            parameters={"min_bucket": 6},
            metrics={"accuracy": 0.772, "balanced_accuracy": 0.6402, "f1_macro": 0.6493, "log_loss": 0.5221},
            confusion=[[4903, 587], [1118, 872]],
            view={
                "kind": "rules",
                "title": "One rule on contract",
                "rules": [
                    {"if": "contract = monthly", "then": "yes", "rows": 632.0, "correct": 330.0},
                    {"if": "contract = one year", "then": "no", "rows": 441.0, "correct": 405.0},
                    {"if": "contract = two years", "then": "no", "rows": 376.0, "correct": 352.0},
                    {"if": "contract is missing", "then": "no", "rows": 47.0, "correct": 39.0},
                ],
                "default": "no",
            },
        ),
        _learner(
            rng,
            "naive-bayes",
            "Naive Bayes",
            "Multiplies what each column says about the class, as if the columns were independent.",
            3,
            0.803,
            0.010,
            "bc",
            shape,
            parameters={"alpha": 1.0},
            metrics={"accuracy": 0.803, "balanced_accuracy": 0.7574, "f1_macro": 0.7504, "log_loss": 0.4703},
            confusion=[[4619, 871], [603, 1387]],
        ),
        _learner(
            rng,
            "logistic",
            "Logistic regression",
            "A weighted sum of the columns turned into a probability.",
            4,
            0.842,
            0.009,
            "a",
            shape,
            preparation=scaled,
            parameters={"C": 1.0, "penalty": "l2"},
            metrics={"accuracy": 0.842, "balanced_accuracy": 0.7741, "f1_macro": 0.7865, "log_loss": 0.3612},
            confusion=[[5052, 438], [744, 1246]],
            view={
                "kind": "coefficients",
                "classes": ["no", "yes"],
                "names": names,
                "values": [values],
                "intercept": [-1.482],
            },
        ),
        _learner(
            rng,
            "tree",
            "Decision tree",
            "Asks one question after another until the rows of a leaf mostly agree.",
            5,
            0.847,
            0.011,
            "a",
            shape,
            parameters={"criterion": "gain_ratio", "max_depth": 4, "min_samples_leaf": 20},
            metrics={"accuracy": 0.847, "balanced_accuracy": 0.7903, "f1_macro": 0.7988, "log_loss": 0.3744},
            confusion=[[5035, 455], [689, 1301]],
            view=customers_tree(),
        ),
        _learner(
            rng,
            "knn",
            "k nearest neighbours",
            "Lets the most similar known rows vote.",
            6,
            0.811,
            0.010,
            "b",
            shape,
            preparation=scaled,
            parameters={"n_neighbors": 15, "weights": "uniform"},
            metrics={"accuracy": 0.811, "balanced_accuracy": 0.7204, "f1_macro": 0.7331, "log_loss": 0.4296},
            confusion=[[5001, 489], [925, 1065]],
            warnings=["[W204] KNNClassifier: 3 test rows had tied votes; the nearer neighbour decided."],
        ),
    ]
    for one in learners:
        one["metrics"]["accuracy"] = one["mean"]
    mean = {one["id"]: one["mean"] for one in learners}
    reason = (
        f"Logistic regression (mean accuracy {mean['logistic']:.3f}) is the simplest of 2 learners that cannot be told "
        f"apart from the best, Decision tree ({mean['tree']:.3f})."
    )
    roles = [
        ("customer_id", "id", 0.99, "a different value in every row"),
        ("joined", "datetime", 1.0, "all values are ISO dates"),
        ("age", "numeric", 1.0, "71 different numbers"),
        ("income", "numeric", 1.0, "1,212 different numbers, 4.9% missing"),
        ("region", "nominal", 0.95, "text with 5 different values"),
        ("plan", "ordinal", 0.9, "order declared: basic, plus, premium"),
        ("contract", "nominal", 0.95, "text with 3 different values, 3.1% missing"),
        ("payment", "nominal", 0.95, "text with 5 different values"),
        ("tenure_months", "numeric", 1.0, "72 different whole numbers"),
        ("monthly_charge", "numeric", 1.0, "884 different numbers"),
        ("complaints", "numeric", 0.8, "8 different whole numbers; counts"),
        ("satisfaction", "numeric", 0.7, "5 different whole numbers; could be ordinal"),
        ("currency", "nominal", 0.9, "one value only"),
        ("churned", "binary", 1.0, "two values: no, yes"),
    ]
    return {
        "schema": "assay.compare/1",
        "data": {
            "name": "customers",
            "source": "customers.csv",
            "rows": 1500,
            "columns": 14,
            "fingerprint": "9f1c0a6d2be84f7f5a0d6f7f0f6ad5b1c6c2f1f4d77f3a8fb9a2f6b1a4a1c3e2",
            "target": "churned",
            "task": "classify",
            "classes": ["no", "yes"],
            "rows_without_target": 4,
            "roles": [{"column": c, "role": r, "confidence": p, "reason": why} for c, r, p, why in roles],
            "set_aside": [
                {"column": "customer_id", "reason": "id-like: a different value in every row"},
                {"column": "currency", "reason": "constant: only 'EUR'"},
            ],
            "findings": [
                {
                    "code": "A105",
                    "kind": "missing_values",
                    "columns": ["income", "contract"],
                    "severity": "medium",
                    "rows": {"count": 118, "first": [3, 17, 29]},
                    "evidence": "income misses 4.9% and contract 3.1% of its cells",
                    "remedy": "Filled and marked for learners that cannot take missing values; find out why.",
                },
                {
                    "code": "A201",
                    "kind": "duplicate_rows",
                    "columns": [],
                    "severity": "high",
                    "rows": {"count": 6, "first": [210, 211]},
                    "evidence": "6 rows repeat an earlier row in every column but the id",
                    "remedy": "Remove them, or keep copies in the same fold: a copy in the test rows was already seen.",
                },
                {
                    "code": "A301",
                    "kind": "constant_column",
                    "columns": ["currency"],
                    "severity": "low",
                    "rows": {"count": 1500, "first": []},
                    "evidence": {"values": 1, "value": "EUR"},
                    "remedy": "Set aside.",
                },
            ],
        },
        "design": {
            "name": "5x2",
            "kind": "5x2",
            "repetitions": 5,
            "folds": 2,
            "stratified": True,
            "seed": 0,
            "description": "5 repetitions of 2-fold cross-validation: every row is tested 5 times",
            "n_train": 748,
            "n_test": 748,
        },
        "metric": {"name": "accuracy", "title": "accuracy", "greater_is_better": True},
        "learners": learners,
        "comparison": _comparison(learners, "accuracy", True, "logistic", reason),
        "recommendation": {"id": "logistic", "title": "Logistic regression", "reason": reason},
        "command": "assay compare customers.csv --target churned --design 5x2 --seed 0 --report report.html",
        "versions": dict(VERSIONS),
    }


def classification_timings() -> dict[str, dict[str, float]]:
    """Seconds per fit and prediction of the learners of `classification`."""
    fit = {"zero-r": 0.0003, "one-r": 0.004, "naive-bayes": 0.006, "logistic": 0.021, "tree": 0.034, "knn": 0.002}
    return {id: {"fit_seconds": time, "predict_seconds": time / 3} for id, time in fit.items()}


def many_classes(n_classes: int = 3) -> dict[str, Any]:
    """A numeric table with several classes: a coefficient row per class and a larger confusion matrix."""
    rng = random.Random(11)
    results = classification()
    classes = [f"cultivar {chr(ord('A') + k % 26)}{'' if k < 26 else k // 26}" for k in range(n_classes)]
    names = ["alcohol", "malic_acid", "ash", "alcalinity_of_ash", "magnesium", "flavanoids", "hue", "proline"]
    confusion = [
        [rng.randint(40, 60) if i == j else rng.randint(0, 4) for j in range(n_classes)] for i in range(n_classes)
    ]
    results["data"] |= {"name": "wine", "source": "wine.csv", "target": "cultivar", "classes": classes, "findings": []}
    results["data"]["roles"] = [{"column": n, "role": "numeric", "confidence": 1.0, "reason": "numbers"} for n in names]
    results["data"]["set_aside"] = []
    for one in results["learners"]:
        one["confusion"] = confusion
        if (one["view"] or {}).get("kind") == "tree":
            one["view"] = {**one["view"], "classes": classes}
            for node in one["view"]["nodes"]:
                node["value"] = [1 / n_classes] * n_classes
                node["prediction"] = classes[node["id"] % n_classes]
        if (one["view"] or {}).get("kind") == "coefficients":
            values = [[rng.gauss(0, 1) for _ in names] for _ in classes]
            one["view"] = {
                "kind": "coefficients",
                "classes": classes,
                "names": names,
                "values": values,
                "intercept": [0.1] * n_classes,
            }
        if (one["view"] or {}).get("kind") == "shares":
            one["view"] = {"kind": "shares", "classes": classes, "shares": [1 / n_classes] * n_classes}
    return results


def regression() -> dict[str, Any]:
    """A number to predict, lower scores better, no classes and no confusion; one learner failed."""
    rng = random.Random(3)
    shape = (1, 10)
    names = ["bmi", "s5", "bp", "s1", "sex", "s2", "s4", "s3", "s6", "age"]
    values = [24.7, 35.7, 15.4, -37.6, -11.4, 22.6, 8.4, 4.8, 3.2, -0.5]

    def node(id, parent, depth, condition, test, rows, mean, children, **more):
        return {
            "id": id,
            "parent": parent,
            "depth": depth,
            "condition": condition,
            "test": test,
            "rows": float(rows),
            "impurity": 100.0,
            "value": [mean],
            "prediction": mean,
            "children": children,
            **more,
        }

    tree = {
        "kind": "tree",
        "classes": None,
        "nodes": [
            node(0, -1, 0, "", "s5 <= -0.0038", 442, 152.1, [1, 2]),
            node(1, 0, 1, "s5 <= -0.0038", "bmi <= 0.0062", 218, 109.9, [3, 4]),
            node(2, 0, 1, "s5 > -0.0038", "bmi <= 0.0148", 224, 193.2, [5, 6]),
            node(3, 1, 2, "bmi <= 0.0062", None, 171, 96.3, []),
            node(4, 1, 2, "bmi > 0.0062", None, 47, 159.7, []),
            node(5, 2, 2, "bmi <= 0.0148", None, 117, 162.7, [], cut=True),
            node(6, 2, 2, "bmi > 0.0148", None, 107, 226.6, []),
        ],
    }
    learners = [
        _learner(
            rng,
            "zero-r-regressor",
            "ZeroR for regression",
            "Predicts the mean of the target, whatever the row.",
            1,
            77.0,
            4.0,
            "b",
            shape,
            metrics={"rmse": 77.0, "r2": -0.02, "mae": 65.9},
        ),
        _learner(
            rng,
            "least-squares",
            "Least squares",
            "A weighted sum of the columns.",
            2,
            54.9,
            3.9,
            "a",
            shape,
            metrics={"rmse": 54.9, "r2": 0.482, "mae": 44.3},
            view={"kind": "coefficients", "classes": None, "names": names, "values": [values], "intercept": [152.1]},
        ),
        _learner(
            rng,
            "tree-regressor",
            "Regression tree",
            "Asks one question after another.",
            5,
            60.1,
            4.4,
            "a",
            shape,
            metrics={"rmse": 60.1, "r2": 0.379, "mae": 48.8},
            view=tree,
        ),
    ]
    failed = _learner(
        rng, "knn-regressor", "k nearest neighbours", "Averages the most similar rows.", 6, 1, 1, "", shape
    )
    failed |= {
        "scores": None,
        "mean": None,
        "sd": None,
        "interval": None,
        "group": None,
        "metrics": {},
        "error": "KNNRegressor: parameter 'n_neighbors' must be at most the number of training rows; got 500",
    }
    reason = "Least squares is the simplest learner that is not worse than the best."
    results = {
        "schema": "assay.compare/1",
        "data": {
            "name": "diabetes",
            "source": "diabetes.csv",
            "rows": 442,
            "columns": 11,
            "fingerprint": "ab" * 32,
            "target": "progression",
            "task": "regress",
            "classes": None,
            "rows_without_target": 0,
            "target_summary": {"min": 25.0, "mean": 152.1, "median": 140.5, "max": 346.0},
            "roles": [{"column": n, "role": "numeric", "confidence": 1.0, "reason": "numbers"} for n in names],
            "set_aside": [],
            "findings": [],
        },
        "design": {
            "name": "10-fold",
            "kind": "kfold",
            "repetitions": 1,
            "folds": 10,
            "stratified": False,
            "seed": 42,
            "description": "10-fold cross-validation: every row is tested once",
            "n_train": 398,
            "n_test": 44,
        },
        "metric": {"name": "rmse", "title": "root mean squared error", "greater_is_better": False},
        "learners": [*learners, failed],
        "comparison": _comparison(learners, "root mean squared error", False, "least-squares", reason),
        "recommendation": {"id": "least-squares", "title": "Least squares", "reason": reason},
        "command": "assay compare diabetes.csv --target progression --design 10-fold --seed 42",
        "versions": dict(VERSIONS),
    }
    for one in learners:
        one["metrics"]["rmse"] = one["mean"]
    return results


def single() -> dict[str, Any]:
    """One learner alone: no pairs."""
    results = classification()
    results["learners"] = [one for one in results["learners"] if one["id"] == "tree"]
    results["comparison"] |= {
        "pairs": [],
        "best": "tree",
        "groups": [["tree"]],
        "sentence": "One learner, nothing to compare.",
    }
    results["comparison"]["smallest_detectable_difference"] = None
    results["recommendation"] = {"id": "tree", "title": "Decision tree", "reason": "It is the only learner."}
    return results


def minimal() -> dict[str, Any]:
    """Only what the schema cannot do without."""
    learner = {"id": "tree", "title": "Decision tree", "scores": [[0.5, 0.7]], "mean": 0.6}
    return {"schema": "assay.compare/1", "data": {"name": "t", "target": "y"}, "learners": [learner]}


def explanation() -> dict[str, Any]:
    """What the recommended learner goes by, as `explain_results` gives it."""
    names = ["income", "plan", "age"]
    curve = {"method": "partial dependence", "unit": "probability of yes", "outputs": ["yes"], "rows": 300}
    numbers = {"names": ["income"], "grid_values": [[10.0, 20.0, 40.0]], "values": [[0.2], [0.3], [0.6]]}
    limits = {"low": [[0.1], [0.25], [0.5]], "high": [[0.3], [0.35], [0.7]]}
    labels = {"names": ["plan"], "grid_values": [["solo", "family"]], "values": [[0.2], [0.4]]}
    tree = {
        "kind": "rules",
        "title": "Rules that imitate the model",
        "rules": [{"if": "income > 20", "then": "yes", "rows": 30.0, "correct": 28.0}],
        "default": "no",
    }
    return {
        "learner": "logistic",
        "title": "Logistic regression",
        "rows": "450 rows that the models had not seen, 3 folds",
        "notes": ["no curve of x: it holds dates"],
        "importance": {
            "method": "permutation, 5 times",
            "names": names,
            "unit": "fall of accuracy",
            "values": [[0.08, 0.02, -0.001]],
            "low": [[0.06, 0.01, -0.005]],
            "high": [[0.1, 0.03, 0.003]],
            "base_values": [0.8],
        },
        "dependence": [curve | numbers | limits, curve | labels],
        "surrogate": {
            "kind": "rules",
            "fidelity": 0.9,
            "low": 0.85,
            "high": 0.94,
            "measure": "share of equal answers",
            "rows": 300,
            "size": "1 rule",
            "view": tree,
        },
    }


def nasty() -> dict[str, Any]:
    """Hostile text in every place where text from data or from errors can stand."""
    turn = 0

    def spoil(value: Any, key: str = "") -> Any:
        nonlocal turn
        if isinstance(value, dict):
            return {k: spoil(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [spoil(v, key) for v in value]
        kept = {"schema", "kind", "group", "task", "role", "severity"}
        if isinstance(value, str) and key not in kept:
            turn += 1
            return value + NASTY[turn % len(NASTY)]
        return value

    results = classification() | {"explanation": explanation()}
    titles = {one["id"]: one["id"] for one in results["learners"]}
    spoiled = spoil(results)
    for one, original in zip(spoiled["learners"], results["learners"]):
        one["id"] = original["id"]
        assert one["id"] in titles
    for one, original in zip(spoiled["comparison"]["pairs"], results["comparison"]["pairs"]):
        one["a"], one["b"] = original["a"], original["b"]
    spoiled["recommendation"]["id"] = "logistic"
    spoiled["comparison"]["best"] = results["comparison"]["best"]
    spoiled["data"]["roles"].append({"column": NASTY[0], "role": NASTY[1], "confidence": NASTY[2], "reason": NASTY[6]})
    spoiled["data"]["findings"].append(
        {"severity": NASTY[0], "evidence": {NASTY[0]: [NASTY[6], 1]}, "columns": list(NASTY)}
    )
    spoiled["learners"][0]["error"] = NASTY[6]
    spoiled["learners"][1]["parameters"] = {NASTY[0]: NASTY[1]}
    spoiled["learners"][2]["warnings"] = [{"code": NASTY[0], "text": NASTY[6]}]
    spoiled["learners"][2]["metrics"][NASTY[0]] = 0.5
    spoiled["versions"][NASTY[0]] = NASTY[1]
    return spoiled


def large(columns: int = 100, n_learners: int = 10) -> dict[str, Any]:
    """As many columns, findings, folds and learners as a report must hold within its budget."""
    rng = random.Random(5)
    results = classification()
    names = [f"a rather long column name number {j:03d} of the survey" for j in range(columns)]
    results["data"]["roles"] = [
        {"column": n, "role": "numeric", "confidence": 0.9, "reason": "many different numbers " * 4} for n in names
    ]
    results["data"]["findings"] = [
        {
            "code": "A105",
            "kind": "missing_values",
            "columns": [name],
            "severity": rng.choice(["high", "medium", "low"]),
            "rows": {"count": 12, "first": [1, 2, 3]},
            "evidence": "misses 4.9% of its cells " * 4,
            "remedy": "Check why. " * 6,
        }
        for name in names
        for _ in range(3)
    ]
    classes = [f"class number {k}" for k in range(16)]
    results["data"]["classes"] = classes
    nodes = [
        {
            "id": i,
            "parent": (i - 1) // 2 if i else -1,
            "depth": (i + 1).bit_length() - 1,
            "condition": f"{names[i % columns]} <= {i}" if i else "",
            "test": f"{names[i % columns]} <= {i}" if i < 31 else None,
            "rows": 100.0,
            "impurity": 0.5,
            "value": [1 / 16] * 16,
            "prediction": classes[i % 16],
            "children": [2 * i + 1, 2 * i + 2] if i < 31 else [],
        }
        for i in range(63)
    ]
    views = [
        {"kind": "tree", "classes": classes, "nodes": nodes},
        {
            "kind": "coefficients",
            "classes": classes,
            "names": names,
            "intercept": [0.5] * 16,
            "values": [[rng.gauss(0, 1) for _ in names] for _ in classes],
        },
        {
            "kind": "rules",
            "title": "Rules",
            "default": classes[0],
            "rules": [{"if": f"{n} <= 3", "then": classes[0], "rows": 30.0, "correct": 21.0} for n in names],
        },
    ]
    learners = []
    for k in range(n_learners):
        learners.append(
            _learner(
                rng,
                f"learner-{k}",
                f"A learner with a long title, number {k}",
                "What it does in one line. " * 3,
                k + 1,
                0.8 + 0.01 * k,
                0.02,
                "abcdef"[k % 6],
                (10, 10),
                preparation=["Fills missing values. " * 20] * 5,
                metrics={"accuracy": 0.8, "balanced_accuracy": 0.7, "f1_macro": 0.7, "log_loss": 0.4, "roc_auc": 0.9},
                confusion=[[rng.randint(0, 60) for _ in classes] for _ in classes],
                view=views[k % 3],
            )
        )
    results["learners"] = learners
    results["comparison"] = _comparison(learners, "accuracy", True, "learner-3", "It is simple.")
    results["recommendation"] = {"id": "learner-3", "title": learners[3]["title"], "reason": "It is simple."}
    return results
