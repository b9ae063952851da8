"""Every claim of every image classifier: shapes, labels, probabilities, weights, seeds, plain state; and faults."""

from __future__ import annotations

import numpy as np
import pytest

from assay.base import AssayError, LabelClassifier, random_state_param

from .small_methods import entry_of
from .tables import claiming, is_plain, named, quick

every_model = pytest.mark.parametrize(**named(claiming("image")))


def images(n: int = 40, size: int = 8, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Noise with a bright left or right half."""
    rng = np.random.default_rng(seed)
    X, y = 0.2 * rng.normal(size=(n, size, size)), np.array(["left", "right"])[np.arange(n) % 2]
    X[y == "left", :, : size // 2] += 1.0
    X[y == "right", :, size // 2 :] += 1.0
    return X, y


def fitted(entry, X, y, **extra):
    model = quick(entry)
    if "max_iter" in type(model).__parameters__:
        model.set_params(max_iter=8)
    return model.fit(X, y, **extra)


@every_model
def test_new_images_are_classified_with_probabilities(entry):
    X, y = images()
    new, wanted = images(30, seed=1)
    model = fitted(entry, X, y)
    assert (model.predict(new) == wanted).mean() > 0.9
    p = model.predict_proba(new)
    assert p.shape == (30, 2) and (p >= 0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-9)


@every_model
def test_the_same_seed_gives_the_same_answer_and_the_state_is_plain(entry):
    X, y = images()
    one, two = fitted(entry, X, y), fitted(entry, X, y)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    assert all(is_plain(value) for name, value in vars(one).items() if name.endswith("_"))


@every_model
def test_images_of_weight_zero_do_not_count(entry):
    X, y = images()
    weights = np.ones(len(y))
    weights[30:] = 0.0
    turned = np.where(weights > 0, y, np.where(y == "left", "right", "left"))
    one = fitted(entry, X, turned, sample_weight=weights)
    two = fitted(entry, X[:30], y[:30])
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-6)


@every_model
def test_what_is_no_image_is_refused_in_one_sentence(entry):
    X, y = images()
    model = fitted(entry, X, y)
    for wrong in (X[:, 0, 0], X[:, :4], np.full_like(X, np.nan), np.empty((0, 8, 8))):
        with pytest.raises(AssayError) as refusal:
            model.predict(wrong)
        assert "\n" not in str(refusal.value)


class SmallTemplate(LabelClassifier):
    """The class whose mean image is nearest; what an image classifier must do, in the fewest lines."""

    random_state = random_state_param()

    def _images(self, X):
        X = np.asarray(X, dtype=float)
        if X.ndim != 3 or not len(X) or not np.isfinite(X).all() or X.shape[1:] != getattr(self, "shape_", X.shape[1:]):
            raise AssayError("SmallTemplate: X must be images of one shape.")
        return X

    def fit(self, X, y, sample_weight=None):
        kept = np.ones(len(y), bool) if sample_weight is None else np.asarray(sample_weight) > 0
        X, codes = self._images(X)[kept], self._encode_target(np.asarray(y)[kept])
        self.shape_ = X.shape[1:]
        self.means_ = np.array([X[codes == k].mean(axis=0) for k in range(len(self.classes_))])
        return self

    def predict_proba(self, X):
        score = -((self._images(X)[:, None] - self.means_) ** 2).sum(axis=(2, 3)) / 10.0
        weight = np.exp(score - score.max(axis=1, keepdims=True))
        return weight / weight.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class Unscaled(SmallTemplate):
    """A fault: weights that are no probabilities."""

    def predict_proba(self, X):
        return 2.0 * super().predict_proba(X)


class Deaf(SmallTemplate):
    """A fault: sample weights are not heard."""

    def fit(self, X, y, sample_weight=None):
        return super().fit(X, y)


def test_a_small_method_passes_and_planted_faults_are_caught():
    checks = (test_new_images_are_classified_with_probabilities, test_images_of_weight_zero_do_not_count)
    for check in checks:
        check(entry_of(SmallTemplate, "image"))
    for fault, check in zip((Unscaled, Deaf), checks):
        with pytest.raises(AssertionError):
            check(entry_of(fault, "image"))
