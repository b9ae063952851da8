"""Images per second of the convolutional net on one device, beside a plain loop of PyTorch, with its answers checked.

Needs PyTorch and NumPy alone: the module that trains is loaded from its file, without the compiled extension.

    python benchmarks/convnet_gpu.py [--device auto|cpu|cuda] [--images 60000] [--size 28] [--epochs 3]

Prints one JSON object.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

SOURCE = Path(__file__).parents[1] / "src/assay/models/neural/convolution.py"
LAYERS = ["conv 32", "pool 2", "conv 64", "pool 2", "dense 128"]


def load() -> ModuleType:
    """The module of the package that trains nets, from its file."""
    spec = importlib.util.spec_from_file_location("convolution", SOURCE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["convolution"] = module
    spec.loader.exec_module(module)
    return module


def make(n: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Noisy images of ten patterns at random places."""
    rng = np.random.default_rng(0)
    side = size // 2
    patterns = rng.random((10, side, side)) < 0.35
    y = rng.integers(0, 10, size=n)
    X = 0.5 * rng.standard_normal((n, 1, size, size), dtype=np.float32)
    for image, label, (i, j) in zip(X, y, rng.integers(0, size - side, size=(n, 2)), strict=True):
        image[0, i : i + side, j : j + side] += patterns[label]
    return X, y


def plain_loop(X: np.ndarray, y: np.ndarray, device: Any, epochs: int, batch: int, size: int) -> float:
    """Seconds of the same net in the shortest loop of PyTorch."""
    import torch
    from torch import nn

    left = size // 4
    net = nn.Sequential(
        *(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(64 * left * left, 128), nn.ReLU(), nn.Linear(128, 10)),
    ).to(device)
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-3, fused=True)
    images, labels = torch.from_numpy(X).to(device), torch.from_numpy(y).to(device)
    loss = nn.CrossEntropyLoss()
    begin = time.perf_counter()
    for _ in range(epochs):
        order = torch.randperm(len(y)).to(device)
        for at in range(0, len(y), batch):
            rows = order[at : at + batch]
            optimiser.zero_grad(set_to_none=True)
            loss(net(images[rows]), labels[rows]).backward()
            optimiser.step()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - begin


def main() -> int:
    """Train, check and time."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--device", default="auto", choices=("auto", "cpu", "cuda"))
    parser.add_argument("--images", type=int, default=60_000)
    parser.add_argument("--size", type=int, default=28)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch", type=int, default=256)
    given = parser.parse_args()
    import torch

    convolution = load()
    X, y = make(given.images + 2_000, given.size)
    train_X, train_y, test_X, test_y = X[:-2_000], y[:-2_000], X[-2_000:], y[-2_000:]
    center, scale = train_X.mean(axis=(0, 2, 3)), train_X.std(axis=(0, 2, 3))
    shape = (1, given.size, given.size)
    layers = convolution.parse(LAYERS)
    device = convolution.pick_device(given.device)

    def once(epochs: int) -> tuple[float, Any]:
        net = convolution.build(layers, shape, 10)
        convolution.draw_weights(net, 0)
        options = convolution.Options(epochs=epochs, batch_size=given.batch, device=given.device)
        begin = time.perf_counter()
        found = convolution.train(net, train_X, train_y, None, None, center, scale, options)
        return time.perf_counter() - begin, found

    once(1)  # the first call loads and chooses kernels
    seconds, found = once(given.epochs)
    plain_loop(train_X, train_y, device, 1, given.batch, given.size)
    plain = plain_loop(train_X, train_y, device, given.epochs, given.batch, given.size)
    scores = convolution.scores(
        convolution.build(layers, shape, 10), found.parameters, test_X, center, scale, given.device
    )
    on_cpu = convolution.scores(convolution.build(layers, shape, 10), found.parameters, test_X, center, scale, "cpu")
    accuracy = float((scores.argmax(axis=1) == test_y).mean())
    begin = time.perf_counter()
    convolution.scores(convolution.build(layers, shape, 10), found.parameters, train_X, center, scale, given.device)
    predict = time.perf_counter() - begin
    name = torch.cuda.get_device_name() if device.type == "cuda" else "cpu"
    print(
        json.dumps(
            {
                "device": name,
                "torch": torch.__version__,
                "images": given.images,
                "size": given.size,
                "epochs": given.epochs,
                "images_per_second_training": round(given.images * given.epochs / seconds),
                "images_per_second_plain_loop": round(given.images * given.epochs / plain),
                "images_per_second_scoring": round(given.images / predict),
                "last_loss": round(found.loss[-1], 4),
                "test_accuracy": accuracy,
                "largest_difference_from_cpu": float(np.abs(scores - on_cpu).max()),
            },
            indent=1,
        )
    )
    agree = float((scores.argmax(axis=1) == on_cpu.argmax(axis=1)).mean())
    return 0 if accuracy > 0.5 and agree > 0.99 else 1


if __name__ == "__main__":
    sys.exit(main())
