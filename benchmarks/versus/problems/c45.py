"""C4.5 on a mixed table against chefboost.

The peer is written in Python and needs minutes for more rows, so the table is small. It writes its tree as a module
into the working directory and imports it, hence the temporary folder. It does not prune, so ours does not either; the
gate is accuracy on held-out rows. Skipped where chefboost is not installed. forestfire-ml needs Python 3.12 or later,
so it is left out.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import sys
import tempfile
from functools import partial
from typing import Any

from benchmarks.versus.harness import Contender, Problem, by_rows


def make(rows: int) -> dict[str, Any]:
    """Rows to train and 2,000 to test: 6 numeric and 6 nominal columns, two classes."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    n = rows + 2_000
    columns: dict[str, Any] = {f"number_{j}": rng.normal(size=n).round(2) for j in range(6)}
    codes = rng.integers(0, 5, (n, 6))
    columns |= {f"group_{j}": np.array(list("abcde"))[codes[:, j]] for j in range(6)}
    X = pd.DataFrame(columns)
    signal = X["number_0"] + X["number_1"] * (codes[:, 0] > 2) + (codes[:, 1] == 3) * 1.5 - (codes[:, 2] == 1)
    y = np.where(signal + rng.normal(size=n) * 0.3 > 0.3, "yes", "no")
    return {"X": X[:rows], "y": y[:rows], "X_test": X[rows:], "y_test": y[rows:]}


def ours(data: dict[str, Any]) -> Any:
    """Fit on all cores, without pruning; predict the test rows."""
    from assay.models.trees import C45Classifier

    return C45Classifier(prune=False).fit(data["X"], data["y"]).predict(data["X_test"])


def chefboost(data: dict[str, Any], parallel: bool = False) -> Any:
    """The peer's C4.5, in a folder of its own."""
    from chefboost import Chefboost

    # It knows nominal columns by the object dtype.
    table = data["X"].assign(Decision=data["y"])
    table = table.astype({name: object for name in table.columns if not name.startswith("number")})
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        os.chdir(folder)
        sys.path.insert(0, folder)
        importlib.invalidate_caches()
        try:
            model = Chefboost.fit(table, config={"algorithm": "C4.5", "enableParallelism": parallel}, silent=True)
            return [Chefboost.predict(model, row) for row in data["X_test"].to_numpy().tolist()]
        finally:
            os.chdir(before)
            sys.path.remove(folder)
            for name in [name for name in sys.modules if name.split(".")[0] == "outputs"]:
                del sys.modules[name]


def accuracy(data: dict[str, Any], predicted: Any) -> float:
    """Accuracy on the test rows."""
    import numpy as np

    return float((np.asarray(predicted) == data["y_test"]).mean())


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        id="c45",
        title="C4.5, mixed columns",
        make=make,
        sizes=by_rows("{n} x 12", 500, 1_500, 5_000),
        ours=Contender("C45Classifier", "assay", ours),
        peers=(
            Contender("chefboost C4.5", "chefboost", chefboost, aim=100),
            Contender("chefboost C4.5, parallel", "chefboost", partial(chefboost, parallel=True)),
        ),
        quality=accuracy,
        gate=0.005,
        tried="chefboost on one core and with its own parallelism.",
        quality_name="accuracy",
        repeats=2,
        limit="one visit of every cell per level: n d depth entries of 8 bytes",
    ),
)
