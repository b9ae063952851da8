"""The server: answers are those of the model, problems are told at once, limits hold, strangers are refused."""

from __future__ import annotations

import asyncio
import io
import json
import threading

import httpx
import numpy as np
import polars as pl
import pytest

from assay.data import load_dataset
from assay.deploy import open_package
from assay.deploy.batching import Batcher, Full
from assay.deploy.drift import Drift
from assay.deploy.server import ARROW, Limits, Server
from assay.experiment import Plan, run

HEADERS = {"authorization": "Bearer secret"}


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    frame = load_dataset("weather").frame.with_columns(pl.Series("hour", [float(k) for k in range(14)]))
    results = run(Plan(frame, "play", learners=["naive-bayes"], design="3-fold"))
    return open_package(results.best_model("naive-bayes").save(tmp_path_factory.mktemp("p") / "x.assay"))


@pytest.fixture
def server(package):
    return Server(package, token="secret", hosts=["test"], limits=Limits(body_bytes=20_000, rows=50))


def ask(server: Server, *requests: dict) -> list[httpx.Response]:
    """The answers to requests that are sent side by side."""

    async def go() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app=server.app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return list(await asyncio.gather(*(client.request(**request) for request in requests)))

    return asyncio.run(go())


def post(rows: object, **more: object) -> dict:
    return {"method": "POST", "url": "/predict", "json": {"rows": rows, **more}, "headers": HEADERS}


def raw(content: bytes, kind: str = "application/json") -> dict:
    return {"method": "POST", "url": "/predict", "content": content, "headers": HEADERS | {"content-type": kind}}


ROW = {"outlook": "sunny", "temperature": "hot", "humidity": "high", "windy": False, "hour": 3.0}


def test_answers_are_those_of_the_model_alone_and_together(server, package):
    rows = [ROW | {"hour": float(k), "windy": None if k == 3 else k % 2 == 0} for k in range(40)]
    answers = ask(server, *(post([row], probabilities=True) for row in rows))
    assert {answer.status_code for answer in answers} == {200}
    frame = pl.DataFrame(rows)
    assert [answer.json()["predictions"][0] for answer in answers] == package.model.predict(frame).tolist()
    given = np.array([answer.json()["probabilities"][0] for answer in answers])
    np.testing.assert_array_equal(given, package.model.predict_proba(frame))
    assert answers[0].json()["classes"] == ["no", "yes"] and server.batches < 40 == server.rows


def test_arrow_tables_are_taken(server, package):
    table = io.BytesIO()
    frame = pl.DataFrame([ROW, ROW | {"windy": True}])
    frame.write_ipc(table)
    (answer,) = ask(server, raw(table.getvalue(), ARROW))
    assert answer.json()["predictions"] == package.model.predict(frame).tolist()
    (answer,) = ask(server, raw(b"ARROW1 no", ARROW))
    assert answer.status_code == 422 and "/tmp" not in answer.text


def test_all_problems_are_told_at_once(server):
    bad = {"outlook": 3, "humidity": "high", "windy": "yes", "hour": "x", "more": 1}
    (answer,) = ask(server, post([ROW, bad, 7]))
    told = {(p["row"], p["column"]) for p in answer.json()["problems"]}
    assert answer.status_code == 422
    expected = {(1, "outlook"), (1, "temperature"), (1, "windy"), (1, "hour"), (1, "more"), (2, "")}
    assert told == expected


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ({"method": "POST", "url": "/predict", "json": {"rows": [ROW]}}, 401),
        (post([ROW]) | {"headers": {"authorization": "Bearer s"}}, 401),
        (post([ROW]) | {"headers": HEADERS | {"host": "evil.example"}}, 403),
        (post([ROW] * 51), 413),
        (post([ROW | {"outlook": "x" * 30_000}]), 413),
        (post([]), 422), (post("x"), 422), (post([ROW], more=1), 422), (post([ROW], probabilities="yes"), 422),
        (post([ROW | {"hour": 1e300}]), 422),
        (raw(b"{"), 400), (raw(b"[" * 19_000), 400), (raw(b"a,b", "text/csv"), 415),
        ({"method": "GET", "url": "/predict", "headers": HEADERS}, 405),
        ({"method": "GET", "url": "/../etc/passwd", "headers": HEADERS}, 404),
        ({"method": "GET", "url": "/metrics"}, 401),
        ({"method": "GET", "url": "/health"}, 200),
        ({"method": "GET", "url": "/openapi.json", "headers": HEADERS}, 200),
    ],
)  # fmt: skip
def test_requests_get_the_status_they_deserve(server, request_, status):
    (answer,) = ask(server, request_)
    assert answer.status_code == status and "Traceback" not in answer.text
    if status >= 400:
        assert answer.json()["error"]


def test_metrics_count_requests_rows_labels_and_drift(server):
    ask(server, *(post([ROW | {"outlook": "foggy", "hour": 1e6}]) for _ in range(50)), post("bad"))
    (answer,) = ask(server, {"method": "GET", "url": "/metrics", "headers": HEADERS})
    lines = dict(line.rsplit(" ", 1) for line in answer.text.splitlines() if not line.startswith("#"))
    assert lines['assay_requests_total{code="200"}'] == "50" and lines['assay_requests_total{code="422"}'] == "1"
    assert lines["assay_predicted_rows_total"] == "50" and lines['assay_column_unseen_total{column="outlook"}'] == "50"
    assert float(lines['assay_column_stability_index{column="hour"}']) > 0.25
    assert lines["assay_request_seconds_count"] == "51"


def test_a_few_rows_are_no_drift(package):
    drift = Drift(package.facts["profile"])
    drift.count(pl.DataFrame([ROW | {"hour": 1e6}] * 49))
    assert drift.index("hour") is None
    drift.count(pl.DataFrame([ROW | {"hour": 1e6}]))
    assert (drift.index("hour") or 0) > 0.25


def test_rows_like_the_training_rows_show_no_drift(package):
    drift = Drift(package.facts["profile"])
    frame = load_dataset("weather").frame.with_columns(pl.Series("hour", [float(k) for k in range(14)]))
    for _ in range(20):
        drift.count(frame.drop("play"))
    assert all((drift.index(name) or 0) < 0.1 for name in package.facts["profile"])


def test_what_cannot_wait_is_refused_and_what_waits_is_answered():
    async def go() -> tuple[list, int]:
        batcher = Batcher(lambda items: [item * 2 for item in items], lambda item: 10, most_rows=20, most_waiting=25)
        found = await asyncio.gather(*(batcher.ask(k) for k in range(5)), return_exceptions=True)
        return found, batcher.waiting_rows

    found, waiting = asyncio.run(go())
    assert found[:2] == [0, 2] and all(isinstance(one, Full) for one in found[2:]) and waiting == 0


def test_what_takes_too_long_is_refused_and_the_server_goes_on(package, monkeypatch):
    server = Server(package, limits=Limits(seconds=0.2, body_seconds=0.2))
    whole = type(package.model).predict
    wait = threading.Event()
    monkeypatch.setattr(type(package.model), "predict", lambda self, rows: (wait.wait(5), whole(self, rows))[1])
    (answer,) = ask(server, post([ROW]))
    assert answer.status_code == 503 and "fewer rows" in answer.json()["error"]
    wait.set()
    (answer,) = ask(Server(package), post([ROW]))
    assert answer.status_code == 200

    async def dribble():
        yield b'{"rows": ['
        await asyncio.sleep(5)
        yield b"]}"

    (answer,) = ask(server, raw(dribble()))
    assert answer.status_code == 408 and "0.2 s" in answer.json()["error"]


def test_one_bad_request_of_a_batch_spoils_no_other(server, monkeypatch):
    whole = type(server.package.model).predict

    def predict(self, rows):
        if (rows["hour"] == 7.0).any():
            raise ValueError("no")
        return whole(self, rows)

    monkeypatch.setattr(type(server.package.model), "predict", predict)
    answers = ask(server, *(post([ROW | {"hour": float(k)}]) for k in range(10)))
    assert [answer.status_code for answer in answers] == [200] * 7 + [500] + [200] * 2
    assert "no" not in json.loads(answers[7].text)["error"].split()


@pytest.mark.slow
def test_schemathesis_finds_nothing(package):
    import schemathesis
    from hypothesis import HealthCheck, given, settings
    from schemathesis.specs.openapi.checks import ignored_auth

    server = Server(package, token="secret", limits=Limits(rows=20))
    schema = schemathesis.openapi.from_asgi("/openapi.json", server.app, headers=HEADERS)
    tried = 0
    for operation in schema.get_all_operations():

        @given(case=operation.ok().as_strategy())
        @settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
        def check(case):
            nonlocal tried
            tried += 1
            # Our token stands in every call, which this check takes for a missing one.
            case.call_and_validate(headers=HEADERS, excluded_checks=[ignored_auth])

        check()
    assert tried > 100
