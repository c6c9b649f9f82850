"""The checker of queries: what it lets pass, what it finds wrong, what is mended; a line for each way to go wrong."""

# ruff: noqa: E501
from __future__ import annotations

import pytest
from asked import Asked, tables
from hypothesis import given, settings
from hypothesis import strategies as st

from kgplatform.questions.check import check
from kgplatform.questions.model_translator import mended
from kgplatform.types import IssueKind

QUERIES = tables("queries")
ATLAS, SOUND = QUERIES["graph"], list(QUERIES["sound"].items())
UNSOUND = [
    (name, case["query"], {IssueKind[kind] for kind in case["finds"]}) for name, case in QUERIES["unsound"].items()
]
NAMES = Asked(ATLAS).known.names
P = "PREFIX o: <http://atlas/o#> PREFIX : <http://atlas/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "


def kinds_of(query):
    return {issue.kind for issue in check(P + query, NAMES)}


@pytest.mark.parametrize("query", [case[1] for case in SOUND], ids=[case[0] for case in SOUND])
def test_check_lets_a_sound_query_pass(query):
    assert kinds_of(query) == set()


@pytest.mark.parametrize(("query", "kinds"), [case[1:] for case in UNSOUND], ids=[case[0] for case in UNSOUND])
def test_check_finds_what_is_wrong(query, kinds):
    assert kinds_of(query) == kinds


def test_check_says_where_it_is_and_what_would_be_allowed():
    (issue,) = check(f"{P}\nSELECT ?c WHERE {{\n ?c a o:Cityy }}", NAMES)
    assert (issue.allowed[0], issue.line) == ("http://atlas/o#City", 3)
    (issue,) = check(P + "SELECT ?c { VALUES ?t { o:City } ?c a ?t ; o:price ?p }", NAMES)
    assert "http://atlas/o#population" in issue.allowed
    (label,) = check(P + 'SELECT ?c { ?c rdfs:label "Alder" }', NAMES)
    assert '"Alder"@en' in label.message
    (pairs,) = check(P + "SELECT ?a ?b { ?a a o:City . ?b a o:Hotel }", NAMES)
    assert not pairs.fatal
    assert all(name in pairs.message for name in ("?a", "?b"))


TOKENS = (
    *(
        "SELECT",
        "ASK",
        "WHERE",
        "{",
        "}",
        "(",
        ")",
        "?x",
        "?y",
        "a",
        "o:Hotel",
        ".",
        ";",
        ",",
        "FILTER",
        "NOT",
        "EXISTS",
    ),
    *("/", "^", "+", "*", "[", "]", '"', "'", "<", ">", "5", "@en"),
)


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=120) | st.lists(st.sampled_from(TOKENS), max_size=25).map(" ".join))
def test_check_survives_any_text(text):
    assert all(issue.message for issue in check(text, NAMES))


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ("SELECT ?c { ?c o:population ?n FILTER(xsd:int(?n) > 5) }", "XMLSchema#integer>(?n)"),
        ('SELECT ?c { ?c rdfs:label "Alder" }', '"Alder"@en'),
        ("SELECT ?c { ?c a o:Cityy }", "<http://atlas/o#City>"),
        ('SELECT ?c { ?c o:population "900" }', " 900"),
    ],
)
def test_repair_mends_casts_labels_near_names_and_quoted_numbers(query, part):
    repair = mended(P + query, names=NAMES)
    assert repair.sound
    assert part in repair.text
    assert [bool(attempt.issues) for attempt in repair.attempts] == [True, False]
