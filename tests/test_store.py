"""The store: terms survive, writes are whole or nothing, bad text is refused in one line, threads lose nothing."""

import json
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Triple

from kgplatform.errors import QueryRejectedError, QuerySyntaxError, StoreError, WorkspaceError
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store, checked_iri, literal, parse, skolemised, streamed
from kgplatform.vocab import XSD

S, P, G = (NamedNode(f"https://example.org/{name}") for name in "spg")
HOSTILE = (
    '"} ; DROP ALL',
    "line\nbreak\r\ttab",
    'a "quoted" \\ \\n \\u0041',
    "乌镇 西栅 🏮",
    "'''}} # comment",
    "\x01\x7f\u2028",
    "",
)


@pytest.fixture
def store():
    return Store.open()


def facts(count, name="s"):
    return [Quad(NamedNode(f"https://example.org/{name}{i}"), P, Literal(i), DEFAULT_GRAPH) for i in range(count)]


@pytest.mark.parametrize("graph", [DEFAULT_GRAPH, G])
def test_any_term_survives_being_written_and_removed(store, graph):
    kept, iri = Quad(S, P, Literal("kept"), DEFAULT_GRAPH), NamedNode("https://example.org/entity/西栅-1a2b3c4d")
    typed = [Literal(text, datatype=NamedNode("https://example.org/t")) for text in HOSTILE]
    terms = [*map(Literal, HOSTILE), *(Literal(text, language="zh") for text in HOSTILE), *typed]
    quads = [*(Quad(S, P, term, graph) for term in terms), Quad(iri, P, Triple(S, P, Literal('"} ; DROP ALL')), iri)]
    store.apply(added=[kept])
    store.apply(removed=[Quad(S, P, Literal("not there"), G)], added=quads)
    assert set(store.quads()) == {kept, *quads}
    store.apply(removed=quads)
    assert set(store.quads()) == {kept}


def test_a_write_that_fails_changes_nothing_and_the_version_counts_those_that_do_not(store):
    store.apply()
    store.query("ASK {}")
    assert store.version == 0
    store.apply(added=facts(2))
    blank = Quad(BlankNode("b"), P, S, DEFAULT_GRAPH)
    with pytest.raises(StoreError, match="the dataset was not changed"):
        store.apply(removed=[*facts(2), blank], added=facts(5, "new"))
    with pytest.raises(QueryRejectedError):
        store.update("DELETE WHERE { ?s ?p ?o } ; CREATE GRAPH <urn:g> ; CREATE GRAPH <urn:g>")
    for many in (False, True):
        with pytest.raises(StoreError, match="was not changed"):
            store.add([b"<urn:a> <urn:p> <urn:b> .\n", b"<urn:a> <urn:p"], many=many)
    assert set(store.quads()) == set(facts(2))
    assert store.version == 1
    store.update("DROP ALL")
    assert store.version == 2
    store.apply(added=facts(20_001))  # the bulk way
    assert len(store) == 20_001
    assert store.query("SELECT (SUM(?o) AS ?sum) { ?s ?p ?o }").rows == ((Literal(200_010_000),),)


def test_two_threads_that_read_and_write_lose_nothing(store):
    store.apply(added=[Quad(S, P, Literal(0), DEFAULT_GRAPH)])

    def count():
        for _ in range(50):
            with store.write_lock():
                (old,) = store.quads(S, P)
                new = Quad(S, P, Literal(int(old.object.value) + 1), DEFAULT_GRAPH)
                store.apply(removed=[old], added=[new])
            store.update("DELETE { ?s ?p ?n } INSERT { ?s ?p ?m } WHERE { ?s ?p ?n BIND(?n + 1 AS ?m) }")

    threads = [threading.Thread(target=count) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.objects(S, P) == [Literal(200)]


def test_a_folder_that_another_process_has_open_is_named(tmp_path):
    Store.open(tmp_path / "store").apply(added=facts(1))
    code = (
        "import sys\nfrom pathlib import Path\nfrom kgplatform.store.oxigraph import Store\n"
        "store = Store.open(Path(sys.argv[1]))\nprint('open', flush=True)\nsys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "store")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        with pytest.raises(WorkspaceError) as caught:
            Store.open(tmp_path / "store")
        other.communicate("")
    assert str(caught.value).startswith(f"{tmp_path}: the workspace is open in another process; stop that one")
    assert len(Store.open(tmp_path / "store")) == 1


def test_a_closed_store_can_be_opened_again_and_a_snapshot_stays_as_it_was(store, tmp_path):
    first = Store.open(tmp_path / "store")
    first.apply(added=facts(3))
    first.snapshot(tmp_path / "copy")
    first.apply(added=facts(5, "later"))
    assert set(Store.open_snapshot(tmp_path / "copy").quads()) == set(facts(3))
    with pytest.raises(StoreError, match="no snapshot in"):
        first.snapshot(tmp_path / "copy")
    first.flush()
    first.close()
    assert len(Store.open(tmp_path / "store")) == 8
    with pytest.raises(StoreError):  # in memory
        store.snapshot(tmp_path / "other")
    (tmp_path / "file").write_text("no store")
    with pytest.raises(WorkspaceError, match="no dataset can be opened here") as caught:
        Store.open(tmp_path / "file")
    assert "\n" not in str(caught.value)


def test_a_syntax_error_names_its_place_in_one_short_line(store):
    for text, line, column in (
        ("SELECT * WHERE {\n  ?s ?p ?o . ?s\n}", 3, 2),  # as the parser counts: behind what it did not expect
        ("SELECT ?x WHERE { ?s unknown:p ?x }", 1, 22),
        ("SELEC * { ?s ?p ?o }", 1, 1),
    ):
        with pytest.raises(QuerySyntaxError) as caught:
            store.query(text)
        assert (caught.value.line, caught.value.column) == (line, column)
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 240
        assert "unknown" not in text or "line 1, column 22: the prefix unknown: is not declared" in str(caught.value)
    with pytest.raises(QuerySyntaxError):
        store.update("INSERT DATA { <urn:a> <urn:b> }")
    with pytest.raises(QueryRejectedError, match="not supported"):
        store.query("SELECT (<urn:f>(1) AS ?x) {}")


def test_rows_have_the_columns_and_terms_that_the_query_names(store):
    first = NamedNode("https://example.org/s0")
    store.apply(added=facts(1))
    found = store.query("SELECT * { ?z ?p ?a } # ?a")
    assert (found.variables, found.rows) == (("z", "p", "a"), ((first, P, Literal(0)),))
    found = store.query("SELECT (COUNT(?s) AS ?n) ?p { ?s ?p ?o } GROUP BY ?p")
    assert (found.variables, found.rows) == (("n", "p"), ((Literal(1), P),))
    assert store.query("SELECT ?o ?s { ?s ?p ?o }").variables == ("o", "s")
    assert store.query("SELECT ?x ?o { ?s ?p ?o OPTIONAL { ?o ?p ?x } }").rows == ((None, Literal(0)),)
    assert [store.query(f"ASK {{ ?s ?p {number} }}").boolean for number in (0, 1)] == [True, False]
    store.apply(added=[*facts(5, "more"), Quad(S, P, Literal(HOSTILE[0]), DEFAULT_GRAPH)])
    found = store.query("SELECT ?s { ?s ?p ?o }", max_rows=3)
    assert (len(found.rows), found.truncated) == (3, True)
    assert not store.query("SELECT ?s { ?s ?p ?o }", max_rows=7).truncated
    found = store.query("SELECT ?s ?o { ?s ?p ?o }", bindings={"o": Literal(HOSTILE[0])})  # terms, not text
    assert found.rows == ((S, Literal(HOSTILE[0])),)


def test_results_come_in_the_formats_of_sparql(store):
    store.apply(added=[Quad(S, P, Literal("乌镇", language="zh"), DEFAULT_GRAPH)])
    text = "SELECT ?o { ?s ?p ?o }"
    bindings = json.loads(store.results(text, "json"))["results"]["bindings"]
    assert bindings == [{"o": {"type": "literal", "value": "乌镇", "xml:lang": "zh"}}]
    assert store.results(text, "csv").decode() == "o\r\n乌镇\r\n"
    assert store.results(text, "tsv").decode() == '?o\n"乌镇"@zh\n'
    assert b"<sparql" in store.results(text, "xml")
    assert json.loads(store.results("ASK { ?s ?p ?o }", "json"))["boolean"] is True


def test_reading_and_updating_refuse_what_is_for_the_other_and_other_servers(store):
    store.apply(added=facts(1))
    with pytest.raises(QueryRejectedError, match="use SELECT or ASK here"):
        store.query("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }")
    with pytest.raises(QueryRejectedError, match="use CONSTRUCT or DESCRIBE here"):
        store.construct("SELECT * { ?s ?p ?o }")
    with pytest.raises(QueryRejectedError):
        store.results("DESCRIBE <urn:x>", "json")
    service = "SELECT * { SERVICE <http://127.0.0.1/> {} }"
    for text in ("INSERT DATA { <urn:a> <urn:b> <urn:c> }", "DROP ALL", service):
        for read in (store.query, store.construct, lambda query: store.results(query, "json")):
            with pytest.raises(QueryRejectedError):
                read(text)
    for text in (
        *("SELECT * { ?s ?p ?o }", "LOAD <http://127.0.0.1/x.ttl>", "DELETE WHERE " + "{" * 5000),
        "INSERT DATA { <urn:a> <urn:b> <urn:c> } ; LOAD <http://127.0.0.1/x.ttl>",
        "INSERT { ?s ?p ?o } WHERE { SERVICE <http://127.0.0.1/> { ?s ?p ?o } }",
    ):
        with pytest.raises(QueryRejectedError):
            store.update(text)
    assert len(store) == 1


def test_a_nested_bomb_does_not_end_the_process():
    code = """
from kgplatform.errors import QueryRejectedError
from kgplatform.store.oxigraph import Store
store = Store.open()
hidden = "{ ?s ex:a\\\\' ?o " + "{" * 5000
for bomb in ("{" * 5000, hidden, "{ FILTER(" + "(" * 5000, "{" + "OPTIONAL{?s ?p ?o}" * 9999):
    for run in (store.query, store.construct, store.update):
        try:
            run("SELECT * " + bomb if run != store.update else "DELETE {} WHERE " + bomb)
        except QueryRejectedError:
            print("refused")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.count("refused")) == (0, 12), done.stderr


def test_text_that_does_not_parse_names_its_source():
    for data, format_, reason in (
        (b"<urn:a> <urn:b>\n  <urn:c", RdfFormat.TURTLE, "line 2"),
        *((b"{", RdfFormat.JSON_LD, ""), (b"<rdf:RDF>", RdfFormat.RDF_XML, ""), (b"\xff\xfe", RdfFormat.N_TRIPLES, "")),
        (b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]><rdf:RDF/>', RdfFormat.RDF_XML, "DOCTYPE"),
    ):
        with pytest.raises(StoreError, match=f"^notes: .*{reason}") as caught:
            parse(data, format_, source="notes")
        assert "\n" not in str(caught.value)


def test_deeply_nested_triple_terms_are_refused_and_shallow_ones_read():
    def nested(depth):
        return b"<urn:s> <urn:p> " + b"<<( <urn:s> <urn:p> " * depth + b'"x"' + b" )>>" * depth + b" ."

    with pytest.raises(StoreError, match="nest more than 100 deep"):
        parse(nested(100_000), RdfFormat.TURTLE)
    assert len(parse(nested(50), RdfFormat.N_TRIPLES)) == 1
    harmless = b'<urn:s> <urn:p> "' + b"<<" * 500 + b'" .'
    assert len(parse(harmless, RdfFormat.TURTLE)) == 1


def test_terms_are_made_sound():
    blank = BlankNode("x")
    (triple,) = skolemised([Triple(blank, P, Triple(S, P, blank))], "urn:node:")
    assert triple == Triple(NamedNode("urn:node:x"), P, Triple(S, P, NamedNode("urn:node:x")))
    assert literal("x", language="not a tag") == Literal("x")
    assert literal("x", language="zh") == Literal("x", language="zh")
    assert literal("1", NamedNode(f"{XSD}integer")) == Literal(1)
    assert checked_iri(" <https://example.org/西栅> ") == NamedNode("https://example.org/西栅")
    with pytest.raises(Exception, match="'hotels' is not an absolute IRI"):
        checked_iri("hotels")


@given(parts=st.lists(st.binary(max_size=40)), size=st.integers(1, 50))
def test_a_streamed_file_reads_as_its_parts_in_a_row(parts, size):
    file = streamed(parts)
    assert b"".join(iter(lambda: file.read(size), b"")) == b"".join(parts)
