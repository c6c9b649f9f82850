"""The store: terms survive, writes are whole or nothing, bad text is refused in one line, threads lose nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Triple

from kgplatform.errors import QueryRejectedError, QuerySyntaxError, StoreError, WorkspaceError
from kgplatform.store import DEFAULT_GRAPH, Store, checked_iri, literal, parse, skolemised
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
def store() -> Store:
    return Store.open()


def facts(count: int, name: str = "s") -> list[Quad]:
    return [Quad(NamedNode(f"https://example.org/{name}{i}"), P, Literal(i), DEFAULT_GRAPH) for i in range(count)]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("graph", [DEFAULT_GRAPH, G])
def test_any_literal_survives_being_written_and_removed(store: Store, text: str, graph: NamedNode) -> None:
    kept = Quad(S, P, Literal("kept"), DEFAULT_GRAPH)
    terms = [Literal(text), Literal(text, language="zh"), Literal(text, datatype=NamedNode("https://example.org/t"))]
    quads = [Quad(S, P, term, graph) for term in terms]
    store.apply(added=[kept])
    store.apply(removed=[Quad(S, P, Literal("not there"), G)], added=quads)
    assert set(store.quads()) == {kept, *quads}
    store.apply(removed=quads)
    assert set(store.quads()) == {kept}


def test_iris_with_chinese_letters_and_triple_terms_survive(store: Store) -> None:
    iri = NamedNode("https://example.org/entity/西栅-1a2b3c4d")
    said = Quad(iri, P, Triple(S, P, Literal('"} ; DROP ALL')), iri)
    store.apply(removed=facts(1), added=[said])
    assert list(store.quads(iri)) == [said]
    store.apply(removed=[said])
    assert len(store) == 0


def test_a_write_that_fails_changes_nothing(store: Store) -> None:
    store.apply(added=facts(2))
    version = store.version
    blank = Quad(BlankNode("b"), P, S, DEFAULT_GRAPH)
    with pytest.raises(StoreError, match="the dataset was not changed"):
        store.apply(removed=[*facts(2), blank], added=facts(5, "new"))
    assert set(store.quads()) == set(facts(2))
    assert store.version == version


def test_an_update_that_fails_half_way_changes_nothing(store: Store) -> None:
    store.apply(added=facts(1))
    with pytest.raises(QueryRejectedError):
        store.update("DELETE WHERE { ?s ?p ?o } ; CREATE GRAPH <urn:g> ; CREATE GRAPH <urn:g>")
    assert set(store.quads()) == set(facts(1))


def test_many_quads_go_the_bulk_way_and_are_all_there(store: Store) -> None:
    store.apply(added=facts(20_001))
    assert len(store) == 20_001
    assert store.query("SELECT (SUM(?o) AS ?sum) { ?s ?p ?o }").rows == ((Literal(200_010_000),),)


def test_two_threads_that_read_and_write_lose_nothing(store: Store) -> None:
    store.apply(added=[Quad(S, P, Literal(0), DEFAULT_GRAPH)])

    def count() -> None:
        for _ in range(100):
            with store.write_lock():
                (old,) = store.quads(S, P)
                number = int(old.object.value) + 1  # type: ignore[union-attr]
                store.apply(removed=[old], added=[Quad(S, P, Literal(number), DEFAULT_GRAPH)])
            store.update("DELETE { ?s ?p ?n } INSERT { ?s ?p ?m } WHERE { ?s ?p ?n BIND(?n + 1 AS ?m) }")

    threads = [threading.Thread(target=count) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.objects(S, P) == [Literal(400)]


def test_a_folder_that_another_process_has_open_is_named(tmp_path: Path) -> None:
    Store.open(tmp_path / "store").apply(added=facts(1))
    code = (
        "import sys\nfrom pathlib import Path\nfrom kgplatform.store import Store\n"
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


def test_a_closed_store_can_be_opened_again(tmp_path: Path) -> None:
    first = Store.open(tmp_path / "store")
    first.apply(added=facts(3))
    first.flush()
    first.close()
    assert len(Store.open(tmp_path / "store")) == 3


def test_a_file_in_place_of_the_folder_is_an_error_of_one_line(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("no store")
    with pytest.raises(WorkspaceError, match="no dataset can be opened here") as caught:
        Store.open(tmp_path / "store")
    assert "\n" not in str(caught.value)


def test_a_snapshot_is_a_copy_that_later_writes_do_not_reach(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store")
    store.apply(added=facts(3))
    store.snapshot(tmp_path / "copy")
    store.apply(added=facts(5, "later"))
    assert set(Store.open_snapshot(tmp_path / "copy").quads()) == set(facts(3))
    with pytest.raises(StoreError, match="no snapshot in"):
        store.snapshot(tmp_path / "copy")


def test_a_store_in_memory_has_no_snapshots(store: Store, tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        store.snapshot(tmp_path / "copy")


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("SELECT * WHERE {\n  ?s ?p ?o . ?s\n}", 3, 2),  # as the parser counts: behind what it did not expect
        ("SELECT ?x WHERE { ?s unknown:p ?x }", 1, 22),
        ("SELEC * { ?s ?p ?o }", 1, 1),
    ],
)
def test_a_syntax_error_names_its_place_in_one_short_line(store: Store, text: str, line: int, column: int) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        store.query(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 240


def test_an_undeclared_prefix_is_called_that(store: Store) -> None:
    with pytest.raises(QuerySyntaxError, match="line 1, column 22: the prefix unknown: is not declared"):
        store.query("SELECT ?x WHERE { ?s unknown:p ?x }")


def test_a_syntax_error_in_an_update_is_one_too(store: Store) -> None:
    with pytest.raises(QuerySyntaxError):
        store.update("INSERT DATA { <urn:a> <urn:b> }")


def test_select_all_gives_columns_as_the_query_names_them(store: Store) -> None:
    store.apply(added=facts(1))
    found = store.query("SELECT * { ?z ?p ?a } # ?a")
    assert found.variables == ("z", "p", "a")
    assert found.rows == ((NamedNode("https://example.org/s0"), P, Literal(0)),)


def test_named_columns_come_in_the_order_of_the_select(store: Store) -> None:
    store.apply(added=facts(2))
    found = store.query("SELECT (COUNT(?s) AS ?n) ?p { ?s ?p ?o } GROUP BY ?p")
    assert found.variables == ("n", "p")
    assert found.rows == ((Literal(2), P),)
    assert store.query("SELECT ?o ?s { ?s ?p ?o }").variables == ("o", "s")


def test_rows_beyond_the_limit_are_left_out_and_said_to_be(store: Store) -> None:
    store.apply(added=facts(5))
    found = store.query("SELECT ?s { ?s ?p ?o }", max_rows=3)
    assert (len(found.rows), found.truncated) == (3, True)
    assert not store.query("SELECT ?s { ?s ?p ?o }", max_rows=5).truncated


def test_unbound_variables_are_none_and_ask_is_a_boolean(store: Store) -> None:
    store.apply(added=facts(1))
    assert store.query("SELECT ?x ?o { ?s ?p ?o OPTIONAL { ?o ?p ?x } }").rows == ((None, Literal(0)),)
    assert store.query("ASK { ?s ?p 0 }").boolean is True
    assert store.query("ASK { ?s ?p 1 }").boolean is False


def test_bindings_are_terms_not_text(store: Store) -> None:
    store.apply(added=[Quad(S, P, Literal('"} ; DROP ALL'), DEFAULT_GRAPH)])
    found = store.query("SELECT ?s ?o { ?s ?p ?o }", bindings={"o": Literal('"} ; DROP ALL')})
    assert found.rows == ((S, Literal('"} ; DROP ALL')),)


def test_results_come_in_the_formats_of_sparql(store: Store) -> None:
    store.apply(added=[Quad(S, P, Literal("乌镇", language="zh"), DEFAULT_GRAPH)])
    text = "SELECT ?o { ?s ?p ?o }"
    bindings = json.loads(store.results(text, "json"))["results"]["bindings"]
    assert bindings == [{"o": {"type": "literal", "value": "乌镇", "xml:lang": "zh"}}]
    assert store.results(text, "csv").decode() == "o\r\n乌镇\r\n"
    assert store.results(text, "tsv").decode() == '?o\n"乌镇"@zh\n'
    assert b"<sparql" in store.results(text, "xml")
    assert json.loads(store.results("ASK { ?s ?p ?o }", "json"))["boolean"] is True


def test_a_form_is_refused_where_another_is_wanted(store: Store) -> None:
    with pytest.raises(QueryRejectedError, match="use SELECT or ASK here"):
        store.query("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }")
    with pytest.raises(QueryRejectedError, match="use CONSTRUCT or DESCRIBE here"):
        store.construct("SELECT * { ?s ?p ?o }")
    with pytest.raises(QueryRejectedError):
        store.results("DESCRIBE <urn:x>", "json")


@pytest.mark.parametrize(
    "text", ["INSERT DATA { <urn:a> <urn:b> <urn:c> }", "DROP ALL", "SELECT * { SERVICE <http://127.0.0.1/> {} }"]
)
def test_reading_refuses_updates_and_other_servers(store: Store, text: str) -> None:
    store.apply(added=facts(1))
    for read in (store.query, store.construct, lambda query: store.results(query, "json")):
        with pytest.raises(QueryRejectedError):
            read(text)
    assert len(store) == 1


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { ?s ?p ?o }",
        "LOAD <http://127.0.0.1/x.ttl>",
        "INSERT DATA { <urn:a> <urn:b> <urn:c> } ; LOAD <http://127.0.0.1/x.ttl>",
        "INSERT { ?s ?p ?o } WHERE { SERVICE <http://127.0.0.1/> { ?s ?p ?o } }",
        "DELETE WHERE " + "{" * 5000,
    ],
)
def test_updating_refuses_queries_other_servers_and_bombs(store: Store, text: str) -> None:
    with pytest.raises(QueryRejectedError):
        store.update(text)
    assert len(store) == 0


def test_a_nested_bomb_does_not_end_the_process() -> None:
    code = """
from kgplatform.errors import QueryRejectedError
from kgplatform.store import Store
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


def test_an_unknown_function_is_refused_in_one_line(store: Store) -> None:
    with pytest.raises(QueryRejectedError, match="not supported"):
        store.query("SELECT (<urn:f>(1) AS ?x) {}")


@pytest.mark.parametrize(
    ("data", "format_", "reason"),
    [
        (b"<urn:a> <urn:b>\n  <urn:c", RdfFormat.TURTLE, "line 2"),
        (b"{", RdfFormat.JSON_LD, ""),
        (b"<rdf:RDF>", RdfFormat.RDF_XML, ""),
        (b"\xff\xfe", RdfFormat.N_TRIPLES, ""),
    ],
)
def test_text_that_does_not_parse_names_its_source(data: bytes, format_: RdfFormat, reason: str) -> None:
    with pytest.raises(StoreError, match=f"^notes: .*{reason}") as caught:
        parse(data, format_, source="notes")
    assert "\n" not in str(caught.value)


def test_a_document_type_in_rdf_xml_is_refused() -> None:
    bomb = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaa">]><rdf:RDF/>'
    with pytest.raises(StoreError, match="DOCTYPE"):
        parse(bomb, RdfFormat.RDF_XML)


def test_deeply_nested_triple_terms_are_refused_and_shallow_ones_read() -> None:
    def nested(depth: int) -> bytes:
        return b"<urn:s> <urn:p> " + b"<<( <urn:s> <urn:p> " * depth + b'"x"' + b" )>>" * depth + b" ."

    with pytest.raises(StoreError, match="nest more than 100 deep"):
        parse(nested(100_000), RdfFormat.TURTLE)
    assert len(parse(nested(50), RdfFormat.N_TRIPLES)) == 1
    harmless = b'<urn:s> <urn:p> "' + b"<<" * 500 + b'" .'
    assert len(parse(harmless, RdfFormat.TURTLE)) == 1


def test_skolemised_triples_have_no_blank_nodes() -> None:
    blank = BlankNode("x")
    (triple,) = skolemised([Triple(blank, P, Triple(S, P, blank))], "urn:node:")
    assert triple == Triple(NamedNode("urn:node:x"), P, Triple(S, P, NamedNode("urn:node:x")))


def test_a_language_tag_that_rdf_does_not_allow_is_dropped() -> None:
    assert literal("x", language="not a tag") == Literal("x")
    assert literal("x", language="zh") == Literal("x", language="zh")
    assert literal("1", NamedNode(f"{XSD}integer")) == Literal(1)


def test_an_iri_from_a_person_is_checked() -> None:
    assert checked_iri(" <https://example.org/西栅> ") == NamedNode("https://example.org/西栅")
    with pytest.raises(Exception, match="'hotels' is not an absolute IRI"):
        checked_iri("hotels")


def test_the_version_counts_writes_and_only_those(store: Store) -> None:
    store.apply()
    store.query("ASK {}")
    assert store.version == 0
    store.apply(added=facts(1))
    store.update("DROP ALL")
    assert store.version == 2
