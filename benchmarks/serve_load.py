"""Requests of single rows at concurrency 32: `assay serve` against a plain FastAPI and scikit-learn server.

    python -m benchmarks.serve_load --requests 10000

starts each server in a process of its own with one worker, sends the requests from one client with 32 connections,
in turns, and prints requests per second, the median and the 99th percentile of the time to answer, and the errors. The
peer is what one writes: a pydantic model of the row, a data frame of it, `pipeline.predict`; both are fitted on one
table. Client and server share the machine, so that only the ratio of one run counts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

ROW = {"sepal_length": 5.0, "sepal_width": 3.4, "petal_length": 1.5, "petal_width": 0.2}
PEER = """
import sys
import pandas as pd
import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

frame = pd.read_csv(sys.argv[1])
names = list(frame.columns[:4])
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(frame[names], frame["species"])


class Row(BaseModel):
    sepal_length: float
    sepal_width: float
    petal_length: float
    petal_width: float


class Rows(BaseModel):
    rows: list[Row]


app = FastAPI()


@app.get("/health")
def health():
    return {"status": "ok"}


@app.post("/predict")
def predict(asked: Rows):
    table = pd.DataFrame([row.model_dump() for row in asked.rows], columns=names)
    return {"predictions": model.predict(table).tolist()}


uvicorn.run(app, port=int(sys.argv[2]), log_level="error", access_log=False)
"""


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


async def _load(port: int, requests: int, connections: int) -> dict[str, float]:
    """Send the requests over plain sockets, which costs the client next to nothing, and measure each."""
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
            said = json.loads(await reader.readexactly(length))
            times.append(time.perf_counter() - began)
            errors += b" 200 " not in answer.split(b"\r\n")[0] or said["predictions"] != ["setosa"]
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(connections)))
    seconds = time.perf_counter() - began
    share = np.quantile(times, [0.5, 0.99])
    return {"per_second": requests / seconds, "median_ms": 1e3 * share[0], "p99_ms": 1e3 * share[1], "errors": errors}


async def _connect(port: int) -> Any:
    """A connection, once the server listens."""
    for _ in range(600):
        try:
            return await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.1)
    raise TimeoutError(f"no server at port {port}")


def measure(requests: int, connections: int) -> dict[str, dict[str, float]]:
    """Both servers, one after the other."""
    from assay.data import load_dataset
    from assay.experiment import Plan, run

    found = {}
    with tempfile.TemporaryDirectory() as folder:
        iris = load_dataset("iris")
        results = run(Plan(iris, "species", learners=["logistic"], design="3-fold"))
        package = results.best_model("logistic").save(Path(folder) / "iris.assay")
        iris.frame.write_csv(Path(folder) / "iris.csv")
        (Path(folder) / "peer.py").write_text(PEER)
        for name in ("assay serve", "FastAPI and scikit-learn"):
            port = _free_port()
            if name == "assay serve":
                words = ["-m", "assay", "serve", str(package), "--port", str(port), "--token", "t", "--quiet"]
            else:
                words = [f"{folder}/peer.py", f"{folder}/iris.csv", str(port)]
            server = subprocess.Popen([sys.executable, *words])
            try:
                asyncio.run(_load(port, requests // 10, connections))
                found[name] = asyncio.run(_load(port, requests, connections))
            finally:
                server.terminate()
                server.wait()
    return found


if __name__ == "__main__":
    options = argparse.ArgumentParser(prog="python -m benchmarks.serve_load")
    options.add_argument("--requests", type=int, default=10_000)
    options.add_argument("--connections", type=int, default=32)
    given = options.parse_args()
    measured = measure(given.requests, given.connections)
    print(json.dumps(measured, indent=2))
    ours, peer = (measured[name]["per_second"] for name in ("assay serve", "FastAPI and scikit-learn"))
    print(f"{ours / peer:.2f} times the requests per second")
