"""Convolutional nets on images of 28 x 28, on the processor, against a plain loop of PyTorch."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, by_rows

BATCH = 64
# Fewer images are seen more often, so that every size is learned.
EPOCHS = {500: 12, 2_000: 6, 10_000: 2}


def _make(rows: int) -> dict[str, Any]:
    """Written digits, enlarged three times, at random places under noise; other writings are for the test."""
    from sklearn.datasets import load_digits

    rng = np.random.default_rng(0)
    written, labels = load_digits(return_X_y=True)
    order = rng.permutation(len(labels))
    n = rows + 1_000
    drawn = np.concatenate([rng.choice(order[:-400], rows), rng.choice(order[-400:], 1_000)])
    X = 0.2 * rng.normal(size=(n, 28, 28)).astype(np.float32)
    shapes = np.kron(written.reshape(-1, 8, 8) / 16.0, np.ones((1, 3, 3))).astype(np.float32)
    for image, k, (i, j) in zip(X, drawn, rng.integers(0, 5, size=(n, 2)), strict=True):
        image[i : i + 24, j : j + 24] += shapes[k]
    y, epochs = labels[drawn], EPOCHS.get(rows, 2)
    return {"X": X[:rows], "y": y[:rows], "X_test": X[rows:], "y_test": y[rows:], "epochs": epochs}


def _ours(data: dict[str, Any]) -> Any:
    from assay.models.neural import ConvNet

    model = ConvNet(layers=["conv 16", "pool 2", "conv 32", "pool 2", "dense 64"], batch_size=BATCH, tol=None)
    return model.set_params(max_iter=data["epochs"], alpha=0.0, device="cpu", random_state=0).fit(data["X"], data["y"])


class _Plain:
    def __init__(self, net: Any, center: float, scale: float):
        self.net, self.center, self.scale = net, center, scale

    def predict(self, X: np.ndarray) -> np.ndarray:
        import torch

        with torch.inference_mode():
            return self.net(torch.from_numpy((X - self.center) / self.scale)[:, None]).argmax(dim=1).numpy()


def _torch(data: dict[str, Any], last: bool = False) -> Any:
    import torch
    from torch import nn

    torch.manual_seed(0)
    center, scale = float(data["X"].mean()), float(data["X"].std())
    X, y = torch.from_numpy((data["X"] - center) / scale)[:, None], torch.from_numpy(data["y"])
    net = nn.Sequential(
        *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(32 * 7 * 7, 64), nn.ReLU(), nn.Linear(64, 10)),
    )
    if last:
        net, X = net.to(memory_format=torch.channels_last), X.to(memory_format=torch.channels_last)
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-3, fused=True)
    loss = nn.CrossEntropyLoss()
    for _ in range(data["epochs"]):
        order = torch.randperm(len(y))
        for begin in range(0, len(y), BATCH):
            rows = order[begin : begin + BATCH]
            optimiser.zero_grad(set_to_none=True)
            loss(net(X[rows]), y[rows]).backward()
            optimiser.step()
    return _Plain(net, center, scale)


def _accuracy(data: dict[str, Any], model: Any) -> float:
    return float((model.predict(data["X_test"]) == data["y_test"]).mean())


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="convnet",
        title="Convolutional net on 28 x 28 images",
        make=_make,
        sizes=by_rows("{n} images", 500, 2_000, 10_000),
        ours=Contender("ConvNet", "assay", _ours),
        peers=(
            Contender("PyTorch (CPU)", "torch", _torch, aim=1.0),
            Contender("PyTorch (CPU), channels last", "torch", partial(_torch, last=True), aim=1.0),
        ),
        quality=_accuracy,
        gate=0.02,
        quality_name="test accuracy",
        limit="the convolutions of PyTorch itself, which both call",
        tried="the plain loop in its default layout, and with channels last, which takes two thirds of the time; "
        "autocast to bfloat16 alone is no faster, and these nets learned nothing by it",
    ),
)
