"""Children of a process that used threads: kernels work alone and give the same bits, Polars is refused."""

import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
    import multiprocessing, warnings
    import numpy as np
    import polars as pl
    from joblib import Parallel, delayed
    from assay import _kernels
    from assay.base import UsageError
    from assay.models.baselines import OneRClassifier
    from assay.models.bayes import NaiveBayes
    from assay.models.linear import LeastSquares, LogisticRegression
    from assay.models.neighbours import KNNClassifier
    from assay.models.trees import C45Classifier, CartClassifier
    from assay.prepare import Scale
    from threadpoolctl import threadpool_limits

    warnings.simplefilter("ignore")
    threadpool_limits(limits=2, user_api="openmp")
    X = np.random.default_rng(0).normal(size=(9000, 6))
    y = (X.sum(axis=1) > 0).astype(int)
    methods = [OneRClassifier(), NaiveBayes(), LeastSquares(), LogisticRegression(), KNNClassifier(), C45Classifier(),
               CartClassifier(max_depth=4)]

    def answers(_):
        return _kernels.max_threads(), [m.fit(X, y).predict(X[:3000]) for m in methods]

    def step(_):
        try:
            return Scale().fit(frame).transform(frame)
        except UsageError as error:
            return str(error)

    threads, wanted = answers(0)
    assert threads == 2
    frame = pl.DataFrame(X)
    Scale().fit(frame).transform(frame)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        given = pool.map(answers, range(2))
        said = pool.map(step, range(2))
    given += Parallel(n_jobs=2, backend="multiprocessing")(delayed(answers)(i) for i in range(2))
    for count, values in given:
        assert count == 1, count
        assert all(np.array_equal(a, b) for a, b in zip(values, wanted))
    assert all("was forked from one in which Polars" in text for text in said), said
    assert answers(0)[0] == 2
    print("same bits")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="fork")
def test_a_forked_child_works_on_one_thread_and_gives_the_same_bits():
    out = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM)], capture_output=True, text=True, check=False, timeout=1800
    )
    assert out.stdout.strip() == "same bits", out.stderr
