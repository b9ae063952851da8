"""Run the decoders of `decode` in a child: a file that kills its decoder, or asks for all memory, is one sentence.

The child starts with the first read that needs it, serves the next ones, and ends when it has had nothing to do for a
while or when this process ends.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import polars as pl

from ..base import config
from . import decode

_PIPE = 1 << 20
"""Bytes that wait between the child and this process; with few the two keep waiting for each other."""

_KEEPING = "dirty_decay_ms:20000,muzzy_decay_ms:-1"
"""What the decoder's allocator does with pages that became free: it keeps them, since the next group needs as many."""


class DecoderDied(Exception):
    """The child ended in the middle of an answer; the text says how."""


class _Ended(Exception):
    """The child had nothing to do for too long and ended before it heard the job."""


class Decoder:
    """A child that decodes, one job at a time; it starts with its first job, and anew after it ended."""

    def __init__(self) -> None:
        self.free = threading.Lock()
        self._kept: dict[str, Any] = {}
        self._child: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._told_all = False

    def ask(self, limit: float | None = None, **job: Any) -> Iterator[tuple[dict[str, Any], pl.DataFrame | None]]:
        """The answers to a job, each with its frame where it has one; `limit` is on the memory it may take."""
        job["limit"] = min(config.memory_limit() if limit is None else limit, 2.0**62)
        if not sys.executable:
            yield from decode.answers(job, self._kept)
            return
        try:
            try:
                yield from self._heard(self._started(), job)
            except _Ended:
                yield from self._heard(self._started(), job)
        except BaseException:
            if not self._told_all:  # nobody hears the rest of the answer
                self.close()
            raise

    def _started(self) -> subprocess.Popen[bytes]:
        if self._owner != os.getpid():
            self._child = None  # A child of the process that this one was forked from.
        if self._child is None or self._child.poll() is not None:
            self.close()
            self._owner = os.getpid()
            self._child = subprocess.Popen(
                [sys.executable, "-I", decode.__file__, json.dumps(sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                pipesize=_PIPE,
                env={**os.environ, "_RJEM_MALLOC_CONF": _KEEPING},
            )
        return self._child

    def _heard(self, child: subprocess.Popen[bytes], job: dict[str, Any]) -> Iterator[Any]:
        assert child.stdin is not None and child.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            child.stdin.write(json.dumps(job).encode() + b"\n")
            child.stdin.flush()
        began = self._told_all = False
        while True:
            line = child.stdout.readline()
            if not line and not began and child.wait() == 0:
                raise _Ended
            began = True
            facts = json.loads(line or "null")
            body = child.stdout.read(facts["frame"]) if facts and "frame" in facts else b""
            if facts is None or len(body) < facts.get("frame", 0):
                raise DecoderDied(f"its decoder ended with {_ending(child.wait())}")
            self._told_all = bool(facts.keys() & {"done", "error"})
            yield facts, pl.read_ipc_stream(body) if body else None
            if self._told_all:
                return

    def close(self) -> None:
        """End the child, whatever it does."""
        child, self._child = self._child, None
        if child is not None and self._owner == os.getpid():
            child.kill()
            for stream in (child.stdin, child.stdout):
                with contextlib.suppress(OSError):
                    stream.close()  # type: ignore[union-attr]
            child.wait()


def _ending(code: int) -> str:
    import signal

    with contextlib.suppress(ValueError):
        return f"signal {signal.Signals(-code).name}"
    return f"exit code {code}"


_shared = Decoder()


@contextlib.contextmanager
def decoder() -> Iterator[Decoder]:
    """A decoder for the length of a `with` block: the one of this process, or another if that one is at work.

    >>> with decoder() as one, decoder() as other:
    ...     one is other
    False
    """
    if _shared.free.acquire(blocking=False):
        try:
            yield _shared
        finally:
            _shared.free.release()
        return
    own = Decoder()
    try:
        yield own
    finally:
        own.close()


def _after_fork() -> None:
    global _shared
    _shared = Decoder()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(lambda: _shared.close())
