"""Metrics against scikit-learn's (the installed version), on random labels, probabilities and numbers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn import metrics as reference

from assay.base import DataError, UsageError
from assay.evaluate import METRICS, Evidence, confusion_matrix, default_metrics, get_metric, score_many
from assay.evaluate.metrics import _lookup

RNG = np.random.default_rng(0)
N = 157
LABELS = {
    "accuracy": reference.accuracy_score,
    "balanced_accuracy": reference.balanced_accuracy_score,
    "kappa": reference.cohen_kappa_score,
    "mcc": reference.matthews_corrcoef,
    **{
        f"{name}_{average}": lambda y, p, f=function, a=average, **k: f(y, p, average=a, zero_division=0, **k)
        for name, function in (
            ("precision", reference.precision_score),
            ("recall", reference.recall_score),
            ("f1", reference.f1_score),
        )
        for average in ("macro", "micro", "weighted")
    },
    "f2_macro": lambda y, p, **k: reference.fbeta_score(y, p, beta=2, average="macro", zero_division=0, **k),
    "f0.5_weighted": lambda y, p, **k: reference.fbeta_score(y, p, beta=0.5, average="weighted", zero_division=0, **k),
}
BINARY = {
    "precision": reference.precision_score,
    "recall": reference.recall_score,
    "sensitivity": reference.recall_score,
    "specificity": lambda y, p, **k: reference.recall_score(y, p, pos_label=0, **k),
    "f1": reference.f1_score,
    "f2": lambda y, p, **k: reference.fbeta_score(y, p, beta=2, **k),
}
VALUES = {
    "r2": reference.r2_score,
    "explained_variance": reference.explained_variance_score,
    "mse": reference.mean_squared_error,
    "rmse": reference.root_mean_squared_error,
    "mae": reference.mean_absolute_error,
    "mape": reference.mean_absolute_percentage_error,
    "median_absolute_error": reference.median_absolute_error,
    "msle": reference.mean_squared_log_error,
    "rmsle": reference.root_mean_squared_log_error,
}
WEIGHTS = {"unweighted": None, "weighted": RNG.uniform(0.1, 3.0, N)}


@pytest.fixture(params=WEIGHTS, ids=str)
def weights(request):
    return WEIGHTS[request.param]


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("kind", ["codes", "text", "objects", "negative"])
def test_label_metrics_equal_scikit_learn(name, kind, weights):
    y, p = RNG.integers(0, 4, N), RNG.integers(0, 5, N)
    names = {"codes": np.arange(5), "negative": np.arange(5) - 2}.get(kind, np.array(["b", "a", "e", "d", "c"]))
    y, p = names[y], names[p]
    if kind == "objects":
        y, p = y.astype(object), p.astype(object)
    expected = LABELS[name](y, p, sample_weight=weights)
    assert get_metric(name).score(y, p, sample_weight=weights) == pytest.approx(expected, abs=1e-12)
    assert get_metric(name).score(y, p, names, weights) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", BINARY)
def test_metrics_of_one_positive_class_equal_scikit_learn(name, weights):
    y, p = RNG.integers(0, 2, N), RNG.integers(0, 2, N)
    assert get_metric(name).score(y, p, sample_weight=weights) == pytest.approx(
        BINARY[name](y, p, sample_weight=weights)
    )
    with pytest.raises(DataError, match="_macro"):
        get_metric(name).score([0, 1, 2], [0, 1, 2])


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_probability_metrics_equal_scikit_learn(classes, weights):
    y = RNG.permutation(np.arange(N) % classes)
    p = np.round(RNG.dirichlet(np.ones(classes), N), 2) + 0.01  # rounding makes ties
    p /= p.sum(axis=1, keepdims=True)
    score = p[:, 1] if classes == 2 else p
    one_hot = np.eye(classes)[y]
    got = score_many(["log_loss", "brier", "roc_auc", "average_precision"], y, probabilities=p, sample_weight=weights)
    assert got["log_loss"] == pytest.approx(reference.log_loss(y, p, sample_weight=weights))
    assert got["roc_auc"] == pytest.approx(
        reference.roc_auc_score(y, score, multi_class="ovr", sample_weight=weights), abs=1e-12
    )
    half = 2 if classes == 2 else 1
    assert got["brier"] == pytest.approx(np.average(((p - one_hot) ** 2).sum(axis=1), weights=weights) / half)
    area = reference.average_precision_score(
        y if classes == 2 else one_hot, score, average="macro", sample_weight=weights
    )
    assert got["average_precision"] == pytest.approx(area, abs=1e-12)


def test_two_class_probabilities_may_be_one_column():
    y, p = RNG.integers(0, 2, N), RNG.uniform(size=N)
    both = np.column_stack([1 - p, p])
    for name in ("log_loss", "roc_auc", "brier", "calibration_error"):
        assert get_metric(name).score(y, p) == pytest.approx(get_metric(name).score(y, both))


def test_a_class_that_is_absent_from_the_test_rows_is_left_out_of_roc_auc():
    y = np.array([0, 1, 0, 1, 1])
    p = RNG.dirichlet(np.ones(3), 5)
    areas = [reference.roc_auc_score(y == c, p[:, c]) for c in (0, 1)]
    assert get_metric("roc_auc").score(y, p, classes=np.arange(3)) == pytest.approx(np.mean(areas))
    assert np.isnan(get_metric("roc_auc").score([1, 1], [0.2, 0.7], classes=[0, 1]))


def test_calibration_error_is_zero_for_honest_and_known_for_boastful_probabilities():
    y = np.array([1] * 8 + [0] * 2)
    assert get_metric("calibration_error").score(y, np.full(10, 0.8)) == pytest.approx(0.0, abs=1e-12)
    assert get_metric("calibration_error").score(y, np.full(10, 1.0)) == pytest.approx(0.2)


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("outputs", [(), (3,)], ids=["one", "three"])
def test_value_metrics_equal_scikit_learn(name, outputs, weights):
    y, p = RNG.uniform(0, 5, (N, *outputs)), RNG.uniform(0, 5, (N, *outputs))
    assert get_metric(name).score(y, p, sample_weight=weights) == pytest.approx(
        VALUES[name](y, p, sample_weight=weights)
    )


def test_bias_keeps_its_sign_and_its_size_has_a_metric_of_its_own():
    y = RNG.normal(size=N)
    for shift in (-2.0, 2.0):
        scores = score_many(["bias", "absolute_bias"], y, values=y + shift)
        assert scores == {"bias": pytest.approx(shift), "absolute_bias": pytest.approx(2.0)}


def test_rows_of_weight_zero_have_no_largest_error():
    scores = score_many(["max_error"], np.zeros(3), values=np.array([1.0, -9.0, 2.0]), sample_weight=[1.0, 0.0, 3.0])
    assert scores["max_error"] == 2.0


def test_relative_errors_are_relative_to_predicting_the_mean():
    y, p = RNG.normal(size=N), RNG.normal(size=N)
    scores = score_many(["rse", "rae", "r2", "sse", "mse", "bias", "max_error"], y, values=p)
    assert scores["rse"] == pytest.approx(np.sqrt(1 - scores["r2"]))
    assert scores["rae"] == pytest.approx(np.abs(y - p).sum() / np.abs(y - y.mean()).sum())
    assert scores["sse"] == pytest.approx(((y - p) ** 2).sum()) == pytest.approx(N * scores["mse"])
    assert scores["max_error"] == np.abs(y - p).max()
    constant = score_many(["rse", "rae"], y, values=np.full(N, y.mean()))
    assert constant["rse"] == pytest.approx(1) and constant["rae"] == pytest.approx(1)


def test_undefined_values_are_nan_and_silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(get_metric("r2").score([1.0], [2.0]))
        assert np.isnan(get_metric("rse").score([1.0, 1.0], [2.0, 2.0]))
        assert np.isnan(get_metric("msle").score([1.0, 2.0], [-3.0, 2.0]))
        assert get_metric("r2").score([1.0, 1.0], [1.0, 1.0]) == 1.0
        assert np.isnan(get_metric("kappa").score(["a"], ["a"]))


def test_weights_equal_repetition():
    y, labels, values = RNG.integers(0, 3, 40), RNG.integers(0, 3, 40), RNG.normal(size=40)
    p = RNG.dirichlet(np.ones(3), 40)
    counts = RNG.integers(1, 4, 40)
    rows = np.repeat(np.arange(40), counts)
    names = [n for n, m in METRICS.items() if n not in BINARY and m.task == "classify"]
    repeated = score_many(names, y[rows], labels=labels[rows], probabilities=p[rows])
    weighted = score_many(names, y, labels=labels, probabilities=p, sample_weight=counts)
    assert weighted == pytest.approx(repeated)
    names = [n for n, m in METRICS.items() if m.task == "regress"]
    repeated = score_many(names, y[rows].astype(float), values=values[rows])
    assert score_many(names, y.astype(float), values=values, sample_weight=counts) == pytest.approx(
        repeated, nan_ok=True
    )


def test_many_at_once_equal_one_by_one():
    y, labels, p = RNG.integers(0, 3, N), RNG.integers(0, 3, N), RNG.dirichlet(np.ones(3), N)
    names = default_metrics("classify")
    many = score_many(names, y, labels=labels, probabilities=p)
    for name in names:
        metric = get_metric(name)
        assert many[name] == metric.score(y, labels if metric.needs == "labels" else p)


def test_labels_follow_from_probabilities_and_missing_predictions_are_nan():
    y = np.array(["b", "a", "a"])
    p = np.array([[0.2, 0.8], [0.6, 0.4], [0.1, 0.9]])
    assert score_many(["accuracy"], y, probabilities=p, classes=["a", "b"])["accuracy"] == pytest.approx(2 / 3)
    assert score_many(["accuracy"], y, probabilities=p[:, ::-1], classes=["b", "a"])["accuracy"] == pytest.approx(2 / 3)
    assert np.isnan(score_many(["accuracy", "log_loss"], y, labels=y)["log_loss"])
    with pytest.raises(UsageError):
        score_many(["accuracy"], y)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, bool])
def test_small_integer_labels_do_not_overflow(dtype):
    top = 2 if dtype is bool else 120
    y, p = RNG.integers(0, top, 500).astype(dtype), RNG.integers(0, top, 500).astype(dtype)
    assert get_metric("f1_macro").score(y, p) == pytest.approx(
        reference.f1_score(y, p, average="macro", zero_division=0)
    )


def test_confusion_matrix_equals_scikit_learn_and_knows_its_classes():
    y, p = np.array(list("abca")), np.array(list("bbca"))
    assert np.array_equal(confusion_matrix(y, p), reference.confusion_matrix(y, p))
    order = ["c", "a", "b", "d"]
    assert np.array_equal(confusion_matrix(y, p, order), reference.confusion_matrix(y, p, labels=order))
    with pytest.raises(DataError, match="'c' is not among"):
        confusion_matrix(y, p, ["a", "b"])


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: get_metric("acuracy"), "did you mean accuracy"),
        (lambda: get_metric("nonsense"), "choose one of"),
        (lambda: get_metric("accuracy").score([0, 1], [0]), "one row for each of 2"),
        (lambda: get_metric("accuracy").score([], []), "at least one row"),
        (lambda: get_metric("rmse").score([1.0, 2.0], [[1.0, 2.0], [1.0, 2.0]]), "must have shape"),
        (lambda: get_metric("log_loss").score(["a", "z"], [[1, 0], [0, 1]], classes=["a", "b"]), "'z' has no column"),
        (lambda: get_metric("log_loss").score([0, 1], [[1, 0, 0], [0, 1, 0]], classes=[0, 1]), "one column for each"),
        (lambda: get_metric("accuracy").score([0, 1], [0, 1], sample_weight=[1]), "sample_weight"),
        (lambda: get_metric("accuracy").score(np.array(["a", 1], object), [0, 1]), "of one kind"),
        (lambda: get_metric("accuracy").score(["0", "1"], [0, 1]), "of one kind"),
        (lambda: get_metric("accuracy").score(["0", "1"], [0, 1], classes=["0", "1"]), "of one kind"),
        (lambda: default_metrics("rank"), "must be one of classify, regress, cluster"),
    ],
)
def test_mistakes_get_one_sentence(call, error):
    with pytest.raises((DataError, UsageError), match=error) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", METRICS)
def test_perfect_predictions_reach_the_good_bound(name):
    metric = METRICS[name]
    y = RNG.integers(0, 2, 30)
    prediction = {"labels": y, "probabilities": y.astype(float), "values": y.astype(float), "clusters": y}[metric.needs]
    best = metric.bounds[1] if metric.greater_is_better else metric.bounds[0] if metric.decides else 0.0
    assert metric.score(y.astype(float) if metric.needs == "values" else y, prediction) == pytest.approx(
        best, abs=1e-12
    )


def test_shared_work_is_done_once():
    evidence = Evidence([0, 1, 1], labels=[0, 1, 0])
    assert evidence.confusion is evidence.confusion and evidence.margins is evidence.margins


def test_certain_probabilities_cost_what_scikit_learn_says():
    y = np.array([0, 1, 1, 0, 1])
    certain = np.array([0.0, 1.0, 1.0, 1.0, 0.6])
    found = score_many(["log_loss"], y, probabilities=certain)["log_loss"]
    assert found == pytest.approx(reference.log_loss(y, certain), rel=1e-12)
    right = score_many(["log_loss"], y, probabilities=y.astype(float))["log_loss"]
    assert right == -np.log(1 - np.finfo(float).eps)


@pytest.mark.parametrize("count", [255, 256, 257, 300])
def test_many_classes_are_counted_like_few(count):
    rng = np.random.default_rng(count)
    truth = np.concatenate([np.arange(count), rng.integers(0, count, 200)])
    guess = np.where(rng.random(truth.size) < 0.7, truth, rng.integers(0, count, truth.size))
    found = score_many(["accuracy", "f1_macro"], truth, labels=guess)
    assert found["accuracy"] == pytest.approx(reference.accuracy_score(truth, guess))
    assert found["f1_macro"] == pytest.approx(reference.f1_score(truth, guess, average="macro"))


@pytest.mark.parametrize("classes", [[0, 1, 2, 5], [0, 2, 3], [1, 2, 3], [3, 1, 0]])
def test_classes_with_gaps_are_looked_up(classes):
    rng = np.random.default_rng(1)
    truth = np.concatenate([classes, rng.choice(classes, 60)])
    guess = np.concatenate([classes[::-1], rng.choice(classes, 60)])
    found = confusion_matrix(truth, guess, classes=np.array(classes))
    assert found.tolist() == reference.confusion_matrix(truth, guess, labels=classes).tolist()


@pytest.mark.parametrize(("truth", "guess"), [([0, 0, 0], [0, 0, 0]), ([0, 0, 1], [0, 0, 0]), ([0, 0, 0], [0, 1, 0])])
def test_a_class_nobody_has_or_guesses_counts_zero(truth, guess):
    found = score_many(["precision", "recall", "f1"], truth, labels=guess, classes=[0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert found["precision"] == reference.precision_score(truth, guess, zero_division=0)
        assert found["recall"] == reference.recall_score(truth, guess, zero_division=0)
    with pytest.raises(DataError, match="two classes"):
        score_many(["precision"], [0, 1, 2], labels=[0, 1, 2])


@pytest.mark.parametrize(
    ("labels", "known"), [([0, 2], [0, 1, 2]), ([0, 255], np.arange(256)), ([0, 256], [0, 256]), ([-1, 2], [-1, 2])]
)
def test_small_codes_count_from_zero_and_others_as_they_are(labels, known):
    evidence = Evidence(np.array(labels), labels=np.array(labels))
    assert np.array_equal(evidence.confusion_classes, known)
    assert evidence.confusion.shape == (len(known), len(known))


def test_texts_in_an_array_of_objects_are_texts():
    evidence = Evidence(np.array(["b", "a"], dtype=object), labels=np.array(["a", "a"], dtype=object))
    assert evidence.y.dtype.kind == "U" and evidence.confusion.tolist() == [[1, 0], [1, 0]]


def test_odd_tables_of_classes_score_as_scikit_learn_says():
    """A class of one row; a class that only `classes` knows; one class guessed for every row."""
    truth, guess = [0, 0, 0, 1], [0, 0, 1, 1]
    found = score_many(["balanced_accuracy", "f1_macro", "mcc"], truth, labels=guess, classes=[0, 1, 2])
    assert found["balanced_accuracy"] == pytest.approx(reference.balanced_accuracy_score(truth, guess), rel=1e-15)
    assert found["f1_macro"] == pytest.approx(reference.f1_score(truth, guess, average="macro"), rel=1e-15)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert get_metric("mcc").score(truth, [0, 0, 0, 0]) == 0.0


def test_a_class_whose_one_row_is_ranked_last_has_a_ranking_still():
    truth, probabilities = [1, 0, 0, 0], [[0.9, 0.1], [0.5, 0.5], [0.4, 0.6], [0.3, 0.7]]
    assert score_many(["roc_auc"], truth, probabilities=probabilities)["roc_auc"] == 0.0


def test_probabilities_of_more_classes_than_the_true_codes_have():
    three = np.full((2, 3), 1 / 3)
    assert score_many(["log_loss"], [0, 1], probabilities=three)["log_loss"] == pytest.approx(np.log(3), rel=1e-14)
    with pytest.raises(DataError):
        score_many(["log_loss"], [0, 3], probabilities=three)


@pytest.mark.parametrize("known", [[0, 1, 2], [0, 2, 4], ["a", "b"]])
def test_a_label_that_no_class_has_is_refused(known):
    for unknown in ([-1], [9]):
        with pytest.raises(DataError):
            score_many(["log_loss"], unknown, probabilities=np.full((1, len(known)), 1 / len(known)), classes=known)


def test_a_constant_target_is_explained_wholly_or_not_at_all():
    for values, score in (([2.0, 2.0], 1.0), ([3.0, 3.0], 1.0), ([2.0, 3.0], 0.0)):
        assert get_metric("explained_variance").score([2.0, 2.0], values) == score
        assert score == reference.explained_variance_score([2.0, 2.0], values)
    assert np.isnan(get_metric("msle").score([-1.0, 2.0], [1.0, 2.0]))
    assert np.isnan(get_metric("msle").score([1.0, 2.0], [-1.0, 2.0]))


def test_a_misspelt_metric_is_told_what_it_may_have_meant():
    with pytest.raises(UsageError, match="balanced_accuracy"):
        get_metric("balanced acc")
    with pytest.raises(UsageError):
        get_metric("f0")


def test_each_metric_has_the_bounds_of_its_definition():
    endless = {"r2": (-np.inf, 1.0), "explained_variance": (-np.inf, 1.0), "bias": (-np.inf, np.inf)}
    signed = dict.fromkeys(("kappa", "mcc", "adjusted_rand", "adjusted_mutual_information"), (-1.0, 1.0))
    for name, metric in METRICS.items():
        if name in endless:
            assert metric.bounds == endless[name]
        elif name == "brier":
            assert metric.bounds == (0.0, 2.0)
        elif name in signed:
            assert metric.bounds == signed[name]
        elif metric.needs == "values" or name == "log_loss":
            assert metric.bounds == (0.0, np.inf)
        else:
            assert metric.bounds == (0.0, 1.0)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_calibration_error_is_that_of_fifteen_bins(classes, weighted):
    """A confidence on the edge of two bins belongs to the lower one."""
    rng = np.random.default_rng(5)
    shares = np.concatenate([rng.dirichlet(np.ones(classes), 300), np.eye(classes)])
    edge = np.zeros((3, classes))
    edge[:, 0], edge[:, 1] = [0.8, 0.6, 1.0], [0.2, 0.4, 0.0]
    shares = np.concatenate([shares, edge])
    y = rng.integers(0, classes, len(shares))
    w = rng.uniform(0.5, 2.0, len(y)) if weighted else np.ones(len(y))
    top, right = shares.max(axis=1), shares.argmax(axis=1) == y
    gap = 0.0
    for k in range(15):
        inside = (np.ceil(top * 15) == k + 1) if k else (np.ceil(top * 15) <= 1)
        if inside.any():
            gap += abs(np.average(right[inside].astype(float) - top[inside], weights=w[inside])) * w[inside].sum()
    found = get_metric("calibration_error").score(y, shares, sample_weight=w if weighted else None)
    assert found == pytest.approx(gap / w.sum())


@pytest.mark.parametrize("classes", [1, 2, 5])
def test_cells_of_the_confusion_matrix_are_numbered_row_by_row(classes):
    rng = np.random.default_rng(6)
    y, labels = rng.integers(0, classes, 40), rng.integers(0, classes, 40)
    evidence = Evidence(y, labels=labels)
    size = max(2, classes)
    assert evidence.confusion_codes.tolist() == (y * size + labels).tolist()
    table = np.bincount(evidence.confusion_codes, minlength=size**2).reshape(size, size)
    assert table[:classes, :classes].tolist() == evidence.confusion.tolist()


@pytest.mark.parametrize("name", ["accuracy", "f1", "mcc"])
def test_labels_that_are_not_one_per_row_are_refused_in_one_sentence(name):
    y = np.array([0, 1, 1])
    for wrong in (np.eye(2)[y], np.eye(2, dtype=int)[y], y[:, None], np.zeros((3, 0))):
        with pytest.raises(DataError, match="labels must be one label per row; got an array of shape"):
            get_metric(name).score(y, wrong)
    with pytest.raises(DataError, match="y must be one label per row"):
        get_metric(name).score(y[:, None], y)
    with pytest.raises(DataError, match="one row for each of 3; got one value"):
        get_metric(name).score(y, 1)


@pytest.mark.parametrize(
    ("labels", "classes", "codes"),
    [
        ([0, 2, 1], [0, 1, 2], [0, 2, 1]),
        ([0, 0], [0], [0, 0]),
        ([1], [0], None),
        ([2], [0, 1], None),
        ([-1], [0, 1], None),
        ([2, 0], [0, 2], [1, 0]),
        ([1], [0, 2], None),
        ([1, 2], [1, 2], [0, 1]),
        ([0], [1, 2], None),
        ([1, 0], [1, 0], [0, 1]),
        (["b", "a"], ["a", "b"], [1, 0]),
        (["c"], ["a", "b"], None),
    ],
)
def test_a_label_is_looked_up_among_the_classes_whatever_they_are(labels, classes, codes):
    found = _lookup(np.array(labels), np.array(classes))
    assert (None if found is None else found.tolist()) == codes
