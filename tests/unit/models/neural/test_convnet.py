"""Convolutional networks: declarations, training, saliency, refusals."""

from __future__ import annotations

import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

from assay.base import AssayError, DataError, ParameterError, UsageError
from assay.models.neural import ConvNet, convnet, convolution, read_images

torch = pytest.importorskip("torch")


def lines(n: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Images of upright and flat lines with noise."""
    rng = np.random.default_rng(seed)
    images = 0.3 * rng.normal(size=(n, 8, 8))
    labels = np.where(np.arange(n) % 2, "upright", "flat")
    for image, label, place in zip(images, labels, rng.integers(1, 7, size=n)):
        image[(slice(None), place) if label == "upright" else (place, slice(None))] += 1.5
    return images, labels


@pytest.fixture(scope="module")
def fitted():
    images, labels = lines()
    return ConvNet(layers=["conv 6", "pool 2", "dense 8"], max_iter=15, learning_rate_init=0.01, random_state=0).fit(
        images, labels
    )


def test_layers_equal_convolution_by_hand(fitted):
    images, _ = lines(3, seed=5)
    maps = fitted.feature_maps(images)
    kernel, bias = fitted.parameters_["0.weight"], fitted.parameters_["0.bias"]
    padded = np.pad((images - fitted.center_[0]) / fitted.scale_[0], ((0, 0), (1, 1), (1, 1)))
    wanted = np.zeros((3, 8, 8, 6))
    for i in range(8):
        for j in range(8):
            window = padded[:, i : i + 3, j : j + 3]
            wanted[:, i, j] = np.maximum(np.einsum("nij,fij->nf", window, kernel[:, 0]) + bias, 0.0)
    np.testing.assert_allclose(maps[0], wanted, atol=1e-5)
    np.testing.assert_allclose(maps[1], wanted.reshape(3, 4, 2, 4, 2, 6).max(axis=(2, 4)), atol=1e-5)
    assert maps[2].shape == (3, 8)


def test_learns_lines_on_new_images_and_repeats_by_seed(fitted):
    images, labels = lines(60, seed=1)
    assert fitted.score(images, labels) > 0.95
    again = clone(fitted).fit(*lines())
    np.testing.assert_array_equal(again.predict_proba(images), fitted.predict_proba(images))
    p = fitted.predict_proba(images)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(fitted.predict(images), fitted.classes_[p.argmax(axis=1)])
    np.testing.assert_allclose(np.log(p[:, 1] / p[:, 0]), fitted.decision_function(images), rtol=1e-6)
    assert all(isinstance(one, np.ndarray) for one in fitted.parameters_.values())
    assert "8 x 8 x 6" in fitted.explain() and fitted.view().loss == fitted.loss_curve_


def test_digits_with_early_stopping_and_augmentation():
    X, y = load_digits(return_X_y=True)
    images = X.reshape(-1, 8, 8)
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[:1300], order[1300:]
    model = ConvNet(
        layers=["conv 16", "pool 2", "dense 64", "dropout 0.2"],
        augment=["noise 0.05"],
        early_stopping=True,
        learning_rate_init=3e-3,
        learning_rate="cosine",
        max_iter=8,
        random_state=0,
        trace=True,
    ).fit(images[train], y[train])
    assert model.score(images[test], y[test]) >= 0.95
    assert model.best_loss_ == model.validation_curve_.min() and len(model.trace_) == model.n_iter_
    assert model.trace_[-1]["values"]["step"] < model.trace_[0]["values"]["step"]


def test_bytes_channels_and_weights():
    images, labels = lines(80)
    grey = np.clip(80 + 60 * images, 0, 255).astype(np.uint8)
    colour = np.stack([grey, 255 - grey, grey], axis=3)
    usual = {"layers": ["conv 4 stride=2", "meanpool 2"], "max_iter": 20, "learning_rate_init": 0.02, "random_state": 0}
    model = ConvNet(**usual).fit(colour, labels)
    assert model.image_shape_ == (8, 8, 3) and model.score(colour, labels) > 0.8
    # Images without weight are as good as not there.
    weights = np.where(np.arange(80) < 60, 1.0, 0.0)
    some, none = (
        ConvNet(**usual).fit(colour, labels, sample_weight=weights),
        ConvNet(**usual).fit(colour[:60], labels[:60]),
    )
    np.testing.assert_array_equal(some.predict_proba(colour), none.predict_proba(colour))
    huge = ConvNet(**usual).fit(colour[:60], labels[:60], sample_weight=np.full(60, 2.0**200))
    np.testing.assert_array_equal(huge.predict_proba(colour), none.predict_proba(colour))
    heavy = ConvNet(**usual, class_weight={"flat": 50.0}, solver="sgd").fit(grey, labels)
    assert (heavy.predict(grey) == "flat").mean() > 0.5


def test_saliency_is_the_derivative_of_the_score(fitted):
    images, _ = lines(2, seed=3)
    found = fitted.saliency(images, ["upright", "upright"])
    assert found.shape == (2, 8, 8) and (found >= 0).all()
    raw = convolution.gradients_of_images(
        fitted._net(),
        fitted.parameters_,
        fitted._images(images, reset=False),
        np.array([1, 1]),
        fitted.center_,
        fitted.scale_,
    )
    step = 1e-2
    for i, j in ((2, 3), (5, 1)):
        scores = []
        for sign in (1, -1):
            moved = images.copy()
            moved[0, i, j] += sign * step * fitted.scale_[0]
            net = fitted._net()
            inputs = fitted._images(moved, reset=False)
            scores.append(convolution.scores(net, fitted.parameters_, inputs, fitted.center_, fitted.scale_)[0, 1])
        assert (scores[0] - scores[1]) / (2 * step) == pytest.approx(raw[0, 0, i, j], abs=2e-2 * np.abs(raw).max())
    view = fitted.saliency_view(images[0])
    assert view.to_svg().count("<rect") >= 128 and view.label in ("upright", "flat") and view.grid().rows
    with pytest.raises(DataError, match="classes of the fit"):
        fitted.saliency(images, ["round", "flat"])


def test_augmentations_do_what_they_say():
    batch = torch.arange(2 * 1 * 3 * 3, dtype=torch.float32).reshape(2, 1, 3, 3)
    draws = torch.Generator().manual_seed(0)
    for line, allowed in {
        "flip": [batch, batch.flip(-1)],
        "flip-vertical": [batch, batch.flip(-2)],
        "rotate": [torch.rot90(batch, k, (-2, -1)) for k in range(4)],
    }.items():
        seen = set()
        for _ in range(20):
            made = convolution.augmented(batch, [line], draws)
            for n in range(2):
                kinds = [k for k, one in enumerate(allowed) if torch.equal(made[n], one[n])]
                assert kinds
                seen.add(kinds[0])
        assert seen == set(range(len(allowed)))
    moved = convolution.augmented(batch + 1, ["shift 1"], draws)
    assert moved.shape == batch.shape and (moved == 0).any() | torch.equal(moved, batch + 1)
    noisy = convolution.augmented(batch, ["noise 0.5"], draws) - batch
    assert 0.1 < float(noisy.std()) < 1.0


@pytest.mark.parametrize(
    ("layers", "said"),
    [
        (["conv"], "written as in the docstring"),
        (["conv 0"], "units >= 1"),
        (["conv 4 3by3"], "a window is written"),
        (["conv 4 stride=0"], "a stride is a whole number >= 1"),
        (["conv 4 padding=-1"], "a padding is a whole number >= 0, or same"),
        (["conv 4 dilation=2"], "has no 'dilation'"),
        (["swim 4"], "the kinds of layers are"),
        (["dense 4", "conv 4"], "before the first 'dense'"),
        (["pool 9"], "larger than the 8x8"),
        (["dropout 1.5"], "a share from 0 to below 1"),
        ([3], "a layer is a text"),
    ],
)
def test_wrong_declarations_are_refused_in_one_sentence(layers, said):
    with pytest.raises(ParameterError, match=rf"ConvNet: parameter 'layers' cannot be used; .*{said}"):
        ConvNet(layers=layers).fit(*lines(10))


def test_size_of_a_net_is_known_before_it_is_built(fitted):
    layers = convolution.parse(["conv 6", "pool 2", "dense 8"])
    weights = sum(one.size for name, one in fitted.parameters_.items() if name.endswith("weight"))
    assert convolution.count_weights(layers, (1, 8, 8), 2) == weights
    assert convolution.multiply_adds(layers, (1, 8, 8), 2) == 64 * 9 * 6 + 96 * 8 + 8 * 2


def test_wrong_images_are_refused_in_one_sentence(fitted):
    images, labels = lines(10)
    for X, said in (
        (images.reshape(10, 64), "must be images"),
        (images[:, :4], "images of shape"),
        (images.astype(str), "images of numbers"),
        (np.full((2, 8, 8), np.nan), "finite numbers"),
    ):
        with pytest.raises(AssayError, match=said):
            fitted.predict(X)
    with pytest.raises(AssayError, match="at least 2 classes"):
        ConvNet().fit(images, ["one"] * 10)
    with pytest.raises(AssayError, match="same number of rows"):
        ConvNet().fit(images, labels[:5])
    with pytest.raises(AssayError, match="of memory"):
        ConvNet(layers=["conv 1000000 6x6"]).fit(np.zeros((4, 60, 60)), [0, 1, 0, 1])
    if not torch.cuda.is_available():
        with pytest.raises(ParameterError, match="finds no GPU here"):
            ConvNet(device="cuda").fit(images, labels)
    with pytest.raises(ParameterError, match="augmentations are"):
        ConvNet(augment=["stretch"]).fit(images, labels)
    with pytest.raises(ParameterError, match="learning_rate_init' is too large"):
        ConvNet(layers=["conv 4"], solver="sgd", learning_rate_init=1e18, activation="identity").fit(images, labels)


def test_a_missing_extra_is_one_sentence_and_importing_the_package_does_not_import_torch(monkeypatch):
    monkeypatch.setattr(convnet.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        UsageError, match=r"^ConvNet: PyTorch is needed for convolutions; pip install 'assay\[neural\]'\.$"
    ):
        ConvNet().fit(*lines(10))
    code = "import sys, assay.models.neural; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_images_from_a_folder(tmp_path):
    image = pytest.importorskip("PIL.Image")
    images, labels = lines(12)
    for number, (one, label) in enumerate(zip(images, labels)):
        (tmp_path / label).mkdir(exist_ok=True)
        pixels = np.clip(100 + 50 * one, 0, 255).astype(np.uint8)
        image.fromarray(pixels).save(tmp_path / label / f"{number:02}.png")
    X, y = read_images(tmp_path)
    assert X.shape == (12, 8, 8) and X.dtype == np.uint8 and sorted(set(y)) == ["flat", "upright"]
    assert read_images(tmp_path, size=(4, 6))[0].shape == (12, 4, 6)
    (tmp_path / "flat" / "99.png").write_bytes(b"no picture")
    with pytest.raises(DataError, match="cannot be read as a picture"):
        read_images(tmp_path)
    (tmp_path / "flat" / "99.png").unlink()
    np.save(tmp_path / "flat" / "99.npy", np.zeros((3, 3)))
    with pytest.raises(DataError, match=r"has shape \(3, 3\)"):
        read_images(tmp_path)
    with pytest.raises(DataError, match="is not there"):
        read_images(tmp_path / "nowhere")
    with pytest.raises(DataError, match="holds no images"):
        read_images(tmp_path / "flat")


def test_images_of_float32_are_read_where_they_lie_and_stay_as_they_are():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(64, 6, 6)).astype(np.float32)
    y, before = (X.mean(axis=(1, 2)) > 0).astype(int), X.copy()
    model = ConvNet(layers=["conv 2", "dense 2"], max_iter=2, tol=None, random_state=0, device="cpu")
    assert np.shares_memory(model._images(X, reset=True), X)
    found = model.fit(X, y).decision_function(X)
    np.testing.assert_array_equal(X, before)
    X.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(model.fit(X, y).decision_function(X), found)


@pytest.mark.parametrize("cell", [np.nan, np.inf, -np.inf, 2e15, -2e15])
def test_images_beyond_all_measure_are_refused(cell):
    X = np.zeros((8, 6, 6), dtype=np.float32)
    X[3, 2, 1] = cell
    with pytest.raises(AssayError, match="finite numbers within"):
        ConvNet(layers=["dense 2"]).fit(X, [0, 1] * 4)
