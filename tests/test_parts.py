"""Parts of the store written out: in order, whole or not at all, by a worker that can be killed."""

import io
from itertools import pairwise

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, RdfFormat

from kgplatform.errors import QueryTimeoutError, StoreError
from kgplatform.store import oxigraph as streams
from kgplatform.store.oxigraph import Store, in_order
from kgplatform.store.wire import Counted, Request, Task, write_out
from kgplatform.store.worker_pool import QueryWorkers, WorkersBusyError
from kgplatform.vocab import TYPE

P, G, CLASS = NamedNode("urn:p"), NamedNode("urn:g"), NamedNode("urn:Class")
NQUADS, TURTLE = "application/n-quads", "text/turtle"
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=4)
OBJECTS = st.one_of(
    st.builds(Literal, TEXTS),
    st.builds(lambda text: Literal(text, language="en"), TEXTS),
    st.integers(-20, 20).map(Literal),
    st.integers(0, 12).map(lambda n: BlankNode(f"b{n}")),
    st.integers(0, 12).map(lambda n: NamedNode(f"urn:{n}")),
)
QUADS = st.lists(
    st.builds(
        Quad,
        st.integers(0, 5).map(lambda n: NamedNode(f"urn:{n}")),
        st.just(P),
        OBJECTS,
        st.sampled_from([DefaultGraph(), G]),
    ),
    max_size=30,
)


def part(media_type=NQUADS, **fields):
    return Request(fields.pop("text", ""), media_type=media_type, task=Task.PART, **fields)


def written(store, request):
    output, told = io.BytesIO(), list[Counted]()
    write_out(store, request, output, told.append)
    return output.getvalue(), told[0]


@given(lines=st.lists(st.integers(0, 30)), at_once=st.integers(1, 7))
def test_lines_are_sorted_by_parts_and_each_comes_once(lines, at_once):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "_SORTED_AT_ONCE", at_once)
        found = list(in_order(b"%03d\n" % line for line in lines))
    assert found == [b"%03d\n" % line for line in sorted(set(lines))]


@given(quads=QUADS)
def test_the_order_is_that_of_the_lines_and_all_is_there(quads):
    store = Store.open()
    store._store.extend(quads)
    held = set(store.quads())
    data, counted = written(store, part())
    lines = data.splitlines(keepends=True) if b"\r" not in data else data.split(b"\n")
    assert set(ox.parse(data, format=RdfFormat.N_QUADS)) == held
    assert data == written(store, part())[0]
    assert counted == Counted(len({quad.triple for quad in held}), len({quad.subject for quad in held}))
    triples, _ = written(store, part("application/n-triples", as_triples=True))
    assert {quad.triple for quad in ox.parse(triples, format=RdfFormat.N_TRIPLES)} == {quad.triple for quad in held}
    canonical, _ = written(store, part(is_canonical=True))
    if b"\x0b" not in canonical and b"\r" not in canonical:
        rows = canonical.split(b"\n")[:-1]
        assert all(one < other for one, other in pairwise(rows))
    assert len(lines) >= len(held)


def test_a_part_is_a_graph_or_what_is_said_of_the_things_of_a_class():
    store = Store.open()
    things = [NamedNode(f"urn:thing{number}") for number in range(3)]
    store.apply(added=[Quad(thing, TYPE, CLASS) for thing in things[:2]])
    store.apply(
        added=[
            Quad(thing, P, Literal(place), graph) for place, thing in enumerate(things) for graph in (DefaultGraph(), G)
        ]
    )
    data, counted = written(store, part(TURTLE, text=CLASS.value, as_triples=True))
    assert {quad.subject for quad in ox.parse(data, format=RdfFormat.TURTLE)} == set(things[:2])
    assert counted == Counted(4, 2)
    assert written(store, part(default_graphs=(G.value,)))[1] == Counted(3, 3)
    assert written(store, part("application/n-triples", default_graphs=("",), as_triples=True))[1] == Counted(5, 3)
    assert written(store, part(default_graphs=("urn:nowhere",))) == (b"", Counted(0, 0))


@pytest.fixture
def workers(tmp_path):
    store = Store.open(tmp_path / "store")
    store.apply(added=[Quad(NamedNode(f"urn:{n}"), P, Literal(n)) for n in range(30_000)])
    with QueryWorkers(store, folder=tmp_path / "workers", count=1) as made:
        yield made


def test_one_part_at_a_time_is_written_out_and_queries_go_on(workers):
    counted, reply = workers.part(part(), timeout_seconds=60)
    with pytest.raises(WorkersBusyError, match="another part"):
        workers.part(part(), timeout_seconds=60)
    assert workers.solutions("ASK {}", timeout_seconds=30).boolean
    assert (b"".join(reply), counted) == written(workers._store, part())  # as the process itself would
    assert counted == Counted(30_000, 30_000)


def test_what_takes_too_long_or_has_no_form_is_an_error_and_the_next_one_runs(workers):
    with pytest.raises(QueryTimeoutError):
        workers.part(part(), timeout_seconds=0.01)
    triple_term = "INSERT DATA { <urn:a> <urn:says> <<( <urn:a> <urn:p> 1 )>> }"
    workers._store.update(triple_term)
    _, reply = workers.part(part("application/ld+json"), timeout_seconds=60)
    with pytest.raises(StoreError, match="cannot be written"):
        b"".join(reply)
    counted, reply = workers.part(part(), timeout_seconds=60)
    reply.close()
    assert counted.triples == 30_001
