"""Requests of single rows at concurrency 32: `assay serve` against plain FastAPI and scikit-learn servers.

Each server is a process of its own with one worker; a client with 32 connections that are kept open sends the requests
over plain sockets, which costs it next to nothing, and checks every answer. The peers are what one writes: a pydantic
model of the row, a data frame of it, `pipeline.predict`, once in a plain function (in the pool of threads) and once in
an `async` one, and that with an array in place of the frame, by FastAPI and by Starlette alone; all are fitted on one
table. Client and server share the machine, so that only the ratio of one run counts. Beside the table of `versus`,

    python -m benchmarks.versus.problems.serve --requests 10000

prints requests per second, the median and the 99th percentile of the time to answer, processor time per request and
the errors, and keeps them in `benchmarks/versus/results/serve.json`; the peers get a fifth of the requests each, so
that it ends within three minutes on a busy machine.
"""

from __future__ import annotations

import argparse
import asyncio
import atexit
import json
import socket
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.versus.harness import ROOT, Contender, Problem, Size

CONNECTIONS = 32
ROW = {"sepal_length": 5.0, "sepal_width": 3.4, "petal_length": 1.5, "petal_width": 0.2}
MODEL = """
import sys
import numpy as np
import pandas as pd
import uvicorn
from pydantic import BaseModel
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

frame = pd.read_csv(sys.argv[1])
names = list(frame.columns[:4])
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(TRAIN, frame["species"])


class Row(BaseModel):
    sepal_length: float
    sepal_width: float
    petal_length: float
    petal_width: float


class Rows(BaseModel):
    rows: list[Row]


def answer(asked):
    table = TABLE
    return {"predictions": model.predict(table).tolist()}
"""
FASTAPI = """
from fastapi import FastAPI

app = FastAPI()


@app.get("/health")
def health():
    return {"status": "ok"}


@app.post("/predict")
KINDdef predict(asked: Rows):
    return answer(asked)
"""
STARLETTE = """
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route


async def predict(request):
    return JSONResponse(answer(Rows.model_validate_json(await request.body())))


app = Starlette(routes=[Route("/predict", predict, methods=["POST"])])
"""
RUN = """
uvicorn.run(app, port=int(sys.argv[2]), log_level="error", access_log=False)
"""
FRAMES = ("frame[names]", "pd.DataFrame([row.model_dump() for row in asked.rows], columns=names)")
ARRAYS = ("frame[names].to_numpy()", "np.array([[getattr(row, name) for name in names] for row in asked.rows])")
# name: the program, what its model is fitted on and what it is asked with
KINDS = {
    "threads": (FASTAPI.replace("KIND", ""), *FRAMES),
    "async": (FASTAPI.replace("KIND", "async "), *FRAMES),
    "arrays": (FASTAPI.replace("KIND", "async "), *ARRAYS),
    "plain": (STARLETTE, *ARRAYS),
}
NAMES = {
    "threads": "FastAPI, in threads",
    "async": "FastAPI, async",
    "arrays": "FastAPI, async, arrays",
    "plain": "Starlette and pydantic, arrays",
}


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


async def _load(port: int, requests: int) -> tuple[list[float], int]:
    """Send the requests; the seconds to each answer, and how many answers were wrong."""
    body = json.dumps({"rows": [ROW]}).encode()
    head = f"POST /predict HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer t\r\n"
    message = head.encode() + b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    times: list[float] = []
    errors, left = 0, requests

    async def work() -> None:
        nonlocal errors, left
        reader, writer = await _connect(port)
        while left > 0:
            left -= 1
            began = time.perf_counter()
            writer.write(message)
            answer = await reader.readuntil(b"\r\n\r\n")
            length = int(answer.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            said = await reader.readexactly(length)
            times.append(time.perf_counter() - began)
            good = b" 200 " in answer.split(b"\r\n")[0] and json.loads(said)["predictions"] == ["setosa"]
            errors += not good
        writer.close()

    await asyncio.gather(*(work() for _ in range(CONNECTIONS)))
    return times, errors


async def _connect(port: int) -> Any:
    """A connection, once the server listens."""
    for _ in range(600):
        try:
            return await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.1)
    raise TimeoutError(f"no server at port {port}")


@cache
def _folder() -> Path:
    """A folder with the package, the table and the programs of the peers."""
    from assay.data import load_dataset
    from assay.experiment import Plan, run

    held = tempfile.TemporaryDirectory()
    atexit.register(held.cleanup)
    folder = Path(held.name)
    iris = load_dataset("iris")
    results = run(Plan(iris, "species", learners=["logistic"], design="3-fold"))
    results.best_model("logistic").save(folder / "iris.assay")
    iris.frame.write_csv(folder / "iris.csv")
    for name, (server, train, table) in KINDS.items():
        program = MODEL.replace("TRAIN", train).replace("TABLE", table) + server + RUN
        (folder / f"{name}.py").write_text(program)
    return folder


class Served:
    """A server process with its port, ended with this process."""

    def __init__(self, kind: str):
        folder, self.port = _folder(), _free_port()
        if kind == "assay":
            words = ["-m", "assay", "serve", f"{folder}/iris.assay", "--token", "t", "--quiet", "--port"]
        else:
            words = [f"{folder}/{kind}.py", f"{folder}/iris.csv"]
        self.process = subprocess.Popen([sys.executable, *words, str(self.port)])
        atexit.register(self.process.kill)

    def ask(self, requests: int) -> tuple[list[float], int]:
        """Send requests and wait for all answers."""
        return asyncio.run(_load(self.port, requests))

    def processor_seconds(self) -> float:
        """Processor time that the server has used so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / 100


@cache
def _server(kind: str) -> Served:
    return Served(kind)


def _share_right(data: int, found: tuple[list[float], int]) -> float:
    times, errors = found
    return (len(times) - errors) / data


PROBLEMS = [
    Problem(
        id="serve-rows",
        title=f"Requests of one row over HTTP, {CONNECTIONS} connections",
        make=lambda requests: requests,
        sizes=tuple(Size(f"{n:,} requests", n, {"requests": n}) for n in (500, 2_000, 10_000)),
        ours=Contender("assay serve", "assay", lambda data: _server("assay").ask(data)),
        peers=tuple(
            Contender(name, "scikit-learn", lambda data, kind=kind: _server(kind).ask(data), aim=3.0)
            for kind, name in NAMES.items()
        ),
        quality=_share_right,
        gate=0.0,
        quality_name="share of right answers",
        limit="reading and writing HTTP: some 100 microseconds a request",
        tried="both ways of FastAPI with a frame of pandas as its pipeline was fitted on, and the quicker one with an "
        "array, which takes a third of the time; Starlette in the place of FastAPI, less again",
    )
]


def main() -> None:
    """Every server in turn, several rounds; the record and the ratio of requests per second."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.versus.problems.serve")
    options.add_argument("--requests", type=int, default=10_000)
    options.add_argument("--rounds", type=int, default=4)
    given = options.parse_args()
    kinds = {"assay": "assay serve", **NAMES}
    times: dict[str, list[float]] = {kind: [] for kind in kinds}
    spent, used, errors = dict.fromkeys(kinds, 0.0), dict.fromkeys(kinds, 0.0), dict.fromkeys(kinds, 0)
    each = max(given.requests // given.rounds, 1)
    for kind in kinds:
        _server(kind).ask(200)
    for _ in range(given.rounds):
        for kind in kinds:
            server = _server(kind)
            began, before = time.perf_counter(), server.processor_seconds()
            found, wrong = server.ask(each if kind == "assay" else max(each // 5, 1))
            spent[kind] += time.perf_counter() - began
            used[kind] += server.processor_seconds() - before
            times[kind] += found
            errors[kind] += wrong
    record: dict[str, Any] = {"date": time.strftime("%Y-%m-%d %H:%M"), "connections": CONNECTIONS, "servers": {}}
    for kind, name in kinds.items():
        median, last = np.quantile(times[kind], [0.5, 0.99])
        record["servers"][name] = {
            "requests": len(times[kind]),
            "errors": errors[kind],
            "per_second": round(len(times[kind]) / spent[kind], 1),
            "median_ms": round(1e3 * float(median), 2),
            "p99_ms": round(1e3 * float(last), 2),
            "processor_ms_per_request": round(1e3 * used[kind] / len(times[kind]), 4),
        }
    text = json.dumps(record, indent=2)
    (ROOT / "benchmarks" / "versus" / "results" / "serve.json").write_text(text + "\n")
    print(text)
    rates = [about["per_second"] for about in record["servers"].values()]
    print(f"{rates[0] / max(rates[1:]):.2f} times the requests per second of the faster peer")


if __name__ == "__main__":
    main()
