"""Query workers: real child processes on a real store on disk, killed, starved and fed with bombs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple

from kgplatform import wire
from kgplatform.errors import QueryRejectedError, QuerySyntaxError, QueryTimeoutError
from kgplatform.store import Store
from kgplatform.types import Term
from kgplatform.workers import QueryWorkers, WorkersBusyError

P = NamedNode("http://example.org/p")
RUNAWAY = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . FILTER(?c + ?f + ?i < 0) }"
GREEDY = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } ORDER BY ?a ?d ?g"
COUNT = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"


def subject(number: int) -> NamedNode:
    return NamedNode(f"http://example.org/{number}")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store.open(tmp_path / "store")
    store.apply(added=[Quad(subject(i), P, Literal(i)) for i in range(2000)])
    return store


@pytest.fixture
def workers(store: Store, tmp_path: Path) -> Iterator[QueryWorkers]:
    with QueryWorkers(store, folder=tmp_path / "snapshots", count=2, memory_bytes=512_000_000) as made:
        yield made


def count(workers: QueryWorkers) -> int:
    (row,) = workers.solutions(COUNT, timeout_seconds=10).rows
    assert isinstance(row[0], Literal)
    return int(row[0].value)


def children() -> set[int]:
    """The live child processes of this one that are query workers."""
    found = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            parent = entry.joinpath("stat").read_text().rpartition(")")[2].split()
            words = entry.joinpath("cmdline").read_bytes()
        except OSError:
            continue
        if int(parent[1]) == os.getpid() and parent[0] != "Z" and b"kgplatform.worker" in words:
            found.add(int(entry.name))
    return found


def test_rows_come_back_as_the_terms_that_were_stored(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store")
    values: list[Term] = [
        Literal("西栅", language="zh"),
        Literal("2024-01-01", datatype=NamedNode("http://www.w3.org/2001/XMLSchema#date")),
        Literal(1.5),
        subject(7),
        Literal('quote " and \n line'),
    ]
    store.apply(added=[Quad(subject(i), P, value) for i, value in enumerate(values)])
    with QueryWorkers(store, folder=tmp_path / "snapshots") as workers:
        found = workers.solutions("SELECT ?s ?o ?none { ?s ?p ?o } ORDER BY ?s", timeout_seconds=10)
    assert found.variables == ("s", "o", "none")
    assert found.rows == tuple((subject(i), value, None) for i, value in enumerate(values))


def test_ask_gives_a_boolean(workers: QueryWorkers) -> None:
    assert workers.solutions("ASK { ?s ?p 5 }", timeout_seconds=10).boolean is True
    assert workers.solutions("ASK { ?s ?p -5 }", timeout_seconds=10).boolean is False


def test_more_rows_than_asked_for_are_cut_and_said_to_be(workers: QueryWorkers) -> None:
    found = workers.solutions("SELECT ?s { ?s ?p ?o }", timeout_seconds=10, max_rows=1500)
    assert len(found.rows) == 1500
    assert found.truncated


def test_a_runaway_query_is_stopped_at_its_deadline_and_the_next_one_runs(workers: QueryWorkers) -> None:
    started = time.monotonic()
    with pytest.raises(QueryTimeoutError) as caught:
        workers.solutions(RUNAWAY, timeout_seconds=0.6)
    assert time.monotonic() - started < 3
    assert caught.value.seconds == 0.6
    assert count(workers) == 2000


def test_a_runaway_query_does_not_hold_up_another(workers: QueryWorkers) -> None:
    count(workers)

    def run() -> None:
        with pytest.raises(QueryTimeoutError):
            workers.solutions(RUNAWAY, timeout_seconds=3)

    slow = threading.Thread(target=run)
    slow.start()
    time.sleep(0.1)
    started = time.monotonic()
    assert count(workers) == 2000
    assert time.monotonic() - started < 2
    slow.join()


def test_a_query_finds_no_free_worker_and_says_so(store: Store, tmp_path: Path) -> None:
    with QueryWorkers(store, folder=tmp_path / "snapshots", count=1) as workers:
        held = workers.stream("SELECT * { ?s ?p ?o }", media_type="text/csv", timeout_seconds=10)
        with pytest.raises(WorkersBusyError):
            workers.solutions(COUNT, timeout_seconds=0.1)
        held.close()
        assert count(workers) == 2000


def test_a_query_that_takes_too_much_memory_ends_only_its_worker(workers: QueryWorkers) -> None:
    with pytest.raises(QueryRejectedError, match="more than 512 MB"):
        workers.solutions(GREEDY, timeout_seconds=60)
    assert count(workers) == 2000


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT * { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }", "SERVICE"),
        ("SELECT * { " + "{" * 5000 + "}" * 5000 + " }", "nests"),
        ("ASK { FILTER(" + "(" * 5000 + "1" + ")" * 5000 + ") }", "nests"),
        ("INSERT DATA { <http://a> <http://b> 1 }", "update"),
        ("CONSTRUCT WHERE { ?s ?p ?o }", "graph"),
    ],
)
def test_unsafe_text_is_refused(workers: QueryWorkers, text: str, reason: str) -> None:
    with pytest.raises(QueryRejectedError, match=reason):
        workers.solutions(text, timeout_seconds=10)
    assert count(workers) == 2000


def test_a_bomb_without_brackets_is_refused(workers: QueryWorkers) -> None:
    with pytest.raises(QueryRejectedError):
        workers.solutions("ASK { FILTER(" + "!" * 150_000 + "true) }", timeout_seconds=20)
    assert count(workers) == 2000


def test_a_query_whose_worker_dies_is_one_line_and_the_next_one_runs(workers: QueryWorkers) -> None:
    count(workers)

    def kill_soon() -> None:
        time.sleep(0.3)
        for pid in children():
            os.kill(pid, signal.SIGSEGV)

    killer = threading.Thread(target=kill_soon)
    killer.start()
    with pytest.raises(QueryRejectedError, match=r"ended the worker that ran it \(signal 11\)") as caught:
        workers.solutions(RUNAWAY, timeout_seconds=20)
    killer.join()
    assert "\n" not in str(caught.value)
    assert count(workers) == 2000


def test_a_syntax_error_keeps_its_place(workers: QueryWorkers) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        workers.solutions("SELECT *\nWHERE { ?s ?p }", timeout_seconds=10)
    assert caught.value.line == 2


def test_a_killed_worker_is_replaced(workers: QueryWorkers) -> None:
    assert count(workers) == 2000
    for pid in children():
        os.kill(pid, signal.SIGKILL)
    time.sleep(0.05)
    assert count(workers) == 2000


def test_the_worker_has_no_network_where_the_kernel_allows(tmp_path: Path) -> None:
    probe = (
        "import socket, sys\nfrom kgplatform.worker import leave_network\n"
        "if not leave_network(): sys.exit(77)\n"
        "s = socket.socket(); s.settimeout(2)\n"
        "try: s.connect(('127.0.0.1', 9))\n"
        "except OSError as error: print(error.errno)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=False, cwd=Path(__file__).parent.parent
    )
    if run.returncode == 77:
        pytest.skip("this kernel does not let a process leave the network")
    assert run.stdout.strip() == "101"  # ENETUNREACH, not a refused connection


def test_a_commit_is_seen_by_the_next_query_and_old_snapshots_go(
    store: Store, workers: QueryWorkers, tmp_path: Path
) -> None:
    for extra in range(3):
        assert count(workers) == 2000 + extra
        store.apply(added=[Quad(subject(5000 + extra), P, Literal("x"))])
    assert count(workers) == 2003
    assert len(list((tmp_path / "snapshots").iterdir())) == 1


def test_a_query_does_not_wait_for_a_writer(store: Store, workers: QueryWorkers) -> None:
    assert count(workers) == 2000
    store.apply(added=[Quad(subject(9000), P, Literal("x"))])
    release = threading.Event()
    held = threading.Event()

    def write() -> None:
        with store.write_lock():
            held.set()
            release.wait(10)

    writer = threading.Thread(target=write)
    writer.start()
    held.wait()
    assert count(workers) == 2000  # the state before the write that goes on
    release.set()
    writer.join()
    assert count(workers) == 2001


def test_what_a_crash_left_is_removed_and_close_leaves_nothing(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "snapshots"
    (folder / "snapshot-1-1").mkdir(parents=True)
    (folder / "snapshot-1-1" / "CURRENT").write_text("x")
    before = children()
    workers = QueryWorkers(store, folder=folder, count=2)
    assert not list(folder.iterdir())
    count(workers)
    assert children() > before
    workers.close()
    assert not folder.exists()
    assert children() == before
    with pytest.raises(QueryRejectedError, match="closed"):
        workers.solutions(COUNT, timeout_seconds=1)


def test_a_worker_ends_with_its_owner_in_the_middle_of_a_query(store: Store, tmp_path: Path) -> None:

    store.snapshot(tmp_path / "snap")
    child = subprocess.Popen(
        [sys.executable, "-m", "kgplatform.worker", str(tmp_path / "snap"), str(1 << 30)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parent.parent,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(json.dumps({}).encode() + b"\n")
    child.stdin.write(wire.encode_request(wire.Request(RUNAWAY), str(tmp_path / "snap")))
    child.stdin.close()
    assert child.wait(timeout=10) == 0
    child.stdout.close()


def test_a_stream_is_the_stores_own_serialisation(workers: QueryWorkers) -> None:
    text = b"".join(
        workers.stream("SELECT ?o { ?s ?p ?o } ORDER BY ?o LIMIT 2", media_type="text/csv", timeout_seconds=10)
    )
    assert text == b"o\r\n0\r\n1\r\n"
    graph = b"".join(
        workers.stream("CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }", media_type="application/n-triples", timeout_seconds=10)
    )
    assert graph.count(b"\n") == 2000


def test_a_stream_raises_its_first_error_before_the_first_byte(workers: QueryWorkers) -> None:
    with pytest.raises(QuerySyntaxError):
        workers.stream("SELECT * {", media_type="text/csv", timeout_seconds=10)
    with pytest.raises(QueryRejectedError, match="cannot be written"):
        workers.stream("SELECT * { ?s ?p ?o }", media_type="text/turtle", timeout_seconds=10)
    with pytest.raises(QueryTimeoutError):
        workers.stream(RUNAWAY, media_type="text/csv", timeout_seconds=0.3)


def test_a_stream_that_is_cut_raises_instead_of_ending(workers: QueryWorkers) -> None:
    assert count(workers) == 2000  # by then the worker is there
    pieces = workers.stream("SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }", media_type="text/csv", timeout_seconds=2)
    with pytest.raises(QueryTimeoutError):
        for _ in pieces:
            pass
    assert count(workers) == 2000


def test_a_stream_that_nobody_reads_on_gives_its_worker_back(workers: QueryWorkers) -> None:
    for _ in range(4):
        pieces = workers.stream("SELECT * { ?a ?b ?c . ?d ?e ?f }", media_type="text/csv", timeout_seconds=30)
        assert next(iter(pieces)).startswith(b"a,b,c")
        pieces.close()
    assert count(workers) == 2000


def test_a_dataset_given_with_the_request_takes_the_place_of_the_querys(store: Store, workers: QueryWorkers) -> None:
    graph = NamedNode("http://example.org/graph")
    store.apply(added=[Quad(subject(1), P, Literal("named"), graph)])
    query = "SELECT ?o FROM <http://example.org/other> { ?s ?p ?o }"
    assert workers.solutions(query, timeout_seconds=10).rows == ()
    found = workers.solutions(query, timeout_seconds=10, default_graphs=[graph.value])
    assert found.rows == ((Literal("named"),),)
    none = workers.solutions("ASK { GRAPH ?g { ?s ?p ?o } }", timeout_seconds=10, default_graphs=[graph.value])
    assert none.boolean is False


def test_a_store_in_memory_is_asked_in_process() -> None:
    store = Store.open()
    store.apply(added=[Quad(subject(1), P, Literal("x"))])
    with QueryWorkers(store) as workers:
        assert count(workers) == 1
        assert b"".join(workers.stream("ASK {}", media_type="text/csv", timeout_seconds=1)) == b"true"
        with pytest.raises(QueryRejectedError):
            workers.solutions("SELECT * { SERVICE <http://127.0.0.1:1/> {} }", timeout_seconds=1)


literals = st.one_of(
    st.text().map(Literal),
    st.builds(lambda value, tag: Literal(value, language=tag), st.text(), st.sampled_from(["en", "zh", "zh-Hant"])),
    st.integers(min_value=-(2**62), max_value=2**62).map(Literal),
)
nodes = st.one_of(st.integers(0, 99).map(subject), st.sampled_from([BlankNode("b1"), BlankNode("b2")]))
terms = st.one_of(st.none(), literals, nodes, st.builds(Triple, nodes, st.just(P), st.one_of(nodes, literals)))


@given(st.lists(st.tuples(terms, terms)))
def test_rows_survive_the_wire(rows: list[tuple[Term | None, ...]]) -> None:
    assert wire.decode_rows(wire.encode_rows(rows)) == rows
