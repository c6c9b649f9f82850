"""Query workers: real child processes on a real store on disk, killed, starved and fed with bombs; quick look-ups."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple

from kgplatform.errors import QueryError, QueryRejectedError, QuerySyntaxError, QueryTimeoutError
from kgplatform.store import wire
from kgplatform.store.oxigraph import Store
from kgplatform.store.worker_pool import QueryWorkers, WorkersBusyError, is_quick

P = NamedNode("http://example.org/p")
ROOT = Path(__file__).parent.parent
RUNAWAY = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . FILTER(?c + ?f + ?i < 0) }"
GREEDY = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i } ORDER BY ?a ?d ?g"
COUNT = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }"


def subject(number):
    return NamedNode(f"http://example.org/{number}")


@pytest.fixture
def store(tmp_path):
    store = Store.open(tmp_path / "store")
    store.apply(added=[Quad(subject(i), P, Literal(i)) for i in range(2000)])
    return store


@pytest.fixture
def workers(store, tmp_path):
    with QueryWorkers(store, folder=tmp_path / "snapshots", count=2, memory_bytes=512_000_000) as made:
        yield made


def count(workers):
    (row,) = workers.solutions(COUNT, timeout_seconds=10).rows
    assert isinstance(row[0], Literal)
    return int(row[0].value)


def children():
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
        if int(parent[1]) == os.getpid() and parent[0] != "Z" and b"kgplatform.store.worker" in words:
            found.add(int(entry.name))
    return found


def test_rows_come_back_as_the_terms_that_were_stored(store, workers):
    date = NamedNode("http://www.w3.org/2001/XMLSchema#date")
    values = [Literal("西栅", language="zh"), Literal("2024-01-01", datatype=date), Literal(1.5), subject(7)]
    values.append(Literal('quote " and \n line'))
    named = NamedNode("http://example.org/q")
    store.apply(added=[Quad(subject(i), named, value) for i, value in enumerate(values)])
    found = workers.solutions(f"SELECT ?s ?o ?none {{ ?s {named} ?o }} ORDER BY ?s", timeout_seconds=10)
    assert found.variables == ("s", "o", "none")
    assert found.rows == tuple((subject(i), value, None) for i, value in enumerate(values))
    assert workers.solutions("ASK { ?s ?p 5 }", timeout_seconds=10).boolean is True
    assert workers.solutions("ASK { ?s ?p -5 }", timeout_seconds=10).boolean is False
    found = workers.solutions("SELECT ?s { ?s ?p ?o }", timeout_seconds=10, max_rows=1500)
    assert (len(found.rows), found.truncated) == (1500, True)


def test_a_runaway_query_is_stopped_at_its_deadline_and_does_not_hold_up_another(workers):
    count(workers)
    stopped = []

    def run():
        with pytest.raises(QueryTimeoutError) as caught:
            workers.solutions(RUNAWAY, timeout_seconds=1.5)
        stopped.append(caught.value.seconds)

    slow = threading.Thread(target=run)
    slow.start()
    time.sleep(0.1)
    assert count(workers) == 2000
    assert stopped == []
    slow.join()
    assert stopped == [1.5]
    assert count(workers) == 2000


def test_a_query_finds_no_free_worker_and_says_so(store, tmp_path):
    with QueryWorkers(store, folder=tmp_path / "snapshots", count=1) as workers:
        held = workers.stream("SELECT * { ?s ?p ?o }", media_type="text/csv", timeout_seconds=10)
        with pytest.raises(WorkersBusyError):
            workers.solutions(COUNT, timeout_seconds=0.1)
        held.close()
        assert count(workers) == 2000


def test_a_query_that_takes_too_much_memory_ends_only_its_worker(workers):
    with pytest.raises(QueryRejectedError, match="more than 512 MB"):
        workers.solutions(GREEDY, timeout_seconds=60)
    assert count(workers) == 2000


def test_unsafe_text_is_refused(workers):
    for text, reason in (
        ("SELECT * { SERVICE <http://127.0.0.1:1/> { ?s ?p ?o } }", "SERVICE"),
        ("SELECT * { " + "{" * 5000 + "}" * 5000 + " }", "nests"),
        ("ASK { FILTER(" + "(" * 5000 + "1" + ")" * 5000 + ") }", "nests"),
        ("INSERT DATA { <http://a> <http://b> 1 }", "update"),
        ("CONSTRUCT WHERE { ?s ?p ?o }", "graph"),
        ("ASK { FILTER(" + "!" * 150_000 + "true) }", None),
    ):
        with pytest.raises(QueryRejectedError, match=reason):
            workers.solutions(text, timeout_seconds=20)
    assert count(workers) == 2000
    with pytest.raises(QuerySyntaxError) as caught:
        workers.solutions("SELECT *\nWHERE { ?s ?p }", timeout_seconds=10)
    assert caught.value.line == 2


def test_a_query_whose_worker_dies_is_one_line_and_the_next_one_runs(workers):
    count(workers)

    def kill_soon():
        time.sleep(0.3)
        for pid in children():
            os.kill(pid, signal.SIGSEGV)

    killer = threading.Thread(target=kill_soon)
    killer.start()
    with pytest.raises(QueryRejectedError, match=r"ended the worker that ran it \(signal 11\)") as caught:
        workers.solutions(RUNAWAY, timeout_seconds=60)
    killer.join()
    assert "\n" not in str(caught.value)
    assert count(workers) == 2000
    for pid in children():
        os.kill(pid, signal.SIGKILL)
    time.sleep(0.05)
    assert count(workers) == 2000


def test_the_worker_has_no_network_where_the_kernel_allows():
    probe = (
        "import socket, sys\nfrom kgplatform.store.worker import leave_network\n"
        "if not leave_network(): sys.exit(77)\n"
        "s = socket.socket(); s.settimeout(2)\n"
        "try: s.connect(('127.0.0.1', 9))\n"
        "except OSError as error: print(error.errno)\n"
    )
    run = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False, cwd=ROOT)
    if run.returncode == 77:
        pytest.skip("this kernel does not let a process leave the network")
    assert run.stdout.strip() == "101"  # ENETUNREACH, not a refused connection


def test_a_commit_is_seen_by_the_next_query_which_does_not_wait_for_a_writer(store, workers, tmp_path):
    for extra in range(3):
        assert count(workers) == 2000 + extra
        store.apply(added=[Quad(subject(5000 + extra), P, Literal("x"))])
    assert count(workers) == 2003
    assert len(list((tmp_path / "snapshots").iterdir())) == 1
    store.apply(added=[Quad(subject(9000), P, Literal("x"))])
    release, held = threading.Event(), threading.Event()

    def write():
        with store.write_lock():
            held.set()
            release.wait(60)

    writer = threading.Thread(target=write)
    writer.start()
    held.wait()
    assert count(workers) == 2003  # the state before the write that goes on
    release.set()
    writer.join()
    assert count(workers) == 2004


def test_what_a_crash_left_is_removed_and_close_leaves_nothing(store, tmp_path):
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


def test_a_worker_ends_with_its_owner_in_the_middle_of_a_query(store, tmp_path):
    store.snapshot(tmp_path / "snap")
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-m", "kgplatform.store.worker", str(tmp_path / "snap"), str(1 << 30)]
    with theirs:
        child = subprocess.Popen(command, stdin=theirs.fileno(), stdout=subprocess.DEVNULL, cwd=ROOT)
    with ours:
        ours.sendall(json.dumps({}).encode() + b"\n")
        ours.sendall(wire.encode_request(wire.Request(RUNAWAY), str(tmp_path / "snap")))
        time.sleep(0.5)
    assert child.wait(timeout=30) == 0


def test_a_stream_is_the_stores_own_serialisation_and_raises_where_it_is_cut(workers):
    def stream(text, kind="text/csv", seconds=30):
        return workers.stream(text, media_type=kind, timeout_seconds=seconds)

    assert b"".join(stream("SELECT ?o { ?s ?p ?o } ORDER BY ?o LIMIT 2")) == b"o\r\n0\r\n1\r\n"
    graph = b"".join(stream("CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }", "application/n-triples"))
    assert graph.count(b"\n") == 2000
    with pytest.raises(QuerySyntaxError):  # before the first byte
        stream("SELECT * {")
    with pytest.raises(QueryRejectedError, match="cannot be written"):
        stream("SELECT * { ?s ?p ?o }", "text/turtle")
    with pytest.raises(QueryTimeoutError):
        stream(RUNAWAY, seconds=0.3)
    count(workers)
    pieces = stream("SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }", seconds=1.5)
    with pytest.raises(QueryTimeoutError):  # not an end
        for _ in pieces:
            pass
    for _ in range(4):  # nobody reads on
        pieces = stream("SELECT * { ?a ?b ?c . ?d ?e ?f }")
        assert next(iter(pieces)).startswith(b"a,b,c")
        pieces.close()
    assert count(workers) == 2000


def test_a_dataset_given_with_the_request_takes_the_place_of_the_querys(store, workers):
    graph = NamedNode("http://example.org/graph")
    store.apply(added=[Quad(subject(1), P, Literal("named"), graph)])
    query = "SELECT ?o FROM <http://example.org/other> { ?s ?p ?o }"
    assert workers.solutions(query, timeout_seconds=10).rows == ()
    found = workers.solutions(query, timeout_seconds=10, default_graphs=[graph.value])
    assert found.rows == ((Literal("named"),),)
    none = workers.solutions("ASK { GRAPH ?g { ?s ?p ?o } }", timeout_seconds=10, default_graphs=[graph.value])
    assert none.boolean is False


def test_a_store_in_memory_is_asked_in_process():
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
def test_rows_survive_the_wire(rows):
    assert wire.decode_rows(wire.encode_rows(rows)) == rows


def test_look_ups_are_quick_and_what_may_take_long_is_not():
    quick = ("ASK {}", "ASK { ?s ?p ?o }", "PREFIX e: <urn:e:> ASK WHERE { ?s e:名 'x' . }")
    quick += ("SELECT * { <urn:a> ?p ?o }", "SELECT ?s WHERE { ?s a <urn:t> } LIMIT 10")
    assert [query for query in quick if not is_quick(query)] == []
    slow = (
        *("SELECT * { ?s ?p ?o }", "SELECT * { ?s ?p ?o } LIMIT 1000000", "SELECT * { ?s ?p ?o } ORDER BY ?s LIMIT 1"),
        *("SELECT DISTINCT ?s { ?s ?p ?o } LIMIT 1", "SELECT (COUNT(*) AS ?n) { <urn:a> ?p ?o }", "ASK { ?s ?p ?s }"),
        *("ASK { ?s <urn:p>+ ?o }", "ASK { ?s ?p ?o . ?o ?q ?r }", "ASK { ?s ?p ?o FILTER(?o = 1) }", "ASK { ?s ?p"),
        *("ASK { { SELECT * { ?s ?p ?o } } }", "ASK { ?s ?p ?o } HAVING (1)", "ASK FROM <urn:g> { ?s ?p ?o }"),
        *("CONSTRUCT WHERE { <urn:a> ?p ?o }", ""),
    )
    assert [query for query in slow if is_quick(query)] == []


def test_a_look_up_is_answered_while_all_workers_are_taken(store, tmp_path):
    ended = []

    def run_away(workers):
        with pytest.raises(QueryError) as caught:
            workers.solutions(RUNAWAY, timeout_seconds=4)
        ended.append(type(caught.value).__name__)

    with QueryWorkers(store, folder=tmp_path / "workers", count=1, memory_bytes=1 << 30) as workers:
        workers.solutions("ASK {}", timeout_seconds=20)
        threads = [threading.Thread(target=run_away, args=(workers,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        found = workers.solutions("SELECT ?o { <http://example.org/7> ?p ?o }", timeout_seconds=20)
        assert found.rows == ((Literal(7),),)
        assert workers.solutions("ASK { <http://example.org/7> ?p ?o }", timeout_seconds=20).boolean
        assert len(ended) < 2
        with pytest.raises(WorkersBusyError):
            workers.solutions("SELECT ?s ?o { ?s ?p ?o . ?o ?q ?r }", timeout_seconds=0.2)
        for thread in threads:
            thread.join()
    assert len(ended) == 2
