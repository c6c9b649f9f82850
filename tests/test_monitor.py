"""What a server tells of itself: metrics as Prometheus reads them, whether it lives and is ready, and to whom."""

import http.client
import json
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from urllib.parse import quote

import pytest
from prometheus_client.parser import text_string_to_metric_families
from serving import small_server
from small_graph import small_graph
from test_doors import filled

from kgplatform.errors import ModelUnavailableError
from kgplatform.models.reply_cache import CachedModel
from kgplatform.server.access import Access, Token
from kgplatform.server.app import JOBS, create_app
from kgplatform.server.interfaces.prometheus import KINDS, kind_of
from kgplatform.settings import ServerSettings
from kgplatform.types import Completion, Message, Usage

ASK = "/sparql?query=ASK%7B%7D"


def numbers(text):
    """Each sample by its name and the values of its labels."""
    families = list(text_string_to_metric_families(text))
    assert len({family.name for family in families}) == len(families)
    return {
        (sample.name, *(sample.labels[key] for key in sorted(sample.labels))): sample.value
        for family in families
        for sample in family.samples
    }


def fetched(address):
    with urllib.request.urlopen(address, timeout=60) as response:
        return response.read().decode()


@pytest.fixture
def made(tmp_path):
    """Clients of servers over the small graph, each with settings of its own."""
    graphs = []

    def create(**settings):
        folder = tmp_path / str(len(graphs))
        folder.mkdir()
        kg = small_graph(folder, server=ServerSettings(timeout_seconds=10, **settings))
        graphs.append(kg)
        return kg, create_app(kg, access=Access()).test_client()

    yield create
    for kg in graphs:
        kg.close()


@contextmanager
def connected(address):
    """What asks on one connection, as workers answer on, and gives status and body."""
    connection = http.client.HTTPConnection(address.removeprefix("http://"), timeout=60)

    def ask(path):
        connection.request("GET", path)
        response = connection.getresponse()
        try:
            return response.status, response.read()
        except http.client.IncompleteRead:
            connection.close()
            return response.status, b""

    try:
        yield ask
    finally:
        connection.close()


def by_workers(address):
    return numbers(fetched(f"{address}/metrics")).get(("kgplatform_requests_total", "sparql_worker", "200"), 0)


def answered_by_worker(address, ask, path):
    """How often it was asked before a worker, which has to get ready first, answered."""
    for number in range(1, 200):
        before = by_workers(address)
        assert ask(path)[0] == 200
        if by_workers(address) > before:
            return number
        time.sleep(0.1)
    raise AssertionError


def test_requests_of_all_ways_are_counted_and_timed_by_kind(tmp_path):
    with small_server(tmp_path, settings="timeout_seconds=10") as (address, _):
        before = numbers(fetched(f"{address}/metrics"))
        with connected(address) as ask:
            asked = answered_by_worker(address, ask, ASK)
        fetched(f"{address}/api/search?q=inn")
        for path in (f"{ASK}x", "/nothing", "/documents/none"):
            with pytest.raises(urllib.error.HTTPError):
                fetched(address + path)
        after = numbers(fetched(f"{address}/metrics"))

    def more(name, *labels):
        return after.get((name, *labels), 0) - before.get((name, *labels), 0)

    seconds = "kgplatform_request_duration_seconds"
    answered = [more("kgplatform_requests_total", kind, "200") for kind in ("sparql", "sparql_worker")]
    assert sum(answered) == asked
    assert answered[1] > 0
    assert [more(f"{seconds}_count", kind) for kind in ("sparql", "sparql_worker")] == [answered[0] + 1, answered[1]]
    assert more(f"{seconds}_bucket", "sparql_worker", "+Inf") == answered[1]
    assert 0 < more(f"{seconds}_sum", "sparql_worker") < 50
    assert more("kgplatform_requests_total", "search", "200") == 1
    assert more("kgplatform_requests_total", "sparql", "400") == 1
    assert more("kgplatform_requests_total", "unknown", "404") == 1
    assert more("kgplatform_requests_total", "page", "404") == 1
    assert after[("kgplatform_query_workers",)] == 2
    assert after[("kgplatform_documents", "processed")] == 3
    assert after[("kgplatform_documents", "failed")] == 1
    assert after[("kgplatform_http_connections",)] >= 1
    for name in (
        "quads",
        "jobs_running",
        "jobs_waiting",
        "queries_running",
        "queries_waiting",
        "http_requests_waiting",
    ):
        assert (f"kgplatform_{name}",) in after
    assert after[("process_resident_memory_bytes",)] > 1e6


@pytest.mark.slow
def test_queues_are_told_while_they_stand_and_empty_afterwards(tmp_path):
    endless, queries = quote("SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"), []
    names = [(f"kgplatform_{name}",) for name in ("queries_running", "queries_waiting")]

    def wait(address, is_so):
        deadline = time.monotonic() + 60
        while True:
            found = numbers(fetched(f"{address}/metrics"))
            if is_so(*(found[name] for name in names)):
                return
            assert time.monotonic() < deadline, [found[name] for name in names]
            time.sleep(0.1)

    with small_server(tmp_path, settings="timeout_seconds=60, workers=1") as (address, _):
        for _ in range(3):
            queries.append(http.client.HTTPConnection(address.removeprefix("http://"), timeout=60))
            queries[-1].request("GET", f"/sparql?query={endless}")
        wait(address, lambda running, waiting: running >= 1 and waiting >= 1)
        for connection in queries:
            connection.close()
        wait(address, lambda running, waiting: running == waiting == 0)


def test_jobs_are_told_while_they_run_and_wait(made):
    _, client = made()
    gate, jobs = threading.Event(), client.application.extensions[JOBS]

    def reading():
        gate.wait(60)
        yield from ()

    def told():
        found = numbers(client.get("/metrics").text)
        return found[("kgplatform_jobs_running",)], found[("kgplatform_jobs_waiting",)]

    assert told() == (0, 0)
    for _ in range(3):
        jobs.start(reading)
    deadline = time.monotonic() + 30
    while told() != (1, 2):
        assert time.monotonic() < deadline
    gate.set()
    while told() != (0, 0):
        assert time.monotonic() < deadline


def test_a_worker_that_is_ended_and_a_query_that_is_cut_are_counted(tmp_path):
    endless = quote("SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }")
    with small_server(tmp_path, settings="timeout_seconds=10") as (address, _):
        bucket, deadline = ("kgplatform_request_duration_seconds_bucket", "sparql_worker"), time.monotonic() + 120
        with connected(address) as ask:
            while True:
                answered_by_worker(address, ask, ASK)
                ask(f"/sparql?timeout=1&query={endless}")
                found = numbers(fetched(f"{address}/metrics"))
                if found[*bucket, "+Inf"] > found[*bucket, "0.5"]:
                    break
                assert time.monotonic() < deadline
    assert found[("kgplatform_query_workers_replaced_total",)] > 0
    assert found[("kgplatform_requests_total", "sparql_worker", "200")] == found[*bucket, "+Inf"]


def test_what_clients_send_is_in_no_label(made):
    _, client = made()
    for path in ('/"}\n<script>', "/api/" + "x" * 500, "/id/entity/secret", "/documents/secret", "/%00%ff", "/a{b}"):
        for method in ("GET", "POST", "SECRET", "PROPFIND", "OPTIONS"):
            client.open(path, method=method, headers={"User-Agent": "secret", "Authorization": "Bearer secret"})
    client.get("/api/search?q=secret")
    client.get("/sparql?query=secret", headers={"Accept": "secret/*"})
    text = client.get("/metrics").text
    assert "secret" not in text.casefold()
    kinds = {labels[1] for labels in numbers(text) if labels[0] == "kgplatform_requests_total"}
    assert {"unknown", "search", "sparql"} <= kinds <= set(KINDS)
    assert len(text.splitlines()) < 600


def test_every_route_has_a_kind_and_only_refusals_have_none(made):
    _, client = made()
    kinds = {rule.rule: kind_of(rule.endpoint, filled(rule.rule)) for rule in client.application.url_map.iter_rules()}
    assert set(kinds.values()) == set(KINDS) - {"sparql_worker", "unknown"}, "no route is without, and no kind for none"
    others = {"/api/ask": "ask", "/api/ask/events": "ask", "/api/search": "search", "/api/jobs/events": "events"}
    for rule, kind in kinds.items():
        assert kind == others.get(rule, "api") or not rule.startswith("/api/"), rule
        assert (kind == "static") is rule.startswith("/static/"), rule
        assert (kind == "reconciliation") is rule.startswith("/reconcile"), rule
        assert (kind == "chat") is rule.startswith("/v1/"), rule
    for path, kind in (("/", "page"), ("/api/schema", "api"), ("/v1/models", "chat"), ("/reconcile", "reconciliation")):
        assert client.get(path).status_code == 200
        assert numbers(client.get("/metrics").text)[("kgplatform_requests_total", kind, "200")] >= 1


def test_a_streamed_answer_is_timed_to_its_end(made):
    _, client = made()
    body = {"messages": [{"role": "user", "content": "Which hotels are there?"}], "stream": True}
    response = client.post("/v1/chat/completions", json=body, buffered=False)
    name = ("kgplatform_request_duration_seconds_count", "chat")
    assert name not in numbers(client.get("/metrics").text)
    assert "[DONE]" in response.text
    response.close()
    assert numbers(client.get("/metrics").text)[name] == 1


class Model:
    """A model that replies, or is not there."""

    name = "replies"

    def complete(self, messages, *, schema=None):
        if "down" in messages[0].content:
            raise ModelUnavailableError("not there", model=self.name)
        return Completion("yes", Usage(1, 30, 4, 0.1))


def test_tokens_calls_and_the_caches_are_counted(made, tmp_path, monkeypatch):
    kg, client = made()
    model = CachedModel(Model(), tmp_path / "replies.sqlite")
    monkeypatch.setattr(type(kg), "model", model)
    for part in (model, model.about("urn:document"), model.sample(2)):
        part.complete([Message("user", "Is it?")])
    with pytest.raises(ModelUnavailableError):
        model.complete([Message("user", "down")])
    client.get("/ontology")
    client.get("/ontology")
    found = numbers(client.get("/metrics").text)
    assert found[("kgplatform_model_tokens_total", "prompt")] == 30
    assert found[("kgplatform_model_tokens_total", "completion")] == 4
    assert found[("kgplatform_model_calls_total",)] == found[("kgplatform_model_failures_total",)] == 1
    assert found[("kgplatform_cache_lookups_total", "model replies", "hit")] == 2
    assert found[("kgplatform_cache_lookups_total", "model replies", "miss")] == 2
    assert found[("kgplatform_cache_lookups_total", "page numbers", "hit")] > 0
    assert found[("kgplatform_cache_lookups_total", "page numbers", "miss")] > 0


def test_quads_are_counted_again_when_they_changed(made):
    kg, client = made()
    assert numbers(client.get("/metrics").text)[("kgplatform_quads",)] == len(kg.store)
    kg.update("INSERT DATA { <urn:a> <urn:b> 1 }")
    deadline = time.monotonic() + 30
    while numbers(client.get("/metrics").text)[("kgplatform_quads",)] != len(kg.store):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_health_is_told_to_anybody_and_readiness_ends_with_the_workers_and_the_store(made):
    _, line = Token.make("ann", "read")
    kg, client = made(tokens=(line,), public_reads=False, requests_per_minute=1)
    for _ in range(3):
        assert client.get("/healthz", headers={"Authorization": "Bearer wrong"}).data == b"ok\n"
        assert client.get("/readyz").data == b"ready\n"
    kg.workers.close()
    refused = client.get("/readyz", headers={"Accept": "application/json", "Accept-Language": "zh"})
    assert (refused.status_code, json.loads(refused.data)["detail"]) == (503, "服务器正在关闭")
    assert client.get("/healthz").status_code == 200


def test_a_store_that_does_not_answer_is_not_ready(made, monkeypatch):
    kg, client = made()
    kg.registry.close()
    refused = client.get("/readyz")
    assert refused.status_code == 503
    assert b"the store does not answer" in refused.data
    assert b"Traceback" not in refused.data


HERE = {"REMOTE_ADDR": "127.0.0.1"}
AWAY = {"REMOTE_ADDR": "192.0.2.1"}


@pytest.mark.parametrize(
    ("metrics", "tokens", "public_reads", "expected"),
    [
        ("read", True, True, (200, 401, 200)),
        ("read", True, False, (401, 401, 200)),
        ("read", False, True, (200, 200, 200)),
        ("anyone", True, False, (200, 401, 200)),
        ("token", True, True, (401, 401, 200)),
        ("token", False, True, (403, 403, 403)),
    ],
)
def test_metrics_are_for_whom_the_settings_name(made, metrics, tokens, public_reads, expected):
    secret, line = Token.make("prometheus", "read")
    _, client = made(metrics=metrics, tokens=(line,) if tokens else (), public_reads=public_reads)
    for given, status in zip(("", "Bearer wrong", f"Bearer {secret}"), expected, strict=True):
        headers = {"Authorization": given} if given else {}
        response = client.get("/metrics", headers=headers, environ_base=AWAY)
        assert response.status_code == status, given
        assert ("kgplatform_quads" in response.text) == (status == 200)
