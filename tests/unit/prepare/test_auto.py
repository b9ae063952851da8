"""The preparation gives each learner what its catalogue entry says it needs, learned from training rows only."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from assay import catalogue
from assay.base import DataError, ParameterError, UsageError
from assay.data import Role, infer_roles, load_dataset
from assay.prepare import Preparation, auto_prepare

ENTRY = catalogue.get("zero-r")
MATRIX = replace(ENTRY, native=("numeric",), scales=False)
SCALED = replace(ENTRY, native=("numeric",), scales=True)
NATIVE = replace(ENTRY, native=("numeric", "nominal", "missing"), scales=True)
NATIVE_COMPLETE = replace(ENTRY, native=("numeric", "nominal"))

FRAME = pl.DataFrame(
    {
        "age": [20.0, None, 40.0, 60.0],
        "calls": [1, 2, 3, 4],
        "level": ["low", "high", None, "medium"],
        "region": ["north", "south", "east", None],
        "member": ["yes", "no", "no", "yes"],
        "when": [datetime(2024, 1, 1), datetime(2024, 1, 3), datetime(2024, 2, 1), datetime(2024, 3, 1)],
    }
)
ROLES = {
    "age": Role("numeric", 1.0, ""),
    "calls": Role("numeric", 1.0, ""),
    "level": Role("ordinal", 1.0, "", ("low", "medium", "high")),
    "region": Role("nominal", 1.0, ""),
    "member": Role("binary", 1.0, ""),
    "when": Role("datetime", 1.0, ""),
}


def columns(preparation, frame):
    values = preparation.transform(frame)
    names = preparation.get_feature_names_out().tolist()
    if isinstance(values, pl.DataFrame):
        assert values.columns == names
        return values.to_dict(as_series=False)
    assert values.dtype == np.float64 and values.flags.c_contiguous and values.shape == (frame.height, len(names))
    return {name: values[:, j].tolist() for j, name in enumerate(names)}


def test_a_plain_learner_gets_a_matrix_of_numbers():
    found = columns(auto_prepare(ROLES, MATRIX).fit(FRAME), FRAME)
    assert found == {
        "age": [20.0, 40.0, 40.0, 60.0],
        "calls": [1.0, 2.0, 3.0, 4.0],
        "level": [0.0, 2.0, 1.0, 1.0],
        "when elapsed days": [0.0, 2.0, 31.0, 60.0],
        "when month": [1.0, 1.0, 2.0, 3.0],
        "when day of week": [1.0, 3.0, 4.0, 5.0],
        "age missing": [0.0, 1.0, 0.0, 0.0],
        "level missing": [0.0, 0.0, 1.0, 0.0],
        "region=north": [1.0, 0.0, 0.0, 0.0],
        "region=south": [0.0, 1.0, 0.0, 0.0],
        "region=(missing)": [0.0, 0.0, 0.0, 1.0],
        "member=yes": [1.0, 0.0, 0.0, 1.0],
    }


def test_a_learner_that_depends_on_scale_gets_standardised_numbers_and_all_indicators():
    found = columns(auto_prepare(ROLES, SCALED).fit(FRAME), FRAME)
    for name in ("age", "calls", "level", "when elapsed days"):
        assert abs(np.mean(found[name])) < 1e-12 and abs(np.std(found[name]) - 1) < 1e-12
    assert found["region=east"] == [0.0, 0.0, 1.0, 0.0] and found["age missing"] == [0.0, 1.0, 0.0, 0.0]


def test_a_learner_with_native_columns_gets_a_frame_as_it_is():
    found = columns(auto_prepare(ROLES, NATIVE).fit(FRAME), FRAME)
    assert found["age"] == [20.0, None, 40.0, 60.0], "missing stays missing, and nothing is standardised"
    assert found["level"] == [0.0, 2.0, None, 1.0]
    assert found["region"] == ["north", "south", "east", None] and found["member"] == ["yes", "no", "no", "yes"]
    assert "age missing" not in found


def test_a_native_learner_without_missing_gets_filled_labels():
    found = columns(auto_prepare(ROLES, NATIVE_COMPLETE).fit(FRAME), FRAME)
    assert found["age"] == [20.0, 40.0, 40.0, 60.0] and found["age missing"] == [0.0, 1.0, 0.0, 0.0]
    assert found["region"][3] == "(missing)"


def test_a_native_learner_gets_a_matrix_where_there_are_no_labels():
    frame = FRAME.select("age", "calls")
    preparation = auto_prepare({name: ROLES[name] for name in frame.columns}, NATIVE)
    values = preparation.fit_transform(frame)
    assert isinstance(values, np.ndarray) and np.isnan(values[1, 0])
    np.testing.assert_allclose(np.nanmean(values, axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.nanstd(values, axis=0), 1.0)


@pytest.mark.parametrize("entry", [MATRIX, SCALED, NATIVE, NATIVE_COMPLETE])
def test_fit_transform_equals_fit_then_transform_bit_for_bit(entry):
    features = load_dataset("customers").features("churned")
    once = auto_prepare(features.roles, entry).fit_transform(features.frame)
    twice = auto_prepare(features.roles, entry).fit(features.frame).transform(features.frame)
    assert once.equals(twice) if isinstance(once, pl.DataFrame) else np.array_equal(once, twice, equal_nan=True)


@pytest.mark.parametrize("entry", [MATRIX, SCALED, NATIVE, NATIVE_COMPLETE])
def test_a_row_is_prepared_by_the_training_rows_alone(entry):
    features = load_dataset("customers").features("churned")
    preparation = auto_prepare(features.roles, entry).fit(features.frame[:1000])
    together = preparation.transform(features.frame[1000:])
    alone = preparation.transform(features.frame[1200:1201])
    assert (
        together[200:201].equals(alone)
        if isinstance(alone, pl.DataFrame)
        else np.array_equal(together[200:201], alone, equal_nan=True)
    )


def test_the_frame_given_is_never_changed():
    for entry in (MATRIX, SCALED, NATIVE):
        frame = pl.DataFrame({"x": [1.5, None, 3.5]})
        auto_prepare({"x": Role("numeric", 1.0, "")}, entry).fit_transform(frame)
        assert frame["x"].to_list() == [1.5, None, 3.5]
        complete = pl.DataFrame({"x": [1.5, 2.5]})
        auto_prepare({"x": Role("numeric", 1.0, "")}, entry).fit_transform(complete)
        assert complete["x"].to_list() == [1.5, 2.5]


def test_later_rows_meet_unseen_labels_and_new_holes():
    preparation = auto_prepare(ROLES, SCALED).fit(FRAME)
    later = FRAME[:1].with_columns(
        pl.lit(None, dtype=pl.Int64).alias("calls"), pl.lit("west").alias("region"), pl.lit("never").alias("level")
    )
    found = columns(preparation, later)
    assert found["calls"] == [0.0], "the mean of the training rows"
    assert all(found[name] == [0.0] for name in found if name.startswith("region="))
    assert found["level missing"] == [1.0], "a label outside the order counts as missing"


def test_a_constant_column_becomes_zero_in_every_row():
    roles = {"x": Role("numeric", 1.0, "")}
    preparation = auto_prepare(roles, SCALED).fit(pl.DataFrame({"x": [0.1, 0.1, 0.1]}))
    assert preparation.transform(pl.DataFrame({"x": [0.1, 7.0]})).tolist() == [[0.0], [0.0]]


def test_a_column_that_is_missing_in_all_training_rows_becomes_zero():
    frame = pl.DataFrame({"x": pl.Series([None, None], dtype=pl.Float64), "z": [1.0, 2.0]})
    roles = {name: Role("numeric", 1.0, "") for name in frame.columns}
    assert auto_prepare(roles, MATRIX).fit_transform(frame)[:, 0].tolist() == [0.0, 0.0]


def test_deviations_survive_a_large_offset():
    x = 1e9 + np.array([1.0, 2.0, 3.0, 4.0])
    values = auto_prepare({"x": Role("numeric", 1.0, "")}, SCALED).fit_transform(pl.DataFrame({"x": x}))
    np.testing.assert_allclose(values.ravel(), (x - x.mean()) / x.std(), rtol=1e-9)


def test_rare_categories_share_an_indicator():
    labels = [f"town{i:03d}" for i in range(150)] + ["town007"] * 5
    preparation = Preparation(roles={"t": Role("nominal", 1.0, "")}, max_categories=10).fit(pl.DataFrame({"t": labels}))
    names = preparation.get_feature_names_out().tolist()
    assert len(names) == 11 and "t=town007" in names and names[-1] == "t=(rare)"
    values = preparation.transform(pl.DataFrame({"t": ["town149", "town007", "elsewhere"]}))
    assert values[0, -1] == 1.0 and values[1, names.index("t=town007")] == 1.0 and not values[2].any()


def test_reference_coding_leaves_out_the_first_category():
    roles = {"c": Role("nominal", 1.0, "")}
    frame = pl.DataFrame({"c": ["a", "b", "c"]})
    full, reference = (Preparation(roles=roles, drop_first=drop).fit_transform(frame) for drop in (False, True))
    np.testing.assert_array_equal(full, np.eye(3))
    np.testing.assert_array_equal(reference, np.eye(3)[:, 1:])


def test_integer_codes_become_labels():
    roles = {"zip": Role("nominal", 1.0, "")}
    frame = pl.DataFrame({"zip": [101, 202, 303]})
    assert columns(auto_prepare(roles, NATIVE).fit(frame), frame) == {"zip": ["101", "202", "303"]}
    again = pl.DataFrame({"zip": [101.0, None, 303.0]})
    assert columns(auto_prepare(roles, NATIVE).fit(frame), again) == {"zip": ["101", None, "303"]}


def test_numeric_binaries_stay_numbers_and_true_is_a_label():
    roles = {"flag": Role("binary", 1.0, ""), "open": Role("binary", 1.0, "")}
    frame = pl.DataFrame({"flag": [0, 1, 1], "open": [True, False, None]})
    assert columns(auto_prepare(roles, NATIVE).fit(frame), frame) == {
        "flag": [0.0, 1.0, 1.0], "open": ["true", "false", None],
    }  # fmt: skip
    assert columns(auto_prepare(roles, MATRIX).fit(frame), frame) == {
        "flag": [0.0, 1.0, 1.0], "open=true": [1.0, 0.0, 0.0], "open=(missing)": [0.0, 0.0, 1.0],
    }  # fmt: skip


def test_the_missing_label_is_never_one_of_the_labels():
    frame = pl.DataFrame({"c": ["(missing)", "b", None]})
    found = auto_prepare({"c": Role("nominal", 1.0, "")}, NATIVE_COMPLETE).fit_transform(frame)
    assert found["c"].n_unique() == 3


def test_columns_are_found_by_name_and_pandas_is_fine():
    preparation = auto_prepare(ROLES, MATRIX).fit(FRAME)
    expected = preparation.transform(FRAME)
    shuffled = FRAME.select(list(reversed(FRAME.columns))).with_columns(pl.lit(1).alias("extra"))
    np.testing.assert_array_equal(preparation.transform(shuffled), expected)
    np.testing.assert_array_equal(preparation.transform(FRAME.to_pandas()), expected)
    categorical = FRAME.to_pandas().astype({"region": "category"})
    np.testing.assert_array_equal(preparation.transform(categorical), expected)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.drop("age"), "column 'age' is not in the table"),
        (lambda f: f.with_columns(pl.lit("old").alias("age")), "column 'age' holds text"),
        (lambda f: f.with_columns(pl.lit("soon").alias("when")), "column 'when' holds no dates"),
    ],
)
def test_rows_of_another_shape_are_refused(change, words):
    preparation = auto_prepare(ROLES, MATRIX).fit(FRAME)
    with pytest.raises(DataError, match=words):
        preparation.transform(change(FRAME))


def test_explanations_name_every_treatment():
    text = "\n".join(auto_prepare(ROLES, SCALED).fit(FRAME).explain())
    for words in (
        "level: labels become ranks 0, 1, ... in the order low < medium < high",
        "when: the date becomes elapsed days, month, day of week",
        "age, level: missing values become the median",
        "standardised",
        "region: one-hot: 3 columns of 0 and 1, missing is a category of its own",
        "member: 1 for 'yes' and 0 for 'no'",
    ):
        assert words in text
    native = "\n".join(auto_prepare(ROLES, NATIVE_COMPLETE).fit(FRAME).explain())
    assert "region, member: passed on as labels" in native and "'(missing)'" in native
    assert "left to the learner" not in native
    takes_all = auto_prepare(ROLES, NATIVE).fit(FRAME).explain()
    assert takes_all[-1] == "age, level, region: missing values are left to the learner, which takes them."
    as_is = auto_prepare({"calls": ROLES["calls"]}, MATRIX).fit(FRAME).explain()
    assert as_is == ["The columns are passed on as they are."]


def test_the_learner_may_be_an_id_a_class_or_an_instance():
    ridge = catalogue.get("ridge")
    expected = auto_prepare(ROLES, ridge).get_params()
    for learner in ("ridge", ridge.load(), ridge.load()()):
        assert auto_prepare(ROLES, learner).get_params() == expected
    with pytest.raises(UsageError, match="did you mean"):
        auto_prepare(ROLES, "rigde")
    with pytest.raises(UsageError, match="did you mean knn-classifier or knn-regressor"):
        auto_prepare(ROLES, "knn")
    with pytest.raises(UsageError, match="'learner' must be a catalogue entry"):
        auto_prepare(ROLES, 3)


def test_an_estimator_outside_the_catalogue_gets_what_its_tags_ask_for():
    careful = auto_prepare(ROLES, SVC())
    assert (careful.nominal, careful.missing, careful.standardise) == ("one-hot", "impute", True)
    assert np.isfinite(careful.fit_transform(FRAME)).all()
    assert auto_prepare(ROLES, HistGradientBoostingClassifier()).missing == "native"
    assert auto_prepare(ROLES, HistGradientBoostingClassifier).missing == "impute", "a class has no tags yet"


def test_the_preparation_is_a_scikit_learn_transformer():
    outcomes = check_estimator(Preparation(), on_fail=None)
    assert [o["check_name"] for o in outcomes if o["status"] not in ("passed", "skipped")] == []
    copy = clone(auto_prepare(ROLES, SCALED))
    assert copy.standardise and copy.roles == ROLES


@pytest.mark.parametrize(
    "wrong", [{"nominal": "sparse"}, {"missing": "drop"}, {"standardise": 1}, {"max_categories": 1}, {"roles": 3}]
)
def test_bad_parameters_are_refused(wrong):
    with pytest.raises(ParameterError):
        Preparation(**wrong).fit(FRAME)


def test_frames_come_out_as_the_kind_that_went_in_or_that_set_output_names():
    given = FRAME.to_pandas().set_index(pd.Index([f"r{i}" for i in range(FRAME.height)]))
    native = auto_prepare(infer_roles(FRAME), NATIVE_COMPLETE)
    same = native.fit_transform(given)
    assert isinstance(same, pd.DataFrame) and same.index.tolist() == given.index.tolist()
    assert same["age"].dtype == np.float64
    wrapped = clone(native).set_output(transform="pandas").fit(FRAME).transform(FRAME)
    assert isinstance(wrapped, pd.DataFrame) and wrapped["age"].dtype == np.float64
    assert isinstance(clone(native).set_output(transform="polars").fit(given).transform(given), pl.DataFrame)


def test_no_two_columns_come_out_under_one_name():
    table = pl.DataFrame(
        {"age": [1.5, None, 2.5, 3.5], "age missing": [1.5, 2.5, 3.5, 4.5], "g": ["(missing)", None, "u", "v"]}
    )
    for nominal in ("one-hot", "native"):
        step = Preparation(nominal=nominal).set_output(transform="polars").fit(table)
        names = step.get_feature_names_out().tolist()
        assert len(set(names)) == len(names) and step.transform(table).columns == names
        assert {"age missing", "age missing'"} <= set(names)


# -- free text ---------------------------------------------------------------------------------------------------
def remarks():
    texts = ["good food and a good day", "bad food again today", "a good remark", None, "bad unique zebra day"]
    frame = pl.DataFrame({"remark": texts, "age": [1.0, 2.0, 3.0, 4.0, 5.0]})
    return frame, {"remark": Role("text", 0.9, "prose"), "age": Role("numeric", 0.9, "numbers")}


def test_free_text_becomes_the_words_of_two_training_texts_or_more():
    frame, roles = remarks()
    preparation = auto_prepare(roles, "logistic").fit(frame)
    names = preparation.get_feature_names_out().tolist()
    assert names == ["age", "remark:bad", "remark:day", "remark:food", "remark:good", "remark=(missing)"]
    fresh = pl.DataFrame({"remark": ["GOOD zebra", None], "age": [3.0, 3.0]})
    assert preparation.transform(fresh)[:, 1:].tolist() == [[0, 0, 0, 1, 0], [0, 0, 0, 0, 1]]
    assert preparation.explain()[-1] == (
        "remark: free text becomes a bag of words: 4 columns of 0 and 1 for the most frequent words of the training "
        "rows (bad, day, food, good), missing has a column of its own."
    )


def test_the_vocabulary_is_that_of_the_training_rows_and_capped():
    frame, roles = remarks()
    preparation = Preparation(roles=roles, max_words=1).fit(frame[[0, 1, 2]])
    assert preparation.words_[0].words == ("food",) or preparation.words_[0].words == ("good",)
    assert "remark:bad" not in Preparation(roles=roles).fit(frame[[0, 1, 2]]).get_feature_names_out()
    assert "remark:bad" in Preparation(roles=roles).fit(frame).get_feature_names_out()


def test_beside_labels_words_are_true_and_false():
    frame, roles = remarks()
    rows = auto_prepare(roles, "naive-bayes").fit_transform(frame)
    assert rows.schema["remark:good"] == pl.Boolean and rows["remark:good"].to_list() == [
        True,
        False,
        True,
        False,
        False,
    ]
    assert rows.columns == auto_prepare(roles, "naive-bayes").fit(frame).get_feature_names_out().tolist()


def test_text_that_shares_no_word_is_set_aside_in_words_or_refused_where_nothing_is_left():
    frame = pl.DataFrame({"remark": ["one apple", "two pears", "three plums"], "age": [1.0, 2.0, 3.0]})
    roles = remarks()[1]
    preparation = auto_prepare(roles, "logistic").fit(frame)
    assert preparation.get_feature_names_out().tolist() == ["age"]
    assert "remark: free text, set aside: no word occurs in two training texts." in preparation.explain()
    for learner in ("logistic", "naive-bayes"):
        with pytest.raises(DataError, match="holds no word that two training rows share"):
            auto_prepare({"remark": roles["remark"]}, learner).fit(frame.select("remark"))


def test_the_cell_that_is_no_number_is_named():
    fitted = auto_prepare({"a": Role("numeric", 1.0, "told")}, "k-means").fit(pl.DataFrame({"a": [1.0, 2.0, 4.0]}))
    with pytest.raises(DataError, match="first: 'oops'"):
        fitted.transform(pl.DataFrame({"a": ["0.18", "oops", "3"]}))
