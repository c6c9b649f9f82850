"""For whoever watches over a server: ``/metrics`` in the text format of Prometheus, ``/healthz``, ``/readyz``.

Requests are counted and timed by kind, one of `KINDS`, with those that query workers answer on connections of their
own. No label is made of what a client sends.

Specification: https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from flask import Blueprint, Flask, Response, g, request
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString

from kgplatform import __version__
from kgplatform.documents.records import State
from kgplatform.errors import KgPlatformError
from kgplatform.models.reply_cache import ModelTally
from kgplatform.server.access import permit
from kgplatform.server.frame import Lately
from kgplatform.server.http import problem
from kgplatform.server.jobs import Jobs, Phase
from kgplatform.store.handover import LATENCIES

if TYPE_CHECKING:
    from kgplatform.cluster.followers import Feeding
    from kgplatform.graph import KnowledgeGraph

HEALTH: Final = frozenset({"monitor.healthz", "monitor.readyz"})
"""The routes that anybody may ask: they tell nothing of the graph."""
METRICS: Final = "monitor.metrics"
"""The route whose readers the settings name."""
_KINDS: Final = {
    **{"endpoint.sparql": "sparql", "operations.ask": "ask", "asking.ask": "ask", "asking.events": "ask"},
    **{"operations.search": "search", "things.search": "search", "jobs.events": "events", "static": "static"},
    **{"assets": "static", "chat": "chat", "mcp": "mcp", "reconcile": "reconciliation", "graph_store": "graphs"},
    **{"export.exported": "export", "export.sitemap": "export", "monitor": "monitor"},
}
KINDS: Final = (*sorted(set(_KINDS.values())), "api", "page", "sparql_worker", "unknown")
"""The values of the label ``kind``; ``unknown``: there is no such address or method."""
_COUNT_SHARE: Final = 0.01
"""So much of the time may go into counting statements; what was counted last is told meanwhile."""


def kind_of(endpoint: str | None, path: str) -> str:
    """The kind of a request by the route that answers it.

    >>> kind_of("endpoint.sparql", "/sparql"), kind_of("jobs.state", "/api/jobs"), kind_of(None, "/<script>")
    ('sparql', 'api', 'unknown')
    """
    if endpoint is None:
        return "unknown"
    known = _KINDS.get(endpoint) or _KINDS.get(endpoint.partition(".")[0])
    return known or ("api" if path.startswith("/api/") else "page")


class ServerMetrics(Collector):
    """The numbers of a server, taken when they are asked for; requests are counted as they end."""

    def __init__(self, kg: KnowledgeGraph, jobs: Jobs, lately: Lately) -> None:
        self._kg = kg
        self._jobs = jobs
        self._lately = lately
        self._counting = threading.Lock()
        self._quads, self._version, self._next_count = 0, -1, 0.0
        self._seconds = Histogram(
            "kgplatform_request_duration_seconds",
            "Time until the last byte of a response, by kind of request",
            ["kind"],
            buckets=LATENCIES,
            registry=None,
        )
        self._requests = Counter(
            "kgplatform_requests", "Responses by kind of request and HTTP status", ["kind", "status"], registry=None
        )
        self.listener: Any = None
        """The waitress server, where there is one."""
        self.fed: Feeding | None = None
        """What feeds the engines that follow, where there are such."""
        self.registry = CollectorRegistry()
        self.registry.register(self)
        ProcessCollector(registry=self.registry)

    def watch(self, app: Flask) -> None:
        """Has every request to the app counted; to be called before anything else is added to the app."""

        @app.before_request
        def begin() -> None:
            g.began = time.perf_counter()

        @app.after_request
        def end(response: Response) -> Response:
            kind, began = kind_of(request.endpoint, request.path), g.began

            def observe() -> None:
                self._seconds.labels(kind).observe(time.perf_counter() - began)

            self._requests.labels(kind, str(response.status_code)).inc()
            response.call_on_close(observe)
            return response

    def describe(self) -> list[Metric]:
        """Nothing: registering asks for no numbers."""
        return []

    def collect(self) -> Iterator[Metric]:
        """All numbers as they are now."""
        yield from self._of_requests()
        yield from self._of_queries()
        yield from self._of_caches()
        yield from self._of_data()
        yield from self._of_journal()
        yield _gauge("build_info", "1; the version is a label", {(__version__,): 1}, "version")

    def _of_requests(self) -> Iterator[Metric]:
        durations, requests = *self._seconds.collect(), *self._requests.collect()
        found, seconds = self._kg.workers.answered()
        counted = HistogramMetricFamily(durations.name, durations.documentation, labels=["kind"])
        bounds = [*map(floatToGoString, LATENCIES), "+Inf"]
        counted.add_metric(["sparql_worker"], list(zip(bounds, accumulate(found), strict=True)), seconds)
        durations.samples += counted.samples
        requests.samples += _counter("requests", "", {("sparql_worker", "200"): sum(found)}, "kind", "status").samples
        yield durations
        yield requests
        if self.listener is not None:
            yield _gauge("http_connections", "Open connections", len(self.listener.active_channels))
            waiting = len(self.listener.task_dispatcher.queue)
            yield _gauge("http_requests_waiting", "Requests that wait for a thread", waiting)

    def _of_queries(self) -> Iterator[Metric]:
        workers = self._kg.workers
        yield _gauge("query_workers", "Query workers of the settings", workers.count)
        yield _gauge("queries_running", "Queries, updates and exports that run", len(workers.running.listed()))
        yield _gauge("queries_waiting", "Callers that wait for a query worker", workers.waiting)
        text = "Workers ended for a time limit, a memory limit, a crash, or a client that left"
        yield _counter("query_workers_replaced", text, workers.replaced)
        running = self._jobs.standing().phase is not Phase.IDLE
        yield _gauge("jobs_running", "Jobs that read documents", int(running))
        yield _gauge("jobs_waiting", "Jobs that wait for the one that runs", self._jobs.waiting)

    def _of_caches(self) -> Iterator[Metric]:
        kept, model = self._lately.kept, self._kg.model
        used = model.tally if model is not None else ModelTally()
        lookups = {("page numbers", "hit"): kept.hits, ("page numbers", "miss"): kept.misses}
        lookups |= {("model replies", "hit"): used.hits, ("model replies", "miss"): used.misses}
        yield _counter("cache_lookups", "Look-ups by cache and result", lookups, "cache", "result")
        tokens = {("prompt",): used.usage.prompt_tokens, ("completion",): used.usage.completion_tokens}
        yield _counter("model_tokens", "Tokens sent to and received from the language model", tokens, "direction")
        yield _counter("model_calls", "Requests to the language model that were answered", used.usage.calls)
        yield _counter("model_failures", "Replies of the language model that failed", used.failures)

    def _of_journal(self) -> Iterator[Metric]:
        """How far this node and the engines that it feeds are; nobody is asked for that, least of all the database."""
        kg, recorder, replica = self._kg, self._kg.recorder, self._kg.replica
        if recorder is None:
            return
        if applied := recorder.number:  # 0 until the journal could be read
            yield _gauge("journal_applied", "Patch of the journal up to which this node shows everything", applied)
            seen = max(applied, replica.seen if replica is not None else 0)
            yield _gauge("journal_seen", "Newest patch of the journal that this node has seen", seen)
        leads = not kg.workspace.follows and recorder.journal.leads_surely
        yield _gauge("journal_leads", "1 while this node surely leads", leads)
        yield _gauge("journal_trouble", "1 while what this node shows may be old", bool(replica and replica.trouble))
        if self.fed is not None and leads:
            fed = {(item.engine.address,): item.number for item in self.fed.followers}
            known = {labels: number for labels, number in fed.items() if number >= 0}
            yield _gauge("follower_applied", "Patch of the journal that the follower is at", known, "follower")
            troubles = {labels: labels[0] in self.fed.troubles for labels in fed}
            yield _gauge("follower_trouble", "1 while the follower cannot be fed", troubles, "follower")

    def _of_data(self) -> Iterator[Metric]:
        counts = self._kg.registry.counts()
        documents = {(state.value,): counts.get(state, 0) for state in State}
        yield _gauge("documents", "Documents by state", documents, "state")
        yield _counter("store_changes", "Changes to the store since it was opened", self._kg.store.version)
        if (quads := self._counted()) is not None:
            yield _gauge("quads", "Quads in the store, evidence included", quads)

    def _counted(self) -> int | None:
        """How many quads there are, or were a moment ago; None while they are counted for the first time."""
        now, version = time.monotonic(), self._kg.store.version
        if version != self._version and now >= self._next_count and self._counting.acquire(blocking=False):
            try:
                self._quads, self._version = len(self._kg.store), version
                took = time.monotonic() - now
                self._next_count = time.monotonic() + took / _COUNT_SHARE
            finally:
                self._counting.release()
        return self._quads if self._version >= 0 else None


def _metric(kind: Any, name: str, text: str, values: float | Mapping[Any, float], *labels: str) -> Metric:
    """A metric with its value, or with one for each of the values of its labels."""
    made: Metric = kind(f"kgplatform_{name}", text, labels=labels)
    for given, value in values.items() if isinstance(values, Mapping) else [((), values)]:
        made.add_metric(given, value)  # type: ignore[attr-defined]
    return made


_gauge, _counter = partial(_metric, GaugeMetricFamily), partial(_metric, CounterMetricFamily)


def unready(kg: KnowledgeGraph) -> str:
    """Why the server cannot answer; empty if it can."""
    if kg.workers.is_closed:
        return "the server is closing"
    try:
        next(kg.store.quads(None, None, None), None)
        kg.registry.counts()
    except (KgPlatformError, OSError, sqlite3.Error, AttributeError):  # a closed store lacks the attribute
        return "the store does not answer"
    return kg.replica.trouble if kg.replica is not None else ""


def blueprint(kg: KnowledgeGraph, numbers: ServerMetrics) -> Blueprint:
    """The routes for whoever watches."""
    routes = Blueprint("monitor", __name__)

    @routes.get("/healthz")
    def healthz() -> Response:
        return Response("ok\n", content_type="text/plain; charset=utf-8")

    @routes.get("/readyz")
    def readyz() -> Response:
        if reason := unready(kg):
            return problem(503, "Not ready", reason)
        return Response("ready\n", content_type="text/plain; charset=utf-8")

    @routes.get("/metrics")
    def metrics() -> Response:
        permit(kg.settings.server.metrics)
        headers = {"Cache-Control": "no-store"}
        return Response(generate_latest(numbers.registry), content_type=CONTENT_TYPE_PLAIN_0_0_4, headers=headers)

    return routes
