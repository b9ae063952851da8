"""k nearest neighbours by brute force: fit on 150k rows of 30 columns, predict 5k rows, k = 15."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.versus.harness import Contender, Problem, by_rows, last_without

K = 15


def make(rows: int) -> dict[str, np.ndarray]:
    from sklearn.datasets import make_classification

    X, y = make_classification(rows + 5_000, 30, n_informative=15, n_redundant=5, flip_y=0.02, random_state=0)
    return {"X": X[:rows], "y": y[:rows], "queries": X[rows:], "labels": y[rows:]}


def _fit_predict(model: Any, data: dict[str, np.ndarray]) -> np.ndarray:
    return model.fit(data["X"], data["y"]).predict(data["queries"])


def ours(data: dict[str, np.ndarray]) -> np.ndarray:
    from assay.models.neighbours import KNNClassifier

    return _fit_predict(KNNClassifier(n_neighbors=K, algorithm="brute"), data)


def scikit_learn(data: dict[str, np.ndarray]) -> np.ndarray:
    from sklearn.neighbors import KNeighborsClassifier

    return _fit_predict(KNeighborsClassifier(n_neighbors=K, algorithm="brute", n_jobs=-1), data)


def intelex(data: dict[str, np.ndarray]) -> np.ndarray:
    from sklearnex.neighbors import KNeighborsClassifier

    return _fit_predict(KNeighborsClassifier(n_neighbors=K, algorithm="brute", n_jobs=-1), data)


def intelex_single(data: dict[str, np.ndarray]) -> np.ndarray:
    """In float32, as faiss."""
    return intelex({**data, "X": data["X"].astype(np.float32), "queries": data["queries"].astype(np.float32)})


def faiss_flat(data: dict[str, np.ndarray]) -> np.ndarray:
    """Exact in float32: distances that differ after the seventh digit may change places."""
    import faiss

    index = faiss.IndexFlatL2(data["X"].shape[1])
    index.add(data["X"].astype(np.float32))
    found = index.search(data["queries"].astype(np.float32), K)[1]
    return (data["y"][found].mean(axis=1) > 0.5).astype(data["y"].dtype)


def accuracy(data: dict[str, np.ndarray], predicted: np.ndarray) -> float:
    return float((predicted == data["labels"]).mean())


def make_wide(rows: int) -> dict[str, np.ndarray]:
    from sklearn.datasets import make_classification

    X, y = make_classification(rows + 2_000, 300, n_informative=60, n_redundant=20, flip_y=0.02, random_state=0)
    return {"X": X[:rows], "y": y[:rows], "queries": X[rows:], "labels": y[rows:]}


def make_points(rows: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {"X": rng.normal(size=(rows, 3)), "queries": rng.normal(size=(rows // 5, 3))}


def our_tree(data: dict[str, np.ndarray]) -> np.ndarray:
    from assay.numeric.neighbours import NeighbourIndex, get

    index = NeighbourIndex(data["X"], get("euclidean"), algorithm="kd_tree", threads=2)
    return index.nearest(data["queries"], 5, threads=2)[1]


def scipy_tree(data: dict[str, np.ndarray]) -> np.ndarray:
    from scipy.spatial import cKDTree

    return cKDTree(data["X"], leafsize=32, balanced_tree=False, compact_nodes=False).query(
        data["queries"], 5, workers=-1
    )[0]


def pykdtree(data: dict[str, np.ndarray]) -> np.ndarray:
    from pykdtree.kdtree import KDTree

    return KDTree(data["X"]).query(data["queries"], k=5)[0]


def mean_distance(data: dict[str, np.ndarray], distances: np.ndarray) -> float:
    return float(distances.mean())


MOST = 50


def make_whole(rows: int) -> dict[str, np.ndarray]:
    from sklearn.datasets import make_classification

    X, y = make_classification(rows, 20, n_informative=10, flip_y=0.05, random_state=0)
    return {"X": X, "y": y}


def our_leave_one_out(data: dict[str, np.ndarray]) -> np.ndarray:
    from assay.models.neighbours import KNNClassifier

    return KNNClassifier(1).fit(data["X"], data["y"]).leave_one_out(MOST)


def loop_over_k(data: dict[str, np.ndarray]) -> np.ndarray:
    """A search for each k, without the row itself: scikit-learn's neighbours of the training rows."""
    from sklearn.neighbors import KNeighborsClassifier

    model, errors = KNeighborsClassifier(algorithm="brute", n_jobs=-1).fit(data["X"], data["y"]), []
    for k in range(1, MOST + 1):
        found = model.kneighbors(n_neighbors=k, return_distance=False)
        errors.append(np.mean((data["y"][found].mean(axis=1) > 0.5) != data["y"]))
    return np.array(errors)


def _votes(data: dict[str, np.ndarray], found: np.ndarray) -> np.ndarray:
    shares = np.cumsum(data["y"][found], axis=1) / np.arange(1, MOST + 1)
    return ((shares > 0.5) != data["y"][:, None]).mean(axis=0)


def one_search(data: dict[str, np.ndarray]) -> np.ndarray:
    """The longest list once, and the votes of its beginnings."""
    from sklearn.neighbors import KNeighborsClassifier

    model = KNeighborsClassifier(algorithm="brute", n_jobs=-1).fit(data["X"], data["y"])
    return _votes(data, model.kneighbors(n_neighbors=MOST, return_distance=False))


def one_search_intelex(data: dict[str, np.ndarray]) -> np.ndarray:
    """The same in float32; the first of a row's neighbours is the row itself."""
    from sklearnex.neighbors import NearestNeighbors

    X = data["X"].astype(np.float32)
    model = NearestNeighbors(n_neighbors=MOST + 1, algorithm="brute", n_jobs=-1).fit(X)
    return _votes(data, model.kneighbors(X, return_distance=False)[:, 1:])


def one_search_faiss(data: dict[str, np.ndarray]) -> np.ndarray:
    """The same by faiss."""
    import faiss

    X = data["X"].astype(np.float32)
    index = faiss.IndexFlatL2(X.shape[1])
    index.add(X)
    return _votes(data, index.search(X, MOST + 1)[1][:, 1:])


LABELS = (3, 5, 12, 30)


def make_mixed(rows: int) -> dict[str, Any]:
    """Six columns of numbers and four of labels: as codes, and as points whose Manhattan distances are our
    distances times ten.

    Two labels that differ are 1 apart. Numbers are divided by the range of the rows; labels k and k + 1 of an even k
    are the two ends of one axis, so that half as many axes as labels are enough.
    """
    rng = np.random.default_rng(7)
    n = rows + 5_000
    numbers = rng.normal(size=(n, 6))
    codes = np.column_stack([rng.integers(size, size=n) for size in LABELS])
    effect = sum(rng.normal(scale=0.6, size=size)[codes[:, j]] for j, size in enumerate(LABELS))
    y = (numbers[:, 0] - numbers[:, 1] * numbers[:, 2] + effect + rng.normal(size=n) > 0).astype(int)
    axes = []
    for j, size in enumerate(LABELS):
        placed = np.zeros((n, (size + 1) // 2))
        placed[np.arange(n), codes[:, j] // 2] = np.where(codes[:, j] % 2, -0.5, 0.5)
        axes.append(placed)
    points = np.hstack([numbers / np.ptp(numbers[:rows], axis=0), *axes])
    cells = np.hstack([numbers, codes])
    return {
        "X": cells[:rows],
        "queries": cells[rows:],
        "points": points[:rows],
        "point_queries": points[rows:],
        "y": y[:rows],
        "labels": y[rows:],
    }


def our_mixed(data: dict[str, np.ndarray]) -> np.ndarray:
    from assay.models.neighbours import KNNClassifier

    return _fit_predict(KNNClassifier(n_neighbors=K, metric="mixed", categorical_features=[6, 7, 8, 9]), data)


def _by_points(data: dict[str, np.ndarray], kind: Any = np.float64) -> dict[str, np.ndarray]:
    return {"X": data["points"].astype(kind), "queries": data["point_queries"].astype(kind), "y": data["y"]}


def scikit_learn_manhattan(algorithm: str) -> Callable[[Any], Any]:
    def run(data: dict[str, np.ndarray]) -> np.ndarray:
        from sklearn.neighbors import KNeighborsClassifier

        model = KNeighborsClassifier(n_neighbors=K, algorithm=algorithm, metric="manhattan", n_jobs=-1)
        return _fit_predict(model, _by_points(data))

    return run


def faiss_manhattan(data: dict[str, np.ndarray]) -> np.ndarray:
    """Exact in float32."""
    import faiss

    cells = _by_points(data, np.float32)
    index = faiss.IndexFlat(cells["X"].shape[1], faiss.METRIC_L1)
    index.add(cells["X"])
    found = index.search(cells["queries"], K)[1]
    return (data["y"][found].mean(axis=1) > 0.5).astype(int)


def least_error(data: dict[str, np.ndarray], errors: np.ndarray) -> float:
    return float(errors.min())


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="knn-brute",
        title="k nearest neighbours, brute force",
        make=make,
        sizes=by_rows("{n} x 30, 5,000 queries, k=15", 1_500, 15_000, 150_000),
        headline=True,
        ours=Contender("assay", "assay", ours),
        peers=(
            Contender("scikit-learn", "scikit-learn", scikit_learn, aim=4.0),
            Contender("scikit-learn-intelex", "scikit-learn-intelex", intelex, aim=2.0),
            Contender("scikit-learn-intelex, float32", "scikit-learn-intelex", intelex_single, aim=1.5),
            Contender("faiss IndexFlatL2 (float32)", "faiss-cpu", faiss_flat, aim=1.5),
        ),
        quality=accuracy,
        gate=0.001,
        quality_name="accuracy",
        limit="22.5 G products, in bytes 64 to an instruction (AVX-512 VNNI), else in float32 16",
        tried="float32: scikit-learn as fast as in float64, scikit-learn-intelex faster, faiss takes nothing "
        "else; faiss's "
        "quantised indexes (SQ8, PQ) are not exact and were left out",
    ),
    Problem(
        id="knn-brute-wide",
        title="k nearest neighbours, brute force, many columns",
        make=make_wide,
        sizes=by_rows("{n} x 300, 2,000 queries, k=15", 1_500, 15_000, 150_000),
        ours=Contender("assay", "assay", ours),
        peers=(
            Contender("scikit-learn", "scikit-learn", scikit_learn, aim=4.0),
            Contender("scikit-learn-intelex", "scikit-learn-intelex", intelex, aim=2.0),
            Contender("scikit-learn-intelex, float32", "scikit-learn-intelex", intelex_single, aim=1.5),
            Contender("faiss IndexFlatL2 (float32)", "faiss-cpu", faiss_flat, aim=1.5),
        ),
        quality=accuracy,
        gate=0.002,
        quality_name="accuracy",
        limit="90 G products, in bytes 64 to an instruction (AVX-512 VNNI), else in float32 16",
        tried="float32: scikit-learn as fast as in float64, scikit-learn-intelex faster, faiss takes nothing "
        "else; faiss's "
        "quantised indexes (SQ8, PQ) are not exact and were left out",
    ),
    Problem(
        id="knn-mixed",
        title="k nearest neighbours, six columns of numbers and four of labels",
        make=make_mixed,
        sizes=last_without(
            by_rows("{n} x 10, 5,000 queries, k=15", 1_500, 15_000, 150_000), "scikit-learn, points, ball tree"
        ),
        ours=Contender("assay", "assay", our_mixed),
        peers=(
            Contender("scikit-learn, points, brute", "scikit-learn", scikit_learn_manhattan("brute"), aim=5.0),
            Contender("scikit-learn, points, ball tree", "scikit-learn", scikit_learn_manhattan("ball_tree")),
            Contender("faiss IndexFlat, points (float32)", "faiss-cpu", faiss_manhattan, aim=5.0),
        ),
        quality=accuracy,
        gate=0.001,
        quality_name="accuracy",
        limit="a pass over packed codes of the labels for the rows that the numbers leave",
        tried="no peer measures numbers beside labels: theirs are points on 32 axes, made before the clock starts, "
        "whose Manhattan distances are ten times ours; one-hot columns need 56 axes; the ball tree takes 140 s for "
        "150,000 rows",
    ),
    Problem(
        id="knn-tree",
        title="k nearest neighbours, tree in three columns",
        make=make_points,
        sizes=by_rows("{n} x 3, a fifth as many queries, k=5", 10_000, 100_000, 1_000_000),
        ours=Contender("assay", "assay", our_tree),
        peers=(
            Contender("SciPy cKDTree", "scipy", scipy_tree, aim=2.0),
            Contender("pykdtree", "pykdtree", pykdtree, aim=2.0),
        ),
        quality=mean_distance,
        gate=1e-9,
        quality_name="mean distance",
        lower_is_better=True,
        limit="memory latency of a walk down the tree",
        tried="SciPy's default (balanced, compact, leaves of 10) is a quarter slower; leaves of 4 to 32 rows do not "
        "help pykdtree; the k-d trees of scikit-learn-intelex and scikit-learn are slower; pykdtree answers in the "
        "type of its points, and float32 gives other distances",
    ),
    Problem(
        id="knn-leave-one-out",
        title="Leave-one-out error of k = 1 to 50 neighbours",
        make=make_whole,
        sizes=last_without(by_rows("{n} x 20", 1_000, 5_000, 20_000), "loop over k on scikit-learn"),
        ours=Contender("assay", "assay", our_leave_one_out),
        peers=(
            Contender("one search by scikit-learn, votes by NumPy", "scikit-learn", one_search, aim=2.0),
            Contender(
                "one search by scikit-learn-intelex, float32", "scikit-learn-intelex", one_search_intelex, aim=1.5
            ),
            Contender("one search by faiss (float32)", "faiss-cpu", one_search_faiss, aim=1.5),
            Contender("loop over k on scikit-learn", "scikit-learn", loop_over_k, aim=50.0),
        ),
        quality=least_error,
        gate=2e-3,
        quality_name="least error",
        lower_is_better=True,
        repeats=1,
        limit="one search of all rows among all rows",
        tried="a loop over k, and one search whose votes are counted for every k; a tree is slower in 20 "
        "columns; float32 takes scikit-learn as long, and scikit-learn-intelex and faiss half of it on the most rows",
    ),
)
