"""Claims about engines: the same results whoever does the work, and nothing lost with a process or a worker."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB

from assay.base.errors import ParameterError, UsageError
from assay.data import batches_dask, load_dataset
from assay.experiment import Plan, Results, Store, engines, run

LEARNERS = ["zero-r", "naive-bayes", "logistic", ("random-forest-classifier", {"n_estimators": 10})]


class Waits(GaussianNB):
    """Says that it began, and takes its time."""

    def __init__(self, marker: str = ""):
        super().__init__()
        self.marker = marker

    def fit(self, X, y):
        Path(self.marker).touch()
        time.sleep(60.0)
        return super().fit(X, y)


class DiesOnce(GaussianNB):
    """Takes its process with it the first time; then works."""

    def __init__(self, marker: str = ""):
        super().__init__()
        self.marker = marker

    def fit(self, X, y):
        if not os.path.exists(self.marker):
            Path(self.marker).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y)


class Fails(DummyClassifier):
    """Raises an error of its own."""

    def fit(self, X, y):
        raise ValueError("too bad")


class Dies(DummyClassifier):
    """Always takes its process with it."""

    def fit(self, X, y):
        os.kill(os.getpid(), signal.SIGKILL)


def plan(*more: Any, learners: Any = LEARNERS) -> Plan:
    return Plan(load_dataset("iris"), "species", learners=[*learners, *more], design="4-fold")


def told(results: Results) -> str:
    """All that a run tells but for the times, with the bits of every prediction."""

    def timeless(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: timeless(part) for name, part in value.items() if "second" not in name}
        return [timeless(part) for part in value] if isinstance(value, list) else value

    said = [results.predictions(one.id) for one in results.learners if one.error is None]
    bits = [(one.predicted.tobytes().hex(), one.probabilities.tobytes().hex()) for one in said]
    return json.dumps([timeless(results.to_dict()), bits], sort_keys=True)


def test_every_engine_and_number_of_jobs_gives_the_same_bits(dask_cluster, monkeypatch, tmp_path):
    sent = []
    monkeypatch.setattr(engines, "packed", lambda bench, make=engines.packed: sent.append(1) or make(bench))
    expected = told(run(plan(Fails())))
    assert "Fails: ValueError: too bad." in expected
    assert told(run(plan(Fails()), n_jobs=2)) == expected
    assert told(run(plan(Fails()), n_jobs=2, engine="processes")) == expected
    address = dask_cluster.scheduler_address
    with Store(tmp_path / "store.sqlite") as store:
        assert told(run(plan(Fails()), store, engine="dask", scheduler=address)) == expected
        assert len(sent) == 1  # the plan with its data, once for all tasks
        again = run(plan(), store, engine="dask", scheduler="tcp://nobody.is.needed:1")
    assert again.reused == 20 and not again.failed


@pytest.mark.parametrize("engine", ["processes", "dask"])
def test_what_a_lost_worker_did_is_done_by_another(dask_cluster, tmp_path, engine):
    scheduler = dask_cluster.scheduler_address if engine == "dask" else None
    before, after = tmp_path / "before", tmp_path / "after"
    before.touch()
    expected = run(plan(DiesOnce(str(before)), learners=["zero-r"]))
    dying = plan(DiesOnce(str(after)), learners=["zero-r"])
    found = run(dying, n_jobs=2, engine=engine, scheduler=scheduler)
    assert after.exists() and not found.failed
    for one, other in zip(expected.learners, found.learners, strict=True):
        assert one.scores.keys() == other.scores.keys()
        for name, scores in one.scores.items():
            assert scores.tobytes() == other.scores[name].tobytes()


@pytest.mark.slow
def test_a_learner_that_ends_its_processes_is_given_up_and_the_others_go_on():
    found = run(plan(Dies()), engine="processes", views=False)
    assert [one.error for one in found.failed] == [
        "Dies: its process ended by itself (SIGKILL); leave it out, or try it by itself to see why."
    ]


@pytest.mark.slow
def test_a_learner_that_ends_dask_workers_is_given_up_and_the_others_go_on():
    found = run(plan(Dies()), n_jobs=2, engine="dask", views=False)
    assert [one.error.split(";")[0] for one in found.failed] == ["Dies: its process ended by itself"]
    assert all(one.error is None for one in found.learners if one.id != "dies")


def test_workers_on_their_way_are_waited_for_and_none_at_all_are_told(monkeypatch):
    from distributed import LocalCluster

    with LocalCluster(n_workers=0, threads_per_worker=1, dashboard_address=":0", memory_limit=0) as cluster:
        monkeypatch.setattr(engines, "RETURN", 0.1)
        with pytest.raises(UsageError, match="has no workers; start some with `dask worker"):
            run(plan(), engine="dask", scheduler=cluster.scheduler_address)
        monkeypatch.undo()
        coming = threading.Timer(0.3, cluster.scale, [1])
        coming.start()
        assert not run(plan(), engine="dask", scheduler=cluster.scheduler_address, views=False).failed
        coming.join()


def test_a_run_does_not_wait_for_workers_that_are_lost_for_good(monkeypatch, tmp_path):
    from distributed import LocalCluster

    monkeypatch.setattr(engines, "CHECK", 0.1)
    monkeypatch.setattr(engines, "RETURN", 1.0)
    marker = tmp_path / "began"

    def lose() -> None:
        while not marker.exists():
            time.sleep(0.05)
        worker.kill()

    # A worker without a nanny, which would start another in its place.
    words = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-nanny", "--no-dashboard", "--nthreads", "1"]
    given_paths = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with LocalCluster(n_workers=0, dashboard_address=":0") as cluster:
        worker = subprocess.Popen([*words, cluster.scheduler_address], env=given_paths, stderr=subprocess.DEVNULL)
        while not cluster.scheduler.workers:
            time.sleep(0.05)
        losing = threading.Thread(target=lose, daemon=True)
        losing.start()
        given = Plan(load_dataset("iris"), "species", learners=[Waits(str(marker))], design="3-fold")
        told = pytest.raises(UsageError, match="has lost all its workers; start some; with a store the same command")
        with Store(tmp_path / "store.sqlite") as store, told:
            run(given, store, engine="dask", scheduler=cluster.scheduler_address, views=False)
        losing.join()
        worker.wait()


def test_engines_that_are_none_are_refused_in_one_sentence(monkeypatch):
    monkeypatch.setattr(batches_dask, "ANSWERS", 0.2)
    with pytest.raises(ParameterError, match="'engine' must be one of threads, processes, dask; got 'spark'"):
        run(plan(), engine="spark")
    with pytest.raises(ParameterError, match="'scheduler' is for engine='dask'; got engine='threads'"):
        run(plan(), scheduler="tcp://127.0.0.1:8786")
    with pytest.raises(UsageError, match="the Dask scheduler at 'tcp://127.0.0.1:9' does not answer"):
        run(plan(), engine="dask", scheduler="tcp://127.0.0.1:9")
