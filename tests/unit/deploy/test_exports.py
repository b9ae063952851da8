"""Exports say what the model says, run by other programs: onnxruntime, Python alone, SQLite."""

from __future__ import annotations

import math
import sqlite3
from datetime import datetime

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

from assay import catalogue
from assay.base import UsageError
from assay.base.errors import AssayError
from assay.deploy import export
from assay.deploy.exports import onnx_cells
from assay.experiment import Plan, run
from assay.experiment.model import PreparedModel
from assay.models.baselines import OneRClassifier
from assay.models.bayes import QDA, RDA, NaiveBayes
from assay.models.density import DensityClassifier
from assay.models.ensembles import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    NewtonBoostingClassifier,
    NewtonBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomSubspaceClassifier,
    VotingClassifier,
    VotingRegressor,
)
from assay.models.kernel_machines import KernelRidge, SVMClassifier, SVMRegressor
from assay.models.linear import GLM, ElasticNet, LeastSquares, LogisticRegression, OneVsOne, OneVsRest, Ridge
from assay.models.neighbours import KNNClassifier, KNNRegressor
from assay.models.neural import MLPClassifier, MLPRegressor
from assay.models.rules import Ripper, RulesFromTree, SequentialCovering
from assay.models.trees import C45Classifier, CartClassifier, CartRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4))
Y = X @ [1.0, -2.0, 0.5, 0.0] + RNG.normal(size=300)
TWO, THREE = np.where(Y > 0, "yes", "no"), np.array(["a", "b", "it's"])[np.digitize(Y, [-1, 1])]
NEW = RNG.normal(size=(200, 4))
LONG = ("cascade", "stacking-classifier", "stacking-regressor", "boost-by-filtering")
NET = {"hidden_layer_sizes": (5, 4), "max_iter": 3, "tol": None, "random_state": 0}


def _labelled(rows: int, seed: int) -> pl.DataFrame:
    """A table with numbers, gaps, labels of odd letters and labels that are no text."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({"size": rng.normal(size=rows), "rate": rng.exponential(size=rows)})
    colours = pl.Series(["red", 'o"dd', "it's", "new\nline", None]).gather(rng.integers(0, 5, rows))
    return frame.with_columns(
        pl.when(pl.col("rate") > 2).then(None).otherwise(pl.col("rate")).alias("rate"),
        colour=colours,
        flag=pl.Series(rng.random(rows) < 0.4),
        grade=pl.Series(["low", "mid", "high"]).gather(rng.integers(0, 3, rows)),
    )


TABLE, LATER = _labelled(400, 1), _labelled(150, 2)
LATER = LATER.with_columns(
    pl.when(pl.col("size") > 1.2).then(pl.lit("unseen")).otherwise(pl.col("colour")).alias("colour")
)
AMOUNT = TABLE["size"].to_numpy() + 2.0 * (TABLE["colour"] == "it's").fill_null(False).to_numpy()
KIND = np.array(["a", "b", "it's"])[np.digitize(AMOUNT, [0, 1])]

NUMBERS = [
    (LeastSquares(), Y), (Ridge(), Y), (GLM(family="poisson"), np.abs(Y)),
    (ElasticNet(), Y), (LogisticRegression(), TWO),
    (LogisticRegression(), THREE), (CartClassifier(), TWO), (CartClassifier(), THREE),
    (CartRegressor(), Y), (CartRegressor(), np.ones(300)), (NaiveBayes(), TWO), (NaiveBayes(), THREE),
    (RandomForestClassifier(n_estimators=5, max_depth=7), THREE),
    (RandomForestClassifier(n_estimators=5, max_depth=7), TWO),
    (RandomForestRegressor(n_estimators=5, max_depth=7), Y), (ExtraTreesRegressor(n_estimators=5, max_depth=7), Y),
    (NewtonBoostingClassifier(n_estimators=6), TWO), (NewtonBoostingClassifier(n_estimators=6), THREE),
    (NewtonBoostingRegressor(n_estimators=6), Y), (NewtonBoostingRegressor(n_estimators=6, loss="poisson"), np.abs(Y)),
    (GradientBoostingRegressor(n_estimators=6), Y),
    (MLPClassifier(**NET), TWO), (MLPClassifier(activation="tanh", **NET), THREE),
    (MLPRegressor(activation="logistic", **NET), Y), (MLPRegressor(loss="poisson", **NET), np.abs(Y)),
]  # fmt: skip


def run_onnx(path, table):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, onnx_cells(session, table))[0]


def run_python(path, table):
    scope: dict = {}
    exec(path.read_text(), scope)
    rows = (
        table.to_dicts()
        if isinstance(table, pl.DataFrame)
        else [dict(zip(["x0", "x1", "x2", "x3"], r)) for r in table.tolist()]
    )
    return [scope["predict"](row) for row in rows], scope, rows


def run_sql(path, table):
    frame = table if isinstance(table, pl.DataFrame) else pl.DataFrame(table, schema=[f"x{j}" for j in range(4)])
    base = sqlite3.connect(":memory:")
    base.create_function("EXP", 1, math.exp)
    base.execute(f"CREATE TABLE t ({', '.join(chr(34) + name + chr(34) for name in frame.columns)})")
    base.executemany(f"INSERT INTO t VALUES ({', '.join('?' * frame.width)})", frame.rows())
    return [row[0] for row in base.execute(f"SELECT {path.read_text()} FROM t ORDER BY rowid")]


def assert_agree(said, wanted):
    if wanted.dtype.kind == "f":
        np.testing.assert_allclose(said, wanted, rtol=1e-9, atol=1e-9)
    else:
        assert said == wanted.tolist()


def shares(model, table):
    return model.predict_proba(table) if getattr(model, "classes_", None) is not None else model.predict(table)[:, None]


TRIO = [("bayes", NaiveBayes()), ("tree", CartClassifier(max_depth=3)), ("logistic", LogisticRegression())]
DUO = [("ridge", Ridge()), ("tree", CartRegressor(max_depth=3)), ("near", KNNRegressor(weights="gaussian"))]
GRID = np.stack(np.meshgrid(*[np.arange(3.0)] * 4), axis=-1).reshape(-1, 4)
"""Whole numbers: many rows at equal distances, and cells that are the ends of tests."""
FORMS = {
    "py sql onnx": [
        (QDA(), THREE), (QDA(covariance="diagonal"), TWO), (RDA(), THREE), (OneVsRest(), THREE), (OneVsRest(), TWO),
        (BaggingClassifier(n_estimators=3, estimator=CartClassifier(max_depth=5), random_state=0), THREE),
        (BaggingClassifier(n_estimators=3, estimator=CartClassifier(max_depth=5), random_state=0), TWO),
        (BaggingRegressor(n_estimators=3, estimator=CartRegressor(max_depth=5), random_state=0), Y),
        (RandomSubspaceClassifier(n_estimators=3, estimator=CartClassifier(max_depth=5), random_state=0), THREE),
    ],
    "py onnx": [
        (SVMRegressor(), Y), (SVMRegressor(kernel="sigmoid", gamma=0.1), Y), (SVMRegressor(kernel="laplacian"), Y),
        (KernelRidge(kernel="polynomial"), Y), (KernelRidge(), Y),
    ],
    "py sql": [
        (Ripper(random_state=0), THREE), (SequentialCovering(), THREE), (SequentialCovering(ordered=False), THREE),
        (RulesFromTree(), TWO), (OneRClassifier(), THREE), (SVMClassifier(kernel="linear"), TWO),
        (SVMClassifier(kernel="linear", multi_class="ovr"), THREE),
    ],
    "py": [
        (SVMClassifier(), TWO), (SVMClassifier(), THREE),
        (SVMClassifier(kernel="polynomial", multi_class="ovr"), THREE),
        (OneVsOne(), THREE), (KNNClassifier(), TWO), (KNNClassifier(weights="distance"), THREE),
        (KNNRegressor(weights="rank", metric="chebyshev"), Y), (KNNRegressor(metric="minkowski", p=3), Y),
        (KNNRegressor(metric="manhattan"), Y), (VotingRegressor(estimators=DUO, rule="median"), Y),
        (VotingRegressor(estimators=DUO, rule="minimum"), Y), (VotingRegressor(estimators=DUO, weights=[1, 2, 3]), Y),
        (VotingClassifier(estimators=TRIO, rule="median", weights=[1, 2, 0.5]), THREE),
        (VotingClassifier(estimators=TRIO, rule="product", weights=[1, 2, 0.5]), THREE),
        (VotingClassifier(estimators=TRIO, rule="maximum"), THREE), (VotingClassifier(estimators=TRIO), TWO),
        (VotingClassifier(estimators=[*TRIO, ("rules", Ripper(random_state=0))], rule="majority"), THREE),
        (BaggingClassifier(estimator=NaiveBayes(), n_estimators=2, max_features=0.5, random_state=0), THREE),
    ],
}  # fmt: skip


@pytest.mark.parametrize("on_ends", [False, True], ids=["", "on ends"])
@pytest.mark.parametrize(
    ("endings", "model", "y"),
    [(endings, *case) for endings, cases in FORMS.items() for case in cases],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else value if isinstance(value, str) else "",
)
def test_kernels_rows_normal_classes_rules_and_members_say_the_same(endings, model, y, on_ends, tmp_path):
    train, rows = (np.clip(np.rint(X), 0, 2), GRID) if on_ends else (X, NEW)
    if on_ends and isinstance(model, (QDA, RDA)):
        train = train + 0.1 * X  # a class must not be flat
    model = clone(model).fit(train, y)
    for ending in ("py", "sql", "onnx"):
        if ending not in endings.split():
            with pytest.raises(UsageError, match=r"cannot be written|can be written as|holds no"):
                export(model, tmp_path / f"m.{ending}")
            continue
        path = export(model, tmp_path / f"m.{ending}")
        if ending == "onnx":
            np.testing.assert_allclose(run_onnx(path, rows), shares(model, rows), rtol=1e-8, atol=1e-9)
        elif ending == "sql":
            assert_agree(run_sql(path, rows), model.predict(rows))
        else:
            assert {line.strip() for line in path.read_text().splitlines() if "import" in line} <= {"import math"}
            said, scope, asked = run_python(path, rows)
            assert_agree(said, model.predict(rows))
            if "probabilities" in scope:
                given = [list(scope["probabilities"](row).values()) for row in asked]
                np.testing.assert_allclose(given, model.predict_proba(rows), rtol=1e-8, atol=1e-9)


def test_gaps_that_neighbours_take_one_class_and_names_of_any_letters(tmp_path):
    names = ["it's", "new\nline", "def predict(row):", 'COUNT "VOTE" {u}']
    frame = pl.DataFrame(X, schema=names)
    near = KNNClassifier(weights="distance").fit(frame, THREE)
    gaps = pl.DataFrame(np.where(RNG.random(NEW.shape) < 0.3, np.nan, NEW), schema=names).fill_nan(None)
    assert_agree(run_python(export(near, tmp_path / "near.py"), gaps)[0], near.predict(gaps))
    later = pl.DataFrame(NEW, schema=names)
    for model in (QDA(), BaggingClassifier(n_estimators=2, estimator=CartClassifier(max_depth=3)), Ripper()):
        for y in (THREE, np.array(["only"] * 300)):
            model.fit(frame, y)
            assert_agree(run_python(export(model, tmp_path / "m.py"), later)[0], model.predict(later))
            path = export(model, tmp_path / "m.sql")
            if not isinstance(model, QDA) or y is not THREE:
                continue
            base = sqlite3.connect(":memory:")
            quoted = [chr(34) + name.replace(chr(34), chr(34) * 2) + chr(34) for name in names]
            base.execute(f"CREATE TABLE t ({', '.join(quoted)})")
            base.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", later.rows())
            said = [row[0] for row in base.execute(f"SELECT {path.read_text()} FROM t ORDER BY rowid")]
            assert_agree(said, model.predict(later))


def test_training_rows_beyond_what_a_text_should_hold_are_refused(tmp_path):
    many = RNG.normal(size=(60_000, 4))
    with pytest.raises(UsageError, match="holds 240,000 numbers of training rows, too many for Python"):
        export(KNNRegressor().fit(many, many[:, 0]), tmp_path / "m.py")
    wide = MLPRegressor(hidden_layer_sizes=(120, 100), max_iter=1, tol=None, random_state=0).fit(X, Y)
    with pytest.raises(UsageError, match="products, too many for one expression of SQL; export as .onnx"):
        export(wide, tmp_path / "m.sql")
    labelled = KNNClassifier().fit(TABLE[["size", "grade"]], KIND)
    with pytest.raises(UsageError, match="measures by 'mixed', which has no form in Python; code labels"):
        export(labelled, tmp_path / "m.py")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("model", "y"), NUMBERS, ids=lambda value: type(value).__name__)
def test_models_of_numbers_say_the_same_in_every_form(model, y, tmp_path):
    model.fit(X, y)
    found = run_onnx(export(model, tmp_path / "m.onnx"), NEW)
    np.testing.assert_allclose(found, shares(model, NEW), rtol=1e-9, atol=1e-9)
    path = export(model, tmp_path / "m.py")
    assert {line for line in path.read_text().splitlines() if "import" in line} <= {"import math"}
    said, scope, rows = run_python(path, NEW)
    assert_agree(said, model.predict(NEW))
    if "probabilities" in scope:
        given = [list(scope["probabilities"](row).values()) for row in rows]
        np.testing.assert_allclose(given, model.predict_proba(NEW), rtol=1e-9, atol=1e-9)
    assert_agree(run_sql(export(model, tmp_path / "m.sql"), NEW), model.predict(NEW))


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (NaiveBayes(), KIND), (CartClassifier(), KIND), (RandomForestClassifier(n_estimators=5, max_depth=7), KIND),
        (NewtonBoostingClassifier(n_estimators=5), KIND), (NewtonBoostingRegressor(n_estimators=5), AMOUNT),
        (NaiveBayes(distributions={"rate": "bernoulli"}), KIND),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_labels_gaps_and_labels_never_seen_say_the_same_in_every_form(model, y, tmp_path):
    columns = ["size", "rate", "colour", "grade"]
    model.fit(TABLE[columns], y)
    later = LATER[columns]
    np.testing.assert_allclose(
        run_onnx(export(model, tmp_path / "m.onnx"), later), shares(model, later), rtol=1e-9, atol=1e-9
    )
    assert_agree(run_python(export(model, tmp_path / "m.py"), later)[0], model.predict(later))
    assert_agree(run_sql(export(model, tmp_path / "m.sql"), later), model.predict(later))


FURTHER = ["qda", "one-vs-rest", "bagging-classifier", "voting-classifier", "svm-classifier"]


@pytest.fixture(scope="module")
def compared():
    """Every form of preparation: gaps filled and marked, standardised, one-hot, ranks, labels as they are."""
    found = {}
    for target, cells, learners in (
        ("kind", KIND, ["logistic", "naive-bayes", "cart-classifier", "random-forest-classifier", "lda", *FURTHER]),
        ("amount", AMOUNT, ["ridge", "newton-boosting-regressor", "mlp-regressor"]),
    ):
        plan = Plan(TABLE.with_columns(pl.Series(target, cells)), target, learners=learners, design="3-fold")
        results = run(plan)
        found |= {learner: results.best_model(learner) for learner in learners}
    return found


@pytest.mark.parametrize("ending", ["onnx", "py", "sql"])
@pytest.mark.parametrize(
    "learner",
    [
        "logistic",
        "naive-bayes",
        "cart-classifier",
        "random-forest-classifier",
        "ridge",
        "newton-boosting-regressor",
        "mlp-regressor",
        "qda",
        "one-vs-rest",
        "bagging-classifier",
    ],
)
def test_a_model_goes_out_with_its_preparation(compared, learner, ending, tmp_path):
    model = compared[learner]
    path = model.export(tmp_path / f"m.{ending}")
    if ending == "onnx":
        np.testing.assert_allclose(run_onnx(path, LATER), shares(model, LATER), rtol=1e-8, atol=1e-8)
    elif ending == "py":
        assert_agree(run_python(path, LATER)[0], model.predict(LATER))
    else:
        assert_agree(run_sql(path, LATER), model.predict(LATER))


@pytest.mark.parametrize("learner", ["voting-classifier", "svm-classifier"])
def test_members_and_kernels_go_out_with_their_preparation_as_python(compared, learner, tmp_path):
    model = compared[learner]
    assert_agree(run_python(model.export(tmp_path / "m.py"), LATER)[0], model.predict(LATER))


def test_votes_that_tie_and_classes_that_are_true_or_false(tmp_path):
    """Half of the trees for each class: the first class wins, whatever the order of sums."""
    model = RandomForestClassifier(n_estimators=10, random_state=0).fit(X, TWO == "yes")
    many = RNG.normal(size=(2000, 4))
    ties = many[np.abs(model.predict_proba(many)[:, 1] - 0.5) < 1e-12]
    assert ties.shape[0] >= 3
    assert_agree(run_python(export(model, tmp_path / "m.py"), ties)[0], model.predict(ties))
    small = RandomForestClassifier(n_estimators=3, max_depth=5, random_state=0).fit(X, TWO == "yes")
    assert [bool(one) for one in run_sql(export(small, tmp_path / "m.sql"), NEW)] == small.predict(NEW).tolist()


def test_rows_that_a_tree_splits_into_fractions_have_no_export(tmp_path):
    model = C45Classifier().fit(X, TWO)
    with pytest.raises(UsageError, match="splits rows with missing cells into fractions"):
        model.export(tmp_path / "m.py")


def test_rules_go_out_with_their_preparation(tmp_path):
    table = TABLE.with_columns(pl.Series("kind", KIND))
    model = run(Plan(table, "kind", learners=["ripper"], design="3-fold")).best_model("ripper")
    assert_agree(run_sql(model.export(tmp_path / "m.sql"), LATER), model.predict(LATER))
    assert_agree(run_python(model.export(tmp_path / "m.py"), LATER)[0], model.predict(LATER))


def test_rules_are_written_as_sql(tmp_path):
    model = Ripper(random_state=0).fit(X, TWO)
    assert_agree(run_sql(export(model, tmp_path / "m.sql"), NEW), model.predict(NEW))


def test_what_has_no_exact_form_is_refused_and_nothing_is_written(tmp_path):
    model = DensityClassifier().fit(X, TWO)
    costly = NaiveBayes(costs=[[0.0, 50.0], [1.0, 0.0]])
    for one, ending in [(model, "py"), (model, "sql"), (model, "onnx"), (costly.fit(X, TWO), "py"), (costly, "sql")]:
        with pytest.raises(UsageError, match="cannot be written as .* exactly yet"):
            export(one, tmp_path / f"m.{ending}")
    with pytest.raises(UsageError, match="must end in"):
        export(model, tmp_path / "m.pmml")
    days = pl.DataFrame({"day": [datetime(2024, 1, 1 + k % 28) for k in range(60)], "y": np.arange(60.0) % 28})
    dated = run(Plan(days, "y", learners=["ridge"], design="3-fold")).best_model("ridge")
    with pytest.raises(UsageError, match=r"because of the date in column 'day'; .* export as .py, or give the parts"):
        dated.export(tmp_path / "m.sql")
    assert not list(tmp_path.iterdir())
    later = pl.DataFrame({"day": [datetime(2025, 2, 3, 4, 5), None, datetime(2024, 1, 7)]})
    assert_agree(run_python(dated.export(tmp_path / "m.py"), later)[0], dated.predict(later))


def test_adaboost_is_exact_or_refused(tmp_path):
    model = AdaBoostClassifier(n_estimators=5).fit(X, TWO)
    assert_agree(run_python(export(model, tmp_path / "m.py"), NEW)[0], model.predict(NEW))


@pytest.mark.slow
@pytest.mark.parametrize("task", ["classify", "regress"])
def test_every_learner_goes_out_exactly_or_is_refused_with_a_sentence(task, tmp_path):
    """Each learner of the catalogue with its preparation, in every form, on rows with gaps that it has not seen."""
    target = KIND if task == "classify" else AMOUNT
    done = 0
    for entry in catalogue.entries():
        if str(entry.task) != task or entry.id in LONG:
            continue
        plan = Plan(TABLE.with_columns(pl.Series("said", target)), "said", learners=[entry.id], design="3-fold")
        model = PreparedModel.fit(plan, plan.learners[0])
        for ending, run_file in (("onnx", run_onnx), ("py", lambda *a: run_python(*a)[0]), ("sql", run_sql)):
            try:
                path = model.export(tmp_path / f"{entry.id}.{ending}")
            except AssayError:
                continue
            done += 1
            if ending == "onnx":
                np.testing.assert_allclose(run_file(path, LATER), shares(model, LATER), rtol=1e-7, atol=1e-7)
            else:
                assert_agree(run_file(path, LATER), model.predict(LATER))
    assert done > (30 if task == "classify" else 20)


@pytest.mark.parametrize(
    "learner", ["logistic", "cart-classifier", "ridge", "newton-boosting-regressor", "voting-classifier"]
)
def test_python_says_which_cell_of_a_row_it_cannot_use(compared, learner, tmp_path):
    scope: dict = {}
    exec(compared[learner].export(tmp_path / "m.py").read_text(), scope)
    row = LATER.rows(named=True)[0]
    number = next(name for name, kind in scope["_KINDS"].items() if kind == "number")
    scope["predict"](row)
    with pytest.raises(ValueError) as caught:
        scope["predict"](row | {number: "n/a"})
    assert str(caught.value) == f"predict: column '{number}' must hold a number; got 'n/a'."
    with pytest.raises(ValueError, match=f"^predict: column '{number}' must be in the row; None stands for"):
        scope["predict"]({name: cell for name, cell in row.items() if name != number})
    with pytest.raises(ValueError, match="^predict: a row must be a mapping from column names to cells; got list.$"):
        scope["predict"](list(row.values()))


def test_python_of_bare_models_says_it_too(tmp_path):
    rows = np.arange(24.0).reshape(8, 3)
    for model in (Ridge().fit(rows, rows[:, 0]), CartClassifier().fit(rows, np.arange(8) > 3)):
        scope: dict = {}
        exec(export(model, tmp_path / "m.py").read_text(), scope)
        cells = {"x0": 1.0, "x1": 2.0, "x2": 3.0}
        with pytest.raises(ValueError, match="^predict: column 'x0' must hold a number; got '1.0'.$"):
            scope["predict"](cells | {"x0": "1.0"})
    scope = {}
    exec(export(Ridge().fit(rows, rows[:, 0]), tmp_path / "m.py").read_text(), scope)
    with pytest.raises(ValueError, match="^predict: column 'x1' must hold a number; got None.$"):
        scope["predict"](cells | {"x1": None})
