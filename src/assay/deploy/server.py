"""The prediction server: `POST /predict` for JSON rows and Arrow tables, health, metrics and its own description.

Every request is checked against the profile of the training table, and all problems of its rows are told at once.
Requests that arrive together are predicted together (`batching`). Sizes, rows, time and what may wait are limited; a
token is asked for, and only known names of this host are answered (against pages that rebind a name to it). Nothing
that comes in is ever part of a path, and no answer shows a traceback.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import os
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
import numpy as np
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from ..base.errors import AssayError, plain
from ..base.record import jsonable
from ..data.conform import conformed_pieces
from ..data.frames import typed_frame
from ..data.roles import nearest
from .batching import Batcher, Full
from .drift import Drift
from .openapi import LARGEST_NUMBER, LARGEST_WHOLE, LONGEST_TEXT, description
from .package import Package
from .predict import Predictor

ARROW = "application/vnd.apache.arrow.file"
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_SHOWN = 100
_LOG = logging.getLogger("assay.serve")


class Limits(msgspec.Struct, frozen=True):
    """What one request and all of them together may take."""

    body_bytes: int = 10_000_000
    rows: int = 100_000
    seconds: float = 30.0
    body_seconds: float = 10.0
    waiting_rows: int = 200_000


class Refused(Exception):
    """A request that gets an answer of this status."""

    def __init__(
        self,
        status: int,
        error: str,
        problems: Sequence[Mapping[str, Any]] = (),
        headers: Mapping[str, str] | None = None,
    ):
        super().__init__(error)
        self.status, self.error, self.problems, self.headers = status, error, list(problems), headers or {}


class Asked(msgspec.Struct):
    """A request after its check: how many rows, whether probabilities are wanted, and the cells.

    They are lists by column, or a frame where they came as Arrow.
    """

    rows: int
    probabilities: bool
    columns: dict[str, list[Any]] | None = None
    frame: Any = None


class Server:
    """A model behind HTTP; `app` is the ASGI application.

    Parameters
    ----------
    package : the opened package
    token : what a client must send as `Authorization: Bearer ...`; None asks for nothing
    hosts : values of the Host header that are answered; None answers any
    limits : see `Limits`
    """

    def __init__(
        self,
        package: Package,
        *,
        token: str | None = None,
        hosts: Sequence[str] | None = None,
        limits: Limits | None = None,
    ):
        self.package, self.token, self.limits = package, token, limits or Limits()
        self.hosts = None if hosts is None else {host.lower() for host in hosts}
        self.predictor = Predictor(package)
        self.profile = self.predictor.profile
        self.names = list(self.profile)
        self.classes = self.predictor.classes
        self.shares = self.classes is not None and hasattr(package.model, "predict_proba")
        self.drift = Drift(self.profile)
        self.batcher = Batcher(self._predict, lambda asked: asked.rows, most_waiting=self.limits.waiting_rows)
        self._checks = [(name, _check_of(about)) for name, about in self.profile.items()]
        self._types = {name: _type_of(about) for name, about in self.profile.items()}
        self.codes: Counter[int] = Counter()
        self.seconds: Counter[float] = Counter()
        self.total_seconds, self.rows, self.batches = 0.0, 0, 0
        self.predicted: Counter[str] = Counter()
        self._encoder = msgspec.json.Encoder()
        listed = None if not self.shares else jsonable(np.asarray(self.classes).tolist())
        self._classes = listed
        document = description(
            package.title, self.predictor.target, self.profile, listed, self.limits.rows, token is not None
        )
        self._document = msgspec.json.encode(document)
        self._on_predicting = self._guarded(self._on_predict)
        routes = [
            Route("/predict", self._on_predicting, methods=["POST"]),
            Route("/health", self._guarded(self._on_health, secret=False), methods=["GET"]),
            Route("/metrics", self._guarded(self._on_metrics), methods=["GET"]),
            Route("/openapi.json", self._guarded(self._on_openapi), methods=["GET"]),
        ]
        self._rest = Starlette(routes=routes, exception_handlers={HTTPException: self._on_other, 500: self._on_defect})

    # -- every request -----------------------------------------------------------------------------------------------
    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        """The ASGI application; predictions go past the router, which would cost a third of their time."""
        if scope["type"] == "http" and scope["path"] == "/predict" and scope["method"] == "POST":
            answer = await self._on_predicting(Request(scope, receive))
            await answer(scope, receive, send)
        else:
            await self._rest(scope, receive, send)

    def _guarded(self, handle: Any, *, secret: bool = True) -> Any:
        async def endpoint(request: Request) -> Response:
            began = time.perf_counter()
            try:
                self._check_caller(request, secret)
                answer = await handle(request)
            except Refused as refused:
                answer = self._refusal(refused)
            except ClientDisconnect:
                answer = self._json({"error": "the client went away"}, 400)
            except Exception:
                _LOG.exception("a request failed")
                answer = self._json({"error": "a defect; the server's log may tell more"}, 500)
            self._count(answer.status_code, time.perf_counter() - began)
            return answer

        return endpoint

    def _check_caller(self, request: Request, secret: bool) -> None:
        if self.hosts is not None and request.headers.get("host", "").lower() not in self.hosts:
            raise Refused(403, "this host is not asked under that name; start it with --allowed-host to allow it")
        if self.token is None or not secret:
            return
        given = request.headers.get("authorization", "")
        if not hmac.compare_digest(given.encode("utf-8", "replace"), f"Bearer {self.token}".encode()):
            raise Refused(401, "send the token as 'Authorization: Bearer ...'", headers={"www-authenticate": "Bearer"})

    def _count(self, code: int, seconds: float) -> None:
        self.codes[code] += 1
        self.total_seconds += seconds
        self.seconds[next((bucket for bucket in BUCKETS if seconds <= bucket), float("inf"))] += 1

    def _json(self, value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
        return Response(self._encoder.encode(value), status, dict(headers or {}), "application/json")

    def _refusal(self, refused: Refused) -> Response:
        said: dict[str, Any] = {"error": refused.error}
        if refused.problems:
            said["problems"] = refused.problems
        return self._json(said, refused.status, refused.headers)

    async def _on_other(self, request: Request, error: Exception) -> Response:
        status = getattr(error, "status_code", 500)
        words = {404: "there is nothing here; see /openapi.json", 405: "another method is meant; see /openapi.json"}
        self._count(status, 0.0)
        headers = getattr(error, "headers", None) or {}
        return self._json({"error": words.get(status, "refused")}, status, headers)

    async def _on_defect(self, request: Request, error: Exception) -> Response:
        self._count(500, 0.0)
        return self._json({"error": "a defect; the server's log may tell more"}, 500)

    # -- predictions ---------------------------------------------------------------------------------------------------
    async def _on_predict(self, request: Request) -> Response:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind not in ("application/json", ARROW):
            raise Refused(415, f"send application/json or {ARROW}")
        body = await self._body(request)
        asked = self._of_arrow(body) if kind == ARROW else self._of_json(body)
        try:
            async with asyncio.timeout(self.limits.seconds):
                answer = await self.batcher.ask(asked)
        except Full:
            raise Refused(503, "too much is waiting; try again", headers={"retry-after": "1"}) from None
        except TimeoutError:
            raise Refused(503, f"took longer than {self.limits.seconds:g} s; send fewer rows") from None
        except AssayError as error:
            raise Refused(422, plain(error, 500)) from None
        return Response(answer, 200, None, "application/json")

    async def _body(self, request: Request) -> bytes:
        limit = self.limits.body_bytes
        said = request.headers.get("content-length", "")
        if said.isdecimal() and int(said) > limit:
            raise Refused(413, f"the body must be of {limit:,} bytes at most")

        parts, size = [], 0
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                async for part in request.stream():
                    size += len(part)
                    if size > limit:
                        raise Refused(413, f"the body must be of {limit:,} bytes at most")
                    parts.append(part)
            return b"".join(parts)
        except TimeoutError:
            raise Refused(408, f"the body must come within {self.limits.body_seconds:g} s") from None

    def _of_json(self, body: bytes) -> Asked:
        try:
            given = msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Refused(400, f"the body is no JSON: {plain(error)}") from None
        if not isinstance(given, dict) or not isinstance(given.get("rows"), list) or not given["rows"]:
            raise Refused(422, "the body must be an object with 'rows', a list of objects, one for each row")
        rows, probabilities = given["rows"], given.get("probabilities", False)
        odd = [name for name in given if name not in ("rows", "probabilities")]
        if odd:
            raise Refused(422, f"the body must not have '{plain(odd[0])}'")
        if type(probabilities) is not bool or ("probabilities" in given and not self.shares):
            raise Refused(422, "'probabilities' must be true or false, of a model that gives some")
        if len(rows) > self.limits.rows:
            raise Refused(413, f"send {self.limits.rows:,} rows at most")
        return Asked(len(rows), probabilities, columns=self._columns(rows))

    def _columns(self, rows: list[Any]) -> dict[str, list[Any]]:
        """The cells by column, each checked; every problem is told, up to a hundred by name."""
        names, problems = self.names, []
        columns: dict[str, list[Any]] = {name: [] for name in names}
        for number, row in enumerate(rows):
            if not isinstance(row, dict):
                problems.append({"row": number, "column": "", "reason": "must be an object of columns"})
                continue
            for name, check in self._checks:
                if name not in row:
                    problems.append(
                        {"row": number, "column": name, "reason": "is missing; send null for an unknown value"}
                    )
                    continue
                cell = row[name]
                if cell is not None:
                    cell, reason = check(cell)
                    if reason:
                        problems.append({"row": number, "column": name, "reason": reason})
                columns[name].append(cell)
            if len(row) > len(names) or any(name not in columns for name in row):
                free = [name for name in names if name not in row]
                for name in (name for name in row if name not in columns):
                    hint = f"; {nearest(name, free)}" if free and len(problems) < _SHOWN else ""
                    problems.append(
                        {"row": number, "column": plain(name), "reason": f"is no column of the model{hint}"}
                    )
            if len(problems) > 10_000:
                break
        if problems:
            raise Refused(422, f"{len(problems)} cells do not fit the model", problems[:_SHOWN])
        return columns

    def _of_arrow(self, body: bytes) -> Asked:
        handle, path = tempfile.mkstemp(suffix=".arrow")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(body)
            pieces = list(conformed_pieces(path, self.profile))
        except AssayError as error:
            raise Refused(422, plain(str(error).replace(path, "the body"), 300)) from None
        finally:
            os.unlink(path)
        problems = [problem for piece in pieces for problem in piece.problems]
        if problems:
            told = [{"row": p.row - 1, "column": p.column, "reason": p.reason} for p in problems[:_SHOWN]]
            raise Refused(422, f"{len(problems)} cells do not fit the model", told)
        frames = [piece.frame for piece in pieces]
        for frame in frames[1:]:
            frames[0] = frames[0].vstack(frame)
        rows = frames[0].height if frames else 0
        if not 0 < rows <= self.limits.rows:
            raise Refused(413, f"send 1 to {self.limits.rows:,} rows")
        return Asked(rows, self.shares, frame=frames[0])

    def _predict(self, batch: list[Asked]) -> list[Any]:
        """The answers of several requests, predicted together; where that fails, one by one."""
        if len(batch) > 1:
            try:
                return self._answers(self._joined(batch), batch)
            except Exception:
                return [answer for asked in batch for answer in self._predict([asked])]
        try:
            return self._answers(self._joined(batch), batch)
        except Exception as error:
            return [error]

    def _joined(self, batch: list[Asked]) -> Any:
        """The rows of several requests as one frame."""
        if any(asked.columns is None for asked in batch):
            frames = [typed_frame(asked.columns, self._types) if asked.columns else asked.frame for asked in batch]
            for frame in frames[1:]:
                frames[0] = frames[0].vstack(frame)
            return frames[0]
        columns = {name: [cell for asked in batch for cell in asked.columns[name]] for name in self.names}  # type: ignore[index]
        return typed_frame(columns, self._types)

    def _answers(self, frame: Any, batch: list[Asked]) -> list[Any]:
        model, target = self.package.model, self.predictor.target
        table = self.predictor.cells(frame)
        wanted = any(asked.probabilities for asked in batch)
        shares = np.asarray(model.predict_proba(table)) if wanted else None
        found = np.asarray(model.predict(table))
        self.drift.count(frame)
        self.batches += 1
        self.rows += frame.height
        if self.classes is not None:
            self.predicted.update(map(str, found.tolist()))
        answers, at = [], 0
        for asked in batch:
            part = slice(at, at + asked.rows)
            said: dict[str, Any] = {"target": target, "predictions": found[part].tolist()}
            if asked.probabilities and shares is not None:
                said |= {"classes": self._classes, "probabilities": shares[part].tolist()}
            answers.append(msgspec.json.encode(said))
            at += asked.rows
        return answers

    # -- the rest --------------------------------------------------------------------------------------------------
    async def _on_health(self, request: Request) -> Response:
        return self._json({"status": "ok"})

    async def _on_openapi(self, request: Request) -> Response:
        return Response(self._document, 200, None, "application/json")

    async def _on_metrics(self, request: Request) -> Response:
        return Response(self.metrics(), 200, None, "text/plain; version=0.0.4")

    def metrics(self) -> str:
        """Counters and gauges in the text form of Prometheus."""
        lines = ["# TYPE assay_requests_total counter"]
        lines += [f'assay_requests_total{{code="{code}"}} {count}' for code, count in sorted(self.codes.items())]
        lines.append("# TYPE assay_request_seconds histogram")
        total = 0
        for bucket in (*BUCKETS, float("inf")):
            total += self.seconds[bucket]
            name = "+Inf" if bucket == float("inf") else f"{bucket:g}"
            lines.append(f'assay_request_seconds_bucket{{le="{name}"}} {total}')
        lines += [f"assay_request_seconds_sum {self.total_seconds:.6f}", f"assay_request_seconds_count {total}"]
        for name, value in (("rows", self.rows), ("batches", self.batches)):
            lines += [f"# TYPE assay_predicted_{name}_total counter", f"assay_predicted_{name}_total {value}"]
        lines += ["# TYPE assay_waiting_rows gauge", f"assay_waiting_rows {self.batcher.waiting_rows}"]
        lines.append("# TYPE assay_predictions_total counter")
        lines += [f'assay_predictions_total{{label="{_label(k)}"}} {n}' for k, n in sorted(self.predicted.items())]
        lines.append("# TYPE assay_column_missing_total counter")
        lines += [f'assay_column_missing_total{{column="{_label(k)}"}} {n}' for k, n in self.drift.missing.items()]
        lines.append("# TYPE assay_column_unseen_total counter")
        lines += [f'assay_column_unseen_total{{column="{_label(k)}"}} {n}' for k, n in self.drift.unseen.items()]
        lines.append("# TYPE assay_column_stability_index gauge")
        for name in self.names:
            index = self.drift.index(name)
            if index is not None:
                lines.append(f'assay_column_stability_index{{column="{_label(name)}"}} {index:.6f}')
        return "\n".join(lines) + "\n"


def _label(text: str) -> str:
    """A text as the value of a label.

    >>> _label('a"b')
    'a\\\\"b'
    """
    return plain(text, 200).replace("\\", "\\\\").replace('"', '\\"')


def _type_of(about: Mapping[str, Any]) -> str:
    kind = str(about["kind"])
    if kind == "number":
        return "whole" if about.get("whole") else "number"
    return kind


def _check_of(about: Mapping[str, Any]) -> Any:
    """What makes a cell of JSON the cell of a column: the cell and "", or the cell and what is wrong with it."""
    kind, strict = str(about["kind"]), about.get("whole") and about.get("role") != "numeric"

    def number(cell: Any) -> tuple[Any, str]:
        if type(cell) not in (int, float):
            return cell, "must be a number"
        if strict and (cell != int(cell) if abs(cell) <= LARGEST_WHOLE else True):
            return cell, "must be a whole number"
        return cell, "" if abs(cell) <= LARGEST_NUMBER else f"must lie within {LARGEST_NUMBER:g} of 0"

    def boolean(cell: Any) -> tuple[Any, str]:
        return cell, "" if type(cell) is bool else "must be true or false"

    def text(cell: Any) -> tuple[Any, str]:
        if type(cell) is not str:
            return cell, "must be text"
        return cell, "" if len(cell) <= LONGEST_TEXT else f"must have {LONGEST_TEXT:,} letters at most"

    def date(cell: Any) -> tuple[Any, str]:
        if type(cell) is not str:
            return cell, "must be a date as text"
        try:
            return datetime.fromisoformat(cell).replace(tzinfo=None), ""
        except ValueError:
            return cell, "must be a date such as 2024-05-31T12:00:00"

    return {"number": number, "boolean": boolean, "date": date}.get(kind, text)
