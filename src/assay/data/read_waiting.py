"""Calls into libraries that do not listen to Ctrl-C: made in a thread, while this one waits and listens."""

from __future__ import annotations

import atexit
import contextlib
import contextvars
import threading
import time
from collections.abc import Callable, Generator, Iterator
from typing import Any, TypeVar

T = TypeVar("T")
_POLL = 0.2
_PATIENCE = 1.0
_LAST_PATIENCE = 60.0


def interruptible(call: Callable[[], T], cancel: Callable[[], Any] | None = None) -> T:
    """What `call` gives or raises; on Ctrl-C `cancel` is called, and the wait ends within a second or so.

    A call that cannot be cancelled goes on in its thread, which holds no process back from ending.

    >>> interruptible(lambda: 6 * 7)
    42
    """
    if threading.current_thread() is not threading.main_thread():
        return call()  # Ctrl-C reaches the main thread only.
    result: list[T] = []
    trouble: list[BaseException] = []
    done = threading.Event()  # Not `Thread.join`, which takes an interrupted wait for the end of the thread.
    context = contextvars.copy_context()

    def work() -> None:
        try:
            result.append(context.run(call))
        except BaseException as error:
            trouble.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=work, name="assay-reading", daemon=True)
    thread.start()
    try:
        while not done.wait(_POLL):
            pass
    except BaseException:
        if cancel is not None:
            _cancelled(done, cancel, _PATIENCE)
        # The interpreter must not end below the library, nor below what the thread still clears away after its last
        # word: that would look like a crash.
        atexit.register(_see_out, done, thread, cancel or bool)
        raise
    if trouble:
        raise trouble[0]
    return result[0]


def _cancelled(done: threading.Event, cancel: Callable[[], Any], patience: float) -> bool:
    """Cancel until it is done, again and again: a library does not remember what came before its call had begun."""
    end = time.monotonic() + patience
    while not done.is_set() and time.monotonic() < end:
        with contextlib.suppress(Exception):
            cancel()
        done.wait(_POLL)
    return done.is_set()


def _see_out(done: threading.Event, thread: threading.Thread, cancel: Callable[[], Any]) -> None:
    """Wait until a thread has ended, for a while."""
    if _cancelled(done, cancel, _LAST_PATIENCE):
        thread.join(_LAST_PATIENCE)


_END: Any = object()


def interruptible_steps(steps: Generator[T, None, None], cancel: Callable[[], Any]) -> Iterator[T]:
    """The items of a generator, each waited for as by `interruptible`; it is closed at the end.

    >>> list(interruptible_steps((letter for letter in "ab"), lambda: None))
    ['a', 'b']
    """
    try:
        while (item := interruptible(lambda: next(steps, _END), cancel)) is not _END:
            yield item
    finally:
        # One that could not be cancelled is still at work and cannot be closed.
        with contextlib.suppress(ValueError):
            steps.close()
