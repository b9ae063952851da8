"""The tables: bundled ones and generated ones, with labels, missing cells and targets of several kinds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Table:
    """One table: columns of labels are categorical, missing cells are missing."""

    name: str
    task: str
    X: pd.DataFrame
    y: np.ndarray

    @property
    def words(self) -> str:
        """Rows, columns, how many of labels and whether cells are missing."""
        labels = sum(not pd.api.types.is_numeric_dtype(dtype) for dtype in self.X.dtypes)
        parts = [f"{len(self.X)} x {self.X.shape[1]}"]
        parts += [f"{labels} nominal"] if labels else []
        missing = float(self.X.isna().to_numpy().mean())
        parts += [f"{missing:.0%} missing"] if missing else []
        if self.task == "classify":
            parts.append(f"{len(np.unique(self.y))} classes")
        return ", ".join(parts)


def _bundled(name: str, drop: tuple[str, ...] = ()) -> Table:
    from assay.data import load_dataset
    from assay.data.datasets import DATASETS

    known = DATASETS[name]
    frame = load_dataset(name).frame.drop(*drop).to_pandas()
    y = frame.pop(known.target).to_numpy()
    for column in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[column]):
            frame[column] = frame[column].astype("category")
    codes = np.unique(y.astype(str), return_inverse=True)[1] if known.task == "classify" else y.astype(float)
    return Table(name, known.task, frame, codes)


def _numbers(name: str, task: str, X: np.ndarray, y: np.ndarray) -> Table:
    return Table(name, task, pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]), y)


def friedman(n: int = 1000) -> Table:
    """Friedman's first function with noise: five columns matter, five do not."""
    rng = np.random.default_rng(1)
    X = rng.random((n, 10))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return _numbers("friedman", "regress", X, y + rng.normal(size=n))


def moons(n: int = 1000) -> Table:
    """Two half moons with much noise."""
    from assay.data.generators import moons as make

    frame = make(n, noise=0.3, random_state=2).frame.to_pandas()
    return Table("moons", "classify", frame.iloc[:, :2], np.unique(frame.iloc[:, 2], return_inverse=True)[1])


def gaussians(n: int = 900) -> Table:
    """Three overlapping normal classes in eight columns, of which four say nothing."""
    rng = np.random.default_rng(3)
    y = np.arange(n) % 3
    X = rng.normal(size=(n, 8))
    X[:, :4] += rng.normal(size=(3, 4))[y]
    return _numbers("gaussians", "classify", X, y)


def shops(n: int = 1200) -> Table:
    """Sales by shop (12 labels), season, size and price; sizes are missing more often in small shops."""
    rng = np.random.default_rng(4)
    shop, season = rng.integers(0, 12, n), rng.integers(0, 4, n)
    size, price = rng.gamma(3.0, 1.0, n), rng.normal(10, 2, n)
    y = 3 * rng.normal(size=12)[shop] + 2 * (season == 3) * size + 0.5 * size - 0.4 * price + rng.normal(size=n)
    holes = rng.random(n) < np.where(size < 2, 0.5, 0.1)
    frame = pd.DataFrame(
        {
            "shop": pd.Categorical([f"shop {k}" for k in shop]),
            "season": pd.Categorical(np.array(["spring", "summer", "autumn", "winter"])[season]),
            "size": np.where(holes, np.nan, size),
            "price": price,
        }
    )
    return Table("shops", "regress", frame, y)


def towns(n: int = 1500) -> Table:
    """Two classes by a label of 60 categories and two numbers, a tenth of the cells missing."""
    rng = np.random.default_rng(5)
    town = rng.integers(0, 60, n)
    income, age = rng.normal(size=n), rng.normal(size=n)
    score = 1.5 * rng.normal(size=60)[town] + income * (age > 0) - 0.5 * age
    y = (score + rng.logistic(size=n) > 0).astype(int)
    frame = pd.DataFrame({"town": [f"town {k}" for k in town], "income": income, "age": age})
    holes = rng.random(frame.shape) < 0.1
    frame = frame.mask(holes)
    frame["town"] = pd.Categorical(frame["town"])
    return Table("towns", "classify", frame, y)


def steps(n: int = 1000) -> Table:
    """A checkerboard of four by four fields with a tenth of the labels turned, among three columns of noise."""
    rng = np.random.default_rng(6)
    X = rng.uniform(0, 4, (n, 5))
    y = (np.floor(X[:, 0]) + np.floor(X[:, 1])).astype(int) % 2
    return _numbers("checkerboard", "classify", X, np.where(rng.random(n) < 0.1, 1 - y, y))


def tails(n: int = 1000) -> Table:
    """A linear and a stepwise effect with heavy tails of noise."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, 6))
    return _numbers("heavy tails", "regress", X, 2 * X[:, 0] + 3 * (X[:, 1] > 0) + rng.standard_t(3, n))


def machines(n: int = 1200) -> Table:
    """Four classes of failure by sensors of which a third are missing, and by maker."""
    rng = np.random.default_rng(8)
    y = rng.choice(4, n, p=[0.55, 0.2, 0.15, 0.1])
    X = rng.normal(size=(n, 5)) + 1.2 * rng.normal(size=(4, 5))[y]
    frame = pd.DataFrame(np.where(rng.random(X.shape) < 0.33, np.nan, X), columns=[f"sensor_{j}" for j in range(5)])
    chances = rng.dirichlet(np.ones(5), 4)
    frame["maker"] = pd.Categorical([f"maker {rng.choice(5, p=chances[k])}" for k in y])
    return Table("machines", "classify", frame, y)


TABLES: tuple[Callable[[], Any], ...] = (
    lambda: _bundled("iris"),
    lambda: _bundled("wine"),
    lambda: _bundled("breast-cancer"),
    lambda: _bundled("diabetes"),
    lambda: _bundled("customers", drop=("customer_id", "signed_up")),
    friedman,
    tails,
    shops,
    moons,
    gaussians,
    steps,
    towns,
    machines,
)
"""Functions that make the tables."""
