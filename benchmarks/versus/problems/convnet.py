"""Convolutional nets on images of 28 x 28, on the processor, against a plain loop of PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, by_rows

EPOCHS, BATCH = 2, 64


def _make(rows: int) -> dict[str, Any]:
    """Noisy images of ten classes: strokes that start at random places."""
    rng = np.random.default_rng(0)
    n = rows + 1_000
    patterns = rng.random((10, 12, 12)) < 0.35
    y = rng.integers(0, 10, size=n)
    X = 0.5 * rng.normal(size=(n, 28, 28)).astype(np.float32)
    for image, label, (i, j) in zip(X, y, rng.integers(0, 16, size=(n, 2)), strict=True):
        image[i : i + 12, j : j + 12] += patterns[label]
    return {"X": X[:rows], "y": y[:rows], "X_test": X[rows:], "y_test": y[rows:]}


def _ours(data: dict[str, Any]) -> Any:
    from assay.models.neural import ConvNet

    model = ConvNet(layers=["conv 16", "pool 2", "conv 32", "pool 2", "dense 64"], max_iter=EPOCHS, batch_size=BATCH)
    return model.set_params(tol=None, alpha=0.0, device="cpu", random_state=0).fit(data["X"], data["y"])


class _Plain:
    def __init__(self, net: Any, center: float, scale: float):
        self.net, self.center, self.scale = net, center, scale

    def predict(self, X: np.ndarray) -> np.ndarray:
        import torch

        with torch.inference_mode():
            return self.net(torch.from_numpy((X - self.center) / self.scale)[:, None]).argmax(dim=1).numpy()


def _torch(data: dict[str, Any]) -> Any:
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
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-3, fused=True)
    loss = nn.CrossEntropyLoss()
    for _ in range(EPOCHS):
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
        title="Convolutional net on 28 x 28 images, two epochs",
        make=_make,
        sizes=by_rows("{n} images", 500, 2_000, 10_000),
        ours=Contender("ConvNet", "assay", _ours),
        peers=(Contender("PyTorch (CPU)", "torch", _torch, aim=1.0),),
        quality=_accuracy,
        gate=0.08,
        quality_name="test accuracy",
        limit="the convolutions of PyTorch itself, which both call",
        tried="the plain loop in its default layout",
    ),
)
