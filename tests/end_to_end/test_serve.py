"""`assay serve` as a process: it starts, answers many at once, stops in order, and dies without losing silently."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager

import httpx
import pytest

from assay.data import load_dataset
from assay.experiment import Plan, run

ROW = {"sepal_length": 5.0, "sepal_width": 3.4, "petal_length": 1.5, "petal_width": 0.2}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    results = run(Plan(load_dataset("iris"), "species", learners=["naive-bayes"], design="3-fold"))
    return results.best_model("naive-bayes").save(tmp_path_factory.mktemp("serve") / "iris.assay")


@contextmanager
def serving(model, *words):
    """A server process and a client with its token."""
    command = [sys.executable, "-m", "assay", "serve", str(model), "--port", "0", "--json", *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        text = ""
        while not text.rstrip().endswith("}"):
            line = process.stdout.readline()
            assert line, process.stderr.read()
            text += line
        told = json.loads(text)
        headers = {"authorization": f"Bearer {told['token']}"}
        with httpx.Client(base_url=told["url"], headers=headers, timeout=600) as client:
            for _ in range(100):
                try:
                    client.get("/health")
                    break
                except httpx.TransportError:
                    threading.Event().wait(0.1)
            yield process, client
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()


def many(client, count, workers, at_answer=lambda done: None):
    """Send requests from several threads; the status of each, or the error that its client saw."""
    outcomes: list[object] = []
    lock = threading.Lock()

    def work() -> None:
        own = httpx.Client(base_url=client.base_url, headers=client.headers, timeout=600)
        while True:
            with lock:
                if len(outcomes) >= count:
                    return
                outcomes.append(None)
                place = len(outcomes) - 1
            try:
                answer = own.post("/predict", json={"rows": [ROW]})
                outcomes[place] = answer.json()["predictions"] if answer.status_code == 200 else answer.status_code
            except httpx.TransportError as error:
                outcomes[place] = error
            at_answer(place)

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def test_many_requests_are_answered_and_sigterm_stops_in_order(model):
    with serving(model) as (process, client):
        assert many(client, 200, 8) == [["setosa"]] * 200
        assert client.get("/openapi.json").json()["openapi"].startswith("3.1")
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=600) == 0
        assert "what was accepted has been answered" in process.stderr.read()


def test_a_killed_server_loses_nothing_silently_and_starts_again(model):
    with serving(model) as (process, client):

        def kill(place):
            if place == 60:
                os.kill(process.pid, signal.SIGKILL)

        outcomes = many(client, 150, 8, kill)
    answered = [one for one in outcomes if one == ["setosa"]]
    failed = [one for one in outcomes if isinstance(one, httpx.TransportError)]
    assert len(answered) + len(failed) == 150 and len(answered) >= 50 and failed
    with serving(model) as (_, client):
        assert many(client, 5, 1) == [["setosa"]] * 5


@pytest.mark.slow
def test_ten_thousand_requests_at_concurrency_32_without_an_error(model):
    with serving(model) as (_, client):
        assert many(client, 10_000, 32) == [["setosa"]] * 10_000


def test_other_machines_need_a_token_and_a_name(model):
    command = [sys.executable, "-m", "assay", "serve", str(model), "--host", "0.0.0.0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "needs --token and --allowed-host" in done.stderr
