"""SPARQL text: the scan before the parser, updates made to speak of other graphs, casts, named queries."""

import time
from dataclasses import replace

import pyoxigraph
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Quad, QuerySolutions, Variable

from kgplatform import resources as queries
from kgplatform.errors import NotFoundError, QueryError, QueryRejectedError
from kgplatform.sparql.rewrite import (
    in_one_graph,
    with_plain_group_concat,
    with_prefixes_first,
    with_using_clauses,
    without_silent_loads,
)
from kgplatform.sparql.tokens import MAX_CHARACTERS, landmarks, read_only_issues, scan, triple_nesting
from kgplatform.store import worker
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store
from kgplatform.store.wire import Request

PIECES = (
    *('"', "'", '"""', "'''", "\\", "\n", "\r", " ", "#", "<", ">", "<<", ">>", "{", "}", "(", ")", "[", "]"),
    *("SELECT", "SERVICE", "LOAD", "INSERT DATA", "ex:a", ":", "?x", "$y", "*", "@en", "<http://a>", "_:b", "西", "^^"),
)


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=60).map("".join))
def test_a_scan_never_fails(text):
    assert scan(text).form in ("", "SELECT", "ASK", "CONSTRUCT", "DESCRIBE", "UPDATE")
    assert isinstance(read_only_issues(text), tuple)
    assert triple_nesting(text) >= 0
    last = 0
    for mark in landmarks(text):
        assert text[mark.start : mark.end].upper() == mark.text
        assert mark.start >= last
        assert mark.depth >= 0
        last = mark.end


HEADS = (
    *("PREFIX ex: <http://x/> ", "prefix :<a>", "PREFIX a-b:\n<b>\t"),
    *("PREFIX ex: #c\n<b> ", "PREFIX é: <c>", "PREFIX"),
)


@given(
    st.lists(st.sampled_from(HEADS), max_size=4).map("".join),
    st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=20).map("".join),
)
def test_prefixes_read_at_once_are_seen_as_those_read_one_by_one(head, rest):
    one, other = scan(head + rest), scan(f"#\n{head}{rest}")  # behind a comment they are read one by one
    if other.star >= 0:
        other = replace(other, star=other.star - 2)
    assert one == other


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("SELECT * { ?s ?p ?o }", "SELECT"),
        ("prefix select: <http://x/> # insert\nBASE <http://y/> ask {}", "ASK"),
        ("PREFIX ex: <http://x/> CONSTRUCT WHERE { ?s ?p ?o }", "CONSTRUCT"),
        ("describe <http://x/INSERT>", "DESCRIBE"),
        ("WITH <g:g> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }", "UPDATE"),
        ("hello world", ""),
    ],
)
def test_the_form_is_told_by_the_first_keyword(text, form):
    assert scan(text).form == form


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { ?s ?p 'SERVICE' }",
        'SELECT * { ?s ?p """a SERVICE "quoted" SERVICE""" }',
        "SELECT * { ?s ?p 'it\\'s SERVICE' }",
        "SELECT * { ?s ?p ?o } # SERVICE <http://x/>",
        "SELECT * { ?s <http://x/SERVICE> ?o }",
        "SELECT * { ?s ex:SERVICE ?service }",
        "SELECT * { ?s ?p 'x'@service }",
        "SELECT * { ?s service:offers ?o }",
    ],
)
def test_words_in_strings_comments_iris_and_names_are_no_keywords(text):
    assert read_only_issues(text) == ()


SERVICE = "SERVICE <http://127.0.0.1/> { ?a ?b ?c }"


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT * {{ {SERVICE} }}",
        "SELECT * { service silent ?x { ?a ?b ?c } }",
        f"SELECT * {{ ?s ex:a\\' ?o . {SERVICE} ?s ex:b\\' ?z }}",
        f"SELECT * {{ # comment\r {SERVICE} }}",
        "SELECT * { SERVICE:x # why\n { ?a ?b ?c } }",
        "SELECT * { ?s ?p true.SERVICE<http://127.0.0.1/>{} }",
        f'SELECT * {{ VALUES ?x {{ """a" }} {SERVICE} }}',
        f"SELECT * {{ ?s <http://a\\u0041'b> ?o . {SERVICE} ?s ?p '' }}",
        f"SELECT * {{ ?s ?p ?o FILTER(?o<'>' || EXISTS {{ {SERVICE} }} || ?o = '') }}",
        f"SELECT * {{ ?s ?p ?o FILTER(?o<#> '''\n 3) {SERVICE} }} #'''",
        "LOAD:x",
    ],
)
def test_a_service_call_cannot_be_hidden(text):
    assert read_only_issues(text)


@pytest.mark.parametrize(
    ("bomb", "said"),
    [
        ("SELECT * " + "{" * 5000 + "}" * 5000, "the query nests 5000 deep; 200 is allowed"),
        ("SELECT * { FILTER(" + "(" * 5000 + "1" + ")" * 5000 + ") }", "nests"),
        ("SELECT * { ?s ?p " + "[ ?p " * 5000 + "]" * 5000 + "}", "nests"),
        ("SELECT * { ?s ex:a\\' ?o " + "{" * 5000 + "}" * 5000 + " ?s ex:b\\' ?o }", "nests"),
        ("SELECT * { FILTER(?o<" + "(" * 5000 + "1" + ")" * 5000 + ">2) }", ""),
        ("SELECT * { ?s ?p " + "<< ?a ?b " * 5000 + "1" + " >>" * 5000 + " }", ""),
        ("SELECT * { " + "OPTIONAL { ?s ?p ?o } " * 5000 + "}", ""),
        ("SELECT * { FILTER(1" + "+1" * 20000 + ") }", ""),
        ("DELETE WHERE { " + "?s ?p ?o . " * 20000 + "}", ""),
        ("SELECT * {" + " 1" * 200_001, "tokens"),
        ("x" * (MAX_CHARACTERS + 1), "1,000,001 characters"),
    ],
)
def test_what_would_end_the_parser_is_refused(bomb, said):
    issues = scan(bomb).issues
    assert issues
    assert any(said in issue for issue in issues)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { ?s ?p ?o FILTER(?o < 5 && ?o<(3+4)) }",
        "SELECT * { VALUES (?a ?b) { (<urn:x#1> <urn:x#2>) ('a' <#y>) } }",
        "SELECT * { ?s (<http://x/a(b)>|<http://x/c#d>) ?o }",
        "SELECT * { ?s ?p <http://dbpedia.org/resource/Xi'an_(city)> }",
        "SELECT * { VALUES ?x { " + "<http://x/1> " * 5000 + "} }",
        "SELECT * { ?s ?p '" + "{" * 5000 + "' }",
        "INSERT DATA { " + "<http://x/s> <http://x/p> <http://x/o> . " * 20000 + "}",
        "#" * MAX_CHARACTERS,
    ],
)
def test_ordinary_text_is_let_through(text):
    assert scan(text).issues == ()


@pytest.mark.parametrize(
    "piece",
    [
        *('"', "'", '"""', "'''", '\\"', '\\"""\n', '"abc\n', '"a\\"', "'''\\", '"""\\"', "a-", "a.", "a", "-a:"),
        *("<", "<a", "<(", "<\\u0041", "<<", ":", "%:", "@a-", "#", "SERVICE:a ", "SERVICE:a # {\n", "?", "?a", "\\"),
        *("{", "}", "[", "西", "ex:a\\'", "\n\n"),
    ],
)
def test_hostile_text_takes_linear_time(piece):
    text = piece * (300_000 // len(piece))
    started = time.perf_counter()
    scan(text)
    assert time.perf_counter() - started < 15


def test_select_all_and_the_order_of_variables_are_seen():
    seen = scan("SELECT DISTINCT * { ?z ?p 'text ?no' . ?a ?p $z } # ?never")
    assert seen.selects_all
    assert seen.variables == ("z", "p", "a")
    assert not scan("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }").selects_all
    assert not scan("SELECT ?s { { SELECT * { ?s ?p ?o } } }").selects_all
    assert "kgplatform update" in read_only_issues("DROP ALL")[0]


A, B = NamedNode("http://example.org/a"), NamedNode("http://example.org/b")
G, H = NamedNode("http://example.org/graph/g"), NamedNode("http://example.org/图/h")
PREFIX = "PREFIX ex: <http://example.org/>\n"


def made():
    found = Store.open()
    found.apply(added=[Quad(A, B, Literal(1)), Quad(A, B, Literal(2), G), Quad(A, B, Literal(3), H)])
    return found


def held(store, graph=DEFAULT_GRAPH):
    return {str(quad.triple) for quad in store.quads(graph=graph)}


def triple(name, value):
    return f'<http://example.org/a> <http://example.org/{name}> "{value}"^^<http://www.w3.org/2001/XMLSchema#integer>'


@pytest.mark.parametrize(
    ("default", "values"), [((), {1}), ((G,), {2}), ((H,), {3}), ((G, H), {2, 3})], ids=["none", "g", "h", "both"]
)
def test_using_moves_the_patterns_and_not_the_templates(default, values):
    store = made()
    store.update(with_using_clauses(PREFIX + "INSERT { ?s ex:c ?o } # WHERE {\nWHERE { ?s ex:b ?o }", default, ()))
    assert held(store) == {triple("b", 1), *(triple("c", value) for value in values)}


def test_using_named_and_the_short_form_of_delete_look_where_they_are_told():
    store = made()
    store.update(with_using_clauses(PREFIX + "INSERT { ?s ex:c ?o } WHERE { GRAPH ?g { ?s ex:b ?o } }", (), (H,)))
    assert held(store) == {triple("b", 1), triple("c", 3)}
    store = made()
    store.apply(added=[Quad(A, B, Literal(2))])
    store.update(with_using_clauses(PREFIX + "DELETE WHERE { ?s ex:b ?o . } ;\nINSERT DATA { ex:a ex:c 9 }", (G,), ()))
    assert held(store) == {triple("b", 1), triple("c", 9)}
    assert held(store, G) == {triple("b", 2)}


@pytest.mark.parametrize(
    "text",
    [
        "WITH <http://example.org/x> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }",
        "INSERT { ?s ?p 1 } USING <http://example.org/x> WHERE { ?s ?p ?o }",
        "CLEAR ALL; with <http://example.org/x> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }",
    ],
)
def test_an_update_with_its_own_dataset_conflicts_with_that_of_the_request(text):
    with pytest.raises(QueryRejectedError, match="USING or WITH"):
        with_using_clauses(text, (G,), ())


def test_words_of_updates_in_strings_comments_and_iris_are_left_alone():
    store = made()
    text = PREFIX + (
        'INSERT { ?s ex:c "} WHERE { USING" , \'WITH\', "在 GRAPH 里" } # WHERE { WITH\n'
        "WHERE { ?s ex:b ?o . FILTER(?o != <http://example.org/WITH;WHERE>) }"
    )
    store.update(with_using_clauses(text, (G,), ()))
    assert len(held(store)) == 4
    store.update(in_one_graph(text, G))
    assert len(held(store, G)) == 4


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INSERT DATA { ex:a ex:c 7 }", {triple("b", 2), triple("c", 7)}),
        ("DELETE WHERE { ?s ?p ?o }", set()),
        ("DELETE { ?s ?p ?o } INSERT { ?s ?p 8 } WHERE { ?s ?p ?o }", {triple("b", 8)}),
        ("INSERT DATA { ex:a ex:c 7 # }\n } ; DELETE { ?s ex:b ?o } WHERE { ?s ex:b ?o } ;", {triple("c", 7)}),
        ("", {triple("b", 2)}),
    ],
)
def test_a_patch_changes_its_graph_and_no_other(text, expected):
    store = made()
    store.update(in_one_graph(PREFIX + text, G))
    assert held(store, G) == expected
    assert held(store) == {triple("b", 1)}
    assert held(store, H) == {triple("b", 3)}


@pytest.mark.parametrize(
    "text",
    [
        "INSERT DATA { GRAPH <http://example.org/x> { <http://a> <http://b> 1 } }",
        "DROP ALL",
        "clear default",
        "LOAD <http://example.org/x>",
        "WITH <http://example.org/x> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }",
        "INSERT { ?s ?p 1 } WHERE { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }",
        "COPY <http://a> TO <http://b>",
    ],
)
def test_a_patch_that_speaks_of_graphs_is_refused(text):
    with pytest.raises(QueryRejectedError, match="one graph"):
        in_one_graph(text, G)


@pytest.mark.parametrize(
    "text",
    [
        "INSERT DATA { <urn:a> <urn:b> 1 } ; PREFIX ex: <http://example.org/> INSERT DATA { ex:a ex:c 5 }",
        "PREFIX x: <urn:> DELETE DATA { x:a x:b 1 } ;\nprefix ex: <http://example.org/>\nPREFIX : <urn:>\n"
        "INSERT DATA { ex:a ex:c 5 } ; CLEAR SILENT GRAPH <urn:PREFIX> ; PREFIX 名: <http://example.org/>"
        " DELETE { 名:q ?p ?o } WHERE { 名:q ?p ?o }",
        "INSERT DATA { <http://example.org/a> <http://example.org/c> 5 } ; PREFIX ex: <http://example.org/>",
    ],
)
def test_prefixes_may_be_declared_between_operations(text):
    store = made()
    store.update(text)
    assert triple("c", 5) in held(store)


def test_prefixes_are_put_first_only_where_the_meaning_stays():
    for text in (
        "PREFIX a: <urn:1:> CLEAR ALL ; PREFIX a: <urn:2:> INSERT DATA { a:x a:y 1 }",
        "CLEAR ALL ; BASE <urn:2> INSERT DATA { <x> <y> 1 }",
        "CLEAR ALL ; # PREFIX a: <urn:a>\nINSERT DATA { <urn:x> <urn:y> 1 }",
        "INSERT DATA { <urn:x> <urn:y> '; PREFIX a: <urn:a>' }",
        "",
    ):
        assert with_prefixes_first(text) == text
    text = "INSERT DATA { ex:a ex:b 7 } ; PREFIX ex: <%s> INSERT DATA { ex:a ex:c 5 }"
    store = Store.open(prefixes={"ex": "http://example.org/"})
    store.update(text % "http://example.org/")
    assert held(store) == {triple("b", 7), triple("c", 5)}
    assert with_prefixes_first(text % "urn:other:", {"ex": "http://example.org/"}) == text % "urn:other:"


def test_concatenated_values_become_plain_strings():
    whole = "SELECT (group_concat(distinct STR(?x) ; separator=')') AS ?y) {} HAVING (GROUP_CONCAT(?z) = 'a')"
    assert with_plain_group_concat(whole) == (
        "SELECT (STR(group_concat(distinct STR(?x) ; separator=')')) AS ?y) {} HAVING (STR(GROUP_CONCAT(?z)) = 'a')"
    )
    for text in ("SELECT ('GROUP_CONCAT(' AS ?y) {} # GROUP_CONCAT(", "SELECT (GROUP_CONCAT(?x AS ?y {}"):
        assert with_plain_group_concat(text) == text


@pytest.mark.parametrize(
    ("update", "wanted"),
    [
        ("LOAD SILENT <http://127.0.0.1/x>", "INSERT DATA {}"),
        (
            "CLEAR ALL ; LOAD SILENT ex:x INTO GRAPH <urn:g> # said\n; CLEAR ALL",
            "CLEAR ALL ; INSERT DATA {}; CLEAR ALL",
        ),
        *((text, text) for text in ("LOAD <http://127.0.0.1/x>", "LOAD SILENT", "LOAD SILENT <urn:x> INTO <urn:g>")),
        ("INSERT DATA { <urn:a> <urn:b> 'LOAD SILENT <urn:x>' }",) * 2,
    ],
)
def test_what_may_fail_without_a_word_does_nothing_and_is_never_fetched(update, wanted):
    assert without_silent_loads(update) == wanted
    store = Store.open(prefixes={"ex": "http://127.0.0.1:9/"})
    if "LOAD" in scan(wanted).keywords:
        with pytest.raises(QueryRejectedError, match="switched off"):
            store.update(update)
    else:
        store.update(update)


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        *(("?s ex:p* ex:nowhere", ["nowhere"]), ("ex:nowhere ex:p? ?s", ["nowhere"])),
        *(("ex:nowhere (ex:p|^ex:q/ex:p)* ?s", ["nowhere"]), ("?s a* <http://example.org/nowhere> . ", ["nowhere"])),
        *(("?s ex:p* ex:b", ["a", "b"]), ("ex:a ex:p? ?s", ["a", "b"]), ("OPTIONAL { ?s ex:p* ex:x }", ["x"])),
        *(("?s ex:p+ ex:nowhere", []), ("?s ex:p/ex:p* ex:nowhere", []), ("?s ex:p* ex:nowhere . ?s ex:p ?o", [])),
        ("GRAPH <urn:g> { ?s ex:p* ex:nowhere }", []),
    ],
)
def test_a_path_of_no_length_from_a_term_that_is_not_there_leads_to_that_term(pattern, wanted):
    store = Store.open(prefixes={})
    store.update(f"{PREFIX} INSERT DATA {{ ex:a ex:p ex:b }}")
    found = worker.evaluate(store, Request(f"{PREFIX} SELECT * WHERE {{ {pattern} }}"))
    assert sorted(row["s"].value.rpartition("/")[2] for row in found) == wanted


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        *(('xsd:int("42")', "42"), ('xsd:int(" -7 ")', "-7"), ("xsd:int(2.9)", "2"), ("xsd:int(-2.9e0)", "-2")),
        *(("xsd:int(true)", "1"), ('xsd:nonNegativeInteger("0")', "0"), ("xsd:unsignedByte(255)", "255")),
        *(("xsd:long(9223372036854775807)", "9223372036854775807"), ('xsd:int("1") + 1', "2")),
        *(("xsd:int(2147483648)", None), ("xsd:byte(-129)", None), ("xsd:positiveInteger(0)", None)),
        *(("xsd:nonPositiveInteger(1)", None), ('xsd:int("1.5")', None), ('xsd:int("三")', None)),
        *(('xsd:int("1"@en)', None), ("xsd:int(<urn:x>)", None), ("xsd:int(1e300)", None)),
        *(('xsd:int("INF"^^xsd:double)', None), ('xsd:int("' + "9" * 100_000 + '")', None)),
    ],
)
def test_a_cast_gives_the_integer_or_an_error(expression, expected):
    ((found,),) = Store.open().query(f"SELECT ({expression} AS ?x) {{}}").rows
    assert (found.value if found else None) == expected


def test_a_cast_orders_filters_and_may_stand_in_an_update():
    store = Store.open()
    query = 'SELECT ?t { VALUES ?t { "10" "9" "x" } FILTER(xsd:int(?t) > 0) } ORDER BY xsd:int(?t)'
    assert [str(row[0]) for row in store.query(query).rows] == ['"9"', '"10"']
    store.update('INSERT { <urn:a> <urn:b> ?n } WHERE { BIND(xsd:int("7") + 1 AS ?n) }')
    assert [quad.object for quad in store.quads()] == [Literal(8)]


GOOD = """#+ summary: The names of an entity.
#+ parameters: entity, limit
#+ returns: name
# a remark about ?nothing
SELECT ?entity ?limit ?name WHERE { ?entity ?p ?name }
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "examples").mkdir()
    (tmp_path / "entity-names.rq").write_text(GOOD, encoding="utf-8")
    (tmp_path / "examples" / "hotels.rq").write_text("#+ summary: 有哪些酒店？\nSELECT * {}", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("name", queries.names())
def test_shipped_query_is_complete_and_takes_its_parameters(name):
    query = queries.load(name)
    assert query.summary
    # A parameter that a SELECT does not project is refused by pyoxigraph with a RuntimeError.
    bound = {Variable(parameter): NamedNode("urn:x") for parameter in query.parameters}
    result = pyoxigraph.Store().query(query.text, substitutions=bound)
    if isinstance(result, QuerySolutions) and query.parameters:
        projected = {variable.value for variable in result.variables}
        assert set(query.parameters) <= projected


def test_a_named_query_is_read_with_its_header(folder):
    query = queries.load("entity-names", folder=folder)
    assert query == queries.NamedQuery("entity-names", GOOD, "The names of an entity.", ("entity", "limit"), "name")
    assert queries.names(folder=folder) == ["entity-names", "examples/hotels"]
    query = queries.load("examples/hotels", folder=folder)
    assert (query.summary, query.parameters, query.returns) == ("有哪些酒店？", (), "")
    with pytest.raises(NotFoundError, match="no query 'entity-name'; did you mean 'entity-names'"):
        queries.load("entity-name", folder=folder)
    (folder / "latin.rq").write_bytes("#+ summary: Café".encode("latin-1"))
    with pytest.raises(QueryError, match="not UTF-8"):
        queries.load("latin", folder=folder)


@pytest.mark.parametrize("name", ["", "../entity-names", "/etc/passwd", "entity-names/", "a//b"])
def test_name_cannot_leave_the_folder(folder, name):
    with pytest.raises(NotFoundError, match="there is no query"):
        queries.load(name, folder=folder / "examples")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT * {}", "no line '#\\+ summary"),
        ("#+ summary: x\nSELECT * {}", "no line '#\\+ returns"),
        ("#+ summary: x\n#+ summary: y\n#+ returns: z\nSELECT * {}", "two lines '#\\+ summary"),
        ("#+ summary: x\n#+ paramters: y\n#+ returns: z\nSELECT * {}", "paramters: y' is none of summary, parameters"),
        ("#+ summary: x\n#+ parameters: y\n#+ returns: z\n# ?y\nSELECT * {}", "parameter 'y' but no variable \\?y"),
        ("#+ summary: x\n\nSELECT * {}\n#+ returns: too late", "no line '#\\+ returns"),
    ],
)
def test_faulty_header_is_told(text, message):
    with pytest.raises(QueryError, match=message) as caught:
        queries.parse("broken", text)
    assert caught.value.query == text
