"""How many threads a kernel may use.

The kernels run on OpenMP, so `OMP_NUM_THREADS`, joblib's limits and `threadpoolctl.threadpool_limits` hold.
"""

from __future__ import annotations

import functools
import os
from contextlib import AbstractContextManager

from threadpoolctl import ThreadpoolController

from .. import _kernels
from .errors import ParameterError


@functools.cache
def _controller() -> ThreadpoolController:
    # Looking through the loaded libraries takes milliseconds, and NumPy and SciPy are loaded by now.
    return ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[object]:
    """A context in which BLAS works on one thread, so that its sums do not depend on how many there are.

    >>> with one_blas_thread():
    ...     pass
    """
    return _controller().limit(limits=1, user_api="blas")


def one_kernel_thread() -> AbstractContextManager[object]:
    """A context in which kernels that this thread calls work on one thread: the others are at work elsewhere.

    >>> with one_kernel_thread():
    ...     thread_count(None)
    1
    """
    return _controller().limit(limits=1, user_api="openmp")


def thread_count(n_jobs: int | None) -> int:
    """Threads for `n_jobs`: None is the OpenMP limit, negative counts back from all cores as in joblib.

    >>> thread_count(1)
    1
    """
    limit = _kernels.max_threads()
    if n_jobs is None:
        return limit
    if n_jobs == 0:
        raise ParameterError("thread_count", "parameter 'n_jobs'", "must not be 0", way_out="use 1 or -1")
    if n_jobs < 0:
        n_jobs = max(1, (os.cpu_count() or 1) + 1 + n_jobs)
    return min(int(n_jobs), limit)
