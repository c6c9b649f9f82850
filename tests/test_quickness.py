"""Queries that are sure to be quick do not wait behind those that are not."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, Quad

from kgplatform.errors import QueryError
from kgplatform.quickness import is_quick
from kgplatform.store import Store
from kgplatform.workers import QueryWorkers, WorkersBusyError

RUNAWAY = 'SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . FILTER(CONCAT(STR(?c), STR(?f), STR(?i)) = "x") }'


@pytest.mark.parametrize(
    "query",
    [
        "ASK {}",
        "ASK { ?s ?p ?o }",
        "PREFIX e: <urn:e:> ASK WHERE { ?s e:名 'x' . }",
        "SELECT * { <urn:a> ?p ?o }",
        "SELECT ?s WHERE { ?s a <urn:t> } LIMIT 10",
    ],
)
def test_look_ups_are_quick(query: str) -> None:
    assert is_quick(query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { ?s ?p ?o }",
        "SELECT * { ?s ?p ?o } LIMIT 1000000",
        "SELECT * { ?s ?p ?o } ORDER BY ?s LIMIT 1",
        "SELECT DISTINCT ?s { ?s ?p ?o } LIMIT 1",
        "SELECT (COUNT(*) AS ?n) { <urn:a> ?p ?o }",
        "ASK { ?s ?p ?s }",
        "ASK { ?s <urn:p>+ ?o }",
        "ASK { ?s ?p ?o . ?o ?q ?r }",
        "ASK { ?s ?p ?o FILTER(?o = 1) }",
        "ASK { { SELECT * { ?s ?p ?o } } }",
        "ASK { ?s ?p ?o } HAVING (1)",
        "ASK FROM <urn:g> { ?s ?p ?o }",
        "CONSTRUCT WHERE { <urn:a> ?p ?o }",
        "ASK { ?s ?p",
        "",
    ],
)
def test_what_may_take_long_is_not(query: str) -> None:
    assert not is_quick(query)


def test_a_look_up_is_answered_while_all_workers_are_taken(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store")
    store.apply(added=[Quad(NamedNode(f"urn:{n}"), NamedNode("urn:p"), Literal(n)) for n in range(300)])
    ended: list[str] = []

    def run_away(workers: QueryWorkers) -> None:
        with pytest.raises(QueryError) as caught:
            workers.solutions(RUNAWAY, timeout_seconds=8)
        ended.append(type(caught.value).__name__)

    with QueryWorkers(store, folder=tmp_path / "workers", count=1, memory_bytes=1 << 30) as workers:
        workers.solutions("ASK {}", timeout_seconds=20)
        threads = [threading.Thread(target=run_away, args=(workers,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(0.5)
        assert workers.solutions("SELECT ?o { <urn:7> ?p ?o }", timeout_seconds=20).rows == ((Literal(7),),)
        started = time.monotonic()
        assert workers.solutions("ASK { <urn:7> ?p ?o }", timeout_seconds=20).boolean
        assert time.monotonic() - started < 3
        with pytest.raises(WorkersBusyError):
            workers.solutions("SELECT ?s ?o { ?s ?p ?o . ?o ?q ?r }", timeout_seconds=0.2)
        for thread in threads:
            thread.join()
    assert len(ended) == 2
