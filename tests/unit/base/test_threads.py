import os
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from assay import _kernels
from assay.base import ParameterError, thread_count
from assay.base.threads import one_blas_thread
from assay.models.kernel_machines import KernelRidge
from assay.models.mixtures import GaussianMixture


def test_threadpoolctl_limits_hold():
    with threadpool_limits(limits=1, user_api="openmp"):
        assert thread_count(None) == thread_count(-1) == thread_count(7) == 1
    with threadpool_limits(limits=3, user_api="openmp"):
        assert thread_count(None) == thread_count(3) == 3
        assert thread_count(2) == 2


def test_threadpoolctl_sees_our_openmp():
    assert any(pool["user_api"] == "openmp" for pool in threadpool_info())


def test_negative_counts_back_from_all_cores():
    with threadpool_limits(limits=1000, user_api="openmp"):
        assert thread_count(-1) == os.cpu_count()


def test_zero_is_refused():
    with pytest.raises(ParameterError, match="n_jobs"):
        thread_count(0)


def test_the_instruction_set_can_be_lowered_and_restored():
    best = _kernels.simd_level()
    try:
        assert _kernels.set_simd_level("baseline") == "baseline" == _kernels.simd_level()
    finally:
        assert _kernels.set_simd_level("avx512") == best
    with pytest.raises(ValueError, match="set_simd_level"):
        _kernels.set_simd_level("mmx")


def test_blas_comes_from_scipy():
    _kernels.load_blas()
    assert _kernels.blas_ready()


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_a_long_kernel_stops_on_interrupt():
    """A Ctrl-C during a fit raises KeyboardInterrupt long before the fit would end."""
    script = textwrap.dedent(
        """
        import numpy as np, os, signal, threading, time
        from assay.models.neighbours import KNNClassifier
        rng = np.random.default_rng(0)
        X = rng.normal(size=(200_000, 40)); y = rng.integers(0, 2, size=200_000)
        model = KNNClassifier(algorithm="brute", n_jobs=1).fit(X, y)
        threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        begin = time.perf_counter()
        try:
            model.predict(X)
        except KeyboardInterrupt:
            print("interrupted", time.perf_counter() - begin)
        """
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=900)
    word, seconds = ran.stdout.split()
    assert word == "interrupted", ran.stderr
    assert float(seconds) < 30
    assert signal.SIGINT


def blas_threads() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def in_another_thread(work):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def limited() -> list[int]:
    with one_blas_thread():
        return blas_threads()


def test_every_thread_may_limit_blas():
    """Whoever set a limit first, and whether it is still there (threadpoolctl lets one thread alone)."""
    with threadpool_limits(limits=2, user_api="blas"):
        before = blas_threads()
        assert set(limited()) == set(in_another_thread(limited)) == set(limited()) == {1}
        assert blas_threads() == before


def test_a_limit_set_in_one_thread_is_taken_back_in_another():
    with threadpool_limits(limits=2, user_api="blas"):
        before = blas_threads()
        context = one_blas_thread()
        in_another_thread(context.__enter__)
        assert set(blas_threads()) == {1}
        context.__exit__(None, None, None)
        assert blas_threads() == before
    with threadpool_limits(limits=1, user_api="blas"):
        assert set(blas_threads()) == {1}


@pytest.mark.parametrize("make", [lambda: GaussianMixture(3, random_state=0), lambda: KernelRidge()])
def test_a_fit_in_another_thread_and_more_threads_of_blas_give_the_same_bits(make):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 20))

    def answer():
        model = make().fit(X, X[:, 0])
        return getattr(model, "score_samples", model.predict)(X).tobytes()

    expected = answer()
    with threadpool_limits(limits=4, user_api="blas"):
        assert answer() == in_another_thread(answer) == expected


def test_the_last_to_leave_gives_blas_its_threads_back():
    """Contexts of several threads overlap in any order: the one that entered first may leave first."""
    with threadpool_limits(limits=2, user_api="blas"):
        before = blas_threads()
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert set(blas_threads()) == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == before != [1] * len(before)
