"""Work in a process of its own, within limits: a learner that hangs, explodes or crashes is stopped, the rest goes on.

`Apart` starts a child that gets the plan once and then task after task; finished units come back through a socket as
they are done. The parent looks at the clock and at the child's memory fifty times a second and ends a child that goes
over a limit. The child is a plain `python -c`, so that nothing of the user's program runs twice, and it dies with its
parent. Objects travel by pickle between these two processes of one program; nothing of it reaches a file.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection

from ..base.errors import UsageError, plain
from ..base.threads import one_blas_thread
from .inputs import Inputs
from .limits import Limits
from .work import FAILS, Bench, Failure, Outcome, Task, heard_warnings, outcomes

LOOK = 0.02
"""Seconds between two looks at the child."""

_SLACK = 2**30
"""Address space that a process may take beyond twice its limit of memory: stacks and libraries take some unused."""

_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux


class NotStarted(UsageError):
    """A child ended before it had its plan."""


class Apart:
    """A child process that does tasks of a plan, made when first needed and made anew after it was stopped."""

    def __init__(self, bench: Bench):
        self.bench = bench
        self.limits = bench.plan.limits or Limits()
        self._child: subprocess.Popen[bytes] | None = None
        self._link: Connection | None = None
        self._at_rest = 0

    def outcomes(self, task: Task, stop: threading.Event | None = None) -> Iterator[Outcome]:
        """The values of a task's units as they arrive; those that are left when the child is stopped are failures."""
        title = self.bench.plan.learners[task.learner].title
        left = dict.fromkeys(task.units)
        link = self._ready()
        link.send(task)
        began = time.monotonic()
        while left:
            try:
                if link.poll(LOOK):
                    unit, value = link.recv()
                    began = time.monotonic()
                    del left[unit]
                    if isinstance(value, Failure) and self.limits.bytes is not None and "MemoryError" in value.sentence:
                        value = Failure(self.limits.too_large(title), final=True)
                    yield unit, value
                    continue
                failure = self._over(title, time.monotonic() - began)
            except (EOFError, OSError, pickle.UnpicklingError):
                failure = self._ended(title)
            if failure is not None or (stop is not None and stop.is_set()):
                self.close()
                for unit in left if failure is not None else ():
                    yield unit, failure or Failure(title)
                return

    def _over(self, title: str, took: float) -> Failure | None:
        if self.limits.seconds is not None and took > self.limits.seconds:
            return Failure(self.limits.too_long(title), final=True)
        if self.limits.bytes is not None and self._memory() - self._at_rest > self.limits.bytes:
            return Failure(self.limits.too_large(title), final=True)
        return None

    def _ended(self, title: str) -> Failure:
        """Why the child is gone."""
        child = self._child
        code = None if child is None else _exit_code(child)
        how = "its process ended by itself"
        if code is not None and code < 0:
            with contextlib.suppress(ValueError):
                how += f" ({signal.Signals(-code).name})"
        elif code:
            how += f" (exit code {code})"
        return Failure(f"{title}: {how}; leave it out, or try it by itself to see why.", final=True, lost=True)

    # -- the child -----------------------------------------------------------------------------------------------
    def _ready(self) -> Connection:
        if self._link is not None:
            return self._link
        if not hasattr(socket, "AF_UNIX"):
            raise UsageError(
                "run", "limits of time and memory", "are not enforced on this system", way_out="run without"
            )
        message = packed(self.bench)
        ours, theirs = socket.socketpair()
        with theirs:
            start = "import sys; from assay.experiment.apart import serve; serve(int(sys.argv[1]))"
            paths = [path or os.getcwd() for path in sys.path]
            self._child = subprocess.Popen(
                [sys.executable, "-c", start, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=_errors(),
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
                start_new_session=True,
            )
        self._link = link = Connection(ours.detach())
        try:
            link.send_bytes(message)
            said = link.recv()
        except (EOFError, OSError):
            failure = self._ended("run")
            self.close()
            raise NotStarted("run", "a process for the work", "could not start", failure.sentence) from None
        if said is not None:
            self.close()
            raise UsageError("run", "the plan", f"cannot be sent to another process ({plain(said, 200)})", way_out=_HOW)
        self._at_rest = self._memory()
        return link

    def _memory(self) -> int:
        """Bytes that the child holds in memory; 0 where the system does not tell."""
        if self._child is None:
            return 0
        try:
            with open(f"/proc/{self._child.pid}/statm", "rb") as file:
                return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, IndexError, ValueError):
            return 0

    def close(self) -> None:
        """End the child."""
        if self._link is not None:
            self._link.close()
            self._link = None
        if self._child is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                # Its session holds whatever it started itself.
                os.killpg(self._child.pid, signal.SIGKILL)
            self._child.wait()
            self._child = None


_HOW = "define its classes in a module that can be imported, or install cloudpickle, or run without limits"


def packed(bench: Bench) -> bytes:
    """Plan and threads as bytes; classes of the user's own program go along where cloudpickle is there."""
    try:
        dumps = importlib.import_module("cloudpickle").dumps
    except ImportError:
        dumps = pickle.dumps
    try:
        return dumps((bench.plan, bench.threads))
    except Exception as error:
        raise UsageError(
            "run", "the plan", f"cannot be sent to another process ({plain(error, 200)})", way_out=_HOW
        ) from None


def _errors() -> int:
    """Where what learners print goes: standard error, for standard output is that of the results."""
    try:
        os.fstat(2)
    except OSError:
        return subprocess.DEVNULL
    return 2


def _exit_code(child: subprocess.Popen[bytes]) -> int | None:
    try:
        return child.wait(timeout=5.0)
    except subprocess.TimeoutExpired:
        return None


def serve(descriptor: int) -> None:
    """The child: take the plan, then tasks, until the parent is gone."""
    _die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    link = Connection(descriptor)
    try:
        plan, threads = pickle.loads(link.recv_bytes())
    except Exception as error:
        link.send(f"{type(error).__name__}: {error}")
        return
    bench = Bench(plan, Inputs(plan), threads)
    plan.splits, plan.y  # noqa: B018  made before the clock of the first task starts
    _bound_memory(plan.limits)
    link.send(None)
    own = os.getpid()
    with one_blas_thread(), heard_warnings(), contextlib.suppress(EOFError, OSError):
        while True:
            task = link.recv()
            # Signals of the keyboard do not come here: who interrupts is the learner.
            for unit, value in outcomes(bench, task, (*FAILS, KeyboardInterrupt)):
                if os.getpid() != own:
                    os._exit(1)  # a copy that a learner forked and came back from: its answers are told already
                link.send((unit, value))


def _die_with_parent() -> None:
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)


def _bound_memory(limits: Limits | None) -> None:
    """A single huge request fails at once, as a MemoryError, instead of being noticed when it is filled."""
    if limits is None or limits.bytes is None or not sys.platform.startswith("linux"):
        return
    import resource

    with open("/proc/self/statm", "rb") as file:
        held = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    most = held + 2 * limits.bytes + _SLACK
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
