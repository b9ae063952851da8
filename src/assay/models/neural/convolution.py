"""Convolutional nets on PyTorch: short declarations of layers, training, scores, saliency. Imports nothing of Assay.

A declaration is a list of lines, each a kind and its numbers:

    conv 16             16 filters of 3 x 3, padded so that the size stays, then the activation
    conv 32 5x5 stride=2 padding=0
    pool 2              largest of each 2 x 2 square; `pool 3 stride=2`; `meanpool 2` takes the mean
    dense 64            64 units over all values, then the activation
    dropout 0.3         leaves out values at random in training

The layer of the classes comes last by itself. PyTorch is imported when a net is built, not before.

>>> [layer.kind for layer in parse(["conv 8", "pool 2", "dense 10"])]
['conv', 'pool', 'dense']
>>> shapes(parse(["conv 8 3x3 padding=0", "pool 2"]), (1, 6, 6))
[(8, 4, 4), (8, 2, 2)]
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Shape = tuple[int, ...]
ACTIVATIONS = ("relu", "tanh", "logistic", "identity")
AUGMENTATIONS = "flip, flip-vertical, rotate, shift N, noise S"
_SIZE = re.compile(r"(\d+)(?:x(\d+))?")


@dataclass(frozen=True)
class Layer:
    """One declared layer: its kind, units or share, and the window of `conv` and `pool`."""

    kind: str
    amount: float = 0.0
    window: tuple[int, int] = (1, 1)
    stride: int = 1
    padding: tuple[int, int] = (0, 0)


def parse(lines: Sequence[str]) -> list[Layer]:
    """Layers of a declaration; a `ValueError` says what is wrong with which line.

    >>> parse(["conv 4 5x5 stride=2"])[0]
    Layer(kind='conv', amount=4.0, window=(5, 5), stride=2, padding=(2, 2))
    """
    return [_layer(line) for line in lines]


def _layer(line: str) -> Layer:
    if not isinstance(line, str) or not line.split():
        raise ValueError(f"a layer is a text such as 'conv 16'; got {line!r}")
    kind, *rest = line.split()
    named = dict(part.split("=", 1) for part in rest if "=" in part)
    plain = [part for part in rest if "=" not in part]
    known = {
        "conv": {"stride", "padding"},
        "pool": {"stride"},
        "meanpool": {"stride"},
        "dense": set(),
        "dropout": set(),
    }
    if kind not in known:
        raise ValueError(f"the kinds of layers are {', '.join(known)}; got {line!r}")
    if set(named) - known[kind]:
        raise ValueError(f"{kind!r} has no {sorted(set(named) - known[kind])[0]!r}; got {line!r}")
    if kind == "dropout":
        if len(plain) != 1 or not _number(plain[0]) or not 0.0 <= float(plain[0]) < 1.0:
            raise ValueError(f"'dropout' takes a share from 0 to below 1; got {line!r}")
        return Layer("dropout", float(plain[0]))
    counts = [plain[0]] if kind in ("conv", "dense") and plain else []
    windows = plain[len(counts) :]
    if (kind in ("conv", "dense")) != bool(counts) or len(windows) > 1 or (kind == "dense" and windows):
        raise ValueError(f"a layer of kind {kind!r} is written as in the docstring; got {line!r}")
    if counts and (not counts[0].isdigit() or int(counts[0]) < 1):
        raise ValueError(f"{kind!r} takes a number of units >= 1; got {line!r}")
    window = _window(windows[0] if windows else ("3" if kind == "conv" else "2"), line)
    stride = _whole(named.get("stride", "1" if kind == "conv" else str(window[0])), 1, line)
    padding = (0, 0)
    if kind == "conv":
        given = named.get("padding", "same")
        padding = (window[0] // 2, window[1] // 2) if given == "same" else (_whole(given, 0, line),) * 2
    return Layer(kind, float(counts[0]) if counts else 0.0, window, stride, padding)


def _number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _window(text: str, line: str) -> tuple[int, int]:
    found = _SIZE.fullmatch(text)
    if found is None or int(found[1]) < 1 or int(found[2] or 1) < 1:
        raise ValueError(f"a window is written 3 or 3x5; got {line!r}")
    return int(found[1]), int(found[2] or found[1])


def _whole(text: str, least: int, line: str) -> int:
    if not text.isdigit() or int(text) < least:
        rule = "a padding is a whole number >= 0, or same" if least == 0 else f"a stride is a whole number >= {least}"
        raise ValueError(f"{rule}; got {line!r}")
    return int(text)


def shapes(layers: Sequence[Layer], image: Shape) -> list[Shape]:
    """The shape (channels, height, width) or (units,) after each layer; a `ValueError` where nothing is left."""
    found: list[Shape] = []
    now = image
    for number, layer in enumerate(layers, 1):
        if layer.kind in ("conv", "pool", "meanpool"):
            if len(now) != 3:
                raise ValueError(f"layer {number} ({layer.kind}) must stand before the first 'dense'")
            size = [
                (extent + 2 * pad - window) // layer.stride + 1
                for extent, window, pad in zip(now[1:], layer.window, layer.padding)
            ]
            if min(size) < 1:
                raise ValueError(
                    f"layer {number} ({layer.kind}) has a window of {layer.window[0]}x{layer.window[1]}, larger than "
                    f"the {now[1]}x{now[2]} values that come to it"
                )
            now = (int(layer.amount) if layer.kind == "conv" else now[0], *size)
        elif layer.kind == "dense":
            now = (int(layer.amount),)
        found.append(now)
    return found


def multiply_adds(layers: Sequence[Layer], image: Shape, classes: int) -> float:
    """Multiply-adds of one image forward."""
    return sum(weights * places for weights, places in _sizes(layers, image, classes))


def count_weights(layers: Sequence[Layer], image: Shape, classes: int) -> float:
    """Weights of the net, without biases."""
    return sum(weights for weights, _ in _sizes(layers, image, classes))


def _sizes(layers: Sequence[Layer], image: Shape, classes: int) -> list[tuple[float, float]]:
    """Of each layer with weights: how many there are, and at how many places they are used."""
    found, now = [], image
    for layer, shape in zip(layers, shapes(layers, image)):
        if layer.kind == "conv":
            weights = float(layer.window[0] * layer.window[1]) * now[0] * shape[0]
            found.append((weights, float(shape[1]) * shape[2]))
        elif layer.kind == "dense":
            found.append((float(np.prod(now)) * shape[0], 1.0))
        now = shape
    return [*found, (float(np.prod(now)) * classes, 1.0)]


def check_augmentation(lines: Sequence[str]) -> None:
    """A `ValueError` for what is no augmentation."""
    for line in lines:
        parts = line.split() if isinstance(line, str) else []
        takes = {"flip": 0, "flip-vertical": 0, "rotate": 0, "shift": 1, "noise": 1}
        good = bool(parts) and parts[0] in takes and len(parts) == takes[parts[0]] + 1
        if good and parts[0] == "shift":
            good = parts[1].isdigit()
        if good and parts[0] == "noise":
            good = _number(parts[1]) and float(parts[1]) >= 0
        if not good:
            raise ValueError(f"augmentations are {AUGMENTATIONS}; got {line!r}")


def pick_device(name: str = "auto") -> Any:
    """The device by name; 'auto' is a GPU where there is one."""
    import torch

    if name != "auto":
        return torch.device(name)
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("cpu")


def build(layers: Sequence[Layer], image: Shape, classes: int, activation: str = "relu") -> Any:
    """The module of a declaration."""
    from torch import nn

    make = {"relu": nn.ReLU, "tanh": nn.Tanh, "logistic": nn.Sigmoid, "identity": nn.Identity}[activation]
    parts: list[Any] = []
    now = image
    for layer, shape in zip(layers, shapes(layers, image)):
        if layer.kind == "conv":
            parts += [nn.Conv2d(now[0], shape[0], layer.window, layer.stride, layer.padding), make()]
        elif layer.kind == "pool":
            parts.append(nn.MaxPool2d(layer.window, layer.stride))
        elif layer.kind == "meanpool":
            parts.append(nn.AvgPool2d(layer.window, layer.stride))
        elif layer.kind == "dropout":
            parts.append(nn.Dropout(layer.amount))
        else:
            parts += [nn.Flatten()] if len(now) == 3 else []
            parts += [nn.Linear(int(np.prod(now)), shape[0]), make()]
        now = shape
    parts += [nn.Flatten()] if len(now) == 3 else []
    return nn.Sequential(*parts, nn.Linear(int(np.prod(now)), classes))


@dataclass
class Options:
    """How a net is trained."""

    epochs: int = 20
    batch_size: int = 64
    solver: str = "adam"
    step: float = 1e-3
    schedule: str = "constant"
    momentum: float = 0.9
    alpha: float = 1e-4
    tol: float = -1.0
    patience: int = 10
    augment: tuple[str, ...] = ()
    device: str = "auto"
    seed: int = 0


@dataclass
class Trained:
    """What training leaves behind: arrays by name, losses by epoch, and how it ended."""

    parameters: dict[str, np.ndarray]
    loss: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)
    step: list[float] = field(default_factory=list)
    status: str = "max_iter"
    device: str = "cpu"


def draw_weights(net: Any, seed: int, activation: str = "relu") -> None:
    """He's uniform weights for relu, Glorot's for the others, and no biases, by a generator of its own."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for part in net:
            if not hasattr(part, "weight"):
                continue
            inputs = part.weight[0].numel()
            units = part.weight.numel() // part.weight[0][0].numel() if part.weight.ndim > 1 else 1
            bound = (6.0 / inputs) ** 0.5 if activation == "relu" else (6.0 / (inputs + units)) ** 0.5
            if part is net[-1]:
                bound = inputs**-0.5  # scores that begin near 0: no class is favoured
            part.weight.copy_((2 * torch.rand(part.weight.shape, generator=generator) - 1) * bound)
            part.bias.zero_()


def train(
    net: Any,
    images: np.ndarray,
    codes: np.ndarray,
    weights: np.ndarray | None,
    validation: tuple[np.ndarray, np.ndarray, np.ndarray | None] | None,
    center: np.ndarray,
    scale: np.ndarray,
    options: Options,
) -> Trained:
    """Epochs of steps on shuffled batches of `images` (n, channels, height, width); the best epoch with `validation`.

    A `FloatingPointError` says that the loss is no longer a number.
    """
    import torch
    from torch.nn import functional

    device = pick_device(options.device)
    layout = torch.channels_last
    net.to(device, memory_format=layout).train()
    x, y = torch.from_numpy(images).to(device), torch.from_numpy(codes).to(device)
    w = None if weights is None else torch.from_numpy(weights.astype(np.float32)).to(device)
    total = float(len(codes)) if weights is None else float(weights.sum())
    middle, spread = (torch.from_numpy(one.astype(np.float32)).to(device)[:, None, None] for one in (center, scale))
    groups = [
        {"params": [p for p in net.parameters() if p.ndim > 1], "weight_decay": options.alpha},
        {"params": [p for p in net.parameters() if p.ndim == 1], "weight_decay": 0.0},
    ]
    if options.solver == "adam":
        optimiser: Any = torch.optim.Adam(groups, lr=options.step, fused=True)
    else:
        optimiser = torch.optim.SGD(groups, lr=options.step, momentum=options.momentum, nesterov=options.momentum > 0)
    draws = torch.Generator().manual_seed(options.seed)
    out = Trained({}, device=str(device))
    best: dict[str, Any] | None = None
    least, stale, n = float("inf"), 0, len(codes)
    with torch.random.fork_rng(devices=[torch.cuda.current_device()] if device.type == "cuda" else []):
        torch.manual_seed(options.seed)  # of dropout
        for epoch in range(options.epochs):
            step = options.step
            if options.schedule == "cosine":
                step *= 0.5 * (1.0 + np.cos(np.pi * epoch / options.epochs))
            for group in optimiser.param_groups:
                group["lr"] = step
            order = torch.randperm(n, generator=draws).to(device)
            summed = torch.zeros((), dtype=torch.float64, device=device)
            for begin in range(0, n, options.batch_size):
                rows = order[begin : begin + options.batch_size]
                batch = (x[rows].float() - middle) / spread
                batch = augmented(batch, options.augment, draws).contiguous(memory_format=layout)
                losses = functional.cross_entropy(net(batch), y[rows], reduction="none")
                if w is not None:
                    losses = losses * w[rows]
                optimiser.zero_grad(set_to_none=True)
                (losses.sum() * (n / (len(rows) * total))).backward()
                optimiser.step()
                summed += losses.detach().sum()
            out.loss.append(float(summed) / total)
            out.step.append(float(step))
            watched = out.loss[-1]
            if validation is not None:
                raw = torch.from_numpy(_scores_on(net, validation[0], middle, spread, device, options.batch_size))
                missed = functional.cross_entropy(raw, torch.from_numpy(validation[1]), reduction="none").numpy()
                watched = float(np.average(missed, weights=validation[2]))
                out.validation.append(watched)
                net.train()
            if not np.isfinite(out.loss[-1]) or not np.isfinite(watched):
                raise FloatingPointError(f"epoch {epoch + 1}")
            stale = stale + 1 if watched > least - max(options.tol, 0.0) else 0
            if watched < least:
                least = watched
                if validation is not None:
                    best = {name: value.detach().clone() for name, value in net.state_dict().items()}
            if options.tol >= 0.0 and stale > options.patience:
                out.status = "converged"
                break
    kept = net.state_dict() if best is None else best
    out.parameters = {
        name: np.ascontiguousarray(value.detach().cpu().contiguous().numpy()) for name, value in kept.items()
    }
    return out


def augmented(batch: Any, lines: Sequence[str], draws: Any) -> Any:
    """The batch with each image changed at random: turned over, moved, or with noise."""
    import torch

    n, _, height, width = batch.shape
    for line in lines:
        kind, *numbers = line.split()
        if kind in ("flip", "flip-vertical"):
            turned = (torch.rand(n, generator=draws) < 0.5).to(batch.device)[:, None, None, None]
            batch = torch.where(turned, batch.flip(-1 if kind == "flip" else -2), batch)
        elif kind == "rotate":
            turns = torch.randint(0, 4, (n,), generator=draws).to(batch.device)
            for k in (1, 2, 3):
                if height == width or k == 2:
                    batch = torch.where((turns == k)[:, None, None, None], torch.rot90(batch, k, (-2, -1)), batch)
        elif kind == "shift":
            most = int(numbers[0])
            dy, dx = (torch.randint(-most, most + 1, (n,), generator=draws).to(batch.device) for _ in range(2))
            rows = torch.arange(height, device=batch.device)[None, :] + dy[:, None]
            columns = torch.arange(width, device=batch.device)[None, :] + dx[:, None]
            inside = ((rows >= 0) & (rows < height))[:, :, None] & ((columns >= 0) & (columns < width))[:, None, :]
            rows, columns = rows.clamp(0, height - 1), columns.clamp(0, width - 1)
            which = torch.arange(n, device=batch.device)[:, None, None]
            moved = batch.permute(0, 2, 3, 1)[which, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
            batch = moved * inside[:, None]
        elif kind == "noise":
            noise = torch.randn(batch.shape, generator=draws).to(batch.device)
            batch = batch + float(numbers[0]) * noise
    return batch


def _scores_on(net: Any, images: np.ndarray, middle: Any, spread: Any, device: Any, batch_size: int) -> np.ndarray:
    import torch

    net.eval()
    parts = []
    with torch.inference_mode():
        for begin in range(0, len(images), max(batch_size, 256)):
            batch = torch.from_numpy(images[begin : begin + max(batch_size, 256)]).to(device)
            batch = ((batch.float() - middle) / spread).contiguous(memory_format=torch.channels_last)
            parts.append(net(batch).cpu().numpy())
    return np.concatenate(parts).astype(np.float64)


def _loaded(net: Any, parameters: dict[str, np.ndarray], device: Any) -> Any:
    import torch

    net.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in parameters.items()})
    return net.to(device, memory_format=torch.channels_last).eval()


def scores(
    net: Any,
    parameters: dict[str, np.ndarray],
    images: np.ndarray,
    center: np.ndarray,
    scale: np.ndarray,
    device: str = "auto",
) -> np.ndarray:
    """Scores (n, classes) of images (n, channels, height, width)."""
    import torch

    place = pick_device(device)
    net = _loaded(net, parameters, place)
    middle, spread = (torch.from_numpy(one.astype(np.float32)).to(place)[:, None, None] for one in (center, scale))
    return _scores_on(net, images, middle, spread, place, 256)


def layer_values(
    net: Any, parameters: dict[str, np.ndarray], images: np.ndarray, center: np.ndarray, scale: np.ndarray
) -> list[np.ndarray]:
    """What each part of the net gives for the images, in order."""
    import torch

    net = _loaded(net, parameters, torch.device("cpu"))
    values = torch.from_numpy((images - center[:, None, None]) / scale[:, None, None]).float()
    found = []
    with torch.inference_mode():
        for part in net:
            values = part(values)
            found.append(values.contiguous().numpy().copy())
    return found


def gradients_of_images(
    net: Any,
    parameters: dict[str, np.ndarray],
    images: np.ndarray,
    codes: np.ndarray,
    center: np.ndarray,
    scale: np.ndarray,
) -> np.ndarray:
    """The derivative of the score of class `codes` in every value of the images (in standard deviations)."""
    import torch

    net = _loaded(net, parameters, torch.device("cpu"))
    values: Any = torch.from_numpy((images - center[:, None, None]) / scale[:, None, None]).float()
    values.requires_grad_(True)
    net(values)[torch.arange(len(codes)), torch.from_numpy(codes)].sum().backward()
    return values.grad.numpy().astype(np.float64)
