"""Claims about out-of-fold predictions as arrays."""

from __future__ import annotations

import numpy as np
import pytest

from assay.base.errors import DataError
from assay.evaluate.metrics import METRICS
from assay.experiment import FoldPredictions
from assay.experiment.predictions import measure_folds

SHARES = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]])


@pytest.mark.parametrize(
    ("predictions", "names"),
    [
        (FoldPredictions(np.array([1, 0]), SHARES), {"probabilities"}),
        (FoldPredictions(np.array([2, 0]), SHARES), {"probabilities", "codes"}),
        (FoldPredictions(np.array([2, 0])), {"codes"}),
    ],
)
def test_codes_are_kept_only_where_they_do_not_follow_from_the_probabilities(predictions, names):
    arrays = predictions.arrays()
    assert set(arrays) == names
    again = FoldPredictions.read(arrays, 2, 3)
    assert np.array_equal(again.predicted, predictions.predicted) and again.predicted.dtype == np.int64
    assert (again.probabilities is None) == (predictions.probabilities is None)


def test_numbers_come_back_as_they_were():
    values = np.array([0.1, np.nan, -np.inf])
    again = FoldPredictions.read(FoldPredictions(values).arrays(), 3, None)
    assert again.predicted.tobytes() == values.tobytes()


@pytest.mark.parametrize(
    ("arrays", "n_classes"),
    [
        (None, 3),
        ({}, 3),
        ({"values": np.zeros(2)}, 3),
        ({"codes": np.array([0, 3], dtype=np.uint8)}, 3),
        ({"codes": np.array([0, -1])}, 3),
        ({"codes": np.zeros(3, dtype=np.uint8)}, 3),
        ({"codes": np.zeros(2)}, 3),
        ({"probabilities": SHARES, "else": SHARES}, 3),
        ({"probabilities": SHARES}, 2),
        ({"codes": np.zeros(2, dtype=np.uint8)}, None),
        ({"values": np.zeros(2, dtype=np.int64)}, None),
    ],
)
def test_arrays_of_another_kind_shape_or_range_are_not_predictions(arrays, n_classes):
    assert FoldPredictions.read(arrays, 2, n_classes) is None


LABEL_METRICS = [name for name, metric in METRICS.items() if metric.needs in ("labels", "probabilities")]
OF_ONE_CLASS = {"sensitivity", "specificity", "precision", "recall", "f1"}


def _folds_of_probabilities(n_classes: int, seed: int):
    """Folds of unequal size: with all classes, without the last, with one class alone, of one row."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=700)
    tests = [np.arange(300), np.flatnonzero(y[:500] != n_classes - 1), np.flatnonzero(y == 0)[:20], np.array([7])]
    tests += [np.sort(rng.permutation(700)[:size]) for size in (41, 350)]
    answers = []
    for test in tests:
        shares = rng.dirichlet(np.ones(n_classes), size=test.shape[0]).round(1)
        answers.append(shares + np.eye(n_classes)[y[test]] * rng.random((test.shape[0], 1)).round(1))
    return y, tests, answers


@pytest.mark.parametrize("n_classes", [2, 3, 11])
def test_folds_that_are_scored_together_have_the_bits_of_each_by_itself(n_classes):
    """Every metric of classes and probabilities; ties, missing classes, a fold of one class and one of one row."""
    names = [name for name in [*LABEL_METRICS, "f2_macro", "f0.5_micro"] if n_classes == 2 or name not in OF_ONE_CLASS]
    y, tests, answers = _folds_of_probabilities(n_classes, n_classes)
    for threads in (1, 2):
        together = measure_folds(answers, tests, y, names, n_classes, threads)
        for answer, test, (said, scores, confusion) in zip(answers, tests, together, strict=True):
            alone = FoldPredictions.of(answer, n_classes)
            wanted, table = alone.measure(y[test], names, n_classes)
            assert list(scores) == names and confusion == table
            np.testing.assert_array_equal(list(scores.values()), list(wanted.values()))
            assert said.predicted.dtype == alone.predicted.dtype
            np.testing.assert_array_equal(said.predicted, alone.predicted)
            np.testing.assert_array_equal(said.probabilities, alone.probabilities)


def test_a_metric_of_one_class_refuses_three_in_the_same_sentence():
    y, tests, answers = _folds_of_probabilities(3, 1)
    for name in sorted(OF_ONE_CLASS):
        with pytest.raises(DataError) as alone:
            FoldPredictions.of(answers[0], 3).measure(y[tests[0]], [name], 3)
        with pytest.raises(DataError) as together:
            measure_folds(answers, tests, y, [name], 3)
        assert str(together.value) == str(alone.value)


def test_numbers_of_many_folds_are_scored_as_each_by_itself():
    rng = np.random.default_rng(3)
    y, tests = rng.normal(size=90), [np.arange(a, b) for a, b in [(0, 40), (40, 65), (65, 90), (5, 45), (7, 9)]]
    answers = [y[test] + rng.normal(size=test.shape[0]) for test in tests]
    y[7:9] = 0.5  # a fold whose target does not vary
    names = ["rmse", "bias", "r2", "mae"]
    found = measure_folds(answers, tests, y, names, None)
    for answer, test, (said, scores, confusion) in zip(answers, tests, found, strict=True):
        assert scores == FoldPredictions.of(answer, None).measure(y[test], names, None)[0]
        assert list(scores) == names
        assert confusion is None and said.predicted is answer


# -- answers of other packages -----------------------------------------------------------------------------------------
class Answering:
    """A model that says what it is told to."""

    classes_ = np.array([0, 1])

    def __init__(self, labels, shares=None):
        self.labels = labels
        if shares is not None:
            self.predict_proba = lambda rows: shares

    def predict(self, rows):
        return self.labels


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (
            Answering(np.zeros(2), np.full((2, 2), 3.0)),
            "'predict_proba' must give probabilities between 0 and 1; got 3",
        ),
        (Answering(np.zeros(2), np.full((2, 2), -0.5)), "must give probabilities between 0 and 1; got -0.5"),
        (Answering(np.zeros(2), np.full((2, 2), 0.3)), "must give probabilities that sum to 1 in each row; got 0.6"),
        (Answering(np.zeros(2), np.full((2, 7), 1 / 7)), "must give 2 probabilities for each of 2 rows; got an array"),
        (Answering(np.zeros(2), np.full((2, 2), np.nan)), "must answer with numbers; got NaN for 2 of 2 rows"),
        (Answering(np.array([0.0, np.nan])), "'predict' must answer with numbers; got NaN for 1 of 2 rows"),
        (Answering(np.zeros(1)), "must answer for each of 2 rows"),
        (Answering(None), "'predict' must answer"),
        (Answering(np.array(["martian"] * 2)), "must answer with what it was trained on.*got 'martian'"),
        (Answering(np.array([0, 5])), "must answer with labels of the training rows; got 5"),
        (Answering(np.array([0.5, 0])), "must answer with labels of the training rows; got 0.5"),
        (None, "'fit' must return the fitted learner; got None"),
    ],
)
def test_answers_that_are_none_are_refused_in_a_sentence(model, sentence):
    with pytest.raises(DataError, match=sentence):
        FoldPredictions.by(model, np.zeros((2, 1)), 2)


def test_a_column_of_labels_and_probabilities_in_single_precision_are_taken():
    shares = np.array([[0.1, 0.9], [2 / 3, 1 / 3]], dtype=np.float32)
    found = FoldPredictions.by(Answering(np.array([[1], [0]]), shares), np.zeros((2, 1)), 2)
    assert found.predicted.tolist() == [1, 0] and np.allclose(found.probabilities, shares)
