"""Claims about `assay.compare` and what it takes: names, other libraries, column names, a model at the end."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, ShuffleSplit, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import assay
from assay import catalogue, compare
from assay.base.errors import DataError, UsageError
from assay.data import load_dataset
from assay.evaluate import BootstrapSplitter, TimeSplitter
from assay.experiment import Plan, run
from assay.models import CartClassifier, KNNClassifier


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    colour, size = rng.choice(["red", "blue"], 120), rng.normal(size=120)
    y = np.where(size + (colour == "red") + 0.5 * rng.normal(size=120) > 0.5, "yes", "no")
    return pl.DataFrame({"colour": colour, "size": size, "unit": np.arange(120) // 4, "y": y})


def test_a_pipeline_that_picks_columns_by_name_works_and_pipelines_have_names_of_their_own(frame):
    picks = make_column_transformer((OneHotEncoder(), ["colour"]), (StandardScaler(), ["size"]))
    first = make_pipeline(picks, LogisticRegression())
    second = make_pipeline(StandardScaler(), LogisticRegression())
    results = assay.compare(frame, "y", [first, second, "zero-r"], design="5-fold", groups="unit")
    assert not results.failed
    titles = [one.title for one in results.learners]
    assert len(set(titles)) == 3 and "ColumnTransformer + LogisticRegression" in titles
    assert results.comparison.summary[results.learners[0].id]["mean"] > 0.7


class Names(DummyClassifier):
    """Keeps the column names that it was fitted with."""

    def fit(self, X, y, sample_weight=None):
        assert list(X.columns), "a frame"
        return super().fit(X, y)


def test_other_libraries_get_frames_with_column_names(frame):
    assert not assay.compare(frame, "y", [Names()], design="2-fold").failed


def test_learners_have_names_and_import_paths(frame):
    learners = [("k three", KNNClassifier(3)), ("plain", "cart-classifier"), "sklearn.dummy.DummyClassifier"]
    learners += [("half", ("sklearn.linear_model.LogisticRegression", {"C": 0.5}))]
    plan = Plan(frame, "y", learners=learners)
    assert [one.id for one in plan.learners] == ["k three", "plain", "dummy-classifier", "half"]
    assert plan.learners[3].estimator.C == 0.5
    words = [one.word for one in plan.learners]
    assert words[0] == 'k three=knn-classifier{"n_neighbors": 3}'
    assert words[3] == 'half=sklearn.linear_model.LogisticRegression{"C": 0.5}'


def test_the_usual_learners_choose_their_own_complexity(frame):
    chosen = {one.id: one.parameters for one in Plan(frame, "y").learners}
    assert chosen["cart-classifier"]["ccp_alpha"] == "cv" and chosen["knn-classifier"]["n_neighbors"] == "loo"
    assert Plan(frame, "y", learners=["cart-classifier"]).learners[0].parameters["ccp_alpha"] == 0.0


@pytest.mark.parametrize(
    "design",
    [
        "holdout",
        "holdout-0.4",
        StratifiedKFold(4),
        ShuffleSplit(8, test_size=0.25, random_state=0),
        BootstrapSplitter(10),
        TimeSplitter(4),
    ],
)
def test_designs_run_and_give_verdicts(frame, design):
    results = run(Plan(frame, "y", learners=["zero-r", "naive-bayes", "logistic"], design=design), views=False)
    assert not results.failed and results.comparison is not None
    for row in results.comparison.summary.values():
        low, high = row["interval"]
        assert low <= row["mean"] <= high and row["verdict"] in ("best", "worse", "equivalent", "undecided")


def test_group_splitters_of_scikit_learn_get_the_groups(frame):
    plan = Plan(frame, "y", learners=["zero-r", "naive-bayes"], design=GroupKFold(5), groups="unit")
    units = frame["unit"].to_numpy()
    assert all(not set(units[s.train]) & set(units[s.test]) for s in plan.splits)
    assert not run(plan, views=False).failed


def test_the_best_model_takes_rows_as_they_come(frame):
    results = assay.compare(frame, "y", ["zero-r", "logistic"], design="5-fold", groups="unit")
    model = results.best_model()
    assert (model.predict(frame) == frame["y"].to_numpy()).mean() > 0.8
    assert model.predict_proba(frame).shape == (120, 2)
    assert model.predict(frame.select("size", "colour")).shape == (120,)
    with pytest.raises(assay.base.DataError, match="is needed to predict"):
        model.predict(frame.select("size"))
    assert isinstance(results.best_model("zero-r").learner.id, str)


def test_progress_goes_to_stderr(frame, capsys):
    assay.compare(frame, "y", ["zero-r"], design="2-fold", progress=True)
    said = capsys.readouterr()
    assert "3/3" in said.err and said.out == ""


def test_names_complete_in_a_shell():
    assert {"compare", "audit", "read_table", "models", "evaluate"} <= set(dir(assay))
    assert {"CartClassifier", "KNNClassifier", "Ridge"} <= set(dir(assay.models))
    assert CartClassifier is assay.models.trees.CartClassifier


def test_the_first_parameter_may_go_by_position_where_scikit_learn_has_it_so():
    assert assay.models.Ridge(2.0).alpha == 2.0 and KNNClassifier(3).n_neighbors == 3
    with pytest.raises(TypeError, match="only 'alpha' goes without its name"):
        assay.models.Ridge(1.0, 2.0)
    with pytest.raises(TypeError, match="by name"):
        CartClassifier(3)


def test_a_learner_that_ranks_nothing_has_an_area_of_exactly_a_half():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(203, 2))
    y = np.where(x[:, 0] + rng.normal(size=203) > 1.9, "yes", "no")
    table = pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": y})
    plan = Plan(table, "y", learners=["zero-r", "naive-bayes"], design="10-fold", metrics=["roc_auc"])
    summary = run(plan).comparison.summary
    assert summary["zero-r"]["interval"] == (0.5, 0.5)
    low, high = summary["naive-bayes"]["interval"]
    assert summary["zero-r"]["difference_interval"] == pytest.approx((0.5 - high, 0.5 - low))


def test_a_misspelt_word_and_a_target_that_is_no_name_get_one_sentence():
    table = load_dataset("iris")
    with pytest.raises(UsageError, match="'desing' is not known; did you mean 'design'"):
        compare(table, "species", ["zero-r"], desing="5-fold")
    with pytest.raises(UsageError, match="must be the name of a column of the table; got a Series"):
        compare(table.frame.drop("species"), table.frame["species"], ["zero-r"])


def test_a_class_that_its_module_lacks_is_named():
    with pytest.raises(UsageError, match=r"the module 'sklearn.svm', which has no class 'SVCC'"):
        compare(load_dataset("iris"), "species", ["sklearn.svm.SVCC"])


def test_a_step_that_is_not_known_gets_steps_of_preparation_named():
    steps = {entry.id for entry in catalogue.entries() if entry.task == "transform"}
    with pytest.raises(UsageError, match="'knn' is not in the catalogue") as caught:
        compare(load_dataset("iris"), "species", ["zero-r"], prepare=["knn"])
    named = re.search("did you mean (.*)[?]", str(caught.value))
    assert named is None or set(named[1].split(" or ")) <= steps


def test_a_database_given_as_a_file_gets_its_address_named(tmp_path):
    (tmp_path / "shop.sqlite").write_bytes(b"SQLite format 3\x00")
    with pytest.raises(DataError, match=r"is a database.*sqlite:///.*shop\.sqlite\?table="):
        compare(tmp_path / "shop.sqlite", "y")


@pytest.mark.parametrize("name", ["RandomForestClassifier", "RandomForestRegressor", "ExtraTreesClassifier"])
def test_forests_take_the_number_of_trees_by_position(name):
    assert getattr(assay.models, name)(20).n_estimators == 20
