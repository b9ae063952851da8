"""Convolutional networks on images: layers by a short declaration, trained by PyTorch."""

from __future__ import annotations

import importlib.util
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base import svg
from ...base.class_weight import class_weight_param, with_class_weights
from ...base.columns import class_places, plain_label
from ...base.cost import Cost
from ...base.errors import AssayWarning, DataError, ParameterError, UsageError, plain
from ...base.estimator import Classifier, check_lengths, check_weights
from ...base.folds import hold_out_rows
from ...base.parameters import ArrayLike, Boolean, Choice, Integer, Nothing, Real, param
from ...base.record import Grid
from ...base.usual_parameters import random_state_param, trace_param
from ...base.views import LossCurve, View
from ...base.words import clean, number, percent
from ..linear.logistic_solver import log_probabilities_of
from . import convolution
from .losses_by_epoch import LEARNED, best_epoch, keep_losses, loss_view

# The largest picture of a saliency map, in cells across.
_SHOWN = 48


class ConvNet(Classifier):
    """Convolutional network for images, by PyTorch: convolution, pooling, dense layers, on the processor or a GPU.

    X holds images as an array (n, height, width) or (n, height, width, channels) of any numbers; `read_images` reads
    them from a folder. Channels are standardised by the training images. `layers` says one layer per line:

    - 'conv 16': 16 filters of 3 x 3, padded so that the size stays (odd windows); 'conv 32 5x5 stride=2 padding=0'
    - 'pool 2': the largest of each 2 x 2 square; 'pool 3 stride=2'; 'meanpool 2'
    - 'dense 64': 64 units over all values
    - 'dropout 0.3': leaves out values at random in training

    The layer of the classes comes last by itself. `augment` changes training images at random: 'flip', 'flip-vertical',
    'rotate' (quarter turns), 'shift 2' (pixels), 'noise 0.1' (standard deviations). The fitted net is plain arrays, in
    `parameters_`. The same seed gives the same net on the same machine with the same number of threads of PyTorch.
    Needs `pip install 'assay[neural]'`.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.neural import ConvNet
    >>> images = np.zeros((40, 6, 6))
    >>> images[:20, :, 2] = 1.0  # upright lines
    >>> images[20:, 3, :] = 1.0
    >>> labels = np.repeat(["upright", "flat"], 20)
    >>> model = ConvNet(layers=["conv 4", "pool 2"], max_iter=20, learning_rate_init=0.01, random_state=0)
    >>> bool(model.fit(images, labels).score(images, labels) > 0.9)
    True
    """

    _way_out = "take fewer images or epochs, smaller layers, or a GPU"
    _learned = {
        **LEARNED,
        "parameters_": "dict of arrays, the weights and biases by name of their layer",
        "image_shape_": "tuple, (height, width, channels)",
        "center_": "array (channels,), mean of the training images",
        "scale_": "array (channels,), their standard deviation",
        "device_": "str, where it was trained",
    }

    layers: Any = param(
        ("conv 16", "pool 2", "conv 32", "pool 2", "dense 64"), ArrayLike(), "The layers, one text each; see above."
    )
    activation: str = param("relu", Choice(*convolution.ACTIVATIONS), "Activation after 'conv' and 'dense'.")
    augment: Any = param((), ArrayLike(), "Changes of the training images, one text each; see above.")
    solver: str = param("adam", Choice("adam", "sgd"), "Steps by Adam or by gradient descent with Nesterov's momentum.")
    alpha: float = param(1e-4, Real(0), "Strength of the squared penalty on the weights.")
    batch_size: int = param(64, Integer(1), "Images in a step.")
    learning_rate: str = param(
        "constant", Choice("constant", "cosine"), "Steps of one size, or down to 0 along half a cosine."
    )
    learning_rate_init: float = param(1e-3, Real(0, closed="neither"), "First step.")
    momentum: float = param(0.9, Real(0, 1, "left"), "With 'sgd', share of the last move that is added to the next.")
    max_iter: int = param(20, Integer(1), "Most epochs (passes over the images).")
    tol: float | None = param(
        1e-4,
        Real(0) | Nothing(),
        "Stop when the loss has not fallen by this much for n_iter_no_change epochs; None runs all epochs.",
    )
    n_iter_no_change: int = param(10, Integer(1), "Epochs without progress before stopping.")
    early_stopping: bool = param(False, Boolean(), "Whether to stop by, and keep the best of, held-out images.")
    validation_fraction: float = param(0.1, Real(0, 1, "neither"), "Share of the images held out by `early_stopping`.")
    class_weight: Any = class_weight_param()
    device: str = param("auto", Choice("auto", "cpu", "cuda"), "Where to compute; 'auto' is a GPU where there is one.")
    random_state: Any = random_state_param()
    trace: bool = trace_param()

    # -- images ------------------------------------------------------------------------------------------------
    def _images(self, X: Any, *, reset: bool) -> np.ndarray:
        """Images as (n, channels, height, width), bytes as they are and other numbers as float32."""
        who = type(self).__name__
        images = X if isinstance(X, np.ndarray) else np.asarray(X)
        if images.dtype.kind not in "biuf":
            raise DataError(who, "X", "must hold images of numbers", f"got {images.dtype}", "make an array of them")
        if images.ndim not in (3, 4) or 0 in images.shape:
            raise DataError(
                who,
                "X",
                "must be images (n, height, width) or (n, height, width, channels), at least one",
                f"got shape {images.shape} (Expected 2D images, Found array with dim {images.ndim})",
                "for a table of columns use MLPClassifier",
            )
        images = images[..., None] if images.ndim == 3 else images
        if images.dtype != np.uint8:
            images = images.astype(np.float64 if images.dtype == np.float64 else np.float32, copy=False)
            if not (images.min() >= -1e15 and images.max() <= 1e15):  # neither holds where a number is NaN
                raise DataError(
                    who, "X", "must hold finite numbers within 1e15", "got NaN, infinity or a larger one", "clean them"
                )
        if reset:
            self.image_shape_ = tuple(int(size) for size in images.shape[1:])
            self.n_features_in_ = int(np.prod(self.image_shape_))
        elif images.shape[1:] != tuple(self.image_shape_):
            raise DataError(
                who,
                "X",
                f"must hold images of shape {tuple(self.image_shape_)} as in fit",
                f"got {images.shape[1:]}",
                "resize them",
            )
        images = images if images.dtype == np.uint8 else images.astype(np.float32, copy=False)
        images = np.ascontiguousarray(images.transpose(0, 3, 1, 2))
        return images if images.flags.writeable else images.copy()  # PyTorch warns of others

    def _net(self) -> Any:
        height, width, channels = self.image_shape_
        return convolution.build(self._declared(), (channels, height, width), len(self.classes_), self.activation)

    def _declared(self) -> list[convolution.Layer]:
        """The layers and augmentations, read and checked against the size of the images."""
        name = "layers"
        try:
            found = convolution.parse(list(self.layers))
            height, width, channels = self.image_shape_
            convolution.shapes(found, (channels, height, width))
            name = "augment"
            convolution.check_augmentation(list(self.augment))
        except ValueError as error:
            raise ParameterError(
                type(self).__name__, f"parameter '{name}'", "cannot be used", plain(error, 200)
            ) from None
        return found

    # -- fit ---------------------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ConvNet:
        """Train on images (n, height, width[, channels]) with one label each."""
        who = type(self).__name__
        self._check_parameters()
        codes = self._encode_target(y)
        images = self._images(X, reset=True)
        check_lengths(who, len(images), len(codes))
        weights = check_weights(who, sample_weight, len(images))
        if weights is not None and not weights.all():
            kept = weights > 0
            images, codes, weights = images[kept], codes[kept], weights[kept]
        codes = self._only_present(codes)
        self._require_classes()
        weights = with_class_weights(who, self.class_weight, self.classes_, codes, weights)
        weights = None if weights is None else weights / weights.mean()  # float32 has no room for any size
        self._declared()
        require_torch(who, self.device)
        self._check_cost(len(images), self.n_features_in_, len(self.classes_))
        root = self._stream()
        rows, validation = np.arange(len(codes)), None
        if self.early_stopping:
            generator = root.child(1).generator()
            rows, held_out = hold_out_rows(who, len(codes), float(self.validation_fraction), codes, generator)
            extra = None if weights is None else weights[held_out]
            validation = (images[held_out], codes[held_out].astype(np.int64), extra)
            images = images[rows]
        self.center_ = images.mean(axis=(0, 2, 3), dtype=np.float64)
        spread = _spread(images, self.center_)
        self.scale_ = np.where(spread > 1e-12 * (1.0 + np.abs(self.center_)), spread, 1.0)
        net = self._net()
        convolution.draw_weights(net, root.child(2).key >> 1, self.activation)
        options = convolution.Options(
            epochs=int(self.max_iter),
            batch_size=int(self.batch_size),
            solver=self.solver,
            step=float(self.learning_rate_init),
            schedule=self.learning_rate,
            momentum=float(self.momentum),
            alpha=float(self.alpha),
            tol=-1.0 if self.tol is None else float(self.tol),
            patience=int(self.n_iter_no_change),
            augment=tuple(self.augment),
            device=self.device,
            seed=root.child(0).key >> 1,
        )
        chosen = None if weights is None else weights[rows]
        try:
            found = convolution.train(
                net, images, codes[rows].astype(np.int64), chosen, validation, self.center_, self.scale_, options
            )
        except FloatingPointError as error:
            step = float(self.learning_rate_init)
            raise ParameterError(
                who,
                "parameter 'learning_rate_init'",
                "is too large: the loss grew without bound",
                f"got {step:g} ({error})",
                f"try {step / 10:g}",
            ) from None
        self._keep(found)
        return self

    def _keep(self, found: convolution.Trained) -> None:
        self.parameters_, self.device_ = found.parameters, found.device
        keep_losses(self, found.loss, found.step, found.validation)
        falling = self.n_iter_ > 1 and self.loss_curve_[-2] - self.loss_ > 0.1 * self.loss_ > 0.005
        if falling and self.tol is not None and not found.validation:
            text = f"{type(self).__name__}: the loss still fell fast after {self.n_iter_} epochs; raise max_iter."
            warnings.warn(AssayWarning("W201", text), stacklevel=3)

    # -- use ---------------------------------------------------------------------------------------------------
    def decision_function(self, X: Any) -> np.ndarray:
        """One score per class; for two classes the log odds of `classes_[1]`."""
        check_is_fitted(self)
        images = self._images(X, reset=False)
        require_torch(type(self).__name__, self.device)
        scores = convolution.scores(self._net(), self.parameters_, images, self.center_, self.scale_, self.device)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each class."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithm of the probability of each class."""
        return log_probabilities_of(self.decision_function(X))

    def feature_maps(self, X: Any) -> list[np.ndarray]:
        """What each declared layer makes of the images: arrays (n, height, width, channels), or (n, units).

        'conv' and 'dense' are shown after their activation.
        """
        check_is_fitted(self)
        images = self._images(X, reset=False)
        require_torch(type(self).__name__)
        values = convolution.layer_values(self._net(), self.parameters_, images, self.center_, self.scale_)
        found, place, flat = [], 0, False
        for layer in self._declared():
            if layer.kind == "dense" and not flat:
                place, flat = place + 1, True
            place += 2 if layer.kind in ("conv", "dense") else 1
            value = values[place - 1]
            found.append(value.transpose(0, 2, 3, 1) if value.ndim == 4 else value)
        return found

    def saliency(self, X: Any, y: Any = None) -> np.ndarray:
        """How much each pixel moves the score of a class: |d score / d pixel|, the largest over channels.

        `y` names the class of each image; None takes the predicted one. Shape (n, height, width).
        """
        check_is_fitted(self)
        images = self._images(X, reset=False)
        if y is None:
            codes = self.predict_log_proba(X).argmax(axis=1)
        else:
            labels = np.broadcast_to(np.asarray(y), (len(images),))
            codes, known = class_places(self.classes_, labels)
            if not known.all():
                raise DataError(type(self).__name__, "y", "must hold classes of the fit", "got one that is not")
        gradients = convolution.gradients_of_images(
            self._net(), self.parameters_, images, codes.astype(np.int64), self.center_, self.scale_
        )
        return np.abs(gradients).max(axis=1)

    def saliency_view(self, image: Any, label: Any = None) -> Saliency:
        """The picture of one image (height, width[, channels]) beside its saliency."""
        one = np.asarray(image)[None]
        found = self.saliency(one, None if label is None else [label])[0]
        probabilities = self.predict_proba(one)[0]
        best = int(probabilities.argmax()) if label is None else int(np.flatnonzero(self.classes_ == label)[0])
        grey = np.asarray(one[0], dtype=np.float64)
        grey = grey.mean(axis=2) if grey.ndim == 3 else grey
        return Saliency(
            image=_small(grey),
            saliency=_small(found),
            label=plain_label(self.classes_[best]),
            probability=float(probabilities[best]),
        )

    # -- looking at it -----------------------------------------------------------------------------------------
    def explain(self) -> str:
        """The layers with their shapes, the number of weights, and how the training went, in words."""
        check_is_fitted(self)
        height, width, channels = self.image_shape_
        sizes = convolution.shapes(self._declared(), (channels, height, width))
        said = [f"Images of {height} x {width} with {channels} channel{'s' if channels > 1 else ''}"]
        for line, shape in zip(self.layers, sizes):
            said.append(f"{line} -> {' x '.join(map(str, (*shape[1:], shape[0])))}")
        weights = sum(array.size for array in self.parameters_.values())
        text = "; ".join([*said, f"{len(self.classes_)} classes"]) + f". {weights:,} weights. "
        text += f"The loss went from {number(self.loss_curve_[0])} to {number(self.loss_)} in {self.n_iter_} epochs"
        best = best_epoch(self)
        if best is not None:
            text += f"; the held-out images were predicted best after epoch {best} ({number(self.best_loss_)})"
        return text + f", on {self.device_}."

    def view(self) -> LossCurve:
        """The loss of each epoch."""
        check_is_fitted(self)
        return loss_view(self)

    def estimate_cost(self, n_rows: int, n_features: int, n_outputs: int = 2) -> Cost:
        """All epochs: six operations for each multiply-add of a layer, at some 10^10 a second."""
        height, width, channels = getattr(self, "image_shape_", (max(1, round(n_features**0.5)),) * 2 + (1,))
        layers, image = convolution.parse(list(self.layers)), (channels, height, width)
        work = convolution.multiply_adds(layers, image, n_outputs)
        seconds = int(self.max_iter) * n_rows * (6.0 * work / 3e10 + 1e-5)
        # Values and their gradients of a batch; weights with their gradient, moments and copies.
        values = sum(float(np.prod(shape)) for shape in convolution.shapes(layers, image))
        weights = convolution.count_weights(layers, image, n_outputs)
        batch = max(256.0, min(float(self.batch_size), float(n_rows)))
        return Cost(seconds=seconds, bytes=8.0 * n_rows * n_features + 16.0 * batch * values + 32.0 * weights + 1e8)


def require_torch(who: str, device: str = "auto") -> None:
    """Refuse in one sentence where PyTorch, or the device asked for, is not there."""
    if importlib.util.find_spec("torch") is None:
        raise UsageError(who, "PyTorch", "is needed for convolutions", way_out="pip install 'assay[neural]'")
    if device == "cuda":
        import torch

        if not torch.cuda.is_available():
            raise ParameterError(
                who, "parameter 'device'", "is 'cuda' and PyTorch finds no GPU here", way_out="use device='auto'"
            )


def _small(picture: np.ndarray) -> list[list[float]]:
    """The picture by the mean of blocks, at most `_SHOWN` cells across, brought to 0..1."""
    block = -(-max(picture.shape) // _SHOWN)
    height, width = (size // block * block for size in picture.shape)
    cells = picture[:height, :width].reshape(height // block, block, width // block, block).mean(axis=(1, 3))
    low, high = float(cells.min()), float(cells.max())
    return ((cells - low) / (high - low if high > low else 1.0)).round(3).tolist()


@dataclass(frozen=True, kw_only=True)
class Saliency(View):
    """An image and how much each of its pixels moves the score of a class, both brought to 0..1."""

    kind: ClassVar[str] = "saliency"
    image: list[list[float]]
    saliency: list[list[float]]
    label: Any
    probability: float

    def to_svg(self, title: str = "") -> str:
        """The two pictures side by side, dark where values are large."""
        rows, columns = len(self.image), len(self.image[0])
        cell = max(2.0, 192.0 / max(rows, columns))
        width, height = 2 * columns * cell + 24, rows * cell + 26
        body = []
        for offset, name, picture in ((0.0, "image", self.image), (columns * cell + 24, "saliency", self.saliency)):
            body.append(svg.text(offset, 12, name, "muted", 12, "start"))
            for i, line in enumerate(picture):
                for j, value in enumerate(line):
                    place = f'x="{svg.num(offset + j * cell)}" y="{svg.num(20 + i * cell)}"'
                    size = f'width="{svg.num(cell)}" height="{svg.num(cell)}"'
                    shade = round(255 * (1.0 - value))
                    body.append(f'<rect {place} {size} fill="#{shade:02x}{shade:02x}{shade:02x}"/>')
        return svg.figure(body, width, height, title or "Saliency", self.how_to_read)

    @property
    def how_to_read(self) -> str:
        """What the pictures are."""
        return (
            f"Dark pixels on the right move the score of {clean(self.label, 40)} most when they change "
            f"(its probability here is {percent(self.probability, 1)})."
        )

    def grid(self) -> Grid:
        """The ten pixels that matter most."""
        cells = [(value, i, j) for i, line in enumerate(self.saliency) for j, value in enumerate(line)]
        lines = [[str(i), str(j), number(value, 3)] for value, i, j in sorted(cells, reverse=True)[:10]]
        return Grid(["row", "column", "saliency"], lines)


def _spread(images: np.ndarray, center: np.ndarray) -> np.ndarray:
    """The standard deviation of each channel, from few images at a time as float64."""
    squares, size = np.zeros_like(center), 64
    for begin in range(0, len(images), size):
        gap = images[begin : begin + size] - center[:, None, None]
        squares += np.einsum("nchw,nchw->c", gap, gap)
    return np.sqrt(squares / (images.size // center.shape[0]))
