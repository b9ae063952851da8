"""How many threads a kernel may use.

The kernels have threads of their own and take as many as OpenMP would, so `OMP_NUM_THREADS`, joblib's limits and
`threadpoolctl.threadpool_limits` hold.
"""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Iterator
from typing import Any

from threadpoolctl import ThreadpoolController

from .. import _kernels
from .errors import ParameterError


@functools.cache
def _controller() -> ThreadpoolController:
    # Looking through the loaded libraries takes milliseconds, and NumPy and SciPy are loaded by now.
    return ThreadpoolController()


@functools.cache
def _blas() -> list[Any]:
    return _controller().select(user_api="blas").lib_controllers


@functools.cache
def _cores() -> int:
    # The system is asked by reading a file, which a small fit would notice.
    return os.cpu_count() or 1


_lock = threading.Lock()
_limits: list[tuple[Any, int]] = []
_inside = 0


def _renew_lock() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)  # a thread that is not there any more may have held it


def _limit(library: Any, threads: int) -> None:
    """Set the threads of a BLAS, from whichever thread this is.

    threadpoolctl 3.8 lets only the first thread that ever set a limit set others, and says nothing to the rest: fits in
    other threads than the main one ran on all threads of BLAS. We take turns by a lock of our own, so nobody has to
    be kept out; whoever sets a limit next, here or elsewhere, may do so.
    """
    open_to_all = getattr(library, "clear_controlling_thread", None)
    if open_to_all is not None:
        open_to_all(force=True)
    library.set_num_threads(threads)
    if open_to_all is not None:
        open_to_all(force=True)


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context in which BLAS works on one thread, so that its sums do not depend on how many there are.

    The limit holds for the process: the first to enter sets it, in any thread, and the last to leave takes it back.

    >>> with one_blas_thread():
    ...     pass
    """
    global _inside
    with _lock:
        if _inside == 0:
            for library in _blas():
                _limits.append((library, library.get_num_threads()))
                _limit(library, 1)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                while _limits:
                    _limit(*_limits.pop())


def one_kernel_thread() -> contextlib.AbstractContextManager[object]:
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
        n_jobs = max(1, _cores() + 1 + n_jobs)
    return min(int(n_jobs), limit)
