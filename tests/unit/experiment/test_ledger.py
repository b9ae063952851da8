"""Claims about the ledger and the final hold-out: what was seen is counted, and the last rows open once."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.model_selection import KFold

from assay.base.errors import DataError, ParameterError, UsageError
from assay.data import load_dataset
from assay.experiment import Ledger, Plan, Store, open_holdout, run
from assay.experiment.store import digest


@pytest.fixture(scope="module")
def iris():
    return load_dataset("iris")


class Overlapping:
    """Tests on ten rows that it has trained on."""

    def split(self, X, y=None, groups=None):
        for train, test in KFold(5).split(X):
            yield np.concatenate([train, test[:10]]), test

    def get_n_splits(self, X=None, y=None, groups=None):
        return 5


def noise(rows=60, copies=0, seed=0):
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(rng.normal(size=(rows, 3)), schema=list("abc"))
    frame = frame.with_columns(y=pl.Series(rng.permutation(["u", "v"] * (rows // 2))))
    return pl.concat([frame, frame.head(copies)]) if copies else frame


def test_rows_that_were_trained_on_are_counted_and_flagged(iris):
    plan = Plan(iris, "species", learners=["zero-r", "one-r"], design=Overlapping(), metrics=["accuracy"])
    ledger = Ledger.of(plan)
    assert ledger.seen == 50 and ledger.tested == 150
    assert ledger.to_frame()["seen"].to_list() == [10] * 5
    assert any("were among the training rows of their own fit" in text for text in run(plan).cautions)


def test_copies_among_the_training_rows_are_counted_against_a_plain_count():
    frame = noise(60, 20)
    plan = Plan(frame, "y", learners=["zero-r"], design="5-fold", groups=np.arange(80) % 40)
    rows, expected = frame.select("a", "b", "c").rows(), 0
    for split in plan.splits:
        trained = {rows[i] for i in split.train}
        expected += sum(rows[i] in trained for i in split.test)
    ledger = Ledger.of(plan)
    assert ledger.copies == expected > 0 and ledger.seen == 0
    assert any("have a copy among the training rows" in text for text in run(plan).cautions)


def test_a_plan_by_itself_keeps_copies_together():
    assert Ledger.of(Plan(noise(60, 20), "y", learners=["zero-r"], design="5-fold")).copies == 0


def test_the_rows_that_a_fit_saw_are_rows_of_the_table(iris):
    frame = iris.frame.with_columns(
        species=pl.when(pl.int_range(pl.len()) % 10 == 3).then(None).otherwise(pl.col("species"))
    )
    plan = Plan(frame, "species", learners=["zero-r"], design="5-fold")
    seen = Ledger.of(plan).rows_seen(0, 2)
    assert not np.any(seen % 10 == 3) and seen.size == len(plan.splits[2].train)
    with pytest.raises(UsageError, match="not part of the design"):
        Ledger.of(plan).rows_seen(3, 0)


def test_looks_are_plans_and_settings_not_repeated_runs(iris, tmp_path):
    with Store(tmp_path / "s") as store:
        one = Plan(iris, "species", learners=["zero-r", "one-r"], design="3-fold")
        assert run(one, store).looks.plans == 1 and run(one, store).looks.settings == 2
        two = Plan(iris, "species", learners=["one-r", "naive-bayes"], design="5-fold")
        found = run(two, store)
        assert (found.looks.plans, found.looks.settings) == (2, 3)
        assert "this is plan 2" in found.ledger().sentence and found.to_dict()["ledger"]["plans"] == 2
        assert run(two, store).to_dict() == found.to_dict(), "the same plan again is no further look"
        other = run(Plan(iris, "petal_length", learners=["zero-r-regressor"], design="3-fold"), store)
        assert other.looks.plans == 1, "another target is another question"


# -- the final hold-out ------------------------------------------------------------------------------------------------
def test_held_rows_are_seen_by_nothing(iris):
    plan = Plan(iris, "species", learners=["naive-bayes"], design="5-fold", holdout=0.2)
    assert (
        plan.held.size == 30
        and np.bincount(np.unique(iris.frame["species"], return_inverse=True)[1][plan.held]).tolist() == [10] * 3
    )
    shaken = iris.frame.with_columns(
        pl.when(pl.int_range(pl.len()).is_in(plan.held)).then(-pl.col(c)).otherwise(pl.col(c)).alias(c)
        for c in plan.columns
    )
    other = Plan(shaken, "species", learners=["naive-bayes"], design="5-fold", holdout=0.2)
    assert np.array_equal(other.held, plan.held)
    one, two = (run(p).learners[0] for p in (plan, other))
    assert all(np.array_equal(one.scores[name], two.scores[name]) for name in one.scores)
    assert run(plan).to_dict()["data"]["rows_without_target"] == 0


def test_the_rows_set_aside_open_once(iris, tmp_path):
    plan = Plan(iris, "species", learners=["zero-r", "naive-bayes"], design="5-fold", holdout=0.2)
    with Store(tmp_path / "s") as store:
        results = run(plan, store)
        look = open_holdout(results, store)
        assert look.learner == "naive-bayes" and look.rows == 30 and not look.again
        model = results.best_model("naive-bayes")
        held = iris.frame[plan.held]
        right = np.mean(model.predict(held) == held["species"].to_numpy())
        assert look.scores["accuracy"] == pytest.approx(right) and look.interval[0] <= right <= look.interval[1]
        again = open_holdout(results, store)
        assert again.again and again.scores == look.scores
        with pytest.raises(
            DataError, match="were opened on .* for learner 'naive-bayes'.*a second look would be no test"
        ):
            open_holdout(results, store, "zero-r")
    with Store(tmp_path / "s") as store:
        other = run(Plan(iris, "species", learners=["lda", "zero-r"], design="3-fold", holdout=0.2), store)
        with pytest.raises(DataError, match="were opened on"):
            open_holdout(other, store)


def test_rows_in_another_order_are_the_same_rows(iris, tmp_path):
    shuffled = iris.frame.select(reversed(iris.columns)).sample(fraction=1.0, shuffle=True, seed=7)
    with Store(tmp_path / "s") as store:
        plan = Plan(iris, "species", learners=["naive-bayes", "zero-r"], design="3-fold", holdout=0.3)
        open_holdout(run(plan, store), store)
        again = run(Plan(shuffled, "species", learners=["lda", "zero-r"], design="3-fold", holdout=0.3), store)
        assert again.looks.plans == 2
        with pytest.raises(DataError, match="of the 45 rows set aside were opened on"):
            open_holdout(again, store)
        other = iris.frame.with_columns(pl.col("petal_length") + 0.001)
        fresh = run(Plan(other, "species", learners=["lda", "zero-r"], design="3-fold", holdout=0.3), store)
        assert fresh.looks.plans == 1 and open_holdout(fresh, store).seen_by == 0


def test_rows_that_were_opened_under_the_order_of_their_file_stay_opened(iris, tmp_path):
    """A store of an earlier version knows the rows of a table by their places in the file."""
    plan = Plan(iris, "species", learners=["naive-bayes", "zero-r"], design="3-fold", holdout=0.3)
    with Store(tmp_path / "s") as store:
        results = run(plan, store)
        known = digest(plan.table.fingerprint, plan.target.name)
        store.open_holdout("earlier", "another run", "lda", "2026-01-01", data=known, rows=plan.held[:5].tolist())
        with pytest.raises(DataError, match="5 of the 45 rows set aside were opened on 2026-01-01 for learner 'lda'"):
            open_holdout(results, store)


def test_rows_set_aside_anew_open_only_where_none_was_opened_and_others_that_saw_them_are_told(iris, tmp_path):
    def compared(**how):
        return run(Plan(iris, "species", learners=["naive-bayes", "zero-r"], design="3-fold", **how), store)

    with Store(tmp_path / "s") as store:
        first = open_holdout(compared(holdout=0.1), store)
        assert first.seen_by == 0 and "no plan on this table had seen" in first.sentence
        with pytest.raises(DataError, match="of the 75 rows set aside were opened on"):
            open_holdout(compared(holdout=0.5, random_state=5), store)
    with Store(tmp_path / "other") as store:
        compared()
        look = open_holdout(compared(holdout=0.2), store)
        assert look.seen_by == 1 and "no plan on this table had seen" not in look.sentence
        assert look.sentence.endswith("1 other plan of this store had seen some of them.")


def test_a_look_that_was_interrupted_goes_on_for_the_same_learner_alone(iris, tmp_path, monkeypatch):
    import assay.experiment.final_look as module

    plan = Plan(iris, "species", learners=["zero-r", "naive-bayes"], design="5-fold", holdout=0.2)
    with Store(tmp_path / "s") as store:
        results = run(plan, store)
        with monkeypatch.context() as patch:
            patch.setattr(module, "_score", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                open_holdout(results, store)
        with pytest.raises(DataError, match="were opened on"):
            open_holdout(results, store, "zero-r")
        assert open_holdout(results, store).scores["accuracy"] > 0.8


def test_numbers_are_scored_on_the_rows_set_aside(iris, tmp_path):
    plan = Plan(iris, "petal_length", learners=["zero-r-regressor", "ridge"], design="5-fold", holdout=0.2)
    with Store(tmp_path / "s") as store:
        look = open_holdout(run(plan, store), store, "ridge")
    held = iris.frame[plan.held]
    truth, said = held["petal_length"].to_numpy(), run(plan).best_model("ridge").predict(held)
    assert look.scores["rmse"] == pytest.approx(float(np.sqrt(np.mean((truth - said) ** 2))))


def test_groups_and_time_decide_what_is_set_aside(iris):
    groups = np.arange(150) // 5
    plan = Plan(iris, "species", learners=["zero-r"], design="3-fold", groups=groups, holdout=0.3)
    assert not set(groups[plan.held]) & set(np.delete(groups, plan.held)) and 40 <= plan.held.size <= 50
    times = np.random.default_rng(0).permutation(150)
    plan = Plan(iris, "species", learners=["zero-r"], time=times, holdout=0.2)
    assert times[plan.held].min() > np.delete(times, plan.held).max() and plan.held.size == 30


@pytest.mark.parametrize("bad", [0, 0.001, 0.6, -1, "much", True, float("nan")])
def test_a_share_that_is_none_is_refused(iris, bad):
    with pytest.raises(ParameterError, match="holdout"):
        Plan(iris, "species", learners=["zero-r"], holdout=bad)


def test_a_plan_without_rows_set_aside_has_nothing_to_open(iris, tmp_path):
    with Store(tmp_path / "s") as store, pytest.raises(UsageError, match="set no rows aside"):
        open_holdout(run(Plan(iris, "species", learners=["zero-r"], design="3-fold"), store), store)
