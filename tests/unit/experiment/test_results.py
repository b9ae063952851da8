"""Claims about results: the JSON is plain, complete and the same every time."""

from __future__ import annotations

import json
import re

import numpy as np
import polars as pl
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from assay.base.errors import AssayWarning, UsageError
from assay.data import load_dataset
from assay.experiment import Plan, run
from assay.experiment.version import code_version
from assay.report import render_report


@pytest.fixture(scope="module")
def results():
    return run(Plan(load_dataset("iris"), "species", random_state=4))


DATA = """name source rows columns fingerprint target task classes class_counts rows_without_target
roles set_aside findings"""
DESIGN = "name kind repetitions folds stratified seed description reason groups time n_train n_test"
LEARNER = """id title summary simplicity parameters preparation choices scores mean sd interval group verdict difference
difference_interval metrics confusion diagnostics view
warnings error race search"""


def names(text):
    return set(text.split())


def test_the_json_has_the_fields_of_its_schema(results):
    record = results.to_dict()
    assert record["schema"] == "assay.compare/1"
    assert set(record) == names(
        """schema data design metric learners comparison recommendation not_yet cautions ledger command versions"""
    )
    assert set(record["data"]) == names(DATA)
    assert set(record["design"]) == names(DESIGN)
    for learner in record["learners"]:
        assert set(learner) == names(LEARNER)
        assert len(learner["scores"]) == 3 and len(learner["scores"][0]) == 10
        assert sum(map(sum, learner["confusion"])) == 3 * 150
        assert set(learner["metrics"]) == set(results.plan.metrics)
        assert "n_jobs" not in learner["parameters"]
    assert record["recommendation"]["id"] in {learner["id"] for learner in record["learners"]}
    assert record["recommendation"]["title"] and record["recommendation"]["reason"]
    assert set(record["versions"]) == {"assay", "python", "numpy", "scipy", "scikit-learn"}


def test_the_json_is_plain_and_holds_no_time(results):
    text = json.dumps(results.to_dict(), allow_nan=False)
    assert json.loads(text) == results.to_dict()
    assert "seconds" not in text
    assert all({"fit_seconds", "predict_seconds"} == set(times) for times in results.timings.values())


def test_learners_that_can_be_drawn_have_a_view(results):
    views = {r.id: r.view for r in results.learners}
    assert views["zero-r"]["kind"] == "shares" and views["zero-r"]["classes"] == results.plan.classes.tolist()


def test_the_command_makes_the_same_plan_again(results):
    words = results.command.split()
    assert words[:2] == ["assay", "compare"]
    assert "--target" in words and "--seed" in words and "--jobs" not in words and "--out" not in words
    assert words[words.index("--seed") + 1] == "4"


def test_a_plan_that_only_python_can_say_has_no_command_line():
    results = run(Plan(load_dataset("iris"), "species", learners=[make_pipeline(StandardScaler(), DummyClassifier())]))
    assert results.command.startswith("Plan('iris', 'species', learners=[standard-scaler+dummy-classifier]")


def test_at_the_prompt_results_are_a_short_table_best_first(results):
    lines = str(results).splitlines()
    assert repr(results) == str(results) and len(lines) == len(results.learners) + 3
    means = [float(re.findall(r"0\.\d{4}", line)[0]) for line in lines[2:-1]]
    assert means == sorted(means, reverse=True)
    assert lines[-1] == results.comparison.sentence


def test_the_html_is_short_and_escaped(results):
    page = results._repr_html_()
    assert page.startswith("<table>") and page.count("<tr>") == 1 + len(results.learners)


def test_the_code_version_is_stable_within_an_installation():
    assert code_version() == code_version() and len(code_version()) == 64
    assert code_version("explain") == code_version("explain") != code_version()


def test_what_was_chosen_in_each_fold_is_told_and_survives_the_store(tmp_path):
    from sklearn.model_selection import GridSearchCV
    from sklearn.tree import DecisionTreeClassifier

    search = GridSearchCV(DecisionTreeClassifier(random_state=0), {"max_depth": [1, 4], "criterion": ["gini"]}, cv=2)
    learners = [
        "zero-r",
        ("knn-classifier", {"n_neighbors": "loo"}),
        ("cart-classifier", {"ccp_alpha": "cv"}),
        "logistic-cv",
        ("searched", search),
    ]
    plan = Plan(load_dataset("iris"), "species", learners=learners, design="2x3", random_state=1)
    results = run(plan, tmp_path / "store.db")
    frame = results.choices()
    assert frame.columns == ["id", "repetition", "fold", "k", "leaves", "ccp_alpha", "C", "criterion", "max_depth"]
    assert frame.height == 4 * 6 and frame["id"].unique_counts().to_list() == [6] * 4
    split = plan.splits[4]
    X = plan.features.frame.to_numpy()[split.train]
    told = results.to_dict()["learners"]
    assert told[0]["choices"] == []
    knn = told[1]["choices"][0]
    assert knn["name"] == "k" and len(knn["values"]) == 6
    assert knn["low"] <= knn["median"] <= knn["high"] and knn["words"].startswith("k in 6 folds: ")
    from assay.models.neighbours import KNNClassifier

    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    assert knn["values"][4] == KNNClassifier("loo").fit(scaled, plan.y[split.train]).n_neighbors_
    assert [one["name"] for one in told[2]["choices"]] == ["leaves", "ccp_alpha"]
    assert told[4]["choices"][0]["words"] == "criterion in 6 folds: gini (6)"
    again = run(plan, tmp_path / "store.db")
    assert again.reused == 6 * 5 + 5 and again.to_dict() == results.to_dict()
    assert run(Plan(load_dataset("iris"), "species", learners=["zero-r"], design="3-fold")).choices().height == 0


# -- against guessing -------------------------------------------------------------------------------------------------
def _noise(rows: int = 80):
    draw = np.random.default_rng(1)
    return pl.DataFrame({"a": draw.normal(size=rows), "b": draw.normal(size=rows), "y": np.tile(["x", "z"], rows // 2)})


@pytest.mark.parametrize("learners", [["one-r", "naive-bayes"], ["one-r"], ["zero-r", "one-r", "naive-bayes"]])
def test_a_learner_that_was_not_shown_to_beat_guessing_is_called_no_more_than_a_bet(learners):
    results = run(Plan(_noise(), "y", learners=learners, design="10-fold"))
    record = results.to_dict()
    told = "No learner was shown to beat the baseline (always 'x': mean accuracy 0.5)"
    assert record["recommendation"]["reason"].startswith(told)
    assert record["recommendation"]["unbeaten"] == "zero-r"
    assert told in str(results) and "Recommended" not in str(results)
    assert told in render_report(results).replace("&#39;", "'")
    chosen = record["recommendation"]["id"]
    if chosen == "":
        with pytest.raises(UsageError, match="No learner was shown to beat"):
            results.best_model()
    elif chosen != "zero-r":
        assert "the best bet if one must be used" in record["recommendation"]["reason"]
        with pytest.warns(AssayWarning, match="No learner was shown to beat"):
            results.best_model()


def test_a_learner_behind_guessing_is_no_bet():
    """A mean below the baseline's is named by nobody, even where the difference is not shown."""
    draw = np.random.default_rng(3)
    table = pl.DataFrame({"a": draw.normal(size=40), "y": ["x"] * 24 + ["z"] * 16})
    results = run(Plan(table, "y", learners=["knn-classifier"], design="10-fold"))
    told, mean = results.comparison.recommendation, results.comparison.summary["knn-classifier"]["mean"]
    assert mean < 0.6 and told["id"] == ""
    assert told["reason"].endswith("which has the best score.") and "bet" not in str(results)


@pytest.mark.parametrize("metric", ["accuracy", "f1_macro"])
@pytest.mark.parametrize("learners", [["one-r", "naive-bayes"], ["zero-r", "one-r", "naive-bayes"]])
def test_the_best_bet_on_noise_never_lies_behind_the_baseline(metric, learners):
    """What the sentence says against what guessing scores, on tables of noise on which it wins and loses."""
    outcomes = set()
    for seed, rows in enumerate((100, 120, 200, 300)):
        draw = np.random.default_rng(seed)
        table = pl.DataFrame({"a": draw.normal(size=rows), "b": draw.normal(size=rows)}).with_columns(
            y=pl.Series(draw.choice(["x", "y", "z"], size=rows, p=[0.45, 0.3, 0.25]))
        )
        plan = Plan(table, "y", learners=learners, design="5-fold", metrics=[metric], random_state=seed)
        results = run(plan, views=False)
        guess = run(Plan(table, "y", learners=["zero-r"], design="5-fold", metrics=[metric], random_state=seed))
        baseline = guess.comparison.summary["zero-r"]["mean"]
        told, summary = results.comparison.recommendation, results.comparison.summary
        top = max(summary[name]["mean"] for name in learners if name != "zero-r")
        bet = "the best bet" in told["reason"]
        assert not bet or top >= baseline
        assert not told["id"] or summary[told["id"]]["mean"] >= baseline - 1e-12
        outcomes.add("bet" if bet else "behind" if top < baseline else "other")
    assert outcomes & ({"behind"} if metric == "accuracy" else {"bet", "other"}), outcomes


def test_undecided_against_guessing_keeps_the_best_bet_and_no_better_keeps_guessing():
    """Undecided is not equal: a linear truth on few rows stays with its learner, and the sentence says so."""
    draw = np.random.default_rng(13)
    X = draw.normal(size=(150, 3))
    table = pl.DataFrame(X, schema=["a", "b", "c"]).with_columns(
        y=pl.Series(np.where(0.7 * X[:, 0] + draw.logistic(size=150) > 0, "p", "q"))
    )
    results = run(Plan(table, "y", learners=["zero-r", "one-r", "naive-bayes", "logistic"], design="3x10"))
    summary, told = results.comparison.summary, results.comparison.recommendation
    assert summary["zero-r"]["verdict"] == "undecided" and told["unbeaten"] == "zero-r"
    assert told["id"] == results.comparison.best != "zero-r" and "Best bet" in render_report(results)


def test_a_learner_that_beats_guessing_is_recommended_without_zero_r_in_the_plan():
    results = run(Plan(load_dataset("iris"), "species", learners=["naive-bayes"], design="10-fold"))
    assert results.to_dict()["recommendation"]["id"] == "naive-bayes"
    assert "baseline" not in str(results)


def test_guessing_below_chance_is_said_where_whole_groups_are_left_out():
    """Six of twelve patients are ill: the held-out patient's class is always the rarer one in training."""
    draw = np.random.default_rng(0)
    patient = np.repeat(np.arange(12), 10)
    ill = draw.permutation([0, 1] * 6)[patient]
    table = pl.DataFrame(
        {"x": draw.normal(size=120), "g": [f"p{v}" for v in patient], "y": [f"c{v}" for v in ill.tolist()]}
    )
    results = run(Plan(table, "y", learners=["zero-r", "naive-bayes"], groups="g"), views=False)
    assert any("which chance reaches" in text for text in results.cautions)
    assert not any("which chance reaches" in text for text in run(Plan(_noise(), "y", learners=["zero-r"])).cautions)


def test_few_groups_are_warned_of():
    draw = np.random.default_rng(0)
    table = pl.DataFrame({"x": draw.normal(size=150), "g": np.repeat(np.arange(5), 30).astype(str)}).with_columns(
        y=pl.Series(draw.permutation(["a", "b"] * 75))
    )
    results = run(Plan(table, "y", learners=["zero-r", "naive-bayes"], groups="g"), views=False)
    assert results.plan.design.name == "5-fold"
    assert any("5 groups" in text for text in results.comparison.warnings)


def test_a_learner_without_any_error_is_warned_of():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(90, 2))
    table = pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": x @ [1.0, 2.0]})
    results = run(Plan(table, "y", learners=["least-squares"], metrics=["r2"], design="3-fold"), views=False)
    assert any("best possible r2 in every fold" in text for text in results.cautions)
    noisy = table.with_columns(y=pl.col("y") + pl.Series(rng.normal(size=90)))
    results = run(Plan(noisy, "y", learners=["least-squares"], metrics=["r2"], design="3-fold"), views=False)
    assert not any("best possible" in text for text in results.cautions)


def test_least_squares_is_simpler_than_a_penalty():
    learners = ["least-squares", "ridge"]
    results = run(Plan(load_dataset("diabetes"), "progression", learners=learners, design="3x10"), views=False)
    assert results.comparison.summary["ridge"]["verdict"] in ("best", "equivalent")
    assert results.comparison.recommendation["id"] == "least-squares"
