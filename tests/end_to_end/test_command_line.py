"""The command line as a user meets it: a file and a target go in, a table, a report and an exit code come out."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest


def assay(*arguments: object, cwd: Path, **kwargs) -> subprocess.CompletedProcess:
    words = [sys.executable, "-m", "assay", *map(str, arguments)]
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=1800, env=environment(), **kwargs)


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "NO_COLOR": "1"}


@pytest.fixture(scope="module")
def shop(tmp_path_factory) -> Path:
    """A table as it comes: nominal columns, a date, missing cells, an empty and a constant column."""
    folder = tmp_path_factory.mktemp("shop")
    generator = np.random.default_rng(5)
    lines = ["age,city,joined,plan,empty,constant,spent,left"]
    for i in range(200):
        age = "" if i % 9 == 0 else str(20 + int(generator.integers(50)))
        city = "" if i % 17 == 0 else ["Bonn", "Łódź", "Oslo", "[red]Paris"][int(generator.integers(4))]
        plan = ["basic", "plus", "pro"][int(generator.integers(3))]
        joined = f"20{15 + int(generator.integers(9))}-{1 + int(generator.integers(12)):02d}-15"
        left = "yes" if (plan == "basic") != (generator.random() < 0.2) else "no"
        lines.append(f"{age},{city},{joined},{plan},,7,{generator.normal():.3f},{left}")
    (folder / "shop.csv").write_text("\n".join(lines), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def compared(shop):
    return assay("compare", "shop.csv", "--target", "left", cwd=shop), shop / "assay-run" / "shop-left"


def test_a_raw_table_needs_only_a_target(compared):
    result, folder = compared
    assert result.returncode == 0, result.stderr
    assert "Traceback" not in result.stderr
    assert {"store.sqlite", "results.json", "report.html"} <= {p.name for p in folder.iterdir()}
    assert "Recommendation:" in result.stdout and result.stdout.rstrip().endswith("report.html")
    assert "<html" in (folder / "report.html").read_text(encoding="utf-8")
    record = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert all(learner["error"] is None for learner in record["learners"])
    best = max(learner["mean"] for learner in record["learners"])
    assert best > 0.7 > next(learner["mean"] for learner in record["learners"] if learner["id"] == "zero-r")


def test_columns_set_aside_are_said(compared):
    result, folder = compared
    assert "column 'empty' is set aside" in result.stderr and "column 'constant' is set aside" in result.stderr
    record = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert {"empty", "constant"} <= {c["column"] for c in record["data"]["set_aside"]}


def test_the_same_command_reuses_everything(compared, shop):
    before = (compared[1] / "results.json").read_bytes()
    again = assay("compare", "shop.csv", "--target", "left", cwd=shop)
    assert again.returncode == 0 and "not run again" in again.stderr
    assert again.stdout == compared[0].stdout
    assert (compared[1] / "results.json").read_bytes() == before
    fresh = assay("compare", "shop.csv", "--target", "left", "--fresh", cwd=shop)
    assert fresh.returncode == 0 and "not run again" not in fresh.stderr
    assert (compared[1] / "results.json").read_bytes() == before


def test_forgetting_folds_does_not_close_what_was_opened(shop):
    def compared(learner, *more):
        asked = ("compare", "shop.csv", "-t", "left", "-m", learner, "--design", "1x3", "--holdout", "0.2", "-q")
        assert assay(*asked, "--out", "held", *more, cwd=shop).returncode == 0
        return assay("runs", "open", "last", "--in", "held", "--yes", "--learner", learner, "-q", cwd=shop)

    assert compared("logistic").returncode == 0
    again = compared("naive-bayes", "--fresh")
    assert again.returncode == 3 and "were opened on" in again.stderr


def test_jobs_do_not_change_the_json(shop):
    outputs = [
        assay("compare", "shop.csv", "-t", "left", "--json", "--jobs", jobs, "--out", f"jobs-{jobs}", cwd=shop)
        for jobs in (1, 2)
    ]
    assert [o.returncode for o in outputs] == [0, 0]
    assert outputs[0].stdout == outputs[1].stdout
    record = json.loads(outputs[0].stdout)
    assert record["schema"] == "assay.compare/1" and "jobs" not in record["command"]


def test_quiet_is_quiet_and_json_is_alone_on_stdout(shop):
    result = assay(
        "compare", "shop.csv", "-t", "spent", "-m", "zero-r-regressor", "--quiet", "--json", "--out", "q", cwd=shop
    )
    assert result.returncode == 0 and result.stderr == ""
    assert json.loads(result.stdout)["data"]["task"] == "regress"


def test_choices_reach_the_plan(shop):
    choices = {"-t": "left", "-m": "zero-r", "--metric": "f1_macro,accuracy", "--design": "3-fold", "--seed": 9}
    choices |= {"--alpha": 0.01, "--task": "classify", "--out": "chosen"}
    roles = ["--role", "plan=ordinal:basic<plus<pro", "--role", "age=nominal"]
    words = [word for pair in choices.items() for word in pair]
    result = assay("compare", "shop.csv", *words, *roles, "--json", cwd=shop)
    assert result.returncode == 0, result.stderr
    record = json.loads(result.stdout)
    assert [learner["id"] for learner in record["learners"]] == ["zero-r"]
    assert record["metric"]["name"] == "f1_macro" and record["design"]["folds"] == 3 and record["design"]["seed"] == 9
    roles = {role["column"]: role["role"] for role in record["data"]["roles"]}
    assert roles["plan"] == "ordinal" and roles["age"] == "nominal"
    again = assay(*shlex.split(record["command"])[1:], "--json", "--out", "again", cwd=shop)
    assert again.stdout == result.stdout, "the command in the results makes them again"


BAD_TABLES = {
    "wrong target": (b"a,b\n1,x\n2,y\n3,x\n4,y\n", "bb", "bb"),
    "empty file": (b"", "b", "empty"),
    "two rows": (b"a,b\n1,x\n2,y\n", "b", "at least 10 rows"),
    "header only": (b"a,b\n", "b", "row"),
    "one class": (b"a,b\n1,x\n2,x\n3,x\n4,x\n", "b", "class"),
    "target all missing": (b"a,b\n1,\n2,NA\n3,\n4,\n", "b", "missing"),
    "duplicate columns": (b"a,a,b\n1,2,x\n3,4,y\n", "b", "a"),
    "two encodings": (b"a,b\n1,x\n2,caf\xe9\n3,caf\xc3\xa9\n", "b", "UTF-8"),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_a_bad_table_gives_one_sentence_and_an_exit_code(tmp_path, case):
    content, target, word = BAD_TABLES[case]
    (tmp_path / "bad.csv").write_bytes(content)
    result = assay("compare", "bad.csv", "--target", target, cwd=tmp_path)
    assert result.returncode == 3, result.stderr
    assert result.stdout == ""
    assert result.stderr.startswith("assay: ") and result.stderr.count("\n") == 1
    assert word in result.stderr and "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["compare", "nowhere.csv", "-t", "b"], 3),
        (["compare", "good.csv"], 2),
        (["compare", "good.csv", "-t", "b", "--models", "wizardry"], 2),
        (["compare", "good.csv", "-t", "b", "--metric", "luck"], 2),
        (["compare", "good.csv", "-t", "b", "--design", "7"], 2),
        (["compare", "good.csv", "-t", "b", "--role", "a"], 2),
        (["compare", "good.csv", "-t", "b", "--alpha", "7"], 2),
        (["audit", "nowhere.csv"], 3),
    ],
)
def test_a_bad_command_gives_a_sentence_and_an_exit_code(tmp_path, arguments, code):
    (tmp_path / "good.csv").write_text("a,b\n" + "\n".join(f"{i * 7 % 40 / 3:.3f},{'xy'[i % 2]}" for i in range(20)))
    result = assay(*arguments, cwd=tmp_path)
    assert result.returncode == code, result.stderr
    assert "Traceback" not in result.stderr and result.stdout == ""


def test_a_store_that_is_no_store_is_refused_and_kept(tmp_path):
    (tmp_path / "good.csv").write_text("a,b\n" + "\n".join(f"{i * 7 % 40 / 3:.3f},{'xy'[i % 2]}" for i in range(40)))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "store.sqlite").write_bytes(b"precious" * 1000)
    result = assay("compare", "good.csv", "-t", "b", "--out", "out", cwd=tmp_path)
    assert result.returncode == 3 and "is not an Assay store" in result.stderr
    assert (tmp_path / "out" / "store.sqlite").read_bytes() == b"precious" * 1000


def test_a_folder_that_holds_another_comparison_says_so_before_it_is_replaced(tmp_path):
    table = "a,b\n" + "\n".join(f"{i * 7 % 40 / 3:.3f},{'xy'[i % 2]}" for i in range(40))
    (tmp_path / "good.csv").write_text(table)
    words = ["compare", "good.csv", "-t", "b", "-m", "zero-r,one-r", "--out", "out"]
    first = assay(*words, cwd=tmp_path)
    again = assay(*words, cwd=tmp_path)
    assert "holds a comparison" not in first.stderr + again.stderr
    other = assay(*words, "--design", "5-fold", "--json", cwd=tmp_path)
    assert "out holds a comparison with other options" in other.stderr and "10x10" in other.stderr
    assert json.loads(other.stdout) == json.loads((tmp_path / "out" / "results.json").read_text())
    assert json.loads(other.stdout)["design"]["name"] == "5-fold"
    (tmp_path / "good.csv").write_text(table.replace("x", "z"))
    assert "out holds a comparison of other data" in assay(*words, cwd=tmp_path).stderr


def finished(store: Path, mode: str = "ro") -> int:
    """Rows in the store, read while another process may be writing.

    After a kill between a commit and its entry in the index of the log only a connection that may write sees them all.
    """
    if not store.exists():
        return 0
    try:
        with sqlite3.connect(f"file:{store}?mode={mode}", uri=True, timeout=1) as connection:
            return connection.execute("SELECT count(*) FROM units").fetchone()[0]
    except sqlite3.OperationalError:
        return 0


@pytest.fixture(scope="module")
def wide(tmp_path_factory) -> Path:
    """A table large enough that a run can be caught in the middle."""
    folder = tmp_path_factory.mktemp("wide")
    generator = np.random.default_rng(3)
    X = generator.normal(size=(3_000, 10))
    kind = np.array(["a", "b", "c"])[np.argmax(X[:, :3] + generator.normal(size=(3_000, 3)), axis=1)]
    lines = [",".join([*(f"x{j}" for j in range(10)), "kind"])]
    lines += [",".join([*(f"{v:.5f}" for v in row), label]) for row, label in zip(X, kind)]
    (folder / "wide.csv").write_text("\n".join(lines))
    return folder


# The learners that a comparison takes by itself, but for the slowest, and one that waits.
FEW = [
    word
    for name in ("zero-r", "naive-bayes", "lda", "logistic", "knn-classifier", "cart-classifier", "held.Held")
    for word in ("-m", name)
]
COMPARE_WIDE = ["compare", "wide.csv", "-t", "kind", *FEW, "--json"]
HELD = """
import itertools, pathlib, time
from sklearn.dummy import DummyClassifier
calls = itertools.count()
class Held(DummyClassifier):
    def fit(self, X, y):
        while next(calls) >= 3 and pathlib.Path("hold").exists():
            time.sleep(0.01)
        return super().fit(X, y)
"""


@pytest.fixture(scope="module")
def straight(wide) -> str:
    """What a run says that nobody disturbs."""
    (wide / "held.py").write_text(HELD)
    result = assay(*COMPARE_WIDE, "--jobs", "1", "--out", "straight", cwd=wide)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_killed_goes_on_and_ends_with_the_same_numbers(wide, straight, how):
    """One learner waits after three fits while the file `hold` is there, so that no run ends before its signal."""
    out = f"killed-{int(how)}"
    words = [sys.executable, "-m", "assay", *COMPARE_WIDE, "--jobs", "2", "--out", out]
    store = wide / out / "store.sqlite"
    (wide / "hold").touch()
    process = subprocess.Popen(
        words, cwd=wide, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    )
    while finished(store) < 3 and process.poll() is None:
        time.sleep(0.002)
    process.send_signal(how)
    stdout, stderr = process.communicate(timeout=900)
    (wide / "hold").unlink()
    kept, total = finished(store, "rw"), 31 * len(json.loads(straight)["learners"])
    assert 3 <= kept < total, "the run was caught in the middle"
    assert process.returncode == (-9 if how == signal.SIGKILL else 130), stderr
    assert stdout == "" and "Traceback" not in stderr
    if how == signal.SIGINT:
        assert f"assay: interrupted; {kept} of {total} units of work are saved in {out}/store.sqlite" in stderr
    resumed = assay(*words[3:], cwd=wide)
    assert resumed.returncode == 0, resumed.stderr
    assert f"{kept} units of work were found" in resumed.stderr
    assert resumed.stdout == straight


def test_audit_says_what_is_wrong_and_exits_with_findings(tmp_path):
    rows = [f"{i},{i % 2},{'' if i % 3 else 'x'},{'yes' if i % 2 else 'no'}" for i in range(60)]
    (tmp_path / "leak.csv").write_text("n,copy,gaps,y\n" + "\n".join(rows))
    result = assay("audit", "leak.csv", "--target", "y", "--json", cwd=tmp_path)
    record = json.loads(result.stdout)
    assert record["schema"] == "assay.audit/1" and record["findings"]
    severe = any(finding["severity"] == "high" for finding in record["findings"])
    assert severe and result.returncode == 1
    assert any("copy" in finding["columns"] for finding in record["findings"])
    shown = assay("audit", "leak.csv", "--target", "y", cwd=tmp_path)
    assert shown.returncode == 1 and "copy" in shown.stdout and "Traceback" not in shown.stderr


def test_audit_of_a_clean_table_is_ok(tmp_path):
    generator = np.random.default_rng(0)
    rows = [f"{generator.normal():.6f},{generator.normal():.6f}" for _ in range(300)]
    (tmp_path / "clean.csv").write_text("a,b\n" + "\n".join(rows))
    result = assay("audit", "clean.csv", cwd=tmp_path)
    assert result.returncode == 0, result.stdout


def test_demo_ends_with_the_path_of_its_report(tmp_path):
    result = assay("demo", "--out", "somewhere", "--jobs", "2", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    report = Path(result.stdout.strip().splitlines()[-1].removeprefix("Report: "))
    assert (tmp_path / report).read_text(encoding="utf-8").count("<html") == 1


def test_import_of_the_package_is_lean():
    out = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import assay"], capture_output=True, text=True, env=environment()
    )
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in out.stderr.splitlines()}
    assert "assay" in loaded
    assert not loaded & {"torch", "dask", "optuna", "matplotlib", "sklearn", "numpy", "polars"}


# -- learners of other packages ----------------------------------------------------------------------------------------
CHATTY = """
import os, sys
from sklearn.dummy import DummyClassifier
at_import = sys.stdout
class Chatty(DummyClassifier):
    def fit(self, X, y):
        print("said by Python")
        print("said by an older stream", file=at_import)
        os.write(1, b"said by compiled code\\n")
        return super().fit(X, y)
"""


@pytest.mark.parametrize("how", [[], ["--time-limit", "100"], ["--engine", "processes"]])
def test_what_learners_print_goes_to_stderr_and_the_json_stays_json(tmp_path, how):
    (tmp_path / "chatty.py").write_text(CHATTY)
    words = ["compare", "iris", "-t", "species", "-m", "zero-r,chatty.Chatty", "--design", "3-fold", "--json", *how]
    result = assay(*words, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert len(json.loads(result.stdout)["learners"]) == 2
    for who in ("Python", "an older stream", "compiled code"):
        assert f"said by {who}" in result.stderr
