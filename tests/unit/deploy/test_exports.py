"""Exports say what the model says, run by other programs: onnxruntime, Python alone, SQLite."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest

from assay.base import UsageError
from assay.deploy import export
from assay.models.bayes import NaiveBayes
from assay.models.ensembles import ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from assay.models.linear import ElasticNet, LeastSquares, LogisticRegression, Ridge
from assay.models.rules import Ripper
from assay.models.trees import CartClassifier, CartRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = X @ [1.0, -2.0, 0.5, 0.0] + RNG.normal(size=300)
TWO, THREE = np.where(Y > 0, "yes", "no"), np.array(["a", "b", "c"])[np.digitize(Y, [-1, 1])]
NEW = RNG.normal(size=(200, 4))


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (LeastSquares(), Y), (Ridge(), Y), (ElasticNet(), Y), (LogisticRegression(), TWO),
        (LogisticRegression(), THREE), (CartClassifier(), TWO), (CartClassifier(), THREE),
        (CartRegressor(), Y), (CartRegressor(), np.ones(300)),
        (RandomForestClassifier(n_estimators=5), THREE), (RandomForestRegressor(n_estimators=5), Y),
        (ExtraTreesRegressor(n_estimators=5), Y),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_onnx_gives_the_numbers_of_the_model(model, y, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    model.fit(X, y)
    session = runtime.InferenceSession(str(export(model, tmp_path / "m.onnx")), providers=["CPUExecutionProvider"])
    found = session.run(None, {"rows": NEW})[0]
    wanted = model.predict_proba(NEW) if hasattr(model, "classes_") else model.predict(NEW)[:, None]
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("model", "y"),
    [(Ridge(), Y), (LogisticRegression(), TWO), (LogisticRegression(), THREE), (CartClassifier(), THREE)],
    ids=lambda value: type(value).__name__,
)
def test_python_alone_gives_the_answers_of_the_model(model, y, tmp_path):
    text = export(model.fit(X, y), tmp_path / "m.py").read_text()
    assert "import" not in text
    scope: dict = {}
    exec(text, scope)
    said = [scope["predict"]({f"x{j}": v for j, v in enumerate(row)}) for row in NEW.tolist()]
    wanted = model.predict(NEW)
    if wanted.dtype.kind == "f":
        np.testing.assert_allclose(said, wanted, rtol=1e-12, atol=1e-12)
    else:
        assert said == wanted.tolist()


@pytest.mark.parametrize(("model", "y"), [(Ridge(), Y), (Ripper(random_state=0), TWO), (CartRegressor(), Y)])
def test_sql_gives_the_answers_of_the_model(model, y, tmp_path):
    text = export(model.fit(X, y), tmp_path / "m.sql").read_text().strip()
    base = sqlite3.connect(":memory:")
    base.execute('CREATE TABLE t ("x0" REAL, "x1" REAL, "x2" REAL, "x3" REAL)')
    base.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", NEW.tolist())
    said = [row[0] for row in base.execute(f"SELECT {text.removesuffix(';')} FROM t ORDER BY rowid")]
    wanted = model.predict(NEW)
    if wanted.dtype.kind == "f":
        np.testing.assert_allclose(said, wanted, rtol=1e-12, atol=1e-12)
    else:
        assert said == wanted.tolist()


def test_what_has_no_exact_form_yet_is_refused(tmp_path):
    model = NaiveBayes().fit(X, TWO)
    for ending in ("py", "sql", "onnx"):
        with pytest.raises(UsageError, match="yet"):
            export(model, tmp_path / f"m.{ending}")
    with pytest.raises(UsageError, match="must end in"):
        export(model, tmp_path / "m.pmml")
    assert not list(tmp_path.iterdir())
