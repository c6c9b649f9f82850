"""How a query runs: each count is that of the query up to there; what is slow is named; wrong queries get one line."""

import time

import pyoxigraph as ox
import pytest
from hypothesis import strategies as st
from laws import in_two_lengths
from small_graph import HOTELS, small_graph

from kgplatform.cli.main import main
from kgplatform.errors import QueryCancelledError, QueryTimeoutError
from kgplatform.graph import KnowledgeGraph
from kgplatform.server.app import create_app
from kgplatform.sparql.emptiness import BROAD
from kgplatform.sparql.query_plan import MOST_ROWS, StepKind, explain
from kgplatform.sparql.syntax import split_query
from kgplatform.store.oxigraph import Store

P = "PREFIX e: <e:>\n"
STORE = Store.open()
STORE.update(
    P
    + "INSERT DATA { "
    + " ".join(f"e:h{n} a e:Hotel ; e:price {n % 7} ; e:in e:c{n % 5} ." for n in range(60))
    + " ".join(f"e:c{n} e:name 'c{n}' ; e:part e:c{n + 1} ." for n in range(5))
    + " GRAPH e:g { e:h1 e:price 4 . e:h1 e:near _:b } }"
)


def run(text, limit, seconds):
    return STORE.query(text, max_rows=limit)


def rows(query, store=STORE):
    return len(store.query(query, max_rows=MOST_ROWS).rows)


WHOLE = """SELECT ?h (COUNT(*) AS ?n) WHERE {
  ?h a e:Hotel ; e:price ?p ;
     e:in ?c .
  ?c e:name 'c1' .
  FILTER(?p > 3)
  OPTIONAL {
    ?c e:part+ ?d .
    FILTER(?d != e:c9)
  }
  { ?h e:none ?y } UNION {
    ?h e:in ?c
  }
  GRAPH e:g { ?g e:price ?other }
  BIND(?p + 1 AS ?r)
  MINUS { ?h e:price 5 }
  { SELECT ?c (MAX(?q) AS ?most) { ?k e:in ?c ; e:price ?q } GROUP BY ?c }
}
GROUP BY ?h
LIMIT 3"""


def test_each_kind_of_condition_is_a_step_with_its_line_and_its_counts():
    steps = explain(P + WHOLE, run).steps
    assert [(s.line - 1, s.depth, s.kind.value, s.alone, s.rows) for s in steps] == [
        (2, 0, "pattern", 60, 60),
        (2, 0, "pattern", 60, 60),
        (5, 0, "filter", None, 24),
        (3, 0, "pattern", 60, 24),
        (4, 0, "pattern", 1, 5),
        (6, 0, "optional", 15, 20),
        (7, 1, "path", 15, 20),
        (8, 1, "filter", None, 20),
        (10, 0, "union", 60, 20),
        (10, 1, "pattern", 0, 0),
        (11, 1, "pattern", 60, 20),
        (13, 0, "graph", 1, 20),
        (13, 1, "pattern", 1, 20),
        (14, 0, "bind", None, 20),
        (15, 0, "minus", None, 16),
        (15, 1, "pattern", 8, 16),
        (16, 0, "subquery", 5, 16),
        (16, 1, "pattern", 60, 60),
        (16, 1, "pattern", 60, 60),
        (1, 0, "result", None, 3),
    ]
    assert all(rows(step.query) == step.rows for step in steps)
    assert steps[0].estimated == 60


@pytest.mark.parametrize(
    ("query", "counts"),
    [
        ("SELECT * FROM e:g { ?a ?b ?c } VALUES ?a { e:h1 e:h2 }", [2, 2, 2]),
        ("CONSTRUCT { ?a e:z ?b . ?b e:y ?a } WHERE { ?a e:in ?b }", [60]),
        ("SELECT (EXISTS { ?a ?b ?c } AS ?x) { [ e:price 3 ; e:in ?c ] a e:Hotel ; e:in ?d }", [9, 9]),
        ("ASK { ?a e:in ?b ; e:none ?c FILTER NOT EXISTS { ?a e:price 3 } }", [60, 51, 0]),
        ("SELECT ?c (COUNT(*) AS ?n) { ?h e:in ?c } GROUP BY ?c VALUES ?c { e:c1 }", [60, 1]),
        ("SELECT * { { ?a e:name 'c1' } ?b e:in ?a }", [1, 1, 12, 12]),
    ],
)
def test_counts_are_those_of_the_query_up_to_there(query, counts):
    steps = explain(P + query, run).steps
    assert [step.rows for step in steps] == counts
    for step in steps:
        if step.kind is not StepKind.RESULT:
            assert rows(step.query) == step.rows


NODES = [ox.NamedNode(f"e:{name}") for name in "abcd"]
TRIPLES = st.sets(st.tuples(*(st.sampled_from(NODES[:size]) for size in (4, 2, 4))), max_size=14)
TERMS = st.sampled_from(["?x", "?y", "?z", "e:a", "e:b"])
PATTERNS = st.tuples(TERMS, st.sampled_from(["e:a", "e:b", "?p", "e:a+", "^e:b", "e:a/e:b"]), TERMS).map(" ".join)
BLOCKS = st.lists(PATTERNS, min_size=1, max_size=3).map(lambda found: " . ".join(found))
CLAUSES = st.one_of(
    BLOCKS.map(lambda body: f"{body} ."),
    BLOCKS.map(lambda body: f"OPTIONAL {{ {body} }}"),
    BLOCKS.map(lambda body: f"MINUS {{ {body} }}"),
    st.tuples(BLOCKS, BLOCKS).map(lambda pair: f"{{ {pair[0]} }} UNION {{ {pair[1]} OPTIONAL {{ {pair[0]} }} }}"),
    BLOCKS.map(lambda body: f"{{ SELECT DISTINCT ?x {{ {body} }} }}"),
    st.sampled_from(["FILTER(?x != ?y)", "FILTER EXISTS { ?x e:a ?z }", "VALUES ?z { e:a e:c }"]),
)


def joined(triples, patterns):
    """The number of solutions of plain triple patterns, found by trying all."""
    found = [{}]
    for pattern in patterns:
        grown = []
        for solution in found:
            for triple in triples:
                new = dict(solution)
                if all(_fits(new, term, value) for term, value in zip(pattern.split(), triple, strict=True)):
                    grown.append(new)
        found = grown
    return len(found)


def _fits(solution, term, value):
    return solution.setdefault(term, value) == value if term[0] == "?" else value.value == term


def _counts_equal_the_queries_up_to_there(triples, clauses):
    store = Store.open()
    store.apply(added=[ox.Quad(*triple) for triple in triples], removed=[])
    query = f"{P}SELECT * {{ {' '.join(clauses)} }}"
    steps = explain(query, lambda text, limit, _seconds: store.query(text, max_rows=limit)).steps
    for step in steps:
        assert step.rows == rows(step.query, store), step.query
    top = [step for step in steps if step.depth == 0]
    assert top[-1].rows == top[-2].rows == rows(query, store)


def _counts_equal_those_by_hand(triples, patterns):
    store = Store.open()
    store.apply(added=[ox.Quad(*triple) for triple in triples], removed=[])
    plain = [item for item in patterns if not set("+^/") & set(item)]
    if not plain:
        return
    query = f"{P}SELECT * {{ {' . '.join(plain)} }}"
    steps = explain(query, lambda text, limit, _seconds: store.query(text, max_rows=limit)).steps[:-1]
    for n, step in enumerate(steps, 1):
        assert step.rows == joined(triples, [one.text for one in steps[:n]])
        assert step.alone == joined(triples, [step.text])


test_counts_of_any_query = in_two_lengths(300, TRIPLES, st.lists(CLAUSES, min_size=1, max_size=4))(
    _counts_equal_the_queries_up_to_there
)
test_counts_of_patterns_by_hand = in_two_lengths(300, TRIPLES, st.lists(PATTERNS, min_size=1, max_size=4))(
    _counts_equal_those_by_hand
)


def test_the_step_that_multiplies_is_named():
    plan = explain(P + "SELECT * {\n ?a e:price ?p .\n ?b e:price ?q .\n ?c e:price ?r }", run)
    assert [step.rows for step in plan.steps] == [60, 3600, MOST_ROWS, MOST_ROWS]
    assert [step.estimated for step in plan.steps[:3]] == [60, 3600, 216000]
    assert plan.slow == 2
    assert plan.verdict == ("apart", 5, MOST_ROWS)
    assert explain(P + "SELECT * { ?a e:price ?p }", run).verdict == ("quick", 0, 60)


def test_what_is_not_counted_in_time_is_the_slow_step_and_the_time_is_kept():
    def late(text, limit, seconds):
        if "e:name" in text and "e:in" in text:
            time.sleep(seconds)
            raise QueryTimeoutError(query=text, seconds=seconds)
        return run(text, limit, seconds)

    started = time.monotonic()
    plan = explain(P + "SELECT * {\n ?a e:in ?c .\n ?c e:name ?n .\n ?a e:price ?p }", late, seconds=0.4)
    assert time.monotonic() - started < 5
    assert plan.verdict == ("uncounted", 4, 0)
    assert [step.rows for step in plan.steps][:2] == [60, None]


def test_a_step_of_many_rows_is_named_and_a_cancelled_plan_ends():
    store = Store.open()
    store.apply(added=[ox.Quad(ox.NamedNode(f"e:{n}"), NODES[0], NODES[n % 2]) for n in range(BROAD)], removed=[])
    plan = explain(P + "SELECT * { ?x e:a ?y }", lambda text, limit, _: store.query(text, max_rows=limit))
    assert plan.verdict == ("many", 2, BROAD)

    def cancelled(text, limit, seconds):
        raise QueryCancelledError(query=text)

    with pytest.raises(QueryCancelledError):
        explain(P + "SELECT * { ?x e:a ?y }", cancelled)


@pytest.mark.parametrize("text", ["", "SELECT", "DESCRIBE <e:a>", "SELECT * {", "DROP ALL", "ASK {}"])
def test_what_has_no_conditions_has_no_plan(text):
    assert explain(text, run).steps == ()


def test_the_group_of_a_construct_is_not_its_template():
    parts = split_query("CONSTRUCT { ?a ?b ?c } WHERE { ?x ?y ?z . ?z ?y ?x }")
    assert [item.text for item in parts.elements] == ["?x ?y ?z", "?z ?y ?x"]
    short = split_query("CONSTRUCT WHERE { ?x ?y ?z }")
    assert len(short.elements) == 1


@pytest.fixture
def server(tmp_path):
    kg = small_graph(tmp_path)
    yield kg, create_app(kg).test_client()
    kg.close()


def test_the_plan_over_http_has_steps_words_and_one_line_for_what_is_wrong(server):
    _, client = server
    found = client.post("/api/plan", json={"query": HOTELS, "name": "ab" * 8}).get_json()
    assert [(step["line"], step["rows"]) for step in found["steps"]] == [(2, 4), (3, 4), (1, 4)]
    assert found["said"] == "No slow step: at most 4 rows at a time."
    assert "travel:roomCount" in found["html"]
    chinese = client.post("/api/plan?lang=zh", json={"query": HOTELS}).get_json()
    assert chinese["said"] == "没有慢的步骤：每步最多 4 行。"
    assert "三元组模式" in chinese["html"]
    wrong = client.post("/api/plan", json={"query": "SELECT * {\n ?x a travel:Hotel"})
    assert (wrong.status_code, wrong.get_json()["line"]) == (400, 2)
    for refused in (
        "DROP ALL",
        "SELECT * { SERVICE <http://elsewhere.example/> { ?a ?b ?c } }",
        "SELECT * " + "{" * 500,
    ):
        answer = client.post("/api/plan", json={"query": refused})
        assert answer.status_code == 400
        assert "\n" not in answer.get_json()["detail"]
    assert client.post("/api/plan", json={}).status_code == 400
    assert client.post("/api/plan", json={"query": "ASK {}", "name": "x"}).status_code == 400
    evil = client.post("/api/plan", json={"query": "SELECT * { ?x ?p '<script>alert(1)</script>' }"}).get_json()
    assert "<script>" not in evil["html"]


def test_the_page_explains_without_scripts(server):
    _, client = server
    page = client.get("/query", query_string={"query": HOTELS, "explain": "1"}).get_data(as_text=True)
    assert "No slow step" in page
    assert "Lakeside Inn" not in page
    broken = client.get("/query", query_string={"query": "SELECT * {", "explain": "1"})
    assert broken.status_code == 400
    assert "Traceback" not in broken.get_data(as_text=True)


def test_the_command_line_prints_the_steps(tmp_path, capsys):
    with KnowledgeGraph.create(tmp_path / "kg", ontology="core") as kg:
        kg.update(P + "INSERT DATA { e:a e:p e:b , e:c . e:b e:q e:c }")
    query = P + "SELECT * {\n ?x e:p ?y .\n ?y e:q ?z }"
    assert main(["query", "-w", str(tmp_path / "kg"), "--explain", "-e", query]) == 0
    told = capsys.readouterr()
    assert [line.split()[0] for line in told.out.splitlines()[2:]] == ["3", "4", "2"]
    assert "No slow step" in told.err
    assert main(["query", "-w", str(tmp_path / "kg"), "--explain", "-e", "SELECT * {"]) != 0
    assert "Traceback" not in capsys.readouterr().err
