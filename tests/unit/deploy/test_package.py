"""Packages: what goes in comes out, checks are replayed, versions are told apart, other classes need trust."""

from __future__ import annotations

import json
import warnings

import numpy as np
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import assay
from assay.base import AssayError, AssayWarning, PackageError
from assay.data import load_dataset
from assay.deploy import container, open_package, package, save
from assay.deploy.package import from_bytes
from assay.experiment import Plan, run
from assay.models.ensembles import BaggingRegressor, RandomForestClassifier
from assay.models.linear import Ridge
from assay.models.trees import C45Classifier, CartClassifier
from tests.fuzz.packages import forge, opened

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X @ [1.0, -2.0, 0.5] + RNG.normal(size=60)


@pytest.fixture
def ridge(tmp_path):
    return Ridge().fit(X, Y).save(tmp_path / "ridge.assay")


def test_save_and_load_are_at_the_top_and_on_the_model(tmp_path):
    model = Ridge(alpha=0.5).fit(X, Y)
    assert assay.save(model, tmp_path / "a.assay").read_bytes() == model.save(tmp_path / "b.assay").read_bytes()
    again = assay.load(tmp_path / "a.assay")
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_the_manifest_tells_what_it_is(ridge):
    manifest = json.loads(container.read(ridge)[0])
    assert manifest["model"]["method"] == "ridge" and manifest["model"]["n_features"] == 3
    assert manifest["checks"] == {"rows": 24, "outputs": ["predict"]}
    assert set(manifest["versions"]) == {"assay", "python", "numpy", "scipy", "scikit-learn", "polars"}


def test_an_unfitted_model_is_refused(tmp_path):
    with pytest.raises(PackageError, match="must be fitted before it is saved"):
        Ridge().save(tmp_path / "x.assay")
    with pytest.raises(PackageError, match="must be a fitted model"):
        save(Ridge, tmp_path / "x.assay")
    assert not (tmp_path / "x.assay").exists()


def test_the_answers_given_are_replayed_and_others_are_refused(ridge):
    manifest, graph, pools = opened(ridge.read_bytes())
    assert from_bytes(forge(manifest, graph, pools)).title == "Ridge regression"
    coefficients = next(node for node in graph["nodes"] if node["t"] == "record" and node["class"] == "ridge")["state"]
    place = graph["nodes"][coefficients["coef_"]["ref"]]["at"]
    pools["float64"][place] += 0.5
    with pytest.raises(PackageError, match="gives other answers \\(predict\\) than when it was saved"):
        from_bytes(forge(manifest, graph, pools))


def test_rows_to_check_with_can_be_given(tmp_path):
    frame = load_dataset("iris").frame
    model = CartClassifier().fit(frame.drop("species"), frame["species"].to_list())
    path = model.save(tmp_path / "x.assay", check=frame.drop("species").head(5))
    assert open_package(path).manifest["checks"]["rows"] == 5
    with pytest.raises(PackageError, match="parameter 'check' must be rows that the model can predict"):
        model.save(tmp_path / "x.assay", check=[["a"]])


def test_a_newer_version_is_refused_and_an_older_one_migrated(ridge, monkeypatch):
    data = ridge.read_bytes()
    manifest, graph, pools = opened(data)
    with pytest.raises(PackageError, match="is of version 2, and this Assay reads versions up to 1; update Assay"):
        from_bytes(forge(manifest | {"schema": 2}, graph, pools))
    monkeypatch.setattr(package, "SCHEMA", 2)
    with pytest.raises(PackageError, match="from which no way leads"):
        from_bytes(data)
    # Say that version 1 called the class by another name.
    record = next(node for node in graph["nodes"] if node["t"] == "record")

    def rename(old, nodes):
        for node in nodes["nodes"]:
            if node["t"] == "record" and node["class"] == "ridge-of-old":
                node["class"] = "ridge"
        return old | {"schema": 2}, nodes

    record["class"] = "ridge-of-old"
    monkeypatch.setitem(package.MIGRATIONS, 1, rename)
    np.testing.assert_array_equal(
        from_bytes(forge(manifest, graph, pools)).model.predict(X), Ridge().fit(X, Y).predict(X)
    )


def test_a_tree_with_a_circle_or_a_wrong_column_is_refused_before_it_is_walked(tmp_path):
    labels = (X[:, 0] > 0).astype(int)
    for model, kind in ((CartClassifier(), "Tree"), (RandomForestClassifier(n_estimators=2), "Forest")):
        data = model.fit(X, labels).save(tmp_path / "x.assay").read_bytes()
        for name, value in (("children_left", 0), ("children_left", 10**6), ("children_right", -1), ("feature", 3)):
            manifest, graph, pools = opened(data)
            state = next(n for n in graph["nodes"] if n["t"] == "record" and n["class"] == kind)["state"]
            node = graph["nodes"][state[name]["ref"]]
            feature = graph["nodes"][state["feature"]["ref"]]
            inner = int(np.flatnonzero(pools["int32"][feature["at"] : feature["at"] + feature["shape"][0]] >= 0)[0])
            pools["int32"][node["at"] + inner] = value
            with pytest.raises(PackageError, match="the tree must"):
                from_bytes(forge(manifest, graph, pools))


def test_a_multiway_tree_with_a_wrong_branch_is_refused(tmp_path):
    table = load_dataset("weather").frame
    data = C45Classifier().fit(table.drop("play"), table["play"].to_list()).save(tmp_path / "x.assay").read_bytes()
    manifest, graph, pools = opened(data)
    state = next(n for n in graph["nodes"] if n["t"] == "record" and n["class"] == "Tree")["state"]
    pools["int32"][graph["nodes"][state["branches"]["ref"]]["at"]] = 99
    with pytest.raises(PackageError, match="the tree must have children"):
        from_bytes(forge(manifest, graph, pools))


def test_pipelines_with_parts_of_scikit_learn_are_held(tmp_path):
    frame = pl.DataFrame({"a": X[:, 0], "b": RNG.choice(["x", "y"], 60)}).to_pandas()
    mixed = ColumnTransformer([("n", StandardScaler(), ["a"]), ("c", OneHotEncoder(), ["b"])], remainder="passthrough")
    model = make_pipeline(mixed, Ridge()).fit(frame, Y)
    again = assay.load(save(model, tmp_path / "x.assay", check=frame.head(7)))
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))


def test_classes_of_other_libraries_need_trust_on_both_sides(tmp_path):
    model = BaggingRegressor(estimator=LinearRegression(), n_estimators=2, random_state=0).fit(X, Y)
    with pytest.raises(PackageError, match="class that packages do not hold; got sklearn.linear_model"):
        model.save(tmp_path / "x.assay")
    with pytest.warns(AssayWarning, match="W602"):
        path = model.save(tmp_path / "x.assay", trusted=[LinearRegression])
    with pytest.raises(PackageError, match=r"is only made when you say so; if you trust"):
        assay.load(path)
    with pytest.warns(AssayWarning, match="vouches for none"):
        again = assay.load(path, trusted=[LinearRegression])
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with pytest.raises(AssayError, match="must hold classes"):
        assay.load(path, trusted=["sklearn.linear_model.LinearRegression"])


def test_code_is_refused_by_name(tmp_path):
    model = Ridge().fit(X, Y)
    model.alpha_rule_ = lambda: 1
    with pytest.raises(PackageError, match=r"the model\['model'\].alpha_rule_ is code, and a package holds none"):
        model.save(tmp_path / "x.assay")


@pytest.fixture(scope="module")
def results():
    return run(Plan(load_dataset("weather"), "play", learners=["zero-r", "naive-bayes", "logistic"], design="3-fold"))


@pytest.mark.parametrize("learner", ["zero-r", "naive-bayes", "logistic"])
def test_a_prepared_model_travels_with_preparation_profile_and_provenance(results, tmp_path, learner):
    frame = load_dataset("weather").frame
    model = results.best_model(learner)
    opened_ = open_package(model.save(tmp_path / "x.assay"))
    np.testing.assert_array_equal(opened_.model.predict_proba(frame), model.predict_proba(frame))
    assert opened_.model.explain() == model.explain()
    assert opened_.facts["target"] == "play" and set(opened_.facts["profile"]) == set(model.columns)
    assert opened_.manifest["facts"]["provenance"]["data"]["fingerprint"] == load_dataset("weather").fingerprint
    assert opened_.facts["conformal"].n == 14
    held = pl.DataFrame(opened_.rows, strict=False).select(frame.columns[:-1])
    assert held.height == 24 and opened_.manifest["checks"]["rows"] == 24


def test_saving_leaves_the_old_file_where_it_fails(tmp_path):
    path = Ridge().fit(X, Y).save(tmp_path / "x.assay")
    before = path.read_bytes()
    model = Ridge().fit(X, Y)
    model.odd_ = object()
    with pytest.raises(PackageError):
        model.save(path)
    assert path.read_bytes() == before
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assay.load(path)
