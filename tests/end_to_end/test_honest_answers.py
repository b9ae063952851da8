"""Tables on which a confident answer would be nonsense, and the answer that a careful statistician gives."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from assay.base.errors import UsageError
from assay.cli.main import assay
from assay.data import Table
from assay.experiment import Plan, run


def leak() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    y = rng.random(300) < 0.4
    return pl.DataFrame(
        {
            "size": rng.normal(size=300) + 0.5 * y,
            "colour": rng.choice(["red", "blue"], 300),
            "closed_by": np.where(y, "agent", "system"),
            "bought": np.where(y, "yes", "no"),
        }
    )


def rare() -> pl.DataFrame:
    rng = np.random.default_rng(2)
    y = rng.random(2500) < 0.016
    X = rng.normal(size=(2500, 3))
    X[:, 0] += 1.2 * y
    return pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "fraud": np.where(y, "yes", "no")})


def patients() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    patient = np.repeat(np.arange(60), 8)
    ill = np.isin(patient, rng.choice(60, 25, replace=False))
    return pl.DataFrame(
        {"patient": patient, "pulse": rng.normal(70, 8, 480), "sleep": rng.normal(7, 1, 480), "ill": ill}
    )


def series() -> pl.DataFrame:
    rng = np.random.default_rng(4)
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days=int(d)) for d in range(400)]
    level = np.cumsum(rng.normal(size=400))
    return pl.DataFrame(
        {"day": days, "promotion": rng.random(400) < 0.3, "noise": rng.normal(size=400), "sales": level}
    )


LEARNERS = ["zero-r", "one-r", "naive-bayes", "cart-classifier"]


def test_a_copy_of_the_target_means_not_yet(tmp_path):
    table = tmp_path / "leak.csv"
    leak().write_csv(table)
    words = ["compare", str(table), "-t", "bought", "-m", "zero-r,one-r", "--out", str(tmp_path / "out")]
    shown = CliRunner().invoke(assay, words, standalone_mode=False)
    assert shown.return_value == 1
    assert shown.stdout.lstrip().startswith("Not yet: copy of the target ('closed_by')")
    assert "Recommendation" not in shown.stdout and "A006" in shown.stderr
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Not yet" in page and "To predict" not in page


def test_without_the_copy_there_is_an_answer():
    kept = Plan(leak(), "bought", learners=LEARNERS, prepare=[("drop-columns", {"columns": ["closed_by"]})])
    results = run(kept, views=False)
    assert results.not_yet is None and results.to_dict()["recommendation"] is not None
    assert results.comparison.summary[results.comparison.best]["mean"] < 0.9


def test_one_positive_in_sixty_is_judged_by_the_area_under_roc():
    results = run(Plan(rare(), "fraud", learners=["zero-r", "naive-bayes", "logistic"]), views=False)
    assert results.plan.metrics[0] == "roc_auc" and "1.6%" in results.plan.metric_reason
    comparison = results.comparison
    assert comparison.summary[comparison.best]["mean"] > 0.7
    assert comparison.summary["zero-r"]["verdict"] == "worse"
    assert comparison.recommendation["id"] != "zero-r"


def test_rows_of_patients_need_their_group():
    open_plan = run(Plan(patients(), "ill", learners=LEARNERS), views=False)
    assert open_plan.not_yet is not None and "--group patient" in open_plan.not_yet
    assert open_plan.to_dict()["recommendation"] is None
    grouped = run(Plan(patients(), "ill", learners=LEARNERS, groups="patient"), views=False)
    assert grouped.not_yet is None
    assert all(
        not set(patients()["patient"][split.train.tolist()]) & set(patients()["patient"][split.test.tolist()])
        for split in grouped.plan.splits
    )
    assert "patient" in {item["column"] for item in grouped.plan.features.set_aside}
    # Nothing but the patient tells the illness: no learner is shown to be better than guessing.
    best = grouped.comparison.best
    if best != "zero-r":
        assert grouped.comparison.summary["zero-r"]["verdict"] in ("undecided", "equivalent")


def test_a_series_is_tested_on_later_rows():
    table = Table.from_frame(series())
    open_plan = run(Plan(table, "sales", learners=["zero-r-regressor", "cart-regressor"]), views=False)
    assert any("--time day" in text for text in open_plan.cautions)
    timed = run(Plan(table, "sales", learners=["zero-r-regressor", "cart-regressor"], time="day"), views=False)
    assert timed.plan.design.kind == "time" and not timed.cautions
    assert all(split.train.max() < split.test.min() for split in timed.plan.splits)
    assert "drift together" in timed.comparison.sentence
    # Learned at random from both sides the level looks easy to predict; forward in time it is not.
    random_error = open_plan.comparison.summary["cart-regressor"]["mean"]
    assert timed.comparison.summary["cart-regressor"]["mean"] > random_error


@pytest.mark.parametrize("option", ["groups", "time"])
def test_a_column_that_is_not_there_is_refused(option):
    with pytest.raises(UsageError, match="must be a column of the table"):
        Plan(leak(), "bought", **{option: "nothing"})


def test_copies_of_rows_stay_in_one_fold():
    """Noise of which every row stands twice: with copies apart a neighbour is right in all; with copies together it
    knows nothing."""
    rng = np.random.default_rng(5)
    noise = pl.DataFrame({"a": rng.normal(size=150), "b": rng.normal(size=150), "y": rng.choice(["no", "yes"], 150)})
    plan = Plan(pl.concat([noise, noise]), "y", learners=["zero-r", ("knn-classifier", {"n_neighbors": 1})])
    assert plan.copies == 150
    results = run(plan, views=False)
    assert results.comparison.summary["knn-classifier"]["mean"] < 0.65
    assert any("copies stay in one fold" in text for text in results.cautions)
    assert Plan(noise, "y", learners=["zero-r"]).copies == 0


def test_rows_of_a_few_labels_repeat_by_chance():
    rng = np.random.default_rng(6)
    labels = pl.DataFrame({name: rng.choice(["x", "y", "z"], 200) for name in ("a", "b", "target")})
    assert Plan(labels, "target", learners=["zero-r"]).copies == 0


def test_gaps_that_give_the_target_away_mean_not_yet():
    rng = np.random.default_rng(7)
    y = rng.random(300) < 0.3
    closed = pl.DataFrame({"size": rng.normal(size=300), "days": rng.normal(size=300), "bought": y})
    told = closed.with_columns(days=pl.when(pl.col("bought")).then("days"))
    results = run(Plan(told, "bought", learners=["zero-r", "naive-bayes"]), views=False)
    assert "by whether it is missing" in results.not_yet
    assert run(Plan(closed, "bought", learners=["zero-r", "naive-bayes"]), views=False).not_yet is None


def test_a_monotone_copy_of_a_number_means_not_yet():
    rng = np.random.default_rng(8)
    price = rng.lognormal(0, 2, 300)
    sold = pl.DataFrame({"size": rng.normal(size=300), "score": np.log(price), "price": price})
    results = run(Plan(sold, "price", learners=["zero-r-regressor", "ridge"]), views=False)
    assert "copy of the target ('score')" in results.not_yet and "rank correlation" in results.not_yet


def test_a_class_of_two_rows_takes_no_folds_from_the_others():
    rng = np.random.default_rng(9)
    rows = pl.DataFrame({"a": rng.normal(size=302), "y": ["x"] * 200 + ["y"] * 100 + ["z"] * 2})
    assert Plan(rows, "y", learners=["zero-r", "naive-bayes"]).design.folds == 10


def test_guessing_turned_around_by_groups_is_no_yardstick():
    """One class per group, as many groups of either: ZeroR is always wrong, and a coin must not count as better."""
    rng = np.random.default_rng(10)
    ward = np.repeat(np.arange(10), 30)
    wards = pl.DataFrame({"ward": ward, "a": rng.normal(size=300), "ill": np.where(ward % 2 == 0, "no", "yes")})
    plan = Plan(wards, "ill", learners=["zero-r", "naive-bayes"], groups="ward", metrics="accuracy")
    results = run(plan, views=False)
    assert any("which chance reaches" in text for text in results.cautions)
    assert "unbeaten" in results.comparison.recommendation
