"""Claims about plans in files: what was decided comes back the same, and what is wrong is told in one sentence."""

from __future__ import annotations

import json
import math
import tomllib

import numpy as np
import polars as pl
import pytest
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.model_selection import ShuffleSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from assay.base.errors import AssayError, DataError, UsageError
from assay.data import load_dataset, read_table
from assay.experiment import Plan, run
from assay.experiment.plain_values import NotPlain, from_plain, to_plain
from assay.experiment.plan_file import record_of, toml_text


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(3)
    path = tmp_path / "kinds.csv"
    lines = ["a;b;size;when;who;kind"]
    for i in range(80):
        size = ["S", "M", "L"][int(rng.integers(3))]
        lines.append(f"{rng.normal():.3f};{rng.normal():.3f};{size};{i};p{i % 20};{'xy'[int(rng.integers(2))]}")
    path.write_text("\n".join(lines))
    return read_table(path, delimiter=";").with_roles({"size": ("ordinal", ["S", "M", "L"]), "a": "numeric"})


def plans(table):
    bagged = BaggingClassifier(DecisionTreeClassifier(max_depth=2, random_state=5), n_estimators=3)
    yield Plan(table, "kind")
    yield Plan(
        table,
        "kind",
        learners=[
            "zero-r",
            ("mine", ("knn-classifier", {"n_neighbors": 7})),
            "knn-classifier",
            bagged,
            "xgboost.XGBClassifier",
        ],
        design="2x5",
        metrics=["log_loss", "accuracy"],
        random_state=9,
        alpha=0.1,
        prepare=[("scale", {"method": "robust"})],
        groups="who",
        margin=0.02,
        budget=100.0,
        drop=["b"],
        race=True,
        holdout=0.2,
        time_limit=60.0,
        memory_limit="1 GB",
    )
    yield Plan(table, "kind", learners=["logistic-cv"], time="when")
    yield Plan(table, "b", learners=["ridge", ("gradient-boosting-regressor", {"random_state": 3})], design="5-fold")


@pytest.mark.parametrize("ending", ["toml", "json"])
@pytest.mark.parametrize("number", range(4))
def test_a_plan_comes_back_from_its_file(table, tmp_path, number, ending):
    plan = list(plans(table))[number]
    again = Plan.load(plan.save(tmp_path / f"plan.{ending}"))
    assert again == plan and hash(again) == hash(plan)
    assert record_of(again) == record_of(plan)
    assert [one.title for one in again.learners] == [one.title for one in plan.learners]
    assert [one.open_seeds for one in again.learners] == [one.open_seeds for one in plan.learners]
    assert again.limits == plan.limits and np.array_equal(again.held, plan.held)


def test_a_plan_of_a_file_gives_the_same_results(table, tmp_path):
    plan = list(plans(table))[3]
    assert run(Plan.load(plan.save(tmp_path / "p.toml"))).to_dict() == run(plan).to_dict()


@pytest.mark.parametrize("ending", ["toml", "json"])
def test_pipelines_and_what_holds_a_learner_come_back_from_a_file(tmp_path, ending):
    learners = {
        "scaled": make_pipeline(StandardScaler(), RandomForestClassifier(n_estimators=3)),
        "seeded": make_pipeline(PCA(2, random_state=4), RandomForestClassifier(n_estimators=3, random_state=7)),
        "each": OneVsRestClassifier(DecisionTreeClassifier(max_depth=2)),
    }
    plan = Plan(load_dataset("iris"), "species", learners=learners, design="3-fold")
    plan.save(tmp_path / f"plan.{ending}")
    again = Plan.load(tmp_path / f"plan.{ending}")
    assert again.fingerprint == plan.fingerprint
    assert again.learners[1].estimator.steps[1][1].random_state == 7 and not again.learners[1].open_seeds
    assert again.learners[0].open_seeds == plan.learners[0].open_seeds != ()
    assert run(again, views=False).to_dict() == run(plan, views=False).to_dict()


def test_a_plan_by_hand_needs_data_and_target_alone(tmp_path):
    (tmp_path / "mine.toml").write_text('[data]\nsource = "iris"\ntarget = "species"\n')
    plan = Plan.load(tmp_path / "mine.toml")
    assert plan == Plan(load_dataset("iris"), "species")


def test_a_plan_finds_data_that_lie_beside_it(tmp_path, monkeypatch):
    load_dataset("iris").frame.write_csv(tmp_path / "flowers.csv")
    (tmp_path / "p.toml").write_text('[data]\nsource = "flowers.csv"\ntarget = "species"\n')
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert Plan.load(tmp_path / "p.toml").table.n_rows == 150


def test_data_that_changed_are_refused_unless_that_is_wanted(tmp_path):
    path = tmp_path / "t.csv"
    frame = load_dataset("iris").frame
    frame.write_csv(path)
    file = Plan(read_table(path), "species", learners=["zero-r"]).save(tmp_path / "p.toml")
    frame.head(120).write_csv(path)
    with pytest.raises(DataError, match="is not the table that this plan was made for") as raised:
        Plan.load(file)
    assert raised.value.exit_code == 3
    assert Plan.load(file, any_data=True).table.n_rows == 120


def test_what_only_python_can_say_is_named_and_refused(tmp_path):
    class Local(DecisionTreeClassifier):
        pass

    iris = load_dataset("iris")
    wanted = {
        "the table": Plan(iris.frame, "species", learners=["zero-r"]),
        "learner 'local'": Plan(iris, "species", learners=[Local()]),
        "the design": Plan(iris, "species", learners=["zero-r"], design=ShuffleSplit(3, random_state=0)),
        "groups": Plan(iris, "species", learners=["zero-r"], groups=np.arange(150) % 30),
    }
    for part, plan in wanted.items():
        file = plan.save(tmp_path / "p.json")
        assert part in json.loads(file.read_text())["only_python"][0]
        with pytest.raises(UsageError, match="only Python can say"):
            Plan.load(file)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = ", "is not TOML or JSON"),
        ("", "must say where the table is"),
        ('[data]\nsource = "iris"\n', "must say where the table is"),
        ('schema = "assay.plan/99"\n', "must be assay.plan/1"),
        ('[data]\nsource = "iris"\ntarget = "species"\n[design]\nseeds = 1\n', "'design.seeds'.* is not known"),
        ('learners = "zero-r"\n[data]\nsource = "iris"\ntarget = "species"\n', "must be a list of tables"),
        ('[data]\nsource = "iris"\ntarget = "species"\n[[learners]]\nmethod = "zero-q"\n', "zero-q"),
        ('[data]\nsource = "iris"\ntarget = "species"\n[[learners]]\nclass = "os.system"\n', "os.system"),
        ('[data]\nsource = "iris"\ntarget = "species"\n[[learners]]\nname = "x"\n', "must have a method"),
        ('nonsense = 1\n[data]\nsource = "iris"\ntarget = "species"\n', "is not known; the keys are 'schema', "),
        ('[data]\nsource = "iris"\ntarget = "species"\n[design]\nseed = -1\n', "plan: key 'design.seed' must be"),
        ('[data]\nsource = "iris"\ntarget = "species"\n[limits]\nseconds = 0\n', "plan: key 'limits.seconds' must be"),
        ('[data]\nsource = "iris"\ntarget = "species"\ngroups = "x"\n', "plan: key 'data.groups' must be"),
        ('[data]\nsource = "iris"\ntarget = "species"\n[design]\nname = "3-folds"\n', "'3-folds' is not known"),
        ('[data]\nsource = "iris"\ntarget = "species"\n[[learners]]\nmethod = "zero-r"\nsearch = {k = 1}\n', "alone"),
    ],
)
def test_a_broken_plan_is_told_in_one_sentence_as_wrong_usage(tmp_path, text, told):
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(AssayError, match=told) as raised:
        Plan.load(tmp_path / "p.toml")
    assert str(raised.value).count("\n") == 0 and raised.value.exit_code == 2


DATA = {"source": "iris", "target": "species"}


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"learners": [{"method": "zero-r", "parameters": [5]}]}, r"'learners.parameters' .* table .*; got \[5\]"),
        ({"prepare": [{"step": "scale", "parameters": [5]}]}, "'prepare.parameters' .* must be a table"),
        ({"prepare": [{"class": "sklearn.decomposition.PCA", "parameters": 5}]}, "'prepare.parameters'"),
        ({"learners": [{"method": "zero-r", "class": "sklearn.svm.SVC"}]}, "'method' or 'class' and not both"),
        ({"prepare": [{"step": "scale", "class": "sklearn.decomposition.PCA"}]}, "'step' or 'class' and not both"),
        (
            {"learners": [{"method": "zero-r", "parameters": {"a": {"class": "sklearn.svm.SVC", "parameters": [1]}}}]},
            "'parameters' of class 'sklearn.svm.SVC' must be a table",
        ),
        ({"learners": [{"method": "zero-r", "parameters": {"a": {"number": "many"}}}]}, "a number must be one"),
        ({"learners": [{"method": "zero-r", "parameters": {"a": {"tuple": 3}}}]}, "a tuple must be a list"),
        ({"learners": [{"method": "zero-r", "parameters": {"a": {"array": ["x"], "dtype": "f8"}}}]}, "an array must"),
        ({"learners": [{"method": "cart-classifier", "search": {"space": [5]}}]}, "'space' must name"),
        (
            {"learners": [{"class": "sklearn.ensemble.BaggingClassifier", "parameters": {"estimator": 5}}]},
            "'BaggingClassifier' cannot be used",
        ),
        ({"metrics": 5}, "'metrics' .* must be a list of names"),
        ({"metrics": [[1]]}, "'metrics' .* must be a list of names"),
        ({"data": {**DATA, "drop": 5}}, "'data.drop' .* must be a list"),
        ({"data": {**DATA, "roles": [5]}}, "'data.roles' .* must be a table"),
        ({"data": {**DATA, "read": "x"}}, "'data.read' .* must be a table"),
        ({"data": {**DATA, "source": "a.csv", "read": {"delimter": ","}}}, "'data.read.delimter' is not known"),
        ({"data": {**DATA, "source": "a.csv", "read": {"delimiter": 5}}}, "'data.read.delimiter' must be text; got 5"),
    ],
)
def test_a_value_of_another_kind_is_told_in_one_sentence_as_wrong_usage(tmp_path, parts, told):
    file = tmp_path / "p.json"
    file.write_text(json.dumps({"data": DATA, "design": {"name": "3-fold"}} | parts))
    with pytest.raises(UsageError, match=told) as raised:
        Plan.load(file)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"data": {"source": "iris", "target": "species"}, "metrics": ' + "[" * 120 + "]" * 120 + "}",
        '{"data": ' + '{"a": ' * 120 + "1" + "}" * 121,
    ],
)
def test_a_plan_nested_without_end_is_refused(tmp_path, text):
    (tmp_path / "p.json").write_text(text)
    with pytest.raises(UsageError, match="more than 100 deep"):
        Plan.load(tmp_path / "p.json")
    (tmp_path / "p.toml").write_text("a = " + "[" * 100_000)
    with pytest.raises(UsageError, match="more than 100 deep"):
        Plan.load(tmp_path / "p.toml")


@pytest.mark.parametrize(
    "text",
    [
        '{"metrics": ["roc_auc"], "metrics": ["accuracy"], "data": {"source": "iris", "target": "species"}}',
        '{"data": {"source": "iris", "target": "species"}, "learners": [{"parameters": {"metrics": 1, "metrics": 1}}]}',
    ],
)
def test_a_key_given_twice_is_named(tmp_path, text):
    (tmp_path / "p.json").write_text(text)
    with pytest.raises(UsageError, match="key 'metrics' is given twice"):
        Plan.load(tmp_path / "p.json")


@pytest.mark.parametrize("ending", ["json", "toml"])
def test_a_byte_order_mark_is_no_part_of_a_plan(tmp_path, ending):
    plan = Plan(load_dataset("iris"), "species", learners=["zero-r"], design="3-fold")
    file = plan.save(tmp_path / f"p.{ending}")
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert Plan.load(file) == plan


def test_a_plan_whose_table_is_not_there_is_told_in_one_sentence_as_bad_data(tmp_path):
    (tmp_path / "p.toml").write_text('[data]\nsource = "nowhere.csv"\ntarget = "species"\n')
    with pytest.raises(DataError, match="does not exist"):
        Plan.load(tmp_path / "p.toml")


def test_a_plan_that_is_not_there_is_told_in_one_sentence(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        Plan.load(tmp_path / "p.toml")


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        -0.0,
        1e-300,
        math.inf,
        -math.inf,
        "é\n\x7f\"'",
        (1, (None, "x")),
        [1, [2.5, None]],
        {"a b": {"c": ()}},
    ],
)
def test_values_come_back_from_toml_and_json(value):
    said = to_plain(value)
    assert from_plain(json.loads(json.dumps(said))) == value
    assert from_plain(tomllib.loads(toml_text({"t": {"v": said}}))["t"]["v"]) == value


def test_arrays_keep_their_type():
    array = np.array([0.1, np.inf], dtype=np.float32)
    again = from_plain(json.loads(json.dumps(to_plain(array))))
    assert again.dtype == array.dtype and np.array_equal(again, array)


def test_functions_are_not_plain():
    for value in (max, lambda x: x, object(), {1: 2}, {"none": True}):
        with pytest.raises(NotPlain):
            to_plain(value)


def test_the_run_writes_its_plan_into_the_store(table, tmp_path):
    plan = Plan(table, "kind", learners=["zero-r"], design="5-fold")
    run(plan, tmp_path / "s")
    from assay.experiment.runs import stored_runs

    (kept,) = stored_runs(tmp_path / "s", results=True)
    assert kept.plan == record_of(plan) and kept.fingerprint == plan.fingerprint and kept.state == "finished"
    assert kept.results == run(plan).to_dict()


def test_a_frame_has_a_plan_that_python_can_run(tmp_path):
    frame = pl.DataFrame({"a": [i * 0.7 % 3 for i in range(40)], "y": ["u", "v"] * 20})
    plan = Plan(frame, "y", learners=["zero-r"], design="5-fold")
    assert record_of(plan)["only_python"] == ["the table, which is not a file"]
