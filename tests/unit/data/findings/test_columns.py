"""Labels, formats, numbers and columns against columns: what was planted is found, what is ordinary is not."""

from __future__ import annotations

import datetime

import numpy as np
import polars as pl
import pytest

from assay.base import DataError, ParameterError
from assay.data import Table, audit, read_table

N = 400


def rng(seed=0):
    return np.random.default_rng(seed)


def findings(code=None, target=None, /, rules=None, **columns):
    filler = {"filler": rng(99).normal(size=len(next(iter(columns.values()))))}
    found = audit(Table.from_frame(pl.DataFrame({**columns, **filler})), target=target, rules=rules).findings
    return [f for f in found if code is None or f.code == code]


def some(labels, n=N):
    return rng().choice(labels, n).tolist()


# -- labels
def test_each_way_of_writing_is_mapped_to_the_most_frequent():
    labels = some(["New York", "Oslo"])
    labels[:3] = ["new york", "NEW YORK", "New  York"]
    (case,), (signs,) = findings("A015", c=labels), findings("A025", c=labels)
    assert case.remedy["parameters"]["mapping"] == {"c": {"NEW YORK": "New York", "new york": "New York"}}
    assert signs.remedy["parameters"]["mapping"]["c"]["New  York"] == "New York" and signs.rows["first"][-1] == 2


def test_signs_that_carry_meaning_stay_apart():
    assert findings("A025", c=some(["1.5", "15", "-3", "3", "<5", ">5", "5+"])) == []


def test_typos_are_corrected_and_rare_labels_joined():
    labels = some(["Berlin", "Hamburg"])
    labels[:2] = ["Berlni", "Reykjavik"]
    assert findings("A022", c=labels)[0].remedy["parameters"]["mapping"] == {"c": {"Berlni": "Berlin"}}
    assert findings("A021", c=labels)[0].remedy["parameters"]["mapping"] == {"c": {"Reykjavik": "other"}}


def test_broken_characters_are_repaired():
    labels = some(["Zürich", "Bern"])
    labels[:2] = ["ZÃ¼rich", "ZÃ¼rich"]
    (told,) = findings("A040", c=labels)
    assert told.remedy["parameters"]["mapping"] == {"c": {"ZÃ¼rich": "Zürich"}} and told.rows["count"] == 2
    assert findings("A040", c=some(["Zürich", "São Paulo", "Ångström"])) == []


# -- formats
def test_dates_in_two_formats_are_found():
    days = [f"2024-03-{1 + k % 28:02d}" if k % 4 else f"{1 + k % 28:02d}.03.2024" for k in range(N)]
    (told,) = findings("A023", d=days)
    assert told.rows["count"] == 100 and "day.month.year" in told.evidence


def test_decimal_commas_among_points_are_found(tmp_path):
    file = tmp_path / "t.csv"
    lines = "\n".join(f'"{k / 10:.1f}"' if k % 5 else f'"{k // 10},{k % 10}"' for k in range(N))
    file.write_text("v,w\n" + "\n".join(f"{line},{k % 7}" for k, line in enumerate(lines.split("\n"))))
    told = [f for f in audit(read_table(file)).findings if f.code == "A023"]
    assert told and told[0].rows["count"] == 80


def test_units_in_one_column_are_told_with_their_factors():
    cells = [f"{50 + k % 20} kg" if k % 10 else f"{(50 + k % 20) * 1000} g" for k in range(N)]
    (told,) = findings("A024", w=cells)
    assert told.statistics["factors"]["g"] == pytest.approx(0.001) and told.rows["count"] == 40
    assert findings("A024", w=[f"{k % 30} kg" for k in range(N)]) == []
    assert findings("A024", code=some(["12A", "3B", "44C"])) == []


def test_codes_of_another_pattern_are_found():
    codes = [f"AB-{100 + k % 90}" for k in range(N)]
    codes[5] = "AB105"
    (told,) = findings("A023", code=codes)
    assert told.rows == {"count": 1, "first": [5]} and told.severity == "low"


# -- numbers
@pytest.mark.parametrize(("factor", "size"), [(1000, 3), (100, 3), (60, 4), (453.592, 4), (10, 12)])
def test_another_unit_is_recognised_by_its_factor(factor, size):
    values = rng().normal(70, 6, N)
    values[:size] *= factor
    (told,) = findings("A026", weight=values)
    assert told.statistics["factor"] == pytest.approx(factor) and told.rows["count"] == size
    assert "all in rows 1" in told.evidence


@pytest.mark.parametrize(
    "values",
    [np.exp(rng(1).normal(size=N) * 1.5), np.concatenate([rng().normal(2, 0.2, 200), rng().normal(6, 0.5, 200)]),
     rng().pareto(1.5, N) + 1, np.where(rng().random(N) < 0.05, 0.0, rng().normal(50, 5, N))],
    ids=["lognormal", "two humps", "pareto", "zeros"],
)  # fmt: skip
def test_long_tails_and_two_humps_are_no_other_unit(values):
    assert findings("A026", v=values) == []


def test_per_cents_among_shares_are_found():
    shares = rng().beta(3, 2, N)
    shares[10:20] *= 100
    assert findings("A026", discount_share=shares)[0].rows == {"count": 10, "first": [10, 11, 12, 13, 14]}
    assert findings("A026", discount_share=np.delete(shares, np.s_[10:20])) == []


@pytest.mark.parametrize(
    ("name", "bad", "ordinary"),
    [("age", -3, 44), ("customerAge", 151, 44), ("lat", 91.5, 50), ("longitude", -190, 8), ("temp_kelvin", -1, 290),
     ("humidity", 104, 50), ("pct_done", 140, 70), ("ph", 15, 7), ("height", -170, 170), ("month", 13, 6)],
)  # fmt: skip
def test_values_that_cannot_be_are_found_by_name(name, bad, ordinary):
    values = np.full(N, float(ordinary)) + rng().uniform(-1, 1, N)
    values[7] = bad
    (told,) = findings("A027", **{name: values})
    assert told.rows == {"count": 1, "first": [7]} and told.remedy["step"] == "range-rules"
    assert findings("A027", **{name: np.delete(values, 7)}) == []


def test_standardised_columns_are_not_judged_by_their_names():
    assert findings("A027", age=rng().normal(size=N), humidity=rng().normal(size=N)) == []
    assert findings("A027", age_change=np.concatenate([[-5], rng().normal(30, 4, N - 1)])) == []


def test_births_to_come_are_out_of_range():
    days = pl.Series([datetime.datetime(1970, 1, 1) + datetime.timedelta(days=k) for k in range(N - 1)]
                     + [datetime.datetime(2200, 1, 1)])  # fmt: skip
    assert findings("A027", birth_date=days)[0].rows == {"count": 1, "first": [N - 1]}


def test_the_rules_of_the_user_are_severe():
    (told,) = findings("A027", rules={"v": {"min": 0, "max": 10}}, v=[-1.0, *[5.0 + k / N for k in range(N - 1)]])
    assert told.severity == "high" and told.statistics["given"]
    assert told.remedy["parameters"]["rules"] == {"v": {"min": 0, "max": 10}}
    (told,) = findings("A027", rules={"s": {"allowed": ["f", "m"]}}, s=["x", *some(["f", "m"], N - 1)])
    assert told.rows["first"] == [0]


@pytest.mark.parametrize(
    ("rules", "error", "words"),
    [({"w": {"min": 1}}, DataError, "not in the table"), ({"v": {"least": 1}}, ParameterError, "'min', 'max'"),
     ({"v": {"min": "a"}}, ParameterError, "does not fit"), ({"s": {"max": 3}}, ParameterError, "does not fit")],
)  # fmt: skip
def test_rules_that_cannot_hold_are_refused(rules, error, words):
    with pytest.raises(error, match=words):
        findings(rules=rules, v=rng().normal(size=N), s=some(["f", "m"]))


def test_a_wild_value_is_an_outlier_and_a_tail_is_none():
    values = rng().normal(size=N)
    values[3] = 60
    (told,) = findings("A028", v=values)
    assert told.rows == {"count": 1, "first": [3]} and told.severity == "medium"
    assert findings("A028", v=np.exp(rng().normal(size=N))) == []
    assert findings("A028", v=rng().poisson(0.3, N)) == []


def test_the_fences_of_long_columns_reach_further():
    values = rng().normal(size=100_000)
    values[7] = 4.9
    assert findings("A028", v=values) == [] and findings("A028", v=values[:N])[0].rows["first"] == [7]


# -- rows and columns
def test_a_row_that_no_single_column_gives_away_is_found_by_its_distance():
    x = rng().normal(size=N)
    y = x + 0.1 * rng(1).normal(size=N)
    x[9], y[9] = 2.0, -2.0
    (told,) = findings("A029", x=x, y=y)
    assert told.rows == {"count": 1, "first": [9]} and told.statistics["largest"] > told.statistics["threshold"]
    assert findings("A029", x=rng().normal(size=N), y=rng(2).normal(size=N)) == []


def test_the_mahalanobis_distance_is_that_of_the_definition():
    """Against scipy.spatial.distance.mahalanobis with the covariance of divisor n."""
    from scipy.spatial.distance import mahalanobis

    cells = rng().normal(size=(N, 3))
    cells[0] = [9, -9, 9]
    found = findings("A029", a=cells[:, 0], b=cells[:, 1], c=cells[:, 2])[0]
    filled = np.column_stack([cells, rng(99).normal(size=N)])
    inverse = np.linalg.inv(np.cov(filled.T, ddof=0))
    assert found.statistics["largest"] == pytest.approx(mahalanobis(filled[0], filled.mean(0), inverse) ** 2, rel=1e-6)


def test_an_exact_dependence_is_written_as_an_equation():
    a, b = rng().normal(5, 1, N), rng(1).normal(3, 2, N)
    (told,) = findings("A031", a=a, b=b, total=2 * a - b + 7)
    assert told.statistics["equation"] == "total = 2 a - b + 7" and told.columns == ["total", "a", "b"]


def test_collinear_groups_and_inflated_columns_are_told_apart():
    a, b, c = (rng(k).normal(size=N) for k in range(3))
    (pair,) = findings("A030", a=a, twin=a + 0.1 * b, c=c)
    assert pair.columns == ["a", "twin"]
    (inflated,) = findings("A030", a=a, b=b, c=c, mix=a + b + c + 0.3 * rng(7).normal(size=N))
    assert inflated.columns[0] == "mix" and inflated.statistics["variance_inflation"]["mix"] > 10
    assert findings("A030", a=a, b=b, c=c) == []


def test_the_variance_inflation_is_that_of_statsmodels():
    """statsmodels.stats.outliers_influence.variance_inflation_factor on centred columns."""
    from statsmodels.stats.outliers_influence import variance_inflation_factor

    a, b, c = (rng(k).normal(size=N) for k in range(3))
    mix = a + b + c + 0.3 * rng(7).normal(size=N)
    (told,) = findings("A030", a=a, b=b, c=c, mix=mix)
    cells = np.column_stack([np.ones(N), a, b, c, mix, rng(99).normal(size=N)])
    assert told.statistics["variance_inflation"]["mix"] == pytest.approx(variance_inflation_factor(cells, 4))


def test_an_end_before_its_beginning_is_found():
    start = pl.Series([datetime.datetime(2020, 1, 1) + datetime.timedelta(days=k) for k in range(N)])
    end = start + pl.Series([datetime.timedelta(days=-2 if k == 11 else 3) for k in range(N)])
    (told,) = findings("A041", start=start, end=end)
    assert told.columns == ["start", "end"] and told.rows["first"] == [11]


def test_keys_and_near_duplicates_are_found():
    ids = [f"k{k}" for k in range(N)]
    ids[8] = ids[3]
    assert findings("A019", user_id=ids)[0].rows == {"count": 1, "first": [8]}
    frame = pl.DataFrame({"town": some(["Bern", "Rome"]), "street": some([f"way {k}" for k in range(9)]),
                          "v": rng().normal(size=N)})  # fmt: skip
    again = frame[:1].with_columns(pl.col("town").str.to_uppercase())
    near = [f for f in audit(Table.from_frame(pl.concat([frame, again]))).findings if f.code == "A020"]
    assert near[0].rows == {"count": 1, "first": [N]}


def test_drift_along_the_rows_is_found():
    assert findings("A034", v=rng().normal(size=N) + np.arange(N) / 60)[0].columns == ["v"]
    assert findings("A034", v=rng().normal(size=N)) == []


# -- the target
def test_a_column_made_from_the_target_is_caught_in_any_shape():
    y = some(["no", "yes"])
    hump = np.where(np.array(y) == "yes", rng().uniform(4, 6, N), rng().choice([-1, 1], N) * rng().uniform(8, 9, N))
    for leak in (np.where(np.array(y) == "yes", 1, -1) * rng().uniform(1, 9, N), hump):
        (told,) = findings("A032", "y", y=y, leak=leak)
        assert told.columns == ["leak"] and told.severity == "high"
    good = np.where(np.array(y) == "yes", 1, -1) + rng().normal(0, 0.7, N)
    assert findings("A032", "y", y=y, good=good) == []


def test_a_label_that_decides_the_class_is_caught():
    y = some(["a", "b", "c"])
    label = [f"{value}{k % 4}" for k, value in enumerate(y)]
    assert findings("A032", "y", y=y, label=label)[0].columns == ["label"]


def test_a_curved_copy_of_a_number_is_likely_a_leak():
    x = rng().normal(size=N)
    told = findings("A032", "y", y=np.sin(x), leak=x, noise=rng(3).normal(size=N))
    assert [f.columns for f in told] == [["leak"]] and told[0].severity == "medium"


def test_rows_in_the_order_of_the_target_are_told():
    assert findings("A033", "y", y=sorted(some(["a", "b"])))[0].columns == ["y"]
    y = np.array(some(["a", "b"]))
    ids = np.where(y == "a", 1000, 5000) + rng().permutation(N)
    assert findings("A033", "y", y=y, case_id=ids)[0].columns == ["case_id", "y"]


def test_imbalance_asks_for_balance():
    assert findings("A009", "y", y=["no"] * (N - 20) + ["yes"] * 20)[0].remedy["step"] == "balance"


# -- no false alarms, and remedies that hold
def test_a_table_with_more_columns_than_rows_has_no_dependence_to_tell():
    wide = {f"g{k}": rng(k).normal(size=60) for k in range(80)}
    assert findings("A031", **wide) == []
    wide["g3"] = wide["g1"] + 2 * wide["g2"]
    (found,) = findings("A031", **wide)
    assert found.columns == ["g3", "g1", "g2"]


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1000.0, 1e9])
def test_outliers_do_not_change_with_the_unit_of_the_column(unit):
    values = np.append(0.0, np.exp(rng(4).normal(-4, 0.7, N)))
    values[7] = 40 * values.max()
    (found,) = findings("A028", x=values * unit)
    (same,) = findings("A028", x=values)
    assert (found.rows, found.severity) == (same.rows, same.severity) and found.rows["first"] == [7]


def test_a_long_tail_from_zero_on_is_no_crowd_of_wild_values():
    values = np.append(np.zeros(3), np.exp(rng(2).normal(-3.5, 0.8, N)))
    assert not [f for f in findings("A028", x=values) if f.severity != "low"]


def test_near_duplicates_are_mended_by_writing_labels_one_way():
    labels, numbers = some(["New York", "Oslo"]), rng(3).normal(size=N).tolist()
    labels[1], labels[9], numbers[9] = "New York", "new-york", numbers[1]
    table = Table.from_frame(pl.DataFrame({"c": labels, "x": numbers, "z": np.sin(numbers)}))
    (found,) = [f for f in audit(table).findings if f.code == "A020"]
    assert found.remedy["step"] == "replace-values" and found.rows == {"count": 1, "first": [9]}
    assert found.remedy["parameters"]["mapping"] == {"c": {"new-york": "New York"}}


def test_rare_labels_join_the_label_that_is_there_for_them():
    labels = some(["Berlin", "Hamburg"]) * 3
    labels[:4] = ["Quito", "Lima", "Other", "Other"]
    (found,) = findings("A021", c=labels)
    assert found.remedy["parameters"]["mapping"] == {"c": {"Lima": "Other", "Quito": "Other"}}
    labels[:2] = ["Other", "Other"]
    assert findings("A021", c=labels) == []
