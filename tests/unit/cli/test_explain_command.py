"""`assay explain` and `assay report` on the command line."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from assay.base.errors import UsageError
from assay.cli.explain import _goal
from assay.cli.main import assay
from assay.data import load_dataset
from assay.deploy import save
from assay.models.linear import LeastSquares
from assay.models.trees import CartClassifier


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explain")
    frame = load_dataset("iris").frame
    frame.write_csv(folder / "iris.csv")
    model = CartClassifier(max_depth=3, random_state=0).fit(frame.drop("species"), frame["species"].to_list())
    save(model, folder / "tree.assay", facts={"target": "species"})
    numbers = frame.drop("species", "petal_width")
    save(LeastSquares().fit(numbers, frame["petal_width"].to_list()), folder / "line.assay")
    return folder


def call(*words):
    return CliRunner().invoke(assay, [str(word) for word in words])


def test_a_model_is_explained_by_its_importances_curves_and_an_imitation(place):
    found = call("explain", place / "tree.assay", place / "iris.csv", "--out", place / "page.html")
    assert found.exit_code == 0, found.output
    for word in ("permutation", "Shapley", "petal_length", "curves", "imitates"):
        assert word in found.output
    page = (place / "page.html").read_text()
    assert page.count("<svg") >= 5 and "Content-Security-Policy" in page and "<script" not in page
    plain = json.loads(call("explain", place / "tree.assay", place / "iris.csv", "--json", "-q").stdout)
    assert plain["schema"] == "assay.explain/1" and plain["importances"]["concordance"] > 0.3


def test_a_row_is_explained_by_contributions_changes_and_neighbours(place):
    words = ("explain", place / "tree.assay", place / "iris.csv", "--row", 1)
    found = call(*words, "--wanted", "virginica", "--keep", "sepal_length")
    assert found.exit_code == 0, found.output
    assert "would say virginica" in found.output and "nearest" in found.output and "contribution" in found.output
    number = call(
        "explain", place / "line.assay", place / "iris.csv", "--row", 1, "--wanted", "1:2", "-t", "petal_width"
    )
    assert number.exit_code == 0 and "counterfactuals" in number.output


def test_a_row_is_counted_in_the_table_and_needs_no_target(place, tmp_path):
    head, *rows = (place / "iris.csv").read_text().splitlines()
    cut = len(head.split(",")) - 1
    rows[0] = ",".join([*rows[0].split(",")[:cut], ""])  # the first row has no species
    (tmp_path / "gap.csv").write_text("\n".join([head, *rows]) + "\n")
    words = ("explain", place / "tree.assay", tmp_path / "gap.csv", "--json", "-q", "--row")
    first, second = (json.loads(call(*words, n).stdout) for n in (1, 2))
    whole = ("explain", place / "tree.assay", place / "iris.csv", "--json", "-q", "--row", 2)
    assert second["contributions"]["values"] and first["nearest"]["row"] != second["nearest"]["row"]
    assert second["nearest"]["row"] == json.loads(call(*whole).stdout)["nearest"]["row"]
    assert call(*words, len(rows) + 1).exit_code == 2 and call(*words, 0).exit_code == 2


def test_a_saved_regression_is_explained_row_by_row_and_not_written_over(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [(i / 7 - 4, (i * 37 % 11) - 5) for i in range(60)]
    text = "\n".join(["a,b,y", *(f"{a:.3f},{b},{2 * a - b:.3f}" for a, b in rows)]) + "\n"
    (tmp_path / "num.csv").write_text(text)
    made = call(
        "compare",
        "num.csv",
        "-t",
        "y",
        "-m",
        "zero-r-regressor,least-squares",
        "--design",
        "3-fold",
        "--save",
        "m.assay",
        "-q",
    )
    assert made.exit_code == 0, made.output
    explained = call("explain", "m.assay", "num.csv", "--row", 1)
    assert explained.exit_code == 0 and "contribution" in explained.output, explained.output
    told = call("predict", "m.assay", "num.csv", "--explain", 1, "--keep", "a", "-q")
    assert told.exit_code == 0 and "because" in told.stdout and ",-4.000," in told.stdout and "'-" not in told.stdout
    assert call("predict", "m.assay", "num.csv", "--out", "num.csv").exit_code == 2
    assert (tmp_path / "num.csv").read_text() == text


def test_without_a_target_columns_are_judged_by_their_contributions(place):
    found = call("explain", place / "line.assay", place / "iris.csv")
    assert found.exit_code == 0 and "no target" in found.output and "contributions" in found.output


def test_bad_calls_have_a_sentence_and_a_code(place, tmp_path):
    assert call("explain", tmp_path / "no.assay", place / "iris.csv").exit_code == 4
    assert call("explain", tmp_path, place / "iris.csv").exit_code == 3
    assert call("explain", place / "tree.assay", place / "iris.csv", "--row", 9999).exit_code == 2
    assert call("explain", place / "tree.assay", place / "iris.csv", "--keep", "x").exit_code == 2
    (tmp_path / "other.csv").write_text("a,b\n1,2\n3,4\n")
    missing = call("explain", place / "tree.assay", tmp_path / "other.csv")
    assert missing.exit_code == 3 and "needed by the model" in missing.output
    with pytest.raises(UsageError, match="LOW:HIGH"):
        _goal("a:b", None)
    assert _goal(":3", None) == (None, 3.0) and _goal("3", None) == (3.0, None) and _goal(None, None) is None


def test_a_run_is_explained_and_its_report_written_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = call(
        "compare", "iris", "-t", "species", "-m", "zero-r,naive-bayes", "--design", "3-fold", "--out", "run", "-q"
    )
    assert made.exit_code == 0, made.output
    first = (tmp_path / "run" / "report.html").read_text()
    assert "Which columns count" in first
    again = call("report", "run")
    assert again.exit_code == 0 and "Which columns count" in (tmp_path / "run" / "report.html").read_text()
    assert call("report", "run", "--format", "md").exit_code == 0 and (tmp_path / "run" / "report.md").exists()
    card = json.loads(call("report", "run/results.json", "--format", "card", "--json").stdout)
    assert card["path"].endswith("model-card.md") and (tmp_path / "run" / "model-card.md").exists()
    explained = call("explain", "run", "iris", "--row", 101, "-q")
    assert explained.exit_code == 0 and "would say" in explained.output
    assert call("report", "nowhere").exit_code == 3
    (tmp_path / "bad.json").write_text("[1]")
    assert call("report", "bad.json").exit_code == 3
