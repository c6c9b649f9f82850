"""The rdflib store "kgplatform": what rdflib expects of a store, on a workspace and on an endpoint."""

from importlib.metadata import entry_points

import pytest
import rdflib
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from interfaces import served
from rdflib import RDF, XSD, BNode, Literal, URIRef
from serving import free_port
from workspaces import new_workspace

from kgplatform.errors import QueryError, StoreError, WorkspaceError, WorkspaceHeldError
from kgplatform.graph import KnowledgeGraph
from kgplatform.interop.rdflib_store import KnowledgeGraphStore
from kgplatform.server.access import Token

EX = rdflib.Namespace("http://example.org/")
TRAVEL = rdflib.Namespace("https://w3id.org/kgplatform/travel#")
GEO = rdflib.Namespace("https://w3id.org/kgplatform/geo#")
SECRET, LINE = Token.make("rdflib", "write")

pytestmark = pytest.mark.filterwarnings("ignore:Dataset.default_context is deprecated:DeprecationWarning")


@pytest.fixture(scope="module")
def endpoint(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served") / "w"
    with served(folder, settings=f'[server]\ntokens = ["{LINE}"]') as address:
        yield f"{address}/sparql"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return new_workspace(tmp_path_factory.mktemp("rdflib") / "w")


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    with KnowledgeGraph(new_workspace(tmp_path_factory.mktemp("held") / "w")) as kg:
        yield kg


@pytest.fixture(params=["workspace", "endpoint"])
def store(request):
    """An open store in whose graphs nothing is said of `EX`; whatever the test says is taken out again."""
    is_local = request.param == "workspace"
    opened = str(request.getfixturevalue("folder")) if is_local else (request.getfixturevalue("endpoint"), SECRET)
    made = KnowledgeGraphStore(opened)
    yield made
    made.remove((None, EX.p, None))
    for graph in list(made.contexts()):
        if graph.identifier.startswith(EX):
            made.remove_graph(graph)
    assert not list(made.triples((None, EX.p, None)))
    made.close()


def test_rdflib_finds_the_store_by_its_name_and_opens_a_folder(folder):
    assert any(point.name == "kgplatform" for point in entry_points(group="rdf.plugins.store"))
    graph = rdflib.Graph(store="kgplatform")
    assert graph.open(str(folder)) == rdflib.store.VALID_STORE
    assert (TRAVEL.Hotel, RDF.type, rdflib.OWL.Class) in graph
    assert ("travel", URIRef(TRAVEL)) in list(graph.namespaces())
    graph.close()


def test_what_is_added_is_found_by_every_pattern_and_removed(store):
    graph = rdflib.Graph(store)
    values = [
        Literal('乌镇 "水乡"\n<b>\'', lang="zh"),
        Literal("plain"),
        Literal(7),
        Literal("2026-01-31", datatype=XSD.date),
        Literal("not a number", datatype=XSD.integer),
        EX.b,
        BNode(),
    ]
    before = len(graph)
    for value in values:
        graph.add((EX.a, EX.p, value))
    assert len(graph) == before + len(values)
    assert set(graph.objects(EX.a, EX.p)) == set(values)
    for value in values:
        assert (EX.a, EX.p, value) in graph
        for pattern in ((None, None, value), (EX.a, None, value), (None, EX.p, value)):
            assert (EX.a, EX.p, value) in set(graph.triples(pattern))
    assert set(graph.subjects(EX.p)) == {EX.a}
    graph.set((EX.a, EX.p, Literal("only")))
    assert list(graph.objects(EX.a, EX.p)) == [Literal("only")]
    graph.remove((EX.a, None, None))
    assert not list(graph.triples((EX.a, None, None)))
    assert len(graph) == before


def test_blank_nodes_can_be_looked_up_again_and_removed(store):
    graph, node = rdflib.Graph(store), BNode("a b/ü")
    graph.add((EX.a, EX.p, node)).add((node, EX.p, Literal(1)))
    assert graph.value(EX.a, EX.p) == node
    assert graph.value(node, EX.p) == Literal(1)
    assert [row.n for row in graph.query("SELECT ?n { ?x ex:p ?n }", initNs={"ex": EX}, initBindings={"x": node})] == [
        Literal(1)
    ]
    graph.remove((node, None, None))
    assert graph.value(node, EX.p) is None


def test_graphs_are_kept_apart_and_listed(store):
    data = rdflib.Dataset(store)
    one, two = data.graph(EX.one), data.graph(EX.two)
    one.add((EX.a, EX.p, Literal(1)))
    two.add((EX.a, EX.p, Literal(1))).add((EX.b, EX.p, Literal(2)))
    assert (len(one), len(two)) == (1, 2)
    assert (EX.a, EX.p, Literal(1)) not in data.default_graph
    assert {graph.identifier for graph in data.graphs((EX.a, EX.p, None))} >= {EX.one, EX.two}
    assert {EX.one, EX.two} <= {graph.identifier for graph in data.graphs()}
    assert set(data.quads((None, EX.p, None, None))) == {
        (EX.a, EX.p, Literal(1), EX.one),
        (EX.a, EX.p, Literal(1), EX.two),
        (EX.b, EX.p, Literal(2), EX.two),
    }
    assert list(data.quads((EX.a, EX.p, None, EX.one))) == [(EX.a, EX.p, Literal(1), EX.one)]
    assert len(list(store.triples((None, EX.p, None)))) == 2  # each once
    data.remove_graph(two)
    assert list(data.quads((None, EX.p, None, None))) == [(EX.a, EX.p, Literal(1), EX.one)]
    data.remove((EX.a, EX.p, None))  # from all graphs
    assert not list(data.quads((None, EX.p, None, None)))


def test_queries_and_updates_run_where_the_statements_are(store):
    graph, named = rdflib.Graph(store), rdflib.Graph(store, EX.g)
    graph.update("INSERT DATA { ex:a ex:p 1, 2 }", initNs={"ex": EX})
    named.update("INSERT { ex:b ex:p 3 } WHERE {}", initNs={"ex": EX})
    store.triples = None  # rdflib's own evaluation would ask for these
    rows = graph.query("SELECT ?n ?none { ?s ex:p ?n } ORDER BY ?n", initNs={"ex": EX})
    assert [(row.n, row.none) for row in rows] == [(Literal(1), None), (Literal(2), None)]
    assert [str(name) for name in rows.vars] == ["n", "none"]
    assert [row.n for row in named.query("SELECT ?n { ?s ex:p ?n }", initNs={"ex": EX})] == [Literal(3)]
    assert graph.query("ASK { ex:a ex:p 2 }", initNs={"ex": EX}).askAnswer is True
    made = graph.query("CONSTRUCT { ?s ex:q ?n } WHERE { ?s ex:p ?n }", initNs={"ex": EX}).graph
    assert set(made) == {(EX.a, EX.q, Literal(1)), (EX.a, EX.q, Literal(2))}
    assert graph.query("SELECT ?c { ?c a owl:Class } LIMIT 1")  # a prefix of the workspace
    del store.triples
    with pytest.raises(QueryError):
        graph.query("SELECT ?n {")
    with pytest.raises(QueryError):
        graph.query("INSERT DATA { <urn:a> <urn:b> 1 }")
    with pytest.raises((QueryError, StoreError)):
        graph.update("LOAD <http://127.0.0.1/secrets>")


def test_what_rdflib_evaluates_itself_works_on_the_statements(store):
    graph = rdflib.Graph(store)
    graph.add((EX.a, EX.p, EX.b)).add((EX.b, EX.p, EX.c))
    prepared = rdflib.plugins.sparql.prepareQuery("SELECT ?x { ?s ex:p ?x }", initNs={"ex": EX})
    assert {row.x for row in graph.query(prepared, initBindings={"s": EX.a})} == {EX.b}
    assert set(graph.objects(EX.a, EX.p * rdflib.paths.OneOrMore)) == {EX.b, EX.c}
    graph.update("DELETE { ?s ex:p ?o } WHERE { ?s ex:p ?o }", initNs={"ex": EX}, initBindings={"s": EX.a})
    assert set(graph.subject_objects(EX.p)) == {(EX.b, EX.c)}
    text = graph.query("DESCRIBE ex:b", initNs={"ex": EX}).graph.serialize(format="turtle")
    assert set(rdflib.Graph().parse(data=text, format="turtle").objects(EX.b, EX.p)) == {EX.c}


def test_files_are_parsed_into_a_graph(store):
    graph = rdflib.Graph(store, EX.file)
    graph.parse(data="@prefix ex: <http://example.org/> . ex:a ex:p [ ex:p 1 ], ( 1 2 ) .", format="turtle")
    wanted = rdflib.Graph().parse(data=graph.serialize(format="nt"), format="nt")
    assert len(graph) == len(wanted) == 7
    assert wanted.isomorphic(graph)


def test_namespaces_are_bound_for_the_session(store):
    store.bind("ex", URIRef(EX))
    assert (store.namespace("ex"), store.prefix(URIRef(EX))) == (URIRef(EX), "ex")
    store.bind("ex", EX.other, override=False)
    assert store.namespace("ex") == URIRef(EX)
    store.bind("x", URIRef(EX))
    assert (store.namespace("ex"), store.prefix(URIRef(EX))) == (None, "x")
    assert store.namespace("travel") == URIRef(TRAVEL)


TERMS = st.sampled_from([EX.a, EX.b, EX.c])
OBJECTS = st.one_of(
    TERMS, st.integers(0, 2).map(Literal), st.text(st.characters(exclude_categories=["Cs"]), max_size=3).map(Literal)
)
STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "remove", "wipe"]), st.sampled_from([EX.one, EX.two]), TERMS, OBJECTS),
    max_size=12,
)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(steps=STEPS)
def test_it_holds_what_rdflibs_own_store_holds(held, steps):
    ours, model = rdflib.Dataset(KnowledgeGraphStore(held)), rdflib.Dataset()
    for data in (ours, model):
        for verb, name, subject, value in steps:
            graph = data.graph(name)
            if verb == "add":
                graph.add((subject, EX.p, value))
            else:
                graph.remove((subject, EX.p, value) if verb == "remove" else (subject, None, None))
    for name in (EX.one, EX.two):
        assert set(ours.graph(name)) == set(model.graph(name))
        assert len(ours.graph(name)) == len(model.graph(name))
        ours.remove_graph(name)


def test_what_is_no_statement_is_refused_and_a_senseless_pattern_finds_nothing(store):
    graph = rdflib.Graph(store)
    bad = [
        (Literal("x"), EX.p, EX.a),
        (EX.a, Literal("x"), EX.a),
        (EX.a, BNode(), EX.a),
        (EX.a, EX.p, rdflib.Variable("x")),
        (URIRef("relative"), EX.p, EX.a),
        (EX.a, EX.p, URIRef("http://example.org/> . <urn:x> <urn:y> <urn:z")),
        (EX.a, EX.p, Literal("x", datatype=URIRef("no iri"))),
    ]
    for triple in bad:
        with pytest.raises(StoreError) as told:
            graph.add(triple)
        assert "\n" not in str(told.value)
    for pattern in bad[:6]:
        assert list(graph.triples(pattern)) == []
    with pytest.raises(StoreError, match="IRI"):
        len(rdflib.Graph(store, "no iri"))
    with pytest.raises(StoreError, match="rolled back"):
        graph.rollback()
    with pytest.raises(StoreError, match="not deleted"):
        graph.destroy("anything")


def test_evidence_is_only_read_and_what_is_removed_though_it_holds_is_rejected(tmp_path):
    with KnowledgeGraph(new_workspace(tmp_path / "w")) as kg:
        (tmp_path / "inn.txt").write_text("Lakeside Inn is a hotel in Wuzhen. It has 24 rooms.", encoding="utf-8")
        list(kg.add(tmp_path / "inn.txt"))
        data = rdflib.Dataset(KnowledgeGraphStore(kg))
        inn = data.value(predicate=TRAVEL.roomCount, object=Literal(24))
        (passage,) = [graph for graph in data.graphs((inn, TRAVEL.roomCount, None)) if "chunk" in graph.identifier]
        passage.add((inn, TRAVEL.roomCount, Literal(99)))
        for act in (data.commit, lambda: passage.remove((inn, TRAVEL.roomCount, Literal(24)))):
            with pytest.raises(StoreError, match="only read"):
                act()
        with pytest.raises(StoreError, match="only read"):
            data.remove_graph(passage)
        data.default_graph.remove((inn, TRAVEL.roomCount, None))
        assert list(data.default_graph.objects(inn, TRAVEL.roomCount)) == []
        assert list(passage.objects(inn, TRAVEL.roomCount)) == [Literal(24)]
        assert not any(kg.dataset.violations())
        data.default_graph.add((inn, TRAVEL.roomCount, Literal(25)))
        data.close()
        assert kg.query("SELECT ?n { ?h travel:roomCount ?n }").values() == [(25,)]  # the workspace stays open


def test_a_missing_folder_a_held_one_and_a_wrong_address_are_told_in_a_line(folder, endpoint, tmp_path):
    def told(error, configuration):
        with pytest.raises(error) as found:
            rdflib.Graph("kgplatform").open(configuration)
        assert "\n" not in str(found.value)
        return str(found.value)

    assert "nowhere" in told(WorkspaceError, str(tmp_path / "nowhere"))
    assert not (tmp_path / "nowhere").exists()
    with KnowledgeGraph(folder):
        told(WorkspaceHeldError, str(folder))
    assert "cannot be reached" in told(StoreError, f"http://127.0.0.1:{free_port()}/sparql")
    assert "404" in told(StoreError, endpoint.replace("/sparql", "/nothing-here"))
    for address in ("http://", "http://[::1/sparql", "http://127.0.0.1:99999999/"):
        assert "address" in told(StoreError, address)
    told(StoreError, (endpoint, "a wrong token"))
    for nothing in ("", 7, ("a", "b", "c")):
        told(StoreError, nothing)


def test_an_endpoint_is_read_without_a_token_and_not_written(endpoint):
    graph = rdflib.Graph("kgplatform")
    graph.open(endpoint)
    assert {int(number) for number in graph.objects(None, TRAVEL.roomCount)} == {24, 80}
    graph.add((EX.a, EX.p, EX.b))
    with pytest.raises(StoreError, match="token"):
        graph.commit()
    graph.close()
    with pytest.raises(StoreError, match="not open"):
        len(graph)


def test_a_closed_store_says_so_and_one_that_is_made_is_kept(tmp_path):
    graph = rdflib.Graph("kgplatform")
    for act in (graph.commit, graph.__len__, lambda: graph.add((EX.a, EX.p, EX.b)), lambda: list(graph)):
        with pytest.raises(StoreError, match="not open"):
            act()
    graph.open(str(tmp_path / "new"), create=True)
    graph.add((EX.a, EX.p, EX.b))
    graph.close()
    with KnowledgeGraph(tmp_path / "new") as kg:
        assert kg.query("ASK { <http://example.org/a> ?p ?o }").boolean
