"""Claims about tuning: chosen inside the training rows alone, the same on every road, every trial kept."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

from assay import tune
from assay.base.errors import ParameterError, UsageError
from assay.base.randomness import Stream
from assay.data import load_dataset
from assay.experiment import Plan, Search, Space, Store, Tuned, run
from assay.experiment.inputs import Inputs
from assay.experiment.tuning import InnerFolds, _effect

KNN = {"n_neighbors": [1, 7, 25], "weights": ["uniform", "distance"]}


class Picky(DummyClassifier):
    """Fails with one of its settings."""

    def __init__(self, strategy="prior", mood=0, random_state=None):
        super().__init__(strategy=strategy, random_state=random_state)
        self.mood = mood

    def fit(self, X, y):
        if self.mood == 2:
            raise ValueError("not in the mood")
        return super().fit(X, y)


@pytest.fixture(scope="module")
def iris():
    return load_dataset("iris")


@pytest.fixture(scope="module")
def plan(iris):
    learners = [
        "zero-r",
        Tuned("knn-classifier", KNN, "grid", folds=3),
        Tuned("cart-classifier", method="random", trials=4, folds=2),
        ("one by one", Tuned("knn-classifier", KNN, "one-factor", folds=2)),
        Tuned(DecisionTreeClassifier(), {"max_depth": {"low": 1, "high": 4}}, "optuna", trials=4, folds=2),
    ]
    return Plan(iris, "species", learners=learners, design="3-fold", metrics=["accuracy", "log_loss"])


@pytest.fixture(scope="module")
def results(plan):
    return run(plan)


def test_every_trial_is_told_with_its_parameters_and_score(results):
    counts = {
        "knn-classifier-tuned": 6,
        "cart-classifier-tuned": 4,
        "one by one": 6,
        "decision-tree-classifier-tuned": 4,
    }
    for name, count in counts.items():
        frame = results.tuning(name).to_frame()
        assert frame.height == 4 * count and frame["best"].sum() == 4, "three folds and all rows"
        assert frame["score"].is_between(0, 1).all() and frame["error"].null_count() == frame.height


def test_the_winner_of_each_fold_is_the_one_that_scored_best_inside(results):
    frame = results.tuning("knn-classifier-tuned").to_frame()
    for _, part in frame.group_by("fold"):
        assert part.filter("best")["score"].item() == part["score"].max()
        first = part.sort("trial").filter(pl.col("score") == part["score"].max())["trial"][0]
        assert part.filter("best")["trial"].item() == first, "the first of equals"


def test_the_score_outside_is_that_of_the_chosen_setting_fitted_alone(iris, plan, results):
    frame = results.tuning("knn-classifier-tuned").to_frame().filter(pl.col("best") & pl.col("fold").is_not_null())
    result = next(one for one in results.learners if one.id == "knn-classifier-tuned")
    for row in frame.iter_rows(named=True):
        setting = {"n_neighbors": row["n_neighbors"], "weights": row["weights"]}
        alone = run(Plan(iris, "species", learners=[("knn-classifier", setting)], design="3-fold"))
        assert alone.learners[0].scores["accuracy"][0, row["fold"]] == result.scores["accuracy"][0, row["fold"]]
        assert result.chosen[row["fold"]] == setting


def test_inner_scores_equal_those_of_another_program_on_the_same_folds(iris):
    tree = DecisionTreeClassifier(random_state=0)
    learner = Tuned(tree, {"max_depth": [1, 2, 3]}, "grid", folds=4)
    plan = Plan(iris, "species", learners=[learner], design="3-fold", metrics=["accuracy"])
    train = plan.splits[1].train
    inner = InnerFolds(plan, Inputs(plan), plan.learners[0], train, plan.stream(1))
    X, y = plan.features.frame.to_numpy()[train], plan.y[train]
    peer = GridSearchCV(tree, {"max_depth": [1, 2, 3]}, cv=inner.folds, refit=False).fit(X, y)
    ours = [float(np.mean(inner.scores({"max_depth": depth}))) for depth in (1, 2, 3)]
    np.testing.assert_allclose(ours, peer.cv_results_["mean_test_score"], rtol=1e-12)


def test_rows_left_out_cannot_change_what_is_chosen(iris):
    """The outer test rows of a fold get other values and labels; the trials of that fold stay as they were."""
    learners = [Tuned("knn-classifier", KNN, "grid", folds=3), Tuned("logistic", trials=3, folds=2)]
    table = iris.frame
    plan = Plan(table, "species", learners=learners, design="3-fold", metrics=["accuracy"])
    test = plan.splits[0].test
    shaken = table.with_columns(
        pl.when(pl.int_range(pl.len()).is_in(test)).then(pl.col(name) * 5 + 1).otherwise(pl.col(name)).alias(name)
        for name in plan.columns
    )
    other = Plan(shaken, "species", learners=learners, design="3-fold", metrics=["accuracy"])
    assert np.array_equal(other.splits[0].test, test)
    for one, two in zip(run(plan).learners, run(other).learners):
        strip = [{n: (t["parameters"], t["scores"]) for n, t in result.trials[0].items()} for result in (one, two)]
        assert strip[0] == strip[1]


def test_jobs_and_the_store_do_not_change_a_bit(plan, results, tmp_path):
    told = results.to_dict()
    assert run(plan, tmp_path / "s", n_jobs=3).to_dict() == told
    again = run(plan, tmp_path / "s")
    assert again.to_dict() == told
    assert again.reused == sum(1 + (one.search.count if one.search else 0) for one in plan.learners) * 4


def test_a_search_that_was_interrupted_goes_on_from_its_trials(plan, results, tmp_path):
    """Half of the trials and no outcome of any search are in the store: the rest is done, and nothing twice."""
    run(plan, tmp_path / "s")
    with Store(tmp_path / "s") as store:
        connection = store._connection
        connection.execute("DELETE FROM units WHERE what NOT LIKE '%setting%'")
        connection.execute("DELETE FROM units WHERE what LIKE '%setting 3 of%' OR what LIKE '%setting 4 of%'")
        kept = dict(connection.execute("SELECT key, value FROM units").fetchall())
        seen = []
        again = run(plan, store, progress=lambda where: seen.append(where.what))
        assert again.to_dict() == results.to_dict()
        now = dict(connection.execute("SELECT key, value FROM units").fetchall())
        assert all(now[key] == value for key, value in kept.items()), "trials are found, with their seconds"
        assert not any("setting 1 of" in what for what in seen)


def test_tuned_learners_work_in_processes_of_their_own(iris):
    plans = [
        Plan(
            iris, "species", learners=[Tuned("knn-classifier", KNN, "grid", folds=2)], design="3-fold", time_limit=limit
        )
        for limit in (None, 120)
    ]
    assert run(plans[0]).to_dict() == run(plans[1]).to_dict()


def test_a_failing_setting_is_kept_with_its_sentence_and_does_not_win(iris):
    found = tune(iris, "species", Picky(), {"mood": [1, 2, 3]}, method="grid", folds=2, design="3-fold")
    tuning = found.tuning("picky-tuned")
    assert tuning.to_dict()["failed_trials"] == 4 and not found.failed
    failed = tuning.to_frame().filter(pl.col("mood") == 2)
    assert failed["score"].null_count() == 4 and failed["error"].str.contains("not in the mood").all()
    hopeless = tune(iris, "species", Picky(), {"mood": [2]}, method="grid", folds=2, design="3-fold")
    assert "every setting of the search failed" in hopeless.learners[1].error and hopeless.learners[0].error is None


def test_the_model_of_all_rows_has_the_setting_chosen_on_all_rows(results, iris):
    final = results.tuning("knn-classifier-tuned").final
    model = results.best_model("knn-classifier-tuned")
    assert {name: getattr(model.estimator, name) for name in final} == final
    assert len(model.predict(iris.frame.head(3))) == 3
    quick = run(results.plan, views=False)
    assert quick.best_model("knn-classifier-tuned").estimator.n_neighbors == final["n_neighbors"]


def test_losses_are_made_small(iris):
    learner = Tuned("knn-classifier", {"n_neighbors": [1, 15]}, "grid", folds=3)
    found = run(Plan(iris, "species", learners=[learner], design="3-fold", metrics=["log_loss"]))
    tuning = found.tuning("knn-classifier-tuned")
    assert tuning.final == {"n_neighbors": 15} and not tuning.greater_is_better
    for number, trials in tuning.trials.items():
        assert trials[tuning.best[number]]["score"] == min(t["score"] for t in trials.values())


def test_groups_stay_together_inside(iris):
    groups = np.arange(150) % 25
    plan = Plan(
        iris, "species", learners=[Tuned("lda", {"shrinkage": [0.0, 0.5]}, "grid")], design="5-fold", groups=groups
    )
    inner = InnerFolds(plan, Inputs(plan), plan.learners[0], plan.splits[0].train, plan.stream(0))
    own = plan.group_values[plan.splits[0].train]
    assert all(not set(own[train]) & set(own[test]) for train, test in inner.folds)


def test_time_goes_forward_inside(iris):
    plan = Plan(
        iris,
        "species",
        learners=[Tuned("lda", {"shrinkage": [0.0, 0.5]}, "grid")],
        time=np.random.default_rng(0).permutation(150),
    )
    inner = InnerFolds(plan, Inputs(plan), plan.learners[0], plan.splits[-1].train, plan.stream(0))
    own = plan.time_values[plan.splits[-1].train]
    assert all(own[train].max() < own[test].min() for train, test in inner.folds)


def test_a_plan_with_searches_comes_back_from_its_file(plan, tmp_path):
    again = Plan.load(plan.save(tmp_path / "p.toml"))
    assert again == plan and [one.title for one in again.learners] == [one.title for one in plan.learners]


def test_the_metric_is_part_of_what_a_search_depends_on(iris):
    one, two = (
        Plan(
            iris, "species", learners=["zero-r", Tuned("lda", {"shrinkage": [0.0]}, "grid")], design="3-fold", metrics=m
        )
        for m in (["accuracy"], ["log_loss"])
    )
    keys = [[plan.unit_key(learner, 0, "c") for learner in plan.learners] for plan in (one, two)]
    assert keys[0][0] == keys[1][0] and keys[0][1] != keys[1][1]


def test_settings_are_drawn_by_their_number_alone():
    space = Space.of({"a": {"low": 0.0, "high": 1.0}, "b": [1, 2, 3]})
    ask = [Search(space, "random", trials).proposals(Stream.of(5), True).ask(3) for trials in (4, 40)]
    assert ask[0] == ask[1]
    drawn = [Search(space, "random", 200).proposals(Stream.of(1), True).ask(k) for k in range(1, 200)]
    assert 0.4 < np.mean([one["a"] for one in drawn]) < 0.6 and {one["b"] for one in drawn} == {1, 2, 3}


def test_one_factor_at_a_time_keeps_the_best_of_the_others():
    space = Space.of({"a": [1, 2, 3], "b": [1, 2]})
    proposals = Search(space, "one-factor").proposals(Stream.of(0), True)
    asked = []
    for number in range(7):
        setting = proposals.ask(number)
        if setting is None:
            break
        asked.append(setting)
        proposals.tell(number, 10.0 * (setting.get("a") == 2) + setting.get("b", 0))
    assert asked == [{}, {"a": 1}, {"a": 2}, {"a": 3}, {"a": 2, "b": 1}, {"a": 2, "b": 2}]


def test_whole_numbers_of_a_range_are_drawn_evenly():
    space = Space.of({"k": {"low": 1, "high": 4}})
    drawn = [space.draw([place])["k"] for place in np.linspace(0, 0.9999, 4000)]
    assert np.bincount(drawn)[1:].tolist() == [1000, 1000, 1000, 1000]


@pytest.mark.parametrize(
    ("space", "told"),
    [
        ({"n_neighbours": [1]}, "has no parameter 'n_neighbours'.*n_neighbors"),
        ({"n_neighbors": [0]}, "must be"),
        ({"n_neighbors": []}, "list of values or a range"),
        ({"n_neighbors": {"low": 5, "high": 1}}, "low end below"),
        ({"n_neighbors": {"low": 0, "high": 5, "log": True}}, "above 0"),
        ({"n_neighbors": {"low": 1}}, "list of values or a range"),
        ({"n_neighbors": {"low": 1, "high": float("inf")}}, "numbers as its ends"),
        ({"n_neighbors": "1..5"}, "list of values or a range"),
        ({}, "no search space|must name"),
    ],
)
def test_a_space_that_is_none_is_refused(iris, space, told):
    with pytest.raises((ParameterError, UsageError), match=told):
        Plan(iris, "species", learners=[Tuned("knn-classifier", space)], design="3-fold")


@pytest.mark.parametrize(
    "options",
    [
        {"method": "magic"},
        {"trials": 0},
        {"levels": 1},
        {"folds": 1},
        {"trials": 2.5},
        {"method": "grid", "levels": 20},
    ],
)
def test_options_of_a_search_are_checked(iris, options):
    with pytest.raises((ParameterError, UsageError), match="search:"):
        Plan(iris, "species", learners=[Tuned("newton-boosting-classifier", **options)], design="3-fold")


def test_a_learner_without_a_space_says_so(iris):
    with pytest.raises(UsageError, match="has no search space in the catalogue"):
        Plan(iris, "species", learners=[Tuned("zero-r")])


def test_tune_in_a_plan_wraps_those_that_have_a_space(iris):
    plan = Plan(
        iris, "species", learners=["zero-r", "knn-classifier"], tune={"method": "grid", "levels": 2}, design="3-fold"
    )
    assert [one.id for one in plan.learners] == ["zero-r", "knn-classifier-tuned"]
    usual = Plan(iris, "species", tune="random", design="3-fold")
    assert any(one.search is not None for one in usual.learners) and any(one.search is None for one in usual.learners)
    with pytest.raises(ParameterError, match="'tune'"):
        Plan(iris, "species", tune={"trails": 3})


def test_the_share_of_a_parameter_is_that_of_an_analysis_of_variance():
    """Against scipy's F: epsilon squared = (F - 1) df1 / (F df1 + df2) for one factor in one search."""
    from scipy.stats import f_oneway

    rng = np.random.default_rng(2)
    places, scores = np.repeat([0.0, 1.0, 2.0], 10), rng.normal(size=30) + np.repeat([0.0, 1.0, 0.5], 10)
    F = f_oneway(*(scores[places == k] for k in range(3))).statistic
    assert _effect([(places, scores)]) == pytest.approx((F - 1) * 2 / (F * 2 + 27), rel=1e-12)
    assert _effect([]) == 0.0 and _effect([(places, np.ones(30))]) == 0.0


def test_a_parameter_without_effect_has_a_share_near_zero_and_one_that_decides_near_one():
    rng = np.random.default_rng(0)
    a, b = rng.uniform(size=400), rng.integers(0, 3, 400).astype(float)
    assert _effect([(b, a)]) < 0.02 and _effect([(a, np.floor(5 * a))]) > 0.95


def test_optuna_finds_the_good_end_of_a_space():
    space = Space.of({"x": {"low": 0.001, "high": 1.0, "log": True}, "kind": ["bad", "good"]})
    proposals = Search(space, "optuna", 40).proposals(Stream.of(3), False)
    scores = []
    for number in range(40):
        setting = proposals.ask(number)
        loss = None if number == 5 else abs(np.log(setting.get("x", 1.0) / 0.01)) + 3 * (setting.get("kind") != "good")
        proposals.tell(number, loss)
        scores.append(loss)
    assert proposals.ask(40) is None and min(s for s in scores if s is not None) < 0.5


@pytest.mark.slow
def test_the_nested_score_is_unbiased_where_nothing_can_be_learned_and_the_naive_one_is_not():
    """100 tables of noise, two equal classes: 0.5 is the truth for every setting."""
    nested, naive, inner = [], [], []
    for seed in range(100):
        rng = np.random.default_rng(1000 + seed)
        frame = pl.DataFrame(rng.normal(size=(60, 8)), schema=[f"x{k}" for k in range(8)]).with_columns(
            y=pl.Series(rng.permutation(["u", "v"] * 30))
        )
        space = {"max_depth": {"low": 1, "high": 8}, "min_samples_leaf": {"low": 1, "high": 12}}
        learner = Tuned("cart-classifier", space, trials=20, folds=5)
        found = run(Plan(frame, "y", learners=[learner], design="5-fold", metrics=["accuracy"]))
        tuning = found.tuning("cart-classifier-tuned")
        nested.append(tuning.outer.mean())
        naive.append(tuning.naive)
        inner.append(tuning.inner.mean())
    error = np.std(nested) / 10
    print(f"nested {np.mean(nested):.4f} (s.e. {error:.4f}), naive {np.mean(naive):.4f}, inner {np.mean(inner):.4f}")
    # Balanced classes in stratified folds pull accuracy slightly below one half, never above.
    assert abs(np.mean(nested) - 0.5) < 3 * error + 0.01
    assert np.mean(naive) > 0.55 and np.mean(inner) > 0.55


def test_a_learner_of_scikit_learn_is_cloned_not_shared(iris):
    tree = DecisionTreeClassifier()
    before = clone(tree).get_params()
    tune(iris, "species", tree, {"max_depth": [1, 2]}, method="grid", folds=2, design="3-fold")
    assert tree.get_params() == before


def test_a_rare_class_that_some_inner_folds_lack_does_not_end_the_search():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.normal(size=40), "y": ["u"] * 35 + ["v"] * 5})
    found = tune(frame, "y", "naive-bayes", trials=2, folds=4, design="3-fold", metrics=["roc_auc"])
    assert found.tuning("naive-bayes-tuned").to_dict()["failed_trials"] == 0


def test_a_tuned_learner_is_not_tuned_again(iris):
    with pytest.raises(UsageError, match="is tuned already"):
        Plan(iris, "species", learners=[Tuned(Tuned("knn-classifier"))], design="3-fold")


def test_equal_settings_are_tried_once_and_counted_once(monkeypatch):
    tuned = Tuned("knn-classifier", {"n_neighbors": [5, 7]}, "random", trials=8, folds=2)
    plan = Plan(load_dataset("iris"), "species", learners=[tuned], design="3-fold")
    tried, own = [], InnerFolds.scores
    monkeypatch.setattr(InnerFolds, "scores", lambda self, asked: tried.append(dict(asked)) or own(self, asked))
    told = run(plan, views=False).tuning(plan.learners[0].id)
    assert len(tried) == 3 * 2  # as given, which is 5, and 7, in each fold
    assert told.sentence.startswith("Of 2 different settings (settings drawn at random) on 2 inner folds")
    assert all(len(trials) == 8 for trials in told.trials.values())
