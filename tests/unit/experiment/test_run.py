"""Claims about runs: the same numbers on every road, one failing learner stops nobody, nothing leaks."""

from __future__ import annotations

import sys
import threading
import warnings
from functools import partial

import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, SGDClassifier
from sklearn.metrics import accuracy_score, confusion_matrix, log_loss
from sklearn.tree import DecisionTreeClassifier

from assay import catalogue
from assay.base.errors import AssayWarning, DataError, ParameterError, UsageError
from assay.base.folds import open_seeds
from assay.data import Table, load_dataset, read_table
from assay.experiment import Plan as AnyPlan
from assay.experiment import Store, run
from assay.experiment.inputs import Inputs, PreparedTable
from assay.experiment.run import _Clock, _tasks, _units
from assay.experiment.version import code_version
from assay.experiment.work import Unit
from assay.models.bayes import LDA, NaiveBayes
from assay.prepare import Chain

# Ten folds in all, so that the counts below are small.
Plan = partial(AnyPlan, design="5x2")


class Fragile(ClassifierMixin, BaseEstimator):
    """Fails in every fit."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        raise ValueError("too fragile\nfor this")

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


class Interrupted(Fragile):
    """Stands for a user who presses Ctrl-C while this learner is at work."""

    def fit(self, X, y):
        raise KeyboardInterrupt


class Quits(Fragile):
    """Asks the interpreter to end."""

    def fit(self, X, y):
        raise SystemExit(7)


class SaysNothing(DummyClassifier):
    """Has no probabilities, only their places."""

    def predict_proba(self, X):
        return np.full((len(X), len(self.classes_)), np.nan)


class AnswersOnce(DummyClassifier):
    """Has one answer for all rows."""

    def predict_proba(self, X):
        return super().predict_proba(X)[:1]


class Warns(DummyClassifier):
    """Warns twice in every fit."""

    def fit(self, X, y):
        warnings.warn(AssayWarning("W999", "Warns: look out."), stacklevel=2)
        warnings.warn(AssayWarning("W999", "Warns: look out."), stacklevel=2)
        warnings.warn("an ordinary warning", RuntimeWarning, stacklevel=2)
        warnings.warn("for developers", DeprecationWarning, stacklevel=2)
        return super().fit(X, y)


@pytest.fixture(scope="module")
def iris():
    return load_dataset("iris")


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    path = tmp_path_factory.mktemp("run") / "mixed.csv"
    generator = np.random.default_rng(1)
    lines = ["size,colour,flag,price,kind"]
    for i in range(120):
        size = "" if i % 11 == 0 else f"{generator.normal() + i % 3:.3f}"
        colour = "" if i % 13 == 0 else ["red", "green", "blue"][(i + int(generator.integers(2))) % 3]
        lines.append(f"{size},{colour},{i % 2},{generator.normal():.4f},{['a', 'b', 'c'][i % 3]}")
    path.write_text("\n".join(lines))
    return read_table(path)


def numbers(results):
    return {r.id: {name: scores.tobytes() for name, scores in r.scores.items()} for r in results.learners}


@pytest.mark.parametrize("target", ["kind", "price"])
def test_jobs_do_not_change_a_single_bit(mixed, target):
    plan = Plan(mixed, target)
    one, two, five = (run(plan, n_jobs=jobs) for jobs in (1, 2, 5))
    assert one.to_dict() == two.to_dict() == five.to_dict()
    assert numbers(one) == numbers(two)
    assert not one.failed


@pytest.mark.parametrize("design", ["5x2", "3-fold", "2x3"])
def test_scores_have_the_shape_of_the_design(iris, design):
    results = run(Plan(iris, "species", learners=["zero-r"], design=design))
    shape = results.learners[0].scores["accuracy"].shape
    assert shape == {"5x2": (5, 2), "3-fold": (1, 3), "2x3": (2, 3)}[design]


def test_scores_and_confusion_equal_a_plain_loop_over_the_folds(iris):
    plan = Plan(iris, "species", learners=[DecisionTreeClassifier(random_state=0)], metrics=["accuracy"])
    result = run(plan).learners[0]
    X = np.ascontiguousarray(plan.features.frame.to_numpy(), dtype=float)
    confusion = np.zeros((3, 3), dtype=int)
    for split in plan.splits:
        scale, shift = X[split.train].std(axis=0), X[split.train].mean(axis=0)
        model = DecisionTreeClassifier(random_state=0).fit((X[split.train] - shift) / scale, plan.labels[split.train])
        predicted = model.predict((X[split.test] - shift) / scale)
        expected = accuracy_score(plan.labels[split.test], predicted)
        assert result.scores["accuracy"][split.repetition, split.fold] == pytest.approx(expected, abs=0.021)
        confusion += confusion_matrix(plan.labels[split.test], predicted, labels=plan.classes)
    assert result.confusion.sum() == confusion.sum() == 5 * 150
    assert np.abs(result.confusion - confusion).max() <= 10


def test_a_test_row_cannot_change_what_was_learned_from_the_training_rows(mixed):
    plan = Plan(mixed, "price", learners=[LinearRegression()])
    inputs = Inputs(plan)
    train, _, _ = inputs.fold(plan.learners[0], 0)
    split = plan.splits[0]
    changed = plan.features.frame.clone()
    row, column = int(split.test[0]), changed.columns.index("size")
    changed[row, column] = 1e9
    leaky = Inputs(plan)
    leaky.frame = changed
    again, _, test = leaky.fold(plan.learners[0], 0)
    assert np.array_equal(train, again, equal_nan=True)
    assert np.nanmax(np.abs(test)) > 1e6


@pytest.mark.parametrize("table", ["numbers", "mixed"])
def test_what_a_fold_sees_of_the_shared_matrix_is_what_its_own_preparation_gives(iris, mixed, table):
    """Bit for bit, for columns of whole numbers too; and a changed test row changes no training row."""
    frame = iris.frame.with_columns((pl.col("petal_width") * 10).cast(pl.Int64))
    data, target = (Table.from_frame(frame), "species") if table == "numbers" else (mixed, "kind")
    plan = Plan(data, target, learners=["logistic", "knn-classifier", "one-vs-rest"], design="2x2")
    for learner in plan.learners:
        inputs = Inputs(plan)
        shared = inputs.shared(learner)
        if not isinstance(shared, PreparedTable):
            assert table == "mixed" and learner.id == "knn-classifier"
            continue
        for number, split in enumerate(plan.splits):
            chain = Chain((), inputs.roles, learner.entry)
            train, _ = chain.fit_training(inputs.frame[split.train], plan.y[split.train])
            assert np.array_equal(shared.rows(number, split.train), train)
            assert np.array_equal(shared.rows(number, split.test), chain.transform(inputs.frame[split.test]))
        changed = Inputs(plan)
        changed.frame = plan.features.frame.clone()
        changed.frame[int(plan.splits[0].test[0]), 0] = 1e9
        again = changed.shared(learner)
        train = plan.splits[0].train
        assert np.array_equal(shared.rows(0, train), again.rows(0, train))
        assert again.rows(0, plan.splits[0].test).max() > 1e6


def test_what_folds_of_complete_numbers_standardise_by_is_found_when_asked(iris, mixed):
    """The sums of ridge regression say it, so that a run of it never asks; a table with gaps is prepared at once."""
    plan = Plan(iris, "sepal_width", learners=["ridge"], design="2x2", drop=["species"])
    shared = Inputs(plan).shared(plan.learners[0])
    transforms = shared.transforms([0, 3])
    assert transforms.standardise and transforms.scale(3) and not transforms.scale(4) and not shared._folds
    for through, number in zip(transforms.folds, [0, 3], strict=True):
        train = plan.features.frame.to_numpy()[plan.splits[number].train]
        np.testing.assert_allclose(through.mean, train.mean(axis=0), rtol=1e-14)
        np.testing.assert_allclose(through.inverse, 1.0 / train.std(axis=0), rtol=1e-14)
    assert transforms.whole.width == 3 and transforms.only(1).folds == (transforms.folds[1],)
    gaps = Plan(mixed, "price", learners=["ridge"], design="2x2")
    assert not Inputs(gaps).shared(gaps.learners[0]).transforms([0]).standardise


def _but_looks(results):
    """The record without what a store counts over all of its plans."""
    record = results.to_dict()
    return {**record, "ledger": {name: record["ledger"][name] for name in ("tested", "seen", "copies")}}


SHARING = [entry for entry in catalogue.entries() if entry.shares_folds and entry.task in ("classify", "regress")]


@pytest.mark.parametrize("table", ["numbers", "mixed"])
@pytest.mark.parametrize("entry", SHARING, ids=[entry.id for entry in SHARING])
def test_every_learner_that_shares_folds_shares_them_in_a_run(iris, mixed, monkeypatch, entry, table):
    """All folds of a learner come from one call of its own on one matrix, that of `fit_folds` or of what says without
    models what these would predict, and equal separate fits."""
    regress = entry.task == "regress"
    data, target = (iris, "sepal_width" if regress else "species")
    if table == "mixed":
        data, target = mixed, "price" if regress else "kind"
    cls, calls = entry.load(), []
    # A learner that draws has seeds of its own in each fold, unless one is given.
    learner = (entry.id, {"random_state": 0}) if open_seeds(cls()) else entry.id
    measure = "rmse" if regress else "log_loss" if entry.probabilities else "accuracy"
    plan = Plan(data, target, learners=[learner], design="2x2", metrics=[measure])
    own, without_models = cls.fit_folds, getattr(cls, "_predict_folds", None)

    def watched(self, X, y, folds, sample_weight=None, transforms=None):
        if type(self) is cls:
            calls.append(type(X))
        return own(self, X, y, folds, sample_weight, transforms)

    def watched_without_models(self, X, y, folds, transforms=None):
        said = without_models(self, X, y, folds, transforms)
        if type(self) is cls and said is not None:
            calls.append(type(X))
        return said

    monkeypatch.setattr(cls, "fit_folds", watched)
    if without_models is not None:
        monkeypatch.setattr(cls, "_predict_folds", watched_without_models)
    shared = run(plan, views=False)
    assert calls == [np.ndarray] and not shared.failed
    monkeypatch.setattr(Inputs, "shared", lambda self, learner: None)
    separate = run(plan, views=False)
    for name, scores in shared.learners[0].scores.items():
        assert scores == pytest.approx(separate.learners[0].scores[name], rel=1e-6)


def test_one_failing_learner_never_stops_the_rest(iris):
    results = run(Plan(iris, "species", learners=["zero-r", Fragile(), DummyClassifier()]), n_jobs=2)
    assert [r.error is None for r in results.learners] == [True, False, True]
    assert results.failed[0].error == "Fragile: ValueError: too fragile for this."
    record = results.to_dict()
    assert record["learners"][1]["scores"] is None and record["learners"][1]["error"]
    assert set(record["comparison"]["summary"]) == {"zero-r", "dummy-classifier"}


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_learner_that_ends_the_interpreter_or_says_nothing_fails_alone(jobs, iris):
    results = run(Plan(iris, "species", learners=["zero-r", Quits(), SaysNothing(), AnswersOnce()]), n_jobs=jobs)
    assert [r.error is None for r in results.learners] == [True, False, False, False]
    assert "SystemExit" in results.failed[0].error
    assert "SaysNothing" in results.failed[1].error and "got NaN for" in results.failed[1].error
    assert (
        results.failed[2].error
        == "AnswersOnce: 'predict_proba' must give 3 probabilities for each of 75 rows; got an array of shape (1, 3)."
    )


class Contrary(LDA):
    """Says the opposite of its parent, which predicts the folds of a run without models."""

    def predict_proba(self, X):
        return np.fliplr(super().predict_proba(X))


class Lazy(NaiveBayes):
    """Learns from the first rows of each class only."""

    def fit(self, X, y, sample_weight=None):
        few = np.concatenate([np.flatnonzero(y == c)[:5] for c in np.unique(y)])
        return super().fit(np.asarray(X)[few], np.asarray(y)[few])


@pytest.mark.parametrize(("own", "parent"), [(Contrary(), "lda"), (Lazy(), "naive-bayes")])
def test_a_subclass_with_its_own_way_is_not_passed_over_by_what_its_parent_shares(iris, own, parent):
    plan = Plan(iris, "species", learners=[own, parent], design="3-fold", metrics=["log_loss"])
    mine, shared = (learner.scores["log_loss"].ravel() for learner in run(plan, views=False).learners)
    X, y = np.ascontiguousarray(plan.features.frame.to_numpy(), dtype=float), plan.labels
    for split, score in zip(plan.splits, mine, strict=True):
        model = clone(own).fit(X[split.train], y[split.train])
        assert score == pytest.approx(log_loss(y[split.test], model.predict_proba(X[split.test])), rel=1e-6)
    assert np.abs(mine - shared).max() > 1e-3


def test_all_learners_failing_is_still_a_result(iris):
    record = run(Plan(iris, "species", learners=[Fragile()])).to_dict()
    assert record["comparison"] is None and record["recommendation"] is None


def test_a_learner_without_probabilities_has_no_score_in_metrics_that_need_them(iris):
    plan = Plan(iris, "species", learners=[SGDClassifier()], metrics=["accuracy", "log_loss"])
    result = run(plan).learners[0]
    assert np.isfinite(result.scores["accuracy"]).all() and np.isnan(result.scores["log_loss"]).all()


def test_a_second_run_finds_everything_in_the_store(iris, tmp_path):
    plan = Plan(iris, "species", learners=["zero-r", DummyClassifier()])
    first = run(plan, tmp_path / "s")
    second = run(plan, tmp_path / "s", n_jobs=2)
    assert first.reused == 0 and second.reused == 22
    assert first.to_dict() == second.to_dict() and first.timings == second.timings


def test_scores_need_no_views_and_views_can_come_later(iris, tmp_path):
    plan = Plan(iris, "species", learners=["zero-r", "cart-classifier"])
    bare = run(plan, tmp_path / "s", views=False)
    whole = run(plan, tmp_path / "s")
    assert [result.view for result in bare.learners] == [None, None] and not bare.failed
    assert all(result.view is not None and result.preparation for result in whole.learners)
    assert whole.reused == 20 and numbers(bare) == numbers(whole)


def test_new_metrics_learners_and_seeds_run_only_what_is_missing(iris, tmp_path):
    path = tmp_path / "s"
    run(Plan(iris, "species", learners=["zero-r"], metrics=["accuracy"]), path)
    more = run(Plan(iris, "species", learners=["zero-r", DummyClassifier()], metrics=["accuracy"]), path)
    assert more.reused == 11
    assert run(Plan(iris, "species", learners=["zero-r"], metrics=["mcc"]), path).reused == 11
    assert run(Plan(iris, "species", learners=["zero-r"], metrics=["accuracy"], random_state=1), path).reused == 0


@pytest.mark.parametrize(("target", "metric"), [("kind", "log_loss"), ("kind", "f1_macro"), ("price", "mae")])
def test_a_new_metric_on_a_finished_run_fits_nothing(mixed, tmp_path, monkeypatch, target, metric):
    first = run(Plan(mixed, target), tmp_path / "s", n_jobs=2)
    wanted = run(Plan(mixed, target, metrics=[metric]))

    def refuse(self, *args, **kwargs):
        raise AssertionError("fitted again")

    for learner in first.plan.learners:
        monkeypatch.setattr(type(learner.estimator), "fit", refuse)
        monkeypatch.setattr(type(learner.estimator), "fit_folds", refuse, raising=False)
    again = run(Plan(mixed, target, metrics=[metric]), tmp_path / "s")
    assert not again.failed and again.reused == 11 * len(again.learners)
    assert _but_looks(again) == _but_looks(wanted)
    assert again.to_dict()["ledger"]["plans"] == 2  # the rows of the test have been looked at by two plans


@pytest.mark.parametrize("target", ["kind", "price"])
def test_predictions_are_those_that_were_scored_and_survive_the_store(mixed, tmp_path, target):
    plan = Plan(mixed, target)
    live, found = run(plan, tmp_path / "s"), run(plan, tmp_path / "s")
    assert found.reused == 11 * len(plan.learners)
    for result in live.learners:
        ours, stored = live.predictions(result.id), found.predictions(result.id)
        assert len(ours) == 5 * len(plan.y) and np.array_equal(ours.truth, plan.y[ours.rows])
        for name in ("rows", "repetition", "fold", "truth", "predicted", "probabilities"):
            one, two = getattr(ours, name), getattr(stored, name)
            assert (one is None and two is None) or one.tobytes() == two.tobytes()
        once = ours.of_repetition(3)
        assert np.array_equal(np.sort(once.rows), np.arange(len(plan.y)))
        if target == "kind":
            shares = [np.mean((once.predicted == once.truth)[once.fold == fold]) for fold in (0, 1)]
            assert result.scores["accuracy"][3].tolist() == shares
            assert confusion_matrix(ours.truth, ours.predicted).tolist() == result.confusion.tolist()
        else:
            errors = [np.sqrt(np.mean(((once.predicted - once.truth) ** 2)[once.fold == fold])) for fold in (0, 1)]
            assert result.scores["rmse"][3] == pytest.approx(errors, rel=1e-12)


def test_predictions_of_a_learner_that_failed_or_is_not_there_are_refused(iris):
    results = run(Plan(iris, "species", learners=["zero-r", Fragile()]))
    with pytest.raises(UsageError, match="no predictions for every fold"):
        results.predictions("fragile")
    with pytest.raises(UsageError, match="is not part of the plan; choose from zero-r, fragile"):
        results.predictions("one-r")


def test_a_row_of_the_wrong_type_is_work_not_done(iris, tmp_path):
    plan = Plan(iris, "species", learners=["zero-r"])
    wanted = run(plan, tmp_path / "s").to_dict()
    with Store(tmp_path / "s") as store:
        keys = [plan.unit_key(plan.learners[0], split, code_version()) for split in (0, 1, 2, None)]
        rows = store.get(keys)
        rows[keys[0]]["scores"] = {"accuracy": "0.9"}
        rows[keys[1]]["arrays"] = {"probabilities": rows[keys[1]]["arrays"]["probabilities"][:-1]}
        rows[keys[2]]["extra"] = 1
        rows[keys[3]]["preparation"] = None
        store.put([(key, "", row) for key, row in rows.items()])
    again = run(plan, tmp_path / "s")
    assert again.reused == 7 and again.to_dict() == wanted


def test_progress_tells_total_and_time_left_before_anything_is_done(iris):
    seen = []
    run(Plan(iris, "species", learners=["zero-r"]), progress=seen.append)
    assert seen[0].done == 0 and seen[0].total == 11 and seen[0].eta > 0.0


class Sleeps(DummyClassifier):
    """Holds its thread for as long as the test allows."""

    awake = threading.Event()

    def fit(self, X, y):
        self.awake.wait(60.0)
        return super().fit(X, y)


def test_the_calling_thread_looks_up_while_a_learner_works(iris):
    """A signal is seen between two looks, not only when a fold is done."""
    Sleeps.awake.clear()
    seen = []

    def stop(progress):
        seen.append(progress)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(Plan(iris, "species", learners=[Sleeps()]), progress=stop)
    Sleeps.awake.set()
    assert [p.done for p in seen] == [0, 0, 0]


def test_an_interrupt_saves_what_was_finished_and_the_next_run_goes_on(iris, tmp_path):
    path, seen = tmp_path / "s", []

    def stop_after_three(progress):
        seen.append(progress.done)
        if progress.done >= 3:
            raise KeyboardInterrupt

    plan = Plan(iris, "species", learners=["zero-r", DecisionTreeClassifier(), DummyClassifier()])
    with pytest.raises(KeyboardInterrupt, match="units of work are saved .* the same command goes on"):
        run(plan, path, progress=stop_after_three)
    with Store(path) as store:
        kept = len(store)
    assert kept >= 3
    resumed = run(plan, path)
    assert resumed.reused == kept
    assert resumed.to_dict() == run(plan).to_dict()


def test_an_interrupt_inside_a_learner_reaches_the_caller(iris):
    with pytest.raises(KeyboardInterrupt):
        run(Plan(iris, "species", learners=["zero-r", Interrupted()]), n_jobs=2)


def test_a_store_that_fails_stops_the_run_with_its_sentence(iris, tmp_path):
    store = Store(tmp_path / "s")
    plan = Plan(iris, "species", learners=["zero-r"])

    def close(progress):
        if progress.done:
            store.close()

    with pytest.raises(DataError, match="is closed"):
        run(Plan(iris, "species", learners=["zero-r", DecisionTreeClassifier()]), store, progress=close)
    assert run(plan, tmp_path / "s").reused >= 1


def test_progress_counts_to_the_total_in_the_calling_thread(iris):
    seen = []
    run(
        Plan(iris, "species", learners=["zero-r", DummyClassifier()]),
        n_jobs=2,
        progress=lambda p: seen.append((p.done, p.total, p.eta, threading.current_thread())),
    )
    assert [done for done, *_ in seen] == sorted(done for done, *_ in seen)
    assert seen[-1][:2] == (22, 22) and seen[-1][2] == pytest.approx(0.0, abs=1e-6)
    assert {thread for *_, thread in seen} == {threading.main_thread()}


def test_warnings_stay_with_their_learner_and_are_not_printed(iris, recwarn):
    results = run(Plan(iris, "species", learners=[Warns(), DummyClassifier(), "zero-r"]), n_jobs=2)
    assert results.learners[0].warnings == ["[W999] Warns: look out.", "[RuntimeWarning] an ordinary warning"]
    assert results.learners[1].warnings == [] and results.learners[2].warnings == []
    assert not [w for w in recwarn if "look out" in str(w.message)]


def test_a_class_missing_from_a_training_part_does_not_break_the_scores(tmp_path):
    rows = [f"{i * 37 % 41 / 7:.3f},{'rare' if i == 7 else 'ab'[i % 2]}" for i in range(41)]
    (tmp_path / "rare.csv").write_text("x,y\n" + "\n".join(rows))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AssayWarning)
        results = run(Plan(tmp_path / "rare.csv", "y", task="classify"))
    assert not results.failed
    assert results.learners[0].confusion.shape == (3, 3)


@pytest.mark.parametrize("jobs", [0, -1, 1.5, True, "2"])
def test_jobs_must_be_a_positive_integer(iris, jobs):
    with pytest.raises(ParameterError, match="'n_jobs'"):
        run(Plan(iris, "species", learners=["zero-r"]), n_jobs=jobs)


def test_steps_are_fitted_on_the_training_rows_of_each_fold(mixed):
    from assay.prepare import Scale

    steps = [Scale(method="robust")]
    plan = Plan(mixed, "price", learners=["knn-regressor"], prepare=steps, metrics=["rmse"])
    result = run(plan).learners[0]
    assert result.error is None and any("median" in words for words in result.preparation)
    from assay.models.neighbours import KNNRegressor
    from assay.prepare import Chain

    for split in plan.splits:
        chain = Chain(steps, plan.features.roles, plan.learners[0].entry)
        train, y = chain.fit_training(plan.features.frame[split.train], plan.y[split.train])
        model = KNNRegressor(**plan.learners[0].estimator.get_params()).fit(train, y)
        error = model.predict(chain.transform(plan.features.frame[split.test])) - plan.y[split.test]
        assert result.scores["rmse"][split.repetition, split.fold] == pytest.approx(np.sqrt((error**2).mean()))


def test_steps_are_part_of_the_key_and_of_the_command(mixed):
    plain_plan = Plan(mixed, "kind", learners=["zero-r"])
    scaled = Plan(mixed, "kind", learners=["zero-r"], prepare=[("scale", {"method": "min-max"})])
    assert plain_plan.fingerprint != scaled.fingerprint
    learner = plain_plan.learners[0]
    assert plain_plan.unit_key(learner, 0, "") != scaled.unit_key(learner, 0, "")
    assert """--prepare 'scale={"method": "min-max"}'""" in run(scaled).command


def test_the_time_left_follows_what_the_learners_really_take(iris):
    """Two units of the slow learner took 3 s each and two of the quick one nothing: three slow ones left take 9 s."""
    plan = Plan(iris, "species", learners=["zero-r", "naive-bayes"], design="5-fold")
    units = [Unit(learner, split, "", "") for learner in (0, 1) for split in range(5)]
    seen = []
    clock = _Clock(plan, units, units, seen.append)
    clock.start -= 6.0
    clock.tick([(units[0], {"fit_seconds": 2.0, "predict_seconds": 1.0}), (units[1], {"fit_seconds": 3.0})])
    clock.tick([(unit, {"fit_seconds": 0.0}) for unit in units[5:7]])
    assert seen[-1].done == 4 and seen[-1].eta == pytest.approx(9.0, rel=0.05)
    clock.tick([(units[2], ValueError("no"))])
    assert seen[-1].eta == pytest.approx(6.0, rel=0.05)


def test_nearest_neighbours_are_known_to_be_slow_to_predict(iris):
    plan = Plan(iris, "species", learners=["knn-classifier", "naive-bayes"])
    small, quick = (learner.estimator.estimate_predict_cost(50_000, 20, 50_000) for learner in plan.learners)
    assert small.seconds > 10 * quick.seconds
    few = plan.learners[0].estimator.estimate_predict_cost(50_000, 2, 50_000)
    assert few.seconds < small.seconds


class Guesses(DummyClassifier):
    """Remembers the seeds that it was fitted with."""

    seen: list[int] = []

    def fit(self, X, y):
        self.seen.append(self.random_state)
        return super().fit(X, y)


def test_every_fold_has_a_seed_of_its_own_whatever_the_order_or_the_other_folds(iris):
    def seeds(design, jobs=1, seed=0, **parameters):
        Guesses.seen.clear()
        learner = Guesses(strategy="uniform", **parameters)
        plan = Plan(iris, "species", learners=[learner], design=design, random_state=seed)
        results = run(plan, n_jobs=jobs, views=False)
        return set(Guesses.seen), results

    one, first = seeds("5x2")
    two, second = seeds("5x2", jobs=3)
    assert len(one) == 10 and one == two and first.to_dict() == second.to_dict()
    assert not one & seeds("5x2", seed=1)[0]
    assert seeds("5x2", random_state=7)[0] == {7}


def test_a_learner_that_draws_nothing_shares_its_folds_although_it_has_a_seed(iris):
    plan = Plan(iris, "species", learners=["cart-classifier", ("cart-classifier", {"max_features": 2})])
    assert plan.learners[0].open_seeds == () and plan.learners[1].open_seeds == ("random_state",)
    assert len({plan.seeds(plan.learners[1], split)["random_state"] for split in range(10)}) == 10


# -- what is found again ----------------------------------------------------------------------------------------------
def _patients(rows: int = 60) -> pl.DataFrame:
    draw = np.random.default_rng(5)
    patient = np.repeat(np.arange(rows // 2), 2)
    return pl.DataFrame(
        {
            "patient": patient,
            "visit": np.arange(rows) // 2 + 2000,
            "dose": draw.integers(0, 4, rows),
            "age": draw.normal(50, 10, rows).round(2),
            "sick": np.where(patient % 2 == 0, "yes", "no"),
        }
    )


def test_nothing_that_saw_other_columns_is_found_again(tmp_path):
    table, path = Table.from_frame(_patients()).with_roles({"patient": "numeric", "dose": "numeric"}), tmp_path / "s"
    plans = {
        "as it is": partial(AnyPlan, table, "sick", learners=["zero-r", "one-r"], design="2-fold"),
        "group": partial(AnyPlan, table, "sick", learners=["zero-r", "one-r"], design="2-fold", groups="patient"),
        "time": partial(AnyPlan, table, "sick", learners=["zero-r", "one-r"], time="visit", drop="visit"),
        "role": partial(
            AnyPlan, table.with_roles({"dose": "nominal"}), "sick", learners=["zero-r", "one-r"], design="2-fold"
        ),
        "step": partial(
            AnyPlan,
            table,
            "sick",
            learners=["zero-r", "one-r"],
            design="2-fold",
            prepare=[("drop-columns", {"columns": ["patient"]})],
        ),
    }
    for name, plan in plans.items():
        assert run(plan(), path).reused == 0, name
    for name, plan in plans.items():
        again = run(plan(), path)
        assert again.reused == 2 * (len(again.plan.splits) + 1), name
        assert _but_looks(again) == _but_looks(run(plan())), name
    grouped = run(plans["group"](), path)
    assert "patient" not in str([result.view for result in grouped.learners])


def test_pictures_of_a_very_long_table_come_from_drawn_rows_and_say_so(monkeypatch):
    monkeypatch.setattr(sys.modules["assay.experiment.work"], "VIEWED_ROWS", 90)
    plan = Plan(load_dataset("iris"), "species", learners=["cart-classifier"], design="holdout")
    (long,) = run(plan).learners
    assert long.view["nodes"][0]["rows"] == 90 and "of 90 drawn rows of 150" in long.preparation[-1]
    monkeypatch.undo()
    (short,) = run(plan).learners
    assert short.view["nodes"][0]["rows"] == 150 and not any("drawn" in words for words in short.preparation)


@pytest.mark.parametrize(("learner", "tasks"), [("knn-classifier", 1), ("naive-bayes", 1), ("cart-classifier", 2)])
def test_folds_that_are_one_pass_are_not_divided_among_threads(learner, tasks):
    plan = AnyPlan(load_dataset("iris"), "species", learners=[learner], design="5x2")
    cut = _tasks(plan, _units(plan, None, views=False), jobs=2)
    assert len(cut) == tasks and sum(len(task.units) for task in cut) == 10
    once = AnyPlan(load_dataset("iris"), "species", learners=[learner], design="10-fold")
    assert len(_tasks(once, _units(once, None, views=False), jobs=2)) == 2, "then each fold may search by itself"


def test_learners_of_equal_needs_share_the_rows_of_their_pictures():
    plan = AnyPlan(load_dataset("iris"), "species", learners=["lda", "cart-classifier", "logistic"], design="3-fold")
    inputs = Inputs(plan)
    first, second, scaled = (inputs.whole(learner) for learner in plan.learners)
    assert first[0] is second[0] and scaled[0] is not first[0] and scaled[2] != first[2]
    assert np.array_equal(first[1], plan.labels)


def test_the_constant_shares_one_matrix_on_a_table_of_labels_and_gaps(mixed):
    plan = Plan(mixed, "kind", learners=["zero-r"], design="2x2", metrics=["accuracy", "log_loss"])
    shared = Inputs(plan).shared(plan.learners[0])
    assert shared is not None and shared.transforms([0]) is None
    scores = run(plan, views=False).learners[0].scores
    for split, accuracy in zip(plan.splits, np.ravel(scores["accuracy"]), strict=True):
        most = np.bincount(plan.y[split.train]).argmax()
        assert accuracy == np.mean(plan.y[split.test] == most)


def test_a_learner_that_fails_is_told_under_the_name_that_the_user_gave(iris):
    learners = [("near", ("knn-classifier", {"n_neighbors": 149})), "zero-r"]
    (failed,) = run(Plan(iris, "species", learners=learners, design="3-fold")).failed
    assert failed.error.startswith("near: n_neighbors=149 needs"), failed.error
