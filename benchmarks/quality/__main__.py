"""Scores of every contender on every table, and the page that tells them apart: `python -m benchmarks.quality`.

Ten-fold cross-validation, the same folds for all; log loss for classes, root mean squared error for numbers. Each table
is written to `results.json` as soon as it is done; `--only NAME` measures some tables again, `--libraries NAME` some
libraries (whose peers must be of the versions that were measured), `--page` only writes the page.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.quality.contenders import CONTENDERS, Contender
from benchmarks.quality.tables import TABLES, Table

FOLDS = 10
RESULTS = Path(__file__).with_name("results.json")
PAGE = Path(__file__).parents[2] / "docs" / "quality.md"


def loss_of(table: Table, model: Any, rows: Any, truth: np.ndarray) -> float:
    """Log loss, or root mean squared error."""
    if table.task == "regress":
        return float(np.sqrt(np.mean((model.predict(rows) - truth) ** 2)))
    shares = np.zeros((len(truth), int(table.y.max()) + 1))
    shares[:, np.asarray(model.classes_, dtype=int)] = model.predict_proba(rows)
    own = shares[np.arange(len(truth)), truth]
    # As a probability of 0 for what happened costs infinitely much, forests of 100 trees are held to 1 in 1000.
    return float(-np.mean(np.log(np.clip(own, 1e-3, 1.0))))


def measure(table: Table, contenders: Sequence[Contender] = CONTENDERS) -> dict[str, list[float]]:
    """The loss of every contender in every fold."""
    from sklearn.model_selection import KFold, StratifiedKFold

    splitter = (StratifiedKFold if table.task == "classify" else KFold)(FOLDS, shuffle=True, random_state=0)
    scores: dict[str, list[float]] = {contender.id: [] for contender in contenders}
    for fold, (train, test) in enumerate(splitter.split(table.X, table.y)):
        for contender in contenders:
            X = contender.rows(table.X)
            model = contender.make(table.task, int(table.y.max()) + 1, fold)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X.iloc[train], table.y[train])
                scores[contender.id].append(loss_of(table, model, X.iloc[test], table.y[test]))
    return scores


def provenance() -> dict[str, str]:
    """Commit, date and versions."""
    commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True).stdout.strip()
    packages = {name: name for name in ("scikit-learn", "lightgbm", "catboost", "numpy")} | {"xgboost": "xgboost-cpu"}
    now = datetime.now(UTC).strftime("%Y-%m-%d")
    return {"commit": commit, "date": now, **{name: version(package) for name, package in packages.items()}}


def main() -> int:
    """Measure what is asked for and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", help="names of tables to measure again; all by default")
    parser.add_argument("--libraries", nargs="*", help="libraries to measure again; all by default")
    parser.add_argument("--page", action="store_true", help="write the page from what is kept, measure nothing")
    given = parser.parse_args()
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"tables": {}}
    if not given.page:
        made = provenance()
        chosen = [c for c in CONTENDERS if not given.libraries or c.library in given.libraries]
        for c in CONTENDERS:
            if c not in chosen and kept["provenance"].get(c.library) != made.get(c.library):
                parser.error(f"{c.library} was measured in another version: measure it again")
        for make in TABLES:
            table = make()
            if given.only and table.name not in given.only:
                continue
            before = kept["tables"].get(table.name, {"scores": {}})["scores"] if given.libraries else {}
            scores = before | measure(table, chosen)
            kept["tables"][table.name] = {"task": table.task, "words": table.words, "scores": scores}
            kept["provenance"] = made
            RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
            print(table.name, "done", file=sys.stderr, flush=True)
    from benchmarks.quality.page import write

    PAGE.write_text(write(kept))
    print(f"{PAGE.name}: {len(kept['tables'])} tables")
    return 0


if __name__ == "__main__":
    sys.exit(main())
