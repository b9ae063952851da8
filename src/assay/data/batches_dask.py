"""Tables larger than memory on the workers of a Dask cluster: each file is read, kept and summed where it was read.

A part is a future that stays on its worker; sums over it travel, its rows do not. A worker that is lost takes its parts
with it, and Dask reads them again from their files on another one. Objects travel in Dask's own format between the
processes of one program; nothing of it reaches a file that users load.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import cloudpickle
import numpy as np

from ..base.batches import Work, run_part
from ..base.errors import UsageError, plain
from .batches import OpenedPart, ScratchPart, Spec

ANSWERS = 10.0
"""Seconds within which a scheduler must answer."""
KEPT_ARRAYS = 4
"""Arrays of one value per row (target, weights) that stay on the workers between two passes."""


def client_of(who: str, cluster: Any) -> Any:
    """A client of a cluster: as given, or connected to the scheduler at an address."""
    if not isinstance(cluster, str):
        return cluster
    try:
        from distributed import Client
    except ImportError:
        raise UsageError(who, "Dask", "must be installed", way_out="run pip install 'assay[dask]'") from None
    try:
        return Client(cluster, set_as_default=False, timeout=ANSWERS)
    except (OSError, ValueError) as error:
        raise UsageError(
            who,
            f"the Dask scheduler at '{plain(cluster, 100)}'",
            "does not answer",
            plain(error, 100),
            "start it with `dask scheduler`, and give the address that it tells",
        ) from None


class HeldPart:
    """A part that was read by a worker; on another worker it is read again."""

    def __init__(self, source: Any, spec: Spec) -> None:
        self.source, self.spec = source, spec
        self.opened = OpenedPart.of(source, spec)

    def __reduce__(self) -> Any:
        return HeldPart, (self.source, self.spec)


class RemotePart:
    """Rows that lie on a worker."""

    def __init__(self, client: Any, future: Any, n_rows: int, kind: str = "part") -> None:
        self.client, self.future, self.n_rows, self.kind = client, future, n_rows, kind
        self.recode: list[Any] = []
        self._sent: dict[tuple[Any, ...], tuple[np.ndarray, Any]] = {}

    def blocks(self) -> Iterator[np.ndarray]:
        """All rows, fetched at once."""
        yield self.rows(np.arange(self.n_rows))

    def rows(self, chosen: np.ndarray) -> np.ndarray:
        """Some rows by number."""
        return self.client.submit(_rows_of, self.future, self.recode, chosen, pure=False).result()

    def run(self, work: Work, of_rows: Sequence[np.ndarray | None], merge: Work) -> Any:
        """A future of the merged results of a work on the blocks."""
        sent = [None if values is None else self._there(values) for values in of_rows]
        # In one piece: arrays that travel beside their pickle may arrive where the kernels cannot read them.
        message = cloudpickle.dumps((self.kind, self.recode, work, merge))
        return self.client.submit(_run, self.future, message, *sent, pure=False)

    def _there(self, values: np.ndarray) -> Any:
        """The values of the rows as a future, sent once as long as the same array is used."""
        key = (values.__array_interface__["data"][0], values.shape, values.strides, values.dtype.str)
        if key not in self._sent:
            while len(self._sent) >= KEPT_ARRAYS:
                del self._sent[next(iter(self._sent))]
            # A task rather than scattered data: what a lost worker held is made again.
            self._sent[key] = values, self.client.submit(_as_they_are, values, pure=False)
        return self._sent[key][1]


def open_on_workers(client: Any, sources: Sequence[Any], spec: Spec) -> list[OpenedPart]:
    """What the first pass tells of each source, its rows left with the worker that read it."""
    held = [client.submit(HeldPart, source, part, pure=False) for source, part in spec.parts(sources)]
    told = client.gather([client.submit(_told, part, pure=False) for part in held])
    opened = []
    for part, facts in zip(held, told, strict=True):
        coded = None if facts.coded is None else RemotePart(client, part, facts.coded, "coded")
        opened.append(replace(facts, part=RemotePart(client, part, facts.part), coded=coded))
    return opened


def run_on_workers(
    parts: Sequence[RemotePart], work: Work, of_rows: list[list[np.ndarray | None]], merge: Work
) -> Iterator[Any]:
    """The results of the parts in their order, worked out side by side."""
    futures = [part.run(work, values, merge) for part, values in zip(parts, of_rows, strict=True)]
    for future in futures:
        yield future.result()


# -- on the workers ----------------------------------------------------------------------------------------------------
def _told(held: HeldPart) -> OpenedPart:
    coded = held.opened.coded
    return replace(held.opened, part=held.opened.part.n_rows, coded=None if coded is None else coded.n_rows)


def _part(held: HeldPart, recode: list[Any], kind: str = "part") -> ScratchPart:
    part = getattr(held.opened, kind)
    part.recode = recode
    return part


def _rows_of(held: HeldPart, recode: list[Any], chosen: np.ndarray) -> np.ndarray:
    return _part(held, recode).rows(chosen)


def _run(held: HeldPart, message: bytes, *of_rows: np.ndarray | None) -> Any:
    kind, recode, work, merge = pickle.loads(message)
    aligned = [None if values is None else np.require(values, requirements=["C", "A"]) for values in of_rows]
    return run_part(_part(held, recode, kind), work, aligned, merge)


def _as_they_are(values: np.ndarray) -> np.ndarray:
    return values
