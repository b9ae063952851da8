"""Micro-batches: requests that wait while one batch is predicted are predicted together in the next.

There is no timer: a lone request is predicted at once, and under load batches grow by themselves. One thread predicts,
so that the event loop goes on reading and answering.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


class Full(Exception):
    """More is waiting than may wait."""


class Batcher:
    """Joins waiting pieces of work and hands the results back, each to its own caller.

    `work` gets a list of items and gives a list of results, one for each: a value, or an exception for its caller.

    >>> batcher = Batcher(lambda items: [item + 1 for item in items], sizes=lambda item: 1)
    >>> asyncio.run(batcher.ask(41))
    42
    """

    def __init__(
        self,
        work: Callable[[list[Any]], list[Any]],
        sizes: Callable[[Any], int],
        *,
        most_rows: int = 4096,
        most_waiting: int = 100_000,
    ):
        self._work, self._sizes = work, sizes
        self.most_rows, self.most_waiting = most_rows, most_waiting
        self.waiting_rows = 0
        self._waiting: deque[tuple[Any, int, asyncio.Future[Any]]] = deque()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="assay-predict")
        self._running: asyncio.Task[None] | None = None

    async def ask(self, item: Any) -> Any:
        """The result for one item; `Full` where too many rows are waiting already."""
        size = self._sizes(item)
        if self.waiting_rows and self.waiting_rows + size > self.most_waiting:
            raise Full
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, size, future))
        self.waiting_rows += size
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._drain())
        return await future

    async def _drain(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch: list[tuple[Any, asyncio.Future[Any]]] = []
            rows = 0
            while self._waiting and (not batch or rows + self._waiting[0][1] <= self.most_rows):
                item, size, future = self._waiting.popleft()
                self.waiting_rows -= size
                if not future.cancelled():  # the caller may have gone
                    batch.append((item, future))
                    rows += size
            if not batch:
                continue
            try:
                results = await loop.run_in_executor(self._thread, self._work, [item for item, _ in batch])
            except Exception as error:
                results = [error] * len(batch)
            for (_, future), result in zip(batch, results, strict=True):
                if future.done():
                    continue
                if isinstance(result, BaseException):
                    future.set_exception(result)
                else:
                    future.set_result(result)

    def close(self) -> None:
        """Let the thread end after what it is at."""
        self._thread.shutdown(wait=True)
