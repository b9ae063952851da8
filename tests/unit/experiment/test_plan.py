"""Claims about plans: what is refused, what follows from the defaults, what makes two plans equal."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl
import pytest
from sklearn.cluster import KMeans
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from assay import catalogue
from assay.base.errors import AssayError, AssayWarning, DataError, ParameterError, UsageError
from assay.data import Table, load_dataset, read_table
from assay.experiment import Plan, Tuned, default_learners, run
from assay.experiment.plan import describe_value
from assay.models.baselines import ZeroRClassifier, ZeroRRegressor


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("plan") / "shop.csv"
    generator = np.random.default_rng(0)
    rows = [
        f"{generator.normal():.3f},{generator.choice(['red', 'blue'])},{generator.choice(['yes', 'no'])},"
        f"{generator.normal():.4f}"
        for _ in range(60)
    ]
    path.write_text("size,colour,bought,price\n" + "\n".join(rows))
    return read_table(path)


def test_defaults_are_every_loadable_method_of_the_task(table):
    plan = Plan(table, "bought")
    assert [learner.id for learner in plan.learners] == [entry.id for entry in default_learners("classify")]
    expected = {"zero-r", "random-forest-classifier", "newton-boosting-classifier"}
    assert expected <= {learner.id for learner in plan.learners}
    assert all(catalogue.get(learner.id).task == "classify" for learner in plan.learners)
    assert plan.metrics[0] == "accuracy" and plan.design.name == "3x10"
    numbers = [learner.id for learner in Plan(table, "price").learners]
    assert numbers == [e.id for e in default_learners("regress")]
    assert {"random-forest-regressor", "newton-boosting-regressor"} <= set(numbers)


@pytest.mark.parametrize(
    ("target", "design", "rule"),
    [
        (["x", "y"], "5x2", "at least 10 rows with a target for the design '5x2'; got 2"),
        ([1.5, 2.5], "5x2", "at least 10 rows"),
        (["x", "y", "x"], "auto", "at least 10 rows with a target for a comparison; got 3"),
        ([1.5, 2.5, 3.5, 4.5, 5.5, 7.5], "auto", "at least 10 rows with a target for a comparison; got 6"),
        ([*"xy" * 4, "x"], "10-fold", "at least 10 rows"),
        ([i / 3 for i in range(19)], "10-fold", "at least 20 rows"),
        ([*"x" * 11, "y"], "5x2", "at least 2 rows in each of two classes.*2 classes of which 1 has"),
        ([f"{i}th" for i in range(12)], "5x2", "at least 2 rows in each of two classes.*12 classes of which none has"),
    ],
)
def test_a_hopeless_table_is_refused_with_the_smallest_that_would_do(target, design, rule):
    frame = pl.DataFrame({"a": [float(i) for i in range(len(target))], "y": target})
    with pytest.raises(DataError, match=rule):
        Plan(Table.from_frame(frame), "y", design=design)


@pytest.mark.parametrize(
    ("target", "design"),
    [
        ([*"xy" * 5], "5x2"),
        ([*"xy" * 5], "10-fold"),
        ([i / 3 for i in range(20)], "10-fold"),
        ([i / 3 for i in range(10)], "auto"),
        ([*"xy" * 5], "auto"),
    ],
)
def test_the_smallest_table_runs(target, design):
    frame = pl.DataFrame({"a": [float(i * i % 7) for i in range(len(target))], "y": target})
    assert not run(Plan(Table.from_frame(frame), "y", design=design)).failed


def test_classes_with_few_rows_are_named_by_their_labels():
    frame = pl.DataFrame({"a": [float(i) for i in range(13)], "y": [*"xy" * 6, "rare one"]})
    with pytest.warns(AssayWarning, match="class 'rare one' \\(1\\) has fewer rows than there are folds"):
        assert Plan(Table.from_frame(frame), "y").splits


def test_a_frame_is_a_table_too(table):
    from_frame = Plan(table.frame.to_pandas(), "bought", learners=["zero-r"])
    assert from_frame.task == "classify" and len(from_frame.y) == 60


def test_learners_are_ids_pairs_or_estimators(table):
    plan = Plan(
        table,
        "price",
        learners=["zero-r-regressor", ("zero-r-regressor", {"strategy": "median"}), DummyRegressor()],
    )
    assert [learner.id for learner in plan.learners] == ["zero-r-regressor", "zero-r-regressor-2", "dummy-regressor"]
    assert [learner.title for learner in plan.learners] == [
        "ZeroR for regression",
        "ZeroR for regression (strategy=median)",
        "DummyRegressor",
    ]
    assert plan.learners[1].parameters["strategy"] == "median"
    own = Plan(table, "price", learners=[ZeroRRegressor(strategy="median")]).learners[0]
    assert own.identity == plan.learners[1].identity and own.title == plan.learners[1].title


def test_a_single_learner_needs_no_list(table):
    assert len(Plan(table, "bought", learners="zero-r").learners) == 1
    assert len(Plan(table, "bought", learners=DummyClassifier()).learners) == 1


def test_the_estimator_of_the_user_is_left_alone(table):
    model = RandomForestClassifier(n_estimators=5)
    plan = Plan(table, "bought", learners=[model], random_state=3)
    assert model.random_state is None
    assert plan.learners[0].estimator.get_params()["random_state"] == 3
    nested = make_pipeline(StandardScaler(), SGDClassifier())
    assert Plan(table, "bought", learners=[nested], random_state=3).learners[0].estimator[-1].random_state == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"learners": []}, "at least one learner"),
        ({"learners": ["zero-r", "zero-r"]}, "listed twice"),
        ({"learners": ["zero"]}, "not in the catalogue"),
        ({"learners": ["zero-r-regressor"]}, "method to regress"),
        ({"learners": [42]}, "must hold catalogue ids"),
        ({"learners": [ZeroRClassifier]}, "must hold catalogue ids"),
        ({"learners": 42}, "must be a list"),
        ({"learners": [KMeans()]}, "is not a classifier"),
        ({"learners": [DummyRegressor()]}, "is not a classifier"),
        ({"learners": [("zero-r", {"depth": 3})]}, "has no parameter 'depth'"),
        ({"learners": [SGDClassifier(random_state=np.random.RandomState(0))]}, "must be an integer or None"),
        ({"metrics": []}, "at least one metric"),
        ({"metrics": ["acuracy"]}, "is not known"),
        ({"metrics": ["rmse"]}, "does not measure"),
        ({"design": "12"}, "is not known"),
        ({"margin": -1}, "'margin' must be"),
        ({"pairs": "none"}, "'pairs' must be"),
        ({"groups": "nothing"}, "must be a column"),
        ({"groups": [1, 2]}, "one value for each of 60 rows"),
        ({"groups": "colour", "time": "size"}, "cannot both"),
        ({"time": "size", "design": "10-fold"}, "at random"),
        ({"learners": ["sklearn.nothing.Here"]}, "cannot be loaded"),
        ({"learners": [("a/b", "zero-r")]}, "letters, digits"),
        ({"learners": [("a", "zero-r"), ("a", "one-r")]}, "listed twice"),
        ({"design": "leave-one-out"}, "no test"),
        ({"random_state": -1}, "'random_state' must be an integer"),
        ({"random_state": True}, "'random_state' must be an integer"),
        ({"random_state": 1.5}, "'random_state' must be an integer"),
        ({"alpha": 0}, "'alpha' must be a number"),
        ({"alpha": 0.6}, "'alpha' must be a number"),
        ({"alpha": "small"}, "'alpha' must be a number"),
        ({"task": "cluster"}, "'task' must be"),
    ],
)
def test_a_bad_choice_is_refused_in_one_sentence(table, arguments, words):
    with pytest.raises(AssayError) as raised:
        Plan(table, "bought", **arguments)
    assert words in str(raised.value)
    assert str(raised.value).count("\n") == 0 and str(raised.value).endswith((".", "?"))


def test_a_bad_target_or_table_is_refused(table, tmp_path):
    with pytest.raises(DataError, match="bougt"):
        Plan(table, "bougt")
    with pytest.raises(DataError, match="must be a pandas, Polars or pyarrow table"):
        Plan([[1, 2]], "bought")
    (tmp_path / "bare.csv").write_text("only,y\n1,a\n1,b\n1,a\n1,b\n")
    with pytest.raises(DataError, match="no usable column"):
        Plan(tmp_path / "bare.csv", "y")


def test_a_metric_of_two_classes_is_refused_for_three_before_anything_runs():
    with pytest.raises(DataError, match="needs two classes"):
        Plan(load_dataset("iris"), "species", learners=["zero-r"], metrics=["f1"])


def test_a_plan_cannot_be_changed(table):
    with pytest.raises(AttributeError):
        Plan(table, "bought").random_state = 5


def test_equal_plans_have_equal_fingerprints_and_every_choice_shows(table):
    base = {"learners": ["zero-r"], "design": "5x2", "metrics": ["accuracy"], "random_state": 0, "alpha": 0.05}
    plan = Plan(table, "bought", **base)
    assert plan == Plan(table, "bought", **base) and hash(plan) == hash(Plan(table, "bought", **base))
    others = [
        Plan(table, "colour", **base),
        Plan(table, "bought", **{**base, "learners": [DummyClassifier()]}),
        Plan(table, "bought", **{**base, "design": "10-fold"}),
        Plan(table, "bought", **{**base, "metrics": ["f1_macro"]}),
        Plan(table, "bought", **{**base, "random_state": 1}),
        Plan(table, "bought", **{**base, "alpha": 0.01}),
        Plan(table.with_roles({"size": "nominal"}), "bought", **base),
    ]
    assert len({plan.fingerprint, *(other.fingerprint for other in others)}) == 8
    assert plan != "plan"


def test_the_key_of_a_unit_depends_on_what_its_numbers_depend_on_and_not_on_metrics_or_threads(table):
    def key(target="bought", learner="zero-r", split=0, code="c", data=table, **arguments):
        plan = Plan(data, target, learners=[learner], **arguments)
        return plan.unit_key(plan.learners[0], split, code)

    base = key()
    assert base == key(metrics=["f1_macro"]) == key(alpha=0.01)
    assert key(learner=RandomForestClassifier(n_jobs=1)) == key(learner=RandomForestClassifier(n_jobs=2))
    different = [
        base,
        key(target="colour"),
        key(learner=DummyClassifier()),
        key(learner=DummyClassifier(strategy="stratified")),
        key(split=1),
        key(split=None),
        key(code="d"),
        key(random_state=1),
        key(design="7-fold"),
        key(data=table.with_roles({"size": "nominal"})),
    ]
    assert len(set(different)) == len(different)


def test_splits_are_stratified_for_classes_only(table):
    plan = Plan(table, "bought", learners=["zero-r"])
    assert plan.stratified and len(plan.splits) == 100
    shares = [np.bincount(plan.y[split.test], minlength=2) for split in plan.splits]
    assert max(np.ptp([share[0] for share in shares]), np.ptp([share[1] for share in shares])) <= 1
    assert not Plan(table, "price", learners=["zero-r-regressor"]).stratified


def test_class_codes_follow_the_sorted_labels(table):
    plan = Plan(table, "bought", learners=["zero-r"])
    assert plan.classes.tolist() == ["no", "yes"]
    assert (plan.classes[plan.y] == plan.labels.astype(str)).all()


def test_parameters_are_described_alike_in_every_process():
    assert describe_value(float("nan")) is None
    assert describe_value(np.array([1.0, 2.0])) == [1.0, 2.0]
    assert describe_value(np.float32(0.5)) == 0.5
    assert describe_value(len) == "builtins.len"
    assert describe_value(lambda x: x + 1) != describe_value(lambda x: x + 2)
    assert describe_value(DummyClassifier())["strategy"] == "prior"
    assert "0x" not in describe_value(object())
    with pytest.raises(ParameterError):
        Plan(load_dataset("iris"), "species", metrics=["rmse"])


@pytest.mark.parametrize("bad", [3, [3], ["nosuch-step"], [("scale", {"nosuch": 1})], ["zero-r"]])
def test_steps_that_are_none_are_refused(bad):
    with pytest.raises(AssayError):
        Plan(load_dataset("iris"), "species", learners=["zero-r"], prepare=bad)


def test_steps_come_as_ids_pairs_remedies_or_transformers():
    from assay.prepare import Scale

    given = ["scale", ("scale", {"method": "robust"}), {"step": "scale", "columns": [0]}, Scale(method="min-max")]
    plan = Plan(load_dataset("iris"), "species", learners=["zero-r"], prepare=given)
    assert [step.method for step in plan.prepare] == ["standard", "robust", "standard", "min-max"]


# -- columns, dates and targets that a new user brings ----------------------------------------------------------------
def _visits(rows: int = 200) -> pl.DataFrame:
    draw = np.random.default_rng(2)
    patient = np.repeat(np.arange(rows // 5), 5)
    first = datetime.date(2020, 1, 1)
    return pl.DataFrame(
        {
            "date": [first + datetime.timedelta(days=i) for i in range(rows)],
            "patient": [f"p{k}" for k in patient],
            "dose": draw.normal(size=rows).round(3),
            "sales": (0.5 * np.arange(rows) + draw.normal(size=rows)).round(2),
            "sick": np.where(draw.permutation(rows // 5)[patient] % 2 == 0, "yes", "no"),
            "note": [f"row {i} of {draw.integers(10**9)}" for i in range(rows)],
        }
    )


def test_findings_that_the_plan_already_answers_are_not_told():
    table = _visits().drop("note", "sales")
    told = {finding["code"] for finding in Plan(table, "sick", learners=["zero-r"]).findings}
    assert {"A042", "A043"} <= told
    grouped = Plan(table, "sick", learners=["zero-r"], groups="patient")
    assert "A042" not in {finding["code"] for finding in grouped.findings}
    ordered = Plan(table, "sick", learners=["zero-r"], time="date")
    assert "A043" not in {finding["code"] for finding in ordered.findings}


def test_a_date_that_gives_the_order_stays_a_feature_and_is_no_leak():
    table = _visits().select("date", "dose", "sales")
    plan = Plan(table, "sales", learners=["least-squares"], time="date")
    assert plan.columns == ["date", "dose"]
    assert not [f for f in plan.findings if f["code"] in ("A006", "A032") and "date" in f["columns"]]
    assert run(plan).learners[0].scores["rmse"].mean() < 2  # the trend is learned
    assert Plan(table, "sales", learners=["least-squares"], time="date", drop="date").columns == ["dose"]


def test_dropped_columns_are_set_aside():
    table = _visits().drop("note", "sales", "date")
    plan = Plan(table, "sick", learners=["zero-r"], drop=["patient"])
    assert plan.columns == ["dose"] and {"column": "patient", "reason": "dropped as asked"} in plan.features.set_aside
    assert "--drop patient" in run(plan).command
    with pytest.raises(UsageError, match="drop.*'patiend'.*patient"):
        Plan(table, "sick", learners=["zero-r"], drop=["patiend"])


def test_a_target_whose_labels_do_not_repeat_is_refused():
    with pytest.raises(DataError, match="got 200 classes in 200 rows.*choose another target"):
        Plan(_visits(), "note")


def test_values_of_the_target_far_from_the_others_are_about_the_target():
    table = _visits().select("dose", "sales").with_columns(sales=pl.Series([1e6, *range(199)], dtype=pl.Float64))
    plan = Plan(table, "sales", learners=["zero-r-regressor"])
    assert [finding["code"] for finding in plan.findings if plan.about_target(finding)] == ["A028"]
    assert any("outliers" in text for text in run(plan).cautions)


def test_learners_by_name_are_pairs():
    table = load_dataset("iris")
    plan = Plan(table, "species", learners={"base": "zero-r", "dummy": DummyClassifier()})
    assert [learner.id for learner in plan.learners] == ["base", "dummy"]


# -- the order in time ------------------------------------------------------------------------------------------------
MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December"]  # fmt: skip


def _by_time(labels, **choices):
    """A plan whose rows lie in the order of `labels`, twelve periods of ten rows, and are then shuffled."""
    draw = np.random.default_rng(0)
    order = draw.permutation(120)
    frame = pl.DataFrame({"when": np.repeat(labels, 10)[order], "x": draw.normal(size=120), "y": draw.normal(size=120)})
    return Plan(frame, "y", learners=["zero-r-regressor"], time="when", **choices), order // 10


@pytest.mark.parametrize(
    "labels",
    [
        MONTHS,
        [f"{month}/2020" for month in range(1, 13)],
        [f"2020-{month}" for month in range(1, 13)],
        [f"{day}.3.2020" for day in range(1, 13)],
        [str(number) for number in range(1, 13)],
        [f"Q{1 + k % 4} {2018 + k // 4}" for k in range(12)],
    ],
)
def test_models_are_tested_on_rows_after_their_own_however_time_is_written(labels):
    plan, period = _by_time(labels)
    assert plan.splits and all(period[split.train].max() < period[split.test].min() for split in plan.splits)


def test_text_without_an_order_gives_no_order_in_time_until_its_order_is_told():
    weeks = [f"week {k}" for k in range(1, 13)]
    with pytest.raises(DataError, match="'when' gives no order in time.*got 'week .*a column of dates or numbers"):
        _by_time(weeks)
    frame = _by_time(MONTHS)[0].table.frame
    with pytest.raises(DataError, match="'time' gives no order in time"):
        Plan(frame, "y", learners=["zero-r-regressor"], time=np.repeat(["a", "b"], 60))
    told = Table.from_frame(frame.with_columns(when=pl.Series(np.repeat(weeks, 10)))).with_roles(
        {"when": ("ordinal", weeks)}
    )
    plan = Plan(told, "y", learners=["zero-r-regressor"], time="when")
    assert all(split.train.max() < split.test.min() for split in plan.splits)


def test_columns_offered_for_groups_are_those_that_may_be_taken(table):
    with pytest.raises(UsageError) as error:
        Plan(table, "bought", learners=["zero-r"], groups="nope")
    assert "'size'" in str(error.value) and "'bought'" not in str(error.value)


# -- ways out ---------------------------------------------------------------------------------------------------------
class NeedsMore(DummyClassifier):
    def __init__(self, depth):
        self.depth = depth


@pytest.mark.parametrize(
    ("choices", "told"),
    [
        ({"learners": [("near", ("knn-classifier", {"n_neighbors": 0}))]}, r"^near: parameter 'n_neighbors' must be"),
        (
            {"learners": [f"{__name__}.NeedsMore"]},
            r'cannot be made .*; give its parameters.*NeedsMore\{"parameter": 1\}',
        ),
        (
            {"learners": [Tuned("knn-classifier", {"zzz": [1]})]},
            "; its parameters are '",
        ),
        ({"groups": "colour", "design": "5-fold"}, "needs at least 5 groups; got 2; choose fewer folds"),
        ({"design": "1000-fold"}, "got 60; choose fewer folds, or bring more rows"),
        ({"time": np.zeros(60)}, "at least 2 times are needed"),
    ],
)
def test_what_cannot_be_done_is_told_with_what_can(table, choices, told):
    with pytest.raises(AssayError, match=told):
        Plan(table, "bought", **{"learners": ["zero-r"], **choices}).splits  # noqa: B018


def test_copies_count_once_in_the_choice_of_folds():
    """Seven cases of the smaller class, each there twice, fill seven folds at most."""
    rng = np.random.default_rng(0)
    once = pl.DataFrame({"x": rng.normal(size=60), "y": ["no"] * 53 + ["yes"] * 7})
    plan = Plan(pl.concat([once, once]), "y", learners=["zero-r"])
    assert plan.copies == 60 and len(plan.cases) == 60
    assert "5 folds because there are only 7 cases in the smallest class" in plan.choice.reason
    assert "only 7 rows in the smallest class" in Plan(once, "y", learners=["zero-r"]).choice.reason


def test_a_class_of_few_cases_with_copies_is_told_as_rare():
    rng = np.random.default_rng(0)
    once = pl.DataFrame({"x": rng.normal(size=83), "y": ["no"] * 40 + ["yes"] * 40 + ["so"] * 3})
    plan = Plan(pl.concat([once, once]), "y", learners=["zero-r"])
    assert "10 folds" in plan.design.describe() or "10-fold" in plan.design.describe()
    (told,) = [finding for finding in plan.findings if finding["code"] == "A010"]
    assert "copies counted once: 'so' (3)" in told["evidence"]
