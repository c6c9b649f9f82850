"""The runner of the W3C's tests: that it passes what is right, and above all that it fails what is wrong."""

import json
import threading
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pyoxigraph as ox
import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Triple

from kgplatform.cli.main import main
from kgplatform.errors import ConfigError, ReadError
from kgplatform.vocab import XSD_DECIMAL
from tests.conformance import suites as description_tests
from tests.conformance import suites as http_tests
from tests.conformance import suites as store_tests
from tests.conformance.manifests import Outcome, Verdict, cases, same_graphs, same_rows
from tests.conformance.report import earl, rows
from tests.conformance.suites import SUITES, Result, Server, chosen, deviations, run

HEAD = """@prefix : <http://example.org/t#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix mf: <http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#> .
@prefix qt: <http://www.w3.org/2001/sw/DataAccess/tests/test-query#> .
@prefix ut: <http://www.w3.org/2009/sparql/tests/test-update#> .
@prefix ht: <http://www.w3.org/2011/http#> .
@prefix hts: <http://www.w3.org/2011/http-statusCodes#> .
@prefix cnt: <http://www.w3.org/2011/content#> .
<> a mf:Manifest ; mf:entries ( :one ) .
"""
DATA = '@prefix : <http://example.org/> . :a :p 1, 2.50, _:x . :乌镇 :p "水乡"@zh .'


def write(root, **files):
    for name, text in files.items():
        stem, _, suffix = name.rpartition("_")
        (root / f"{stem}.{suffix}").write_text(text, encoding="utf-8")
    return list(cases(root / "manifest.ttl", root))


def verdict(root, **files):
    (case,) = write(root, **files)
    return store_tests.store_tests_run(case)


EVALUATION = (
    HEAD
    + ':one a mf:QueryEvaluationTest ; mf:name "one" ;'
    + " mf:action [ qt:query <q.rq> ; qt:data <d.ttl> ] ; mf:result <r.%s> ."
)
ROWS = [
    ("o", "1", {"type": "literal", "value": "1", "datatype": "http://www.w3.org/2001/XMLSchema#integer"}),
    ("o", "2.5", {"type": "literal", "value": "2.5", "datatype": "http://www.w3.org/2001/XMLSchema#decimal"}),
    ("o", "b", {"type": "bnode", "value": "other"}),
]


def srj(values):
    return json.dumps({"head": {"vars": ["o"]}, "results": {"bindings": [{"o": value} for value in values]}})


def test_rows_are_compared_whatever_their_order_and_the_names_of_blank_nodes(tmp_path):
    query = "PREFIX : <http://example.org/> SELECT ?o { :a :p ?o }"
    values = [value for _, _, value in ROWS]
    files = {"manifest_ttl": EVALUATION % "srj", "q_rq": query, "d_ttl": DATA}
    assert verdict(tmp_path, **files, r_srj=srj(values[::-1])).verdict is Verdict.PASSED
    wrong = [values[:2], [*values, values[0]], [*values[:2], {"type": "uri", "value": "urn:x"}]]
    for values_ in wrong:
        assert verdict(tmp_path, **files, r_srj=srj(values_)).verdict is Verdict.FAILED


def test_graphs_booleans_csv_and_datasets_are_compared(tmp_path):
    def passes(**changed):
        return verdict(tmp_path, **{**files, **changed}).verdict is Verdict.PASSED

    files = {"manifest_ttl": EVALUATION % "ttl", "d_ttl": DATA, "q_rq": "CONSTRUCT WHERE { ?s ?p ?o }"}
    assert passes(r_ttl=DATA)
    assert not passes(r_ttl=DATA + " :a :p 3 .")
    files = {"manifest_ttl": EVALUATION % "srx", "d_ttl": DATA, "q_rq": "ASK { ?s ?p 1 }"}
    answer = '<sparql xmlns="http://www.w3.org/2005/sparql-results#"><head/><boolean>%s</boolean></sparql>'
    assert [passes(r_srx=answer % said) for said in ("true", "false")] == [True, False]
    files = {"manifest_ttl": EVALUATION % "csv", "d_ttl": DATA, "q_rq": "SELECT * { ?z ?p ?a }"}
    lines = "http://example.org/a,http://example.org/p,1\r\nhttp://example.org/a,http://example.org/p,2.5\r\n"
    lines += "http://example.org/a,http://example.org/p,_:q\r\nhttp://example.org/乌镇,http://example.org/p,水乡\r\n"
    found = [
        passes(r_csv=t) for t in ("z,p,a\r\n" + lines, "a,p,z\r\n" + lines, "z,p,a\r\n" + lines.replace("水乡", "水"))
    ]
    assert found == [True, False, False]
    result = 'mf:result [ ut:data <r.ttl> ; ut:graphData [ ut:graph <g.ttl> ; rdfs:label "urn:g" ] ] .'
    action = ":one a mf:UpdateEvaluationTest ; mf:action [ ut:request <q.ru> ; ut:data <d.ttl> ] ; "
    files = {"manifest_ttl": HEAD + action + result, "r_ttl": "", "g_ttl": "<urn:a> <urn:b> 1 ."}
    files["d_ttl"] = files["g_ttl"]
    assert [passes(q_ru=f"{verb} DEFAULT TO <urn:g>") for verb in ("MOVE", "COPY")] == [True, False]


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        *(("PositiveSyntaxTest11", "ASK {}", Verdict.PASSED), ("PositiveSyntaxTest11", "ASK {", Verdict.FAILED)),
        ("PositiveSyntaxTest11", "ASK { FILTER(<urn:unknown>()) }", Verdict.PASSED),
        *(("NegativeSyntaxTest11", "ASK {", Verdict.PASSED), ("NegativeSyntaxTest11", "ASK {}", Verdict.FAILED)),
        ("NegativeSyntaxTest11", "ASK { foaf:x ?p ?o }", Verdict.PASSED),
        ("PositiveUpdateSyntaxTest11", "CLEAR ALL", Verdict.PASSED),
        ("NegativeUpdateSyntaxTest11", "CLEAR", Verdict.PASSED),
        ("NegativeUpdateSyntaxTest11", "CLEAR ALL", Verdict.FAILED),
        ("SomeOtherTest", "", Verdict.UNTESTED),
    ],
)
def test_syntax(tmp_path, kind, text, expected):
    manifest = HEAD + f":one a mf:{kind} ; mf:action <q.rq> ."
    assert verdict(tmp_path, manifest_ttl=manifest, q_rq=text).verdict is expected


def test_equality_minds_order_only_where_it_counts():
    one, two = (("a", Literal(1)),), (("a", Literal(2)),)
    blank = (("a", BlankNode("x")), ("b", BlankNode("x")))
    apart = (("a", BlankNode("x")), ("b", BlankNode("y")))
    assert same_rows([one, two], [two, one], ordered=False)
    assert not same_rows([one, two], [two, one], ordered=True)
    assert not same_rows([one, one, two], [one, two, two], ordered=False)
    assert same_rows([blank], [(("b", BlankNode("q")), ("a", BlankNode("q")))], ordered=False)
    assert not same_rows([blank], [apart], ordered=False)
    assert not same_rows([blank, one], [one, blank], ordered=True)
    decimal = ((("a", Literal("1.50", datatype=XSD_DECIMAL)),), (("a", Literal("1.5", datatype=XSD_DECIMAL)),))
    assert same_rows([decimal[0]], [decimal[1]], ordered=False)
    p = NamedNode("urn:p")
    assert same_graphs([Triple(BlankNode("a"), p, p)], [Triple(BlankNode("b"), p, p)])
    assert not same_graphs([Triple(p, p, p)], [Triple(BlankNode("b"), p, p)])


# over HTTP, with a server that says what the test wants it to say


@contextmanager
def saying(status, content_type, body, **fields):
    class Says(BaseHTTPRequestHandler):
        def answer(self):
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            is_reset = self.path == "/sparql" and self.command == "POST"
            self.send_response(204 if is_reset else status)
            for name, value in fields.items():
                self.send_header(name, value)
            if not is_reset:
                self.send_header("Content-Type", content_type)
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if not is_reset:
                self.wfile.write(body)

        do_GET = do_PUT = do_POST = answer  # noqa: N815

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Says) as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield Server(f"http://127.0.0.1:{made.server_port}")
        made.shutdown()
        thread.join()


RESPONSE = {
    "status": "mf:expectedStatus hts:OK",
    "boolean": 'mf:expectedBoolean true ; mf:expectedFormat "boolean" ; mf:expectedStatus hts:StatusCode2xx',
    "table": 'mf:expectedFormat "tabular" ; mf:expectedStatus hts:StatusCode2xx',
    "graph": 'mf:expectedFormat "RDF" ; mf:expectedStatus hts:StatusCode2xx',
    "location": 'mf:expectedLocation "$L$" ; mf:expectedStatus hts:OK',
    "body": (
        'ht:headers ([ ht:fieldName "content-type" ; ht:fieldValue "text/turtle; charset=utf-8" ]) ;'
        ' ht:body [ cnt:chars "<urn:a> <urn:b> [] ." ] ; mf:expectedStatus hts:OK'
    ),
}
JSON, XML = "application/sparql-results+json", "application/sparql-results+xml"
TTL = "text/turtle;charset=UTF-8"


@pytest.mark.parametrize(
    ("expects", "status", "type_", "body", "passes"),
    [
        ("status", 200, JSON, b"", True),
        ("status", 201, JSON, b"", False),
        ("boolean", 200, JSON, b'{"head":{},"boolean":true}', True),
        ("boolean", 200, JSON, b'{"head":{},"boolean":false}', False),
        ("boolean", 200, XML, b"<boolean>true</boolean>", True),
        ("boolean", 200, "text/html", b"<boolean>true</boolean>", False),
        ("boolean", 404, JSON, b'{"boolean":true}', False),
        ("table", 200, "text/csv", b"a\r\n", True),
        ("table", 200, "text/turtle", b"", False),
        ("graph", 200, "text/turtle", b"<urn:a> <urn:b> 1 .", True),
        ("graph", 200, "text/turtle", b"<urn:a> <urn:b> .", False),
        ("graph", 200, "text/html", b"", False),
        ("location", 200, JSON, b"", False),
        ("body", 200, TTL, b"<urn:a> <urn:b> _:z .", True),
        ("body", 200, "text/turtle", b"<urn:a> <urn:b> _:z .", False),
        ("body", 200, TTL, b"<urn:a> <urn:b> <urn:z> .", False),
    ],
)
def test_a_response_that_is_not_the_one_expected_fails(tmp_path, expects, status, type_, body, passes):
    manifest = HEAD + (
        ":one a mf:ProtocolTest ; mf:action [ ht:requests ([ ht:methodName 'GET' ;"
        f" ht:absolutePath '/gsp?default' ; ht:resp [ {RESPONSE[expects]} ] ]) ] ."
    )
    (case,) = write(tmp_path, manifest_ttl=manifest)
    with saying(status, type_, body) as server:
        outcome = http_tests.http_tests_run(case, server)
    assert (outcome.verdict is Verdict.PASSED) == passes, outcome.detail
    assert bool(outcome.detail) != passes


def test_a_server_that_does_not_answer_fails(tmp_path):
    request = "[ ht:methodName 'GET' ; ht:absolutePath '/gsp' ]"
    (case,) = write(tmp_path, manifest_ttl=f"{HEAD}:one a mf:ProtocolTest ; mf:action [ ht:requests ({request}) ] .")
    with saying(200, JSON, b"") as server:
        pass
    assert http_tests.http_tests_run(case, server).verdict is Verdict.FAILED


@pytest.mark.parametrize(
    ("body", "passes"),
    [
        ("<{e}> a sd:Service ; sd:endpoint <{e}> ; sd:feature sd:EmptyGraphs .", True),
        ("<{e}> a sd:Service ; sd:endpoint <{e}> ; sd:nonsense 1 .", False),
        ("<{e}> a sd:Service ; sd:endpoint <{e}> ; sd:defaultDataset [ a sd:Graph ] .", False),
        ("<{e}> a sd:Service ; sd:endpoint <{e}> ; sd:resultFormat 'Turtle' .", False),
        ("<{e}> sd:endpoint <{e}> .", False),
    ],
)
def test_a_description_is_held_against_the_vocabulary(tmp_path, body, passes):
    manifest = HEAD.replace(":one", "<#conforms-to-schema>") + "<#conforms-to-schema> a mf:ServiceDescriptionTest ."
    (case,) = write(tmp_path, manifest_ttl=manifest)
    text = "@prefix sd: <http://www.w3.org/ns/sparql-service-description#> . " + body.replace("{e}", "http://x/sparql")
    with saying(200, "text/turtle", text.encode()) as server:
        assert (description_tests.description_tests_run(case, server).verdict is Verdict.PASSED) == passes


# suites and reports


def result(verdict, deviation="", suite="query"):
    outcome = Outcome(f"http://example.org/t#{verdict}{len(deviation)}", "t", suite, verdict, "why")
    return Result(suite, outcome, deviation)


def test_the_report_counts_what_is_known_apart_and_earl_says_every_outcome():
    results = [
        result(Verdict.PASSED),
        result(Verdict.FAILED),
        result(Verdict.FAILED, "known"),
        result(Verdict.UNTESTED),
    ]
    first, second = rows([*results, result(Verdict.PASSED, suite="update")])
    assert (first.tests, first.passed, first.deviating, first.failed, first.untested) == (4, 1, 1, 1, 1)
    assert (second.suite, second.tests, second.passed) == ("update", 1, 1)
    assert [item.is_surprise for item in results] == [False, True, False, False]
    assert result(Verdict.PASSED, "known").is_surprise
    store = ox.Store()
    store.load(earl(results, version="1.0", at=datetime(2026, 1, 2, tzinfo=UTC)), format=RdfFormat.TURTLE)
    query = """PREFIX earl: <http://www.w3.org/ns/earl#> PREFIX dcterms: <http://purl.org/dc/terms/>
        SELECT ?test ?outcome ?info { ?a a earl:Assertion ; earl:test ?test ; earl:mode earl:automatic ;
        earl:assertedBy ?by ; earl:subject ?by ; earl:result ?r . ?r earl:outcome ?outcome ; dcterms:date ?date
        OPTIONAL { ?r earl:info ?info } }"""
    found = {row["test"].value.rpartition("#")[2]: (row["outcome"].value, row["info"]) for row in store.query(query)}
    assert found["passed0"] == ("http://www.w3.org/ns/earl#passed", None)
    assert found["failed5"][0] == "http://www.w3.org/ns/earl#failed"
    assert found["failed5"][1].value == "known"
    assert found["untested0"][0] == "http://www.w3.org/ns/earl#untested"


def test_a_suite_or_folder_that_is_not_there_is_said_in_one_line(tmp_path, capsys):
    with pytest.raises(ConfigError, match="protocol"):
        chosen(["nonsense"])
    assert chosen([]) == SUITES
    with pytest.raises(ReadError, match="rdf-tests"):
        list(run(tmp_path, chosen(["query"])))
    assert main(["conformance", str(tmp_path), "--suite", "query"]) == 1
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "suite",
    [s.name if s.name in ("results", "update") else pytest.param(s.name, marks=pytest.mark.slow) for s in SUITES],
)
def test_the_w3c_tests_pass_but_for_what_is_known(test_data, suite):
    root = test_data / "w3c-rdf-tests"
    if not root.is_dir():
        pytest.skip(f"no folder {root}")
    results = list(run(root, chosen([suite])))
    assert [(item.outcome.iri, item.outcome.detail) for item in results if item.is_surprise] == []
    assert all(item.outcome.verdict is not Verdict.UNTESTED for item in results)
    assert len(results) >= {"protocol": 34, "graph-store": 13, "service-description": 3}.get(suite, 1)
    places = ("http://www.w3.org/", "https://w3c.github.io/")
    assert all(reason and iri.startswith(places) for iri, reason in deviations().items())


PASSED = Verdict.PASSED
FEDERATED = (
    HEAD
    + ':one a mf:QueryEvaluationTest ; mf:name "one" ; mf:action [ qt:query <q.rq> ; qt:data <d.ttl> ;'
    + " qt:serviceData [ qt:endpoint <http://one.example/sparql> ; qt:data <e.ttl> ] ;"
    + " qt:serviceData [ qt:endpoint <http://two.example/sparql> ; qt:data <f.ttl> ] ] ; mf:result <r.srj> ."
)
ELSEWHERE = "@prefix : <http://example.org/> . :a :q %s ."


@pytest.mark.parametrize(
    ("pattern", "wanted"),
    [
        ("?a ?p ?x SERVICE <http://one.example/sparql> { ?a :q ?o }", Verdict.PASSED),
        ("?a ?p ?x SERVICE <http://two.example/sparql> { ?a :q ?o }", Verdict.FAILED),
        ("SERVICE <http://two.example/sparql> { SERVICE <http://one.example/sparql> { ?a :q ?o } }", Verdict.PASSED),
        ("SERVICE <http://nobody.example/sparql> { ?a :q ?o }", Verdict.FAILED),
        ("SERVICE <http://one.example/sparql> { ?a :q ?o } SERVICE SILENT <http://no.example/> { ?b ?c ?d }", PASSED),
    ],
)
def test_federated_queries_ask_the_endpoints_of_the_test(tmp_path, pattern, wanted):
    result = {"head": {"vars": ["o"]}, "results": {"bindings": [{"o": {"type": "literal", "value": "one"}}]}}
    outcome = verdict(
        tmp_path,
        manifest_ttl=FEDERATED,
        q_rq=f"PREFIX : <http://example.org/> SELECT DISTINCT ?o {{ {pattern} }}",
        d_ttl=DATA,
        e_ttl=ELSEWHERE % '"one"',
        f_ttl=ELSEWHERE % '"two"',
        r_srj=json.dumps(result),
    )
    assert outcome.verdict is wanted, outcome.detail
