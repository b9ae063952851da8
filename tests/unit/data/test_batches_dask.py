"""Claims about batches on a Dask cluster: the bits of one machine, also after a worker is lost."""

from __future__ import annotations

import os
import signal

import numpy as np
import polars as pl
import pytest

from assay import catalogue
from assay.base.errors import UsageError
from assay.catalogue import TASKS
from assay.data import Batches, batches, batches_dask
from assay.models.bayes import NaiveBayes
from assay.models.ensembles import NewtonBoostingClassifier
from assay.models.linear import GLM, LogisticRegression, logistic_sample
from tests.conformance.tables import named, numeric, outputs, quick

RNG = np.random.default_rng(4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("parts")
    for k in range(3):
        x = RNG.normal(size=(800, 3))
        pl.DataFrame(
            {
                **{f"x{j}": x[:, j] for j in range(3)},
                "kind": np.array([f"k{k}", "a", "b"])[RNG.integers(0, 3, 800)],
                "y": np.where(x[:, 0] + RNG.normal(size=800) > 0, "yes", "no"),
                "n": RNG.poisson(np.exp(0.3 * x[:, 1])),
            }
        ).write_parquet(found / f"part{k}.parquet")
    return found


def test_sums_on_workers_give_the_bits_of_one_machine_and_survive_a_lost_worker(dask_cluster, folder):
    from distributed import Client

    path = str(folder / "part*.parquet")
    rows = pl.read_parquet(path)
    with Client(dask_cluster.scheduler_address, set_as_default=False) as client:
        labels, counts = ["x0", "x1", "x2", "kind"], ["x0", "x1", "x2"]
        cases = [
            (LogisticRegression(), "y", counts),
            (NaiveBayes(), "y", labels),
            (NewtonBoostingClassifier(n_estimators=3), "y", labels),
            (GLM(family="poisson"), "n", labels),
        ]
        for model, target, columns in cases:
            here = model.fit_batches(Batches(path, target, columns=columns))
            expected = here.predict(rows.select(columns))
            there = Batches(path, target, columns=columns, client=client)
            np.testing.assert_array_equal(model.fit_batches(there).predict(rows.select(columns)), expected)
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        np.testing.assert_array_equal(model.fit_batches(there).predict(rows.select(columns)), expected)


def test_a_scheduler_that_is_not_there_is_one_sentence(folder, monkeypatch):
    monkeypatch.setattr(batches_dask, "ANSWERS", 0.2)
    source = Batches(str(folder / "part*.parquet"), "y", client="tcp://127.0.0.1:9")
    with pytest.raises(UsageError, match="Batches: the Dask scheduler at 'tcp://127.0.0.1:9' does not answer"):
        NaiveBayes().fit_batches(source)


@pytest.mark.parametrize(**named([entry for entry in catalogue.entries() if entry.out_of_core]))
def test_every_method_fits_parquet_parts_here_and_on_workers_as_it_fits_all_rows(dask_cluster, tmp_path, entry):
    X, y = numeric(entry, n=600)
    names = [f"x{j}" for j in range(X.shape[1])]
    whole = pl.DataFrame({**dict(zip(names, X.T)), "y": y})
    for k in range(3):
        whole[200 * k : 200 * (k + 1)].write_parquet(tmp_path / f"part{k}.parquet")
    target = None if TASKS[entry.task].target is None else "y"
    path, rows = str(tmp_path / "part*.parquet"), whole.select(names)
    model = quick(entry).fit(rows, None if target is None else y)
    here = quick(entry).fit_batches(Batches(path, target, columns=names))
    there = Batches(path, target, columns=names, client=dask_cluster.scheduler_address)
    found = outputs(here, rows)
    np.testing.assert_array_equal(outputs(quick(entry).fit_batches(there), rows), found)
    there.client.close()
    exact = any(word in entry.id for word in ("forest", "boosting", "trees"))
    np.testing.assert_allclose(found, outputs(model, rows), rtol=0 if exact else 1e-7, atol=0 if exact else 1e-9)


@pytest.mark.parametrize("tol", [1e-8, 1e-3])  # codes tell the gradient of so few rows within the second alone
def test_files_that_are_decoded_at_every_pass_here_give_the_bits_of_workers_that_keep_them(
    dask_cluster, folder, monkeypatch, tol
):
    from distributed import Client

    monkeypatch.setattr(batches, "DECODED_BYTES", 0)
    monkeypatch.setattr(logistic_sample, "STRETCHED_ROWS", 1000)
    path, columns, ended = str(folder / "part*.parquet"), ["x0", "x1", "x2"], []
    solution = logistic_sample.CodedProblem.solution
    monkeypatch.setattr(
        logistic_sample.CodedProblem, "solution", lambda self, end: ended.append(end) or solution(self, end)
    )
    with Client(dask_cluster.scheduler_address, set_as_default=False) as client:
        found = []
        for where in (None, client):
            source = Batches(path, "y", columns=columns, client=where)
            found.append(LogisticRegression(tol=tol).fit_batches(source))
            assert "table" not in vars(source)  # the pass of the sample's optimum was the first
    np.testing.assert_array_equal(found[0].coef_, found[1].coef_)
    np.testing.assert_array_equal(found[0].intercept_, found[1].intercept_)
    assert len(ended) == (0 if tol < 1e-6 else 2)
