"""Claims about runs in a store, the commands that tell of them, and what happens when the ground gives way."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from assay.base.errors import AssayWarning, DataError
from assay.cli.main import assay
from assay.data import load_dataset, read_table
from assay.experiment import Plan, Store, Tuned, find_run, load_results, run, stored_runs
from assay.experiment.runs import differences, export, run_id


def command(*words):
    """Exit code, stdout and stderr of a command."""
    result = CliRunner().invoke(assay, list(words))
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with a table and two runs."""
    folder = tmp_path_factory.mktemp("runs")
    load_dataset("iris").frame.write_csv(folder / "flowers.csv")
    table = read_table(folder / "flowers.csv")
    tuned = Tuned("knn-classifier", {"n_neighbors": [1, 9]}, "grid", folds=2)
    plans = [
        Plan(table, "species", learners=["zero-r", "naive-bayes", tuned], design="3-fold"),
        Plan(table, "species", learners=["naive-bayes", "lda"], design="3-fold", random_state=1),
    ]
    for plan in plans:
        (folder / "flowers-species").mkdir(exist_ok=True)
        run(plan, folder / "flowers-species" / "store.sqlite")
    return folder, plans


def test_runs_are_listed_and_shown(home):
    folder, plans = home
    code, out, _ = command("runs", "list", "--in", str(folder), "--json")
    rows = json.loads(out)["runs"]
    assert code == 0 and {row["fingerprint"] for row in rows} == {plan.fingerprint for plan in plans}
    assert all(row["state"] == "finished" and row["same_code"] and row["best"] for row in rows)
    code, out, _ = command("runs", "list", "--in", str(folder))
    assert code == 0 and "2 runs" in out and rows[0]["id"] in out
    code, out, err = command("runs", "show", rows[0]["id"][:6], "--in", str(folder))
    assert code == 0 and 'schema = "assay.plan/1"' in out and "Recommendation" in out and "finished" in err
    code, out, _ = command("runs", "show", "last", "--in", str(folder), "--json")
    assert json.loads(out)["results"]["schema"] == "assay.compare/1"


def test_results_are_built_from_the_store_without_a_fit_or_a_write(home, monkeypatch):
    folder, _ = home
    store = folder / "flowers-species" / "store.sqlite"
    before = store.read_bytes()
    monkeypatch.setattr("assay.experiment.work.fit_folds", lambda *_, **__: pytest.fail("a fit"))
    for kept in stored_runs(store, results=True):
        assert load_results(kept).to_dict() == kept.results
    assert store.read_bytes() == before


def test_a_run_is_exported_as_parquet(home, tmp_path):
    folder, plans = home
    chosen = next(one for one in stored_runs(folder) if one.fingerprint == plans[0].fingerprint)
    code, out, _ = command("runs", "export", chosen.id, "--to", str(tmp_path / "x"), "--in", str(folder), "--json")
    files = {Path(name).name for name in json.loads(out)["files"]}
    assert code == 0 and files == {
        "plan.toml",
        "scores.parquet",
        "predictions.parquet",
        "trials.parquet",
        "ledger.parquet",
    }
    scores = pl.read_parquet(tmp_path / "x" / "scores.parquet")
    predictions = pl.read_parquet(tmp_path / "x" / "predictions.parquet")
    right = (
        predictions.filter(pl.col("learner") == "naive-bayes")
        .group_by("fold")
        .agg((pl.col("truth") == pl.col("predicted")).mean().alias("accuracy"))
    )
    told = scores.filter((pl.col("learner") == "naive-bayes") & (pl.col("metric") == "accuracy"))
    np.testing.assert_allclose(right.sort("fold")["accuracy"], told.sort("fold")["score"])
    assert pl.read_parquet(tmp_path / "x" / "trials.parquet").height == 4 * 2
    assert Plan.load(tmp_path / "x" / "plan.toml") == plans[0]
    with pytest.raises(DataError, match="cannot be written"):
        export(chosen, folder / "flowers.csv" / "under")


def test_two_runs_are_compared_in_words_and_scores(home):
    folder, _ = home
    one, two = stored_runs(folder, results=True)
    told = differences(one, two)
    assert any(text.startswith("design.seed was") for text in told["words"])
    by_id = {row["id"]: row for row in told["learners"]}
    assert by_id["naive-bayes"]["difference"] is not None and by_id["zero-r"]["second"] is None
    assert differences(one, one)["words"] == ["the plans, the data and the code are the same"]
    code, out, _ = command("runs", "compare", one.id, two.id, "--in", str(folder))
    assert code == 0 and "design.seed" in out and "Naive Bayes" in out


def test_a_run_that_is_not_there_is_told(home, tmp_path):
    folder, _ = home
    with pytest.raises(DataError, match="is not in the store.*choose from"):
        find_run(folder, "zzz")
    assert command("runs", "list", "--in", str(tmp_path / "nowhere"))[0] == 3
    (tmp_path / "empty").mkdir()
    code, _, err = command("runs", "list", "--in", str(tmp_path / "empty"))
    assert code == 0 and "holds no run" in err
    assert command("runs", "prune", "--in", str(folder))[0] == 2


def test_the_place_of_runs_is_a_plain_word_too(home, tmp_path):
    folder, _ = home
    code, out, _ = command("runs", "list", str(folder), "--json")
    rows = json.loads(out)["runs"]
    assert code == 0 and len(rows) == 2
    first, second = (row["id"] for row in rows)
    for words in (["show", str(folder), first[:6]], ["show", first[:6], str(folder)]):
        code, out, _ = command("runs", *words, "--json")
        assert code == 0 and json.loads(out)["id"] == first
    assert command("runs", "show", str(folder))[0] == 0
    assert command("runs", "compare", first, second, str(folder))[0] == 0
    assert command("runs", "check", str(folder))[0] == 0
    code, out, _ = command("runs", "prune", first, str(folder), "--dry-run")
    assert code == 0 and first in out
    code, _, err = command("runs", "compare", first, str(folder))
    assert code == 2 and "takes two runs and at most one place; got 1 run and 1 place" in err
    code, _, err = command("runs", "list", "no-such-folder")
    assert code == 3 and "'no-such-folder' does not exist" in err


def test_pruning_keeps_what_other_runs_need(tmp_path):
    iris, path = load_dataset("iris"), tmp_path / "store.sqlite"
    run(Plan(iris, "species", learners=["zero-r", "one-r"], design="3-fold"), path)
    run(Plan(iris, "species", learners=["one-r", "lda"], design="3-fold"), path)
    first, second = (one for one in stored_runs(path))
    gone = first if len(first.plan["learners"]) == 2 and first.plan["learners"][0]["method"] == "zero-r" else second
    code, out, _ = command("runs", "prune", gone.id, "--in", str(path), "--dry-run")
    assert code == 0 and gone.id in out and len(stored_runs(path)) == 2
    code, out, _ = command("runs", "prune", gone.id, "--in", str(path), "--json")
    assert json.loads(out)["units"] == 4, "those of ZeroR: three folds and all rows"
    (kept,) = stored_runs(path, results=True)
    assert load_results(kept).to_dict() == kept.results
    assert "1 run is gone, with " in command("runs", "prune", kept.id, "--in", str(path))[2]
    assert command("runs", "check", "--in", str(path))[0] == 0


def test_the_final_look_from_the_command_line(tmp_path):
    words = ["compare", "iris", "-t", "species", "-m", "zero-r,naive-bayes", "--design", "3-fold", "--holdout", "0.2"]
    assert command(*words, "--out", str(tmp_path / "r"), "-q")[0] == 0
    code, out, err = command("runs", "open", "--in", str(tmp_path / "r"), "--yes")
    assert f"run {find_run(tmp_path / 'r', 'last').id} set aside of iris, target 'species'" in err
    assert code == 0 and "On 30 rows that no plan on this table had seen, Naive Bayes" in out
    code, again, err = command("runs", "open", "last", "--in", str(tmp_path / "r"), "--json")
    assert code == 0 and json.loads(again)["again"] and json.loads(again)["sentence"] in out
    code, _, err = command("runs", "open", "--learner", "zero-r", "--in", str(tmp_path / "r"), "--yes")
    assert code == 3 and "a second look would be no test" in err


# -- when the ground gives way -----------------------------------------------------------------------------------------
def test_other_code_is_told_and_nothing_of_it_is_mixed_in(tmp_path, monkeypatch):
    plan = Plan(load_dataset("iris"), "species", learners=["zero-r"], design="3-fold")
    path = tmp_path / "s"
    for module in ("runs", "run"):
        monkeypatch.setattr(sys.modules[f"assay.experiment.{module}"], "code_version", lambda: "older")
    told = run(plan, path).to_dict()
    monkeypatch.undo()
    with pytest.warns(AssayWarning, match="as run by other code"):
        again = run(plan, path)
    assert again.reused == 0 and again.to_dict() == told
    old, new = sorted(stored_runs(path, results=True), key=lambda one: one.same_code)
    assert not old.same_code and new.same_code and load_results(old).to_dict() == old.results


def test_the_last_run_is_the_one_asked_for_last_under_the_name_it_was_made_with(tmp_path):
    frame, first, second = load_dataset("iris").frame, tmp_path / "a.csv", tmp_path / "b.csv"
    for path in (first, second):
        frame.write_csv(path)

    def ask(path, learner):
        plan = Plan(read_table(path), "species", learners=[learner], design="3-fold")
        run(plan, tmp_path / "s")
        return run_id(plan)

    one, two = ask(first, "zero-r"), ask(first, "one-r")
    assert find_run(tmp_path / "s", "last").id == two
    assert ask(second, "zero-r") == one and find_run(tmp_path / "s", "last").id == one
    assert {run.plan["data"]["source"] for run in stored_runs(tmp_path / "s")} == {str(first)}
    first.unlink()
    ask(second, "zero-r")
    assert load_results(find_run(tmp_path / "s", "last")).reused  # from the copy, since the first file is gone


def test_a_run_of_this_code_is_not_told_to_be_of_other_code_whatever_the_store_says(tmp_path, recwarn):
    plan = Plan(load_dataset("iris"), "species", learners=["zero-r"], design="3-fold")
    run(plan, tmp_path / "s")
    with sqlite3.connect(tmp_path / "s") as connection:
        connection.execute("UPDATE runs SET code = 'edited'")
    assert run(plan, tmp_path / "s").reused and not [w for w in recwarn if "W403" in str(w.message)]
    assert find_run(tmp_path / "s", "last").same_code
    code, out, err = command("runs", "prune", "--other-code", str(tmp_path / "s"))
    assert code == 0 and not out and "0 runs" in err and len(stored_runs(tmp_path / "s")) == 1


def test_changed_data_are_told_and_nothing_is_mixed_in(tmp_path):
    frame, path = load_dataset("iris").frame, tmp_path / "t.csv"
    frame.write_csv(path)
    first = run(Plan(read_table(path), "species", learners=["zero-r", "lda"], design="3-fold"), tmp_path / "s")
    frame.head(120).write_csv(path)
    with pytest.warns(AssayWarning, match="has changed since run"):
        second = run(Plan(read_table(path), "species", learners=["zero-r", "lda"], design="3-fold"), tmp_path / "s")
    assert second.reused == 0 and len(stored_runs(tmp_path / "s")) == 2
    frame.write_csv(path)
    back = run(Plan(read_table(path), "species", learners=["zero-r", "lda"], design="3-fold"), tmp_path / "s")
    assert back.reused == 8 and back.to_dict() == first.to_dict(), "nothing was lost"


FULL = """
import resource, signal, sys
from assay.data import load_dataset
from assay.experiment import Plan, Store, run
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
from assay.base.errors import DataError
plan = Plan(load_dataset("digits"), "digit", learners=["zero-r", "naive-bayes", "lda"], design="5-fold")
try:
    run(plan, sys.argv[1], views=False)
except DataError as error:
    print(error)
"""


def test_a_full_disk_is_told_in_one_sentence_and_loses_nothing(tmp_path):
    """A limit on the size of files stands for the disk: SQLite meets the same refusal of the system."""
    path = tmp_path / "store.sqlite"
    small = subprocess.run(
        [sys.executable, "-c", FULL, str(path), "300000"], capture_output=True, text=True, check=False
    )
    assert small.returncode == 0, small.stderr
    assert "cannot be written" in small.stdout and "free some space" in small.stdout and small.stdout.count("\n") == 1
    with Store(path, read_only=True) as store:
        kept = len(store)
        assert store.sound() == "ok" and kept < 15  # none, where all of them came at once
    plan = Plan(load_dataset("digits"), "digit", learners=["zero-r", "naive-bayes", "lda"], design="5-fold")
    again = run(plan, path, views=False)
    assert again.reused == kept and again.to_dict() == run(plan, views=False).to_dict()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to_is_told(tmp_path):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(DataError, match="cannot be opened"):
            Store(tmp_path / "store.sqlite")
    finally:
        tmp_path.chmod(0o700)


def test_a_store_in_a_folder_that_cannot_be_written_to_is_read(tmp_path, monkeypatch):
    """Without a journal beside it, and where the folder takes no files, the store is opened as it lies there."""
    run(Plan(load_dataset("iris"), "species", learners=["zero-r"], design="3-fold"), tmp_path / "store.sqlite")
    monkeypatch.setattr(os, "access", lambda *_: False)
    (kept,) = stored_runs(tmp_path, results=True)
    assert load_results(kept).to_dict() == kept.results
    assert sorted(path.name for path in tmp_path.iterdir()) == ["store.sqlite"]


def test_a_folder_that_takes_no_files_is_told_by_the_command(tmp_path):
    (tmp_path / "file").write_text("")
    code, _, err = command("compare", "iris", "-t", "species", "-m", "zero-r", "--out", str(tmp_path / "file" / "x"))
    assert code == 3 and "cannot be" in err and err.strip().splitlines()[-1].startswith("assay: ")


def test_a_corrupt_store_is_told_and_kept(tmp_path):
    words = ["compare", "iris", "-t", "species", "-m", "zero-r", "--design", "3-fold", "--out", str(tmp_path), "-q"]
    assert command(*words)[0] == 0
    path = tmp_path / "store.sqlite"
    content = bytearray(path.read_bytes())
    content[:64] = os.urandom(64)
    path.write_bytes(bytes(content))
    code, _, err = command(*words)
    assert code == 3 and "is not an Assay store" in err and "--fresh" in err
    assert path.read_bytes() == bytes(content)
    code, out, _ = command("runs", "check", "--in", str(tmp_path))
    assert code == 1 and "is not an Assay store" in out


def _stored(folder, *more, quiet=True):
    words = ["compare", "iris", "-t", "species", "-m", "zero-r", "--design", "3-fold", "--out", str(folder)]
    return command(*words, *(["-q"] if quiet else []), *more)


def _changed(folder, statement, *values):
    with sqlite3.connect(folder / "store.sqlite") as connection:
        connection.execute(statement, values)
    connection.close()


NO_TEXT = "UPDATE runs SET {} = CAST(x'7b22ff227d' AS TEXT)"


@pytest.mark.parametrize(
    ("statement", "part"),
    [
        ("UPDATE runs SET plan = '{'", "plan"),
        ("UPDATE runs SET plan = '[1,2]'", "plan"),
        ("UPDATE runs SET plan = replace(plan, '\"target\"', '\"targeu\"')", "plan"),
        ("UPDATE runs SET plan = '" + "[" * 100_000 + "'", "plan"),
        (NO_TEXT.format("plan"), "plan"),
        ("UPDATE runs SET results = '{'", "results"),
        ("UPDATE runs SET results = '[1,2]'", "results"),
        ("UPDATE runs SET results = replace(results, '\"mean\"', '\"meam\"')", "results"),
        ("UPDATE runs SET results = NULL", "results"),
        (NO_TEXT.format("results"), "results"),
        ("UPDATE runs SET versions = '7'", "versions"),
        ("UPDATE runs SET finished = 'not a date'", "times"),
        ("UPDATE runs SET data = 'other'", "plan and results"),
    ],
)
def test_a_damaged_run_is_told_and_written_anew_by_its_comparison(tmp_path, statement, part):
    assert _stored(tmp_path)[0] == 0
    whole = find_run(tmp_path, "last")
    _changed(tmp_path, statement)
    words = f"run {whole.id} in '{tmp_path / 'store.sqlite'}' is damaged: its {part} cannot be read"
    (run,) = stored_runs(tmp_path, results=True)
    assert words in run.damage and run.state == "damaged"
    with pytest.raises(DataError, match="is damaged"):
        find_run(tmp_path, "last")
    code, out, err = command("runs", "list", str(tmp_path))
    assert code == 3 and "damaged" in out and words in err
    code, out, _ = command("runs", "list", str(tmp_path), "--json")
    assert code == 3 and words in json.loads(out)["runs"][0]["damage"]
    code, out, err = command("runs", "show", whole.id, str(tmp_path))
    assert code == 3 and not out and words in err and "run its comparison again" in err
    code, out, _ = command("runs", "check", str(tmp_path))
    assert code == 1 and words in out
    assert _stored(tmp_path)[0] == 0
    again = find_run(tmp_path, "last")
    assert (again.id, again.plan, again.results) == (whole.id, whole.plan, whole.results)
    assert command("runs", "check", str(tmp_path))[:2] == (0, f"{tmp_path / 'store.sqlite'}: ok\n")


def test_a_damaged_run_can_be_removed_and_others_are_still_told(tmp_path):
    assert _stored(tmp_path)[0] == 0 and _stored(tmp_path, "--seed", "1")[0] == 0
    first, second = (run.id for run in stored_runs(tmp_path))
    _changed(tmp_path, "UPDATE runs SET plan = '{', id = CAST(x'ff61' AS TEXT), code = 'x' WHERE id = ?", first)
    code, out, _ = command("runs", "show", second, str(tmp_path), "--json")
    assert code == 0 and json.loads(out)["id"] == second
    bad = next(run for run in stored_runs(tmp_path) if run.damage)
    assert "other code" in bad.damage and "comparison again" not in bad.damage
    assert command("runs", "prune", "--other-code", str(tmp_path))[1] == ""
    code, out, _ = command("runs", "prune", bad.id, str(tmp_path))
    assert code == 0 and [run.id for run in stored_runs(tmp_path)] == [second]


@pytest.mark.parametrize("change", ["replace(value, '0.', '1.')", "CAST(x'7b22ff227d' AS TEXT)"])
def test_check_verifies_the_digests_of_units_and_the_comparison_redoes_them(tmp_path, change):
    assert _stored(tmp_path)[0] == 0
    results = (tmp_path / "results.json").read_bytes()
    _changed(tmp_path, f"UPDATE units SET value = {change} WHERE what LIKE '%fold 2'")
    code, out, _ = command("runs", "check", str(tmp_path))
    assert code == 1 and "1 unit of work is not what was put there ('ZeroR, " in out and "fold 2'): run the comp" in out
    (told,) = json.loads(command("runs", "check", str(tmp_path), "--json")[1])["stores"].values()
    assert told.startswith("1 unit of work")
    code, _, err = _stored(tmp_path, quiet=False)
    assert code == 0 and "3 units of work were found" in err
    assert (tmp_path / "results.json").read_bytes() == results
    assert command("runs", "check", str(tmp_path))[0] == 0


def test_fresh_keeps_a_damaged_store_beside_the_new_one(tmp_path):
    assert _stored(tmp_path)[0] == 0
    path = tmp_path / "store.sqlite"
    kept = []
    for size in (4096, 20000):
        path.write_bytes(path.read_bytes()[:size])
        kept.append(path.read_bytes())
        code, _, err = _stored(tmp_path)
        assert code == 3 and "is damaged and cannot be opened" in err and "--fresh" in err
        code, _, err = _stored(tmp_path, "--fresh", quiet=False)
        name = tmp_path / f"store-damaged-{len(kept)}.sqlite"
        assert code == 0 and f"it is kept as {name}" in err and "does not know which rows" in err
        assert name.read_bytes() == kept[-1] and find_run(tmp_path, "last").results
    assert [(tmp_path / f"store-damaged-{n}.sqlite").read_bytes() for n in (1, 2)] == kept


@pytest.mark.parametrize("pragma", ["user_version = 99", "application_id = 7"])
def test_fresh_leaves_a_store_of_a_later_schema_or_another_program_as_it_is(tmp_path, pragma):
    assert _stored(tmp_path)[0] == 0
    path = tmp_path / "store.sqlite"
    _changed(tmp_path, f"PRAGMA {pragma}")
    before = path.read_bytes()
    said = "use the newer Assay" if "99" in pragma else "of another program"
    for more in ((), ("--fresh",)):
        code, _, err = _stored(tmp_path, *more)
        assert code == 3 and said in err
    assert path.read_bytes() == before and not list(tmp_path.glob("store-*"))


def test_repetitions_that_deal_the_same_fold_of_groups_are_all_told(tmp_path):
    """Few groups in many folds: some folds of two repetitions hold the same rows, and are one row of the store."""
    rows = np.arange(40)
    frame = pl.DataFrame({"x": rows / 3, "z": (rows * 7) % 11, "g": rows // 10, "y": ["a", "b"] * 20})
    frame.write_csv(tmp_path / "t.csv")
    plan = Plan(
        read_table(tmp_path / "t.csv"),
        "y",
        groups="g",
        learners=["zero-r", "naive-bayes"],
        design="3x4",
        metrics="accuracy",
    )
    folds = {(split.train.tobytes(), split.test.tobytes()) for split in plan.splits}
    assert len(folds) == 4 < len(plan.splits) == 12
    first = run(plan, store=tmp_path / "s", views=False)
    (kept,) = stored_runs(tmp_path / "s")
    again = load_results(kept)
    assert [learner.error for learner in again.learners] == [None, None]
    assert again.to_dict()["learners"] == first.to_dict()["learners"]
    assert run(plan, store=tmp_path / "s", views=False).reused == 24
