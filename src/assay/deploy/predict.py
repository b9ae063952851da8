"""Predictions for files of any size: rows in, predictions out, problems told by row, in bounded memory.

Pieces of a file are read ahead in a thread of their own, made into what the model was trained on, predicted, written.
A row that cannot be read is left out of the predictions and listed with its reason; no other row is lost by it.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._lazy import later
from ..base.columns import column_names
from ..base.errors import DataError, UsageError, plain
from ..base.threads import one_blas_thread, one_kernel_thread
from ..data.conform import Conformed, Problem, conformed_pieces
from ..data.frames import frame_of
from .package import Package


@dataclass
class Summary:
    """What became of the rows of a file."""

    rows: int = 0
    predicted: int = 0
    problems: list[Problem] = field(default_factory=list)
    n_problems: int = 0
    interval: dict[str, Any] | None = None
    stopped: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The summary as plain data."""
        return {
            "schema": "assay.predict/1",
            "rows": self.rows,
            "predicted": self.predicted,
            "rows_with_problems": self.rows - self.predicted,
            "problems": [vars(problem) for problem in self.problems[:1000]],
            "interval": self.interval,
            "stopped": self.stopped or None,
        }


class Predictor:
    """A model of a package with what is needed to predict rows that come from outside.

    Parameters
    ----------
    package : an opened package; a model without a profile of its columns takes the columns of numbers that it names
    probabilities : whether the probability of each class is given too
    interval : level of the interval (of numbers) or set (of classes), or None
    explain : how many columns to name per row with their part in the prediction

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from assay.data import load_dataset
    >>> from assay.deploy import open_package
    >>> from assay.experiment import Plan, run
    >>> results = run(Plan(load_dataset("iris"), "species", learners=["naive-bayes"], design="3-fold"))
    >>> file = results.best_model("naive-bayes").save(pathlib.Path(tempfile.mkdtemp()) / "iris.assay")
    >>> predictor = Predictor(open_package(file), probabilities=True)
    >>> predictor.answer(load_dataset("iris").frame.tail(1)).columns
    ['species', 'p(setosa)', 'p(versicolor)', 'p(virginica)']
    """

    def __init__(
        self, package: Package, *, probabilities: bool = False, interval: float | None = None, explain: int = 0
    ):
        self.package, self.model = package, package.model
        if not hasattr(self.model, "predict"):
            raise UsageError("predict", f"the model '{plain(package.title)}'", "predicts nothing")
        self.profile = _profile_of(package)
        self.target = str(package.facts.get("target") or "prediction")
        self.classes = getattr(self.model, "classes_", None)
        if probabilities and (self.classes is None or not hasattr(self.model, "predict_proba")):
            raise UsageError("predict", f"the model '{plain(package.title)}'", "gives no probabilities")
        self.probabilities = probabilities
        self.conformal: Any = package.facts.get("conformal")
        self.interval, self.explain = interval, explain
        if interval is not None:
            if self.conformal is None:
                raise UsageError(
                    "predict",
                    f"the model '{plain(package.title)}'",
                    "holds no errors of rows it had not seen, from which intervals come",
                    way_out="save it from a comparison: assay compare ... --save",
                )
            self.conformal.reach(interval)

    def promise(self) -> dict[str, Any] | None:
        """The level of the intervals, and the coverage that was seen at the nearest level that was tried."""
        if self.interval is None:
            return None
        tried = self.conformal.coverage
        near = min(tried, key=lambda level: abs(level - self.interval), default=None)
        said = {"level": self.interval, "rows": self.conformal.n, "reach": self.conformal.reach(self.interval)}
        return {**said, "coverage_seen": None if near is None else {"level": near, "share": tried[near]}}

    def cells(self, frame: Any) -> Any:
        """Rows as the model takes them: a frame, or a matrix where it was fitted on one."""
        if hasattr(self.model, "chain") or hasattr(self.model, "feature_names_in_"):
            return frame
        cells = frame.to_numpy()
        return cells if cells.dtype.kind == "O" else np.ascontiguousarray(cells, dtype=np.float64)

    def answer(self, frame: Any) -> Any:
        """The predictions of rows that fit, as a frame."""
        table = self.cells(frame)
        columns: dict[str, Any] = {}
        shares = None
        if self.classes is not None and hasattr(self.model, "predict_proba") and (self.probabilities or self.interval):
            shares = np.asarray(self.model.predict_proba(table))
        columns[self.target] = np.asarray(self.model.predict(table))
        if self.probabilities and shares is not None and self.classes is not None:
            for k, label in enumerate(self.classes):
                columns[f"p({label})"] = shares[:, k]
        if self.interval is not None and self.conformal.classes and shares is not None:
            inside = self.conformal.members(shares, self.interval)
            names = [str(label) for label in self.classes]  # type: ignore[union-attr]
            columns["set"] = [" | ".join(n for n, held in zip(names, row) if held) for row in inside.tolist()]
        elif self.interval is not None:
            ends = self.conformal.interval(columns[self.target], self.interval)
            columns["low"], columns["high"] = ends[:, 0], ends[:, 1]
        if self.explain:
            columns["because"] = later("assay.deploy.reasons", "reasons")(self.model, table, self.package, self.explain)
        return frame_of(columns)

    def run(
        self,
        source: Any,
        write: Callable[[Any], None],
        *,
        keep: Iterable[str] = (),
        reading: Mapping[str, Any] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Summary:
        """Predict every row of a source and hand frames with row numbers, kept columns and predictions to `write`."""
        summary = Summary(interval=self.promise())
        kept = list(keep)
        # A product with one vector is sooner done than other threads are woken, which have the next rows to read.
        linear = hasattr(getattr(self.model, "estimator", self.model), "coef_")
        try:
            with one_blas_thread() if linear else contextlib.nullcontext():
                for piece in _ahead(conformed_pieces(source, self.profile, reading, kept)):
                    self._one(piece, kept, write, summary)
                    if progress is not None:
                        progress(summary.rows)
        except DataError as error:
            if not summary.rows:
                raise
            summary.stopped = str(error)
        if not summary.predicted:
            write(self._no_rows(kept))
        return summary

    def _no_rows(self, kept: list[str]) -> Any:
        """What is written where no row could be predicted: the columns."""
        classes = np.zeros(0) if self.classes is None else np.asarray(self.classes)[:0]
        columns: dict[str, Any] = {"row": np.zeros(0, dtype=np.int64)}
        columns |= {name: np.zeros(0, dtype=str) for name in kept}
        answers: dict[str, Any] = {self.target: classes}
        if self.probabilities and self.classes is not None:
            answers |= {f"p({label})": np.zeros(0) for label in self.classes}
        if self.interval is not None:
            names = ("set",) if self.conformal.classes else ("low", "high")
            answers |= {name: np.zeros(0, dtype=str if name == "set" else float) for name in names}
        if self.explain:
            answers["because"] = np.zeros(0, dtype=str)
        for name, cells in answers.items():
            columns[_free(name, columns)] = cells
        return frame_of(columns)

    def _one(self, piece: Conformed, kept: list[str], write: Callable[[Any], None], summary: Summary) -> None:
        left_out = {problem.row for problem in piece.problems}
        summary.rows += piece.frame.height + len(left_out)
        summary.predicted += piece.frame.height
        summary.n_problems += len(piece.problems)
        summary.problems += piece.problems[: max(0, 10_000 - len(summary.problems))]
        if not piece.frame.height:
            return
        lost = [name for name in kept if name not in piece.raw.columns]
        if lost:
            raise UsageError("predict", f"column '{plain(lost[0])}'", "is to be kept and is not in the table")
        answers = self.answer(piece.frame)
        columns: dict[str, Any] = {"row": piece.rows, **{name: piece.raw[name] for name in kept}}
        for name in answers.columns:
            columns[_free(name, columns)] = answers[name]
        write(frame_of(columns))


def _profile_of(package: Package) -> dict[str, dict[str, Any]]:
    found = package.facts.get("profile")
    if found:
        return found
    model = package.model
    if getattr(model, "feature_names_in_", None) is None and getattr(model, "n_features_in_", None) is None:
        raise UsageError("predict", f"the model '{plain(package.title)}'", "takes no table of columns")
    names = column_names(model)
    categories = getattr(getattr(model, "schema_", None), "categories", None)
    profile = {}
    for j, name in enumerate(names):
        known = categories[j] if categories is not None and len(categories) == len(names) else None
        text = known is not None and np.asarray(known).dtype.kind in "UO"
        profile[str(name)] = {"kind": "label" if text else "number", "role": "nominal" if text else "numeric"}
    return profile


def _free(name: str, taken: Mapping[str, Any]) -> str:
    while name in taken:
        name += "'"
    return name


def _ahead(pieces: Iterator[Conformed]) -> Iterator[Conformed]:
    """The pieces, of which the next is read while one is worked on."""
    waiting: queue.Queue[Any] = queue.Queue(maxsize=2)
    gone = threading.Event()

    def hand_over(piece: Conformed) -> None:
        while not gone.is_set():
            with contextlib.suppress(queue.Full):
                waiting.put((piece, None), timeout=0.2)
                return

    def read() -> None:
        try:
            with one_kernel_thread():
                for piece in pieces:
                    hand_over(piece)
                    if gone.is_set():
                        return
            waiting.put((None, None))
        except BaseException as error:
            waiting.put((None, error))

    reader = threading.Thread(target=read, name="assay-reader", daemon=True)
    reader.start()
    try:
        while True:
            piece, error = waiting.get()
            if error is not None:
                raise error
            if piece is None:
                return
            yield piece
    finally:
        gone.set()
