"""Kernel k-means with the Gaussian kernel: rows of 10 columns into 10 clusters, the kernel matrix included."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, by_rows, last_without

K, GAMMA = 10, 0.05


def make(rows: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X = 1.5 * rng.normal(size=(K, 10))[rng.integers(K, size=rows)] + rng.normal(size=(rows, 10))
    return {"X": X}


def ours(data: dict[str, Any]) -> np.ndarray:
    from assay.models.clustering import KernelKMeans

    return KernelKMeans(K, gamma=GAMMA, n_init=1, max_iter=300, random_state=0).fit(data["X"]).labels_


def tslearn(data: dict[str, Any]) -> np.ndarray:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from tslearn.clustering import KernelKMeans

        model = KernelKMeans(
            K, kernel="rbf", kernel_params={"gamma": GAMMA}, n_init=1, max_iter=300, random_state=0, n_jobs=-1
        )
        return model.fit(data["X"][:, :, None]).labels_


def numpy_products(data: dict[str, Any], dtype: type = np.float64) -> np.ndarray:
    """The textbook's step as one product of the matrix with the indicators, on all cores."""
    from sklearn.metrics.pairwise import rbf_kernel

    gram = rbf_kernel(data["X"].astype(dtype, copy=False), gamma=GAMMA)
    start = np.random.default_rng(0).choice(len(gram), K, replace=False)
    labels = gram[:, start].argmax(axis=1)
    while True:
        groups = np.eye(K, dtype=dtype)[labels]
        groups /= np.maximum(groups.sum(axis=0), 1.0)
        products = gram @ groups
        following = ((groups * products).sum(axis=0) - 2 * products).argmin(axis=1)
        if (following == labels).all():
            return labels
        labels = following


def inertia(data: dict[str, Any], labels: np.ndarray) -> float:
    """1 less the mean of the kernel within clusters, so that all are measured alike; in blocks of rows."""
    from sklearn.metrics.pairwise import rbf_kernel

    total = 0.0
    for label in np.unique(labels):
        own = data["X"][labels == label]
        for first in range(0, len(own), 1000):
            total += float(rbf_kernel(own[first : first + 1000], own, gamma=GAMMA).sum()) / len(own)
    return 1.0 - total / len(labels)


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="kernel-k-means",
        title="kernel k-means, Gaussian kernel, k = 10",
        make=make,
        sizes=last_without(by_rows("{n} x 10, k=10", 1_000, 4_000, 16_000), "tslearn"),
        ours=Contender("assay", "assay", ours),
        peers=(
            Contender("tslearn", "tslearn", tslearn, aim=3.0),
            Contender("NumPy, one product a step", "numpy", numpy_products, aim=1.0),
            Contender(
                "NumPy, one product a step, float32", "numpy", partial(numpy_products, dtype=np.float32), aim=1.0
            ),
        ),
        quality=inertia,
        gate=0.02,
        quality_name="inertia per row",
        lower_is_better=True,
        limit="one line of kernel values for each row that moves, made anew: about 3 cycles a value",
        tried="The peers keep the matrix; so did ours, whose pages cost more than its values. tslearn takes means for "
        "unit vectors and starts at random labels; no other package has it, so the step in NumPy is the "
        "second yardstick; float32 takes it three quarters of the time.",
    ),
)
