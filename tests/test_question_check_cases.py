"""What the checker of queries lets pass and what it does not: a line for each way in which checkers go wrong."""

# ruff: noqa: E501
from __future__ import annotations

import pytest
from test_question_builtin import Graph

from kgplatform.questions.check import check
from kgplatform.questions.repair import mended
from kgplatform.types import IssueKind

ATLAS = """
@prefix : <http://atlas/> . @prefix o: <http://atlas/o#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
o:Place a owl:Class ; rdfs:label "place"@en . o:City a owl:Class ; rdfs:subClassOf o:Place ; rdfs:label "city"@en .
o:Province a owl:Class ; rdfs:subClassOf o:Place ; rdfs:label "province"@en . o:Hotel a owl:Class ; rdfs:label "hotel"@en .
o:Restaurant a owl:Class ; rdfs:label "restaurant"@en . o:Spa a owl:Class ; rdfs:label "spa"@en .
o:inProvince a owl:ObjectProperty ; rdfs:label "in province"@en . o:inCity a owl:ObjectProperty ; rdfs:label "in city"@en .
o:near a owl:ObjectProperty ; rdfs:label "near"@en . o:cuisine a owl:DatatypeProperty ; rdfs:label "cuisine"@en .
o:population a owl:DatatypeProperty ; rdfs:label "population"@en . o:price a owl:DatatypeProperty ; rdfs:label "price"@en .
o:code a owl:DatatypeProperty ; rdfs:label "code"@en . o:open a owl:DatatypeProperty ; rdfs:label "open"@en . o:motto a owl:DatatypeProperty ; rdfs:label "motto"@en .
:p a o:Province ; rdfs:label "Lower Vale"@en . :c a o:City ; rdfs:label "Alder"@en, "桤木"@zh ; o:inProvince :p ; o:population 900 ; o:motto "Slow"@en .
:d a o:City ; rdfs:label "Birch"@en ; o:inProvince :p ; o:population 400 . :h a o:Hotel, o:Spa ; rdfs:label "Inn"@en ; o:inCity :c ; o:price 80 ; o:near :r ; o:open true .
:i a o:Hotel ; rdfs:label "Lodge"@en ; o:inCity :d ; o:price 95.5 ; o:near :h ; o:code "B7" . :r a o:Restaurant ; rdfs:label "Pot"@en ; o:inCity :c ; o:cuisine "stew" .
"""
NAMES = Graph(ATLAS).knowledge.names
P = "PREFIX o: <http://atlas/o#> PREFIX : <http://atlas/> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "

CLASS, PROPERTY, TERM = IssueKind.UNKNOWN_CLASS, IssueKind.UNKNOWN_PROPERTY, IssueKind.UNKNOWN_TERM
IMPOSSIBLE, FORM, UNBOUND = IssueKind.IMPOSSIBLE, IssueKind.LITERAL_FORM, IssueKind.UNBOUND
SYNTAX, REFUSED, CARTESIAN = IssueKind.SYNTAX, IssueKind.REFUSED, IssueKind.CARTESIAN

KNOWN_TRAPS = [
    ("a sequence path", "SELECT ?h { ?h o:inCity/o:inProvince :p }", set()),
    ("an unknown class and property", "SELECT ?c { ?c a o:Cityy ; o:populace ?n }", {CLASS, PROPERTY}),
    ("a bad property in OPTIONAL", "SELECT ?c { ?c a o:City OPTIONAL { ?c o:mayor ?m } }", {PROPERTY}),
    ("a bad property in GRAPH", "SELECT ?c { GRAPH ?g { ?c o:mayor ?m } }", {PROPERTY}),
    ("a syntax error", "SELECT ?c { ?c a o:City", {SYNTAX}),
    ("an unknown class alone", "SELECT ?c { ?c a o:Cityy }", {CLASS}),
    ("an untyped subject with an unknown property", "SELECT ?c { ?c o:mayor ?m }", {PROPERTY}),
    ("a value of the wrong class", "SELECT ?c { ?c o:inProvince ?x . ?x a o:Hotel }", {IMPOSSIBLE}),
    ("a number in quotes", 'SELECT ?c { ?c o:population "900" }', {FORM}),
    ("a bad property in NOT EXISTS", "SELECT ?c { ?c a o:City FILTER NOT EXISTS { ?c o:mayor ?m } }", {PROPERTY}),
    ("the second of two possible ranges", "SELECT ?r { ?h o:near ?r . ?r a o:Restaurant ; o:cuisine ?k }", set()),
    ("an inverse path", "SELECT ?c { :p ^o:inProvince ?c }", set()),
    ("a negated property set", "SELECT ?x { :c !o:motto ?x }", set()),
    ("a class in VALUES", "SELECT ?c { VALUES ?t { o:City } ?c a ?t ; o:price ?p }", {IMPOSSIBLE}),
    ("two classes of one thing", "SELECT ?h { ?h a o:Hotel, o:Spa ; o:price ?p }", set()),
    ("a superclass", "SELECT ?c { ?c a o:Place ; o:population ?n }", set()),
    ("a call to another endpoint", "SELECT ?c { SERVICE <http://127.0.0.1:1/x> { ?c a o:City } }", {REFUSED}),
    ("an update", "DELETE WHERE { ?s ?p ?o }", {REFUSED}),
]
SOUND = [
    ("a chain of any length", "SELECT ?r { ?h o:near+ ?r . ?h a o:Hotel }"),
    ("an alternative path", "SELECT ?x { :h (o:near|o:inCity) ?x }"),
    ("any property", "SELECT ?p ?v { :c ?p ?v }"),
    ("a class of a variable", "SELECT ?t (COUNT(*) AS ?n) { ?x a ?t } GROUP BY ?t"),
    ("a label with its language", 'SELECT ?c { ?c rdfs:label "Alder"@en }'),
    ("a label in Chinese", 'SELECT ?c { ?c rdfs:label "桤木"@zh }'),
    ("a number", "SELECT ?c { ?c o:population 900 }"),
    ("a decimal where there are integers too", "SELECT ?h { ?h o:price 95.5 }"),
    ("a plain text", 'SELECT ?h { ?h o:code "B7" }'),
    ("a text with its language", 'SELECT ?c { ?c o:motto "Slow"@en }'),
    ("a boolean", "SELECT ?h { ?h o:open true }"),
    ("a filter on what is bound", "SELECT ?c { ?c o:population ?n FILTER(?n > 500) }"),
    ("an assigned variable", "SELECT ?k { ?c o:population ?n BIND(?n / 1000 AS ?k) }"),
    ("a sum per group", "SELECT ?p (SUM(?n) AS ?all) { ?c o:inProvince ?p ; o:population ?n } GROUP BY ?p"),
    ("a subquery", "SELECT ?c { { SELECT (MAX(?m) AS ?n) { ?x o:population ?m } } ?c o:population ?n }"),
    ("a union", "SELECT ?x { { ?x a o:Hotel } UNION { ?x a o:Restaurant } }"),
    (
        "a union of classes, either with its own properties",
        "SELECT ?x { { ?x a o:Hotel ; o:price ?p } UNION { ?x a o:Restaurant ; o:cuisine ?k } }",
    ),
    ("a MINUS", "SELECT ?c { ?c a o:City MINUS { ?h o:inCity ?c } }"),
    ("VALUES of things", "SELECT ?n { VALUES ?c { :c :d } ?c o:population ?n }"),
    ("VALUES of rows", 'SELECT ?n { VALUES (?c ?k) { (:c "a") } ?c o:population ?n }'),
    ("a blank node", "SELECT ?c { ?c a o:City . [] o:inCity ?c }"),
    ("properties of a blank node", "SELECT ?c { ?c a o:City . [ a o:Hotel ; o:inCity ?c ] }"),
    ("things joined in a filter", "SELECT ?a ?b { ?a o:population ?n . ?b o:population ?m FILTER(?n > ?m) }"),
    ("an ASK", "ASK { :h o:inCity :c }"),
    ("everything", "SELECT * { ?c a o:City ; o:population ?n }"),
    ("a cast that there is", 'SELECT ?h { ?h o:code ?c FILTER(xsd:integer("7") = 7) }'),
    ("a comment with a brace", "SELECT ?c { # }\n ?c a o:City }"),
    ("a text that looks like a query", 'SELECT ?h { ?h o:code "} DROP ALL ; INSERT" }'),
    ("OPTIONAL variables projected", "SELECT ?c ?m { ?c a o:City OPTIONAL { ?c o:motto ?m } }"),
    ("subclasses followed in a path", "SELECT ?c { ?c a/rdfs:subClassOf* o:Place ; o:population ?n }"),
]
UNSOUND = [
    ("a class as a property", "SELECT ?c { ?c o:City ?x }", {PROPERTY}),
    ("a property as a class", "SELECT ?c { ?c a o:population }", {CLASS}),
    ("a bad property in a path", "SELECT ?c { ?c o:inProvince/o:ruler ?x }", {PROPERTY}),
    ("a bad property below UNION", "SELECT ?c { { ?c a o:City } UNION { ?c o:ruler ?x } }", {PROPERTY}),
    ("a bad property below MINUS", "SELECT ?c { ?c a o:City MINUS { ?c o:ruler ?x } }", {PROPERTY}),
    ("a bad property in a subquery", "SELECT ?c { { SELECT ?c { ?c o:ruler ?x } } }", {PROPERTY}),
    ("a bad property after a semicolon", "SELECT ?c { ?c a o:City ; o:population ?n ; o:ruler ?x }", {PROPERTY}),
    ("a thing that is not there", "SELECT ?n { :zz o:population ?n }", {TERM}),
    ("a property of another class", "SELECT ?h { ?h a o:Hotel ; o:population ?n }", {IMPOSSIBLE}),
    ("an inverse path of another class", "SELECT ?h { ?h a o:Hotel . ?h ^o:inProvince ?x }", {IMPOSSIBLE}),
    ("a text where a thing belongs", 'SELECT ?h { ?h o:inCity "Alder" }', {FORM}),
    ("a number where a text is", "SELECT ?r { ?r o:cuisine 5 }", {FORM}),
    ("a language where there is none", 'SELECT ?h { ?h o:code "B7"@en }', {FORM}),
    ("no language where there is one", 'SELECT ?c { ?c o:motto "Slow" }', {FORM}),
    ("a label without its language", 'SELECT ?c { ?c rdfs:label "Alder" }', {FORM}),
    ("a label in the wrong language", 'SELECT ?c { ?c rdfs:label "Alder"@zh }', {FORM}),
    ("a cast that there is not", "SELECT ?c { ?c o:population ?n FILTER(xsd:int(?n) > 5) }", {FORM}),
    ("a projected variable that is not bound", "SELECT ?c ?zz { ?c a o:City }", {UNBOUND}),
    ("a filter on what is never bound", "SELECT ?c { ?c o:population ?n FILTER(?m > 5) }", {UNBOUND}),
    ("an order by what is never bound", "SELECT ?c { ?c a o:City } ORDER BY ?m", {UNBOUND}),
    ("a value used as a thing", "SELECT ?x { ?c o:population ?n . ?n o:price ?x }", {IMPOSSIBLE}),
    ("every pair of things", "SELECT ?a ?b { ?a a o:City . ?b a o:Hotel }", {CARTESIAN}),
    ("a missing GROUP BY", "SELECT ?p (SUM(?n) AS ?all) { ?c o:inProvince ?p ; o:population ?n }", {SYNTAX}),
    ("an unknown prefix", "SELECT ?c { ?c a zzz:City }", {SYNTAX}),
    ("two queries", "SELECT ?c { ?c a o:City } ; SELECT ?h { ?h a o:Hotel }", {SYNTAX}),
    ("prose", "Here is the query you wanted.", {SYNTAX}),
    ("LOAD", "LOAD <http://127.0.0.1:1/x>", {REFUSED}),
    ("an update after a query", "SELECT ?c { ?c a o:City } ; DROP ALL", {SYNTAX}),
    (
        "SERVICE in a subquery",
        "SELECT ?c { { SELECT ?c { SERVICE SILENT <http://127.0.0.1:1/> { ?c ?p ?o } } } }",
        {REFUSED},
    ),
    ("an unknown class in VALUES", "SELECT ?c { VALUES ?t { o:Cityy } ?c a ?t }", {CLASS}),
]


def _kinds(query: str) -> set[IssueKind]:
    return {issue.kind for issue in check(P + query, NAMES)}


@pytest.mark.parametrize(("query", "kinds"), [case[1:] for case in KNOWN_TRAPS], ids=[case[0] for case in KNOWN_TRAPS])
def test_check_avoids_the_known_traps(query: str, kinds: set[IssueKind]) -> None:
    assert _kinds(query) == kinds


@pytest.mark.parametrize("query", [case[1] for case in SOUND], ids=[case[0] for case in SOUND])
def test_check_lets_a_sound_query_pass(query: str) -> None:
    assert _kinds(query) == set()


@pytest.mark.parametrize(("query", "kinds"), [case[1:] for case in UNSOUND], ids=[case[0] for case in UNSOUND])
def test_check_finds_what_is_wrong(query: str, kinds: set[IssueKind]) -> None:
    assert _kinds(query) == kinds


def test_check_says_what_would_be_allowed() -> None:
    (issue,) = check(P + "SELECT ?c { VALUES ?t { o:City } ?c a ?t ; o:price ?p }", NAMES)
    assert "http://atlas/o#population" in issue.allowed
    (label,) = check(P + 'SELECT ?c { ?c rdfs:label "Alder" }', NAMES)
    assert '"Alder"@en' in label.message
    (pairs,) = check(P + "SELECT ?a ?b { ?a a o:City . ?b a o:Hotel }", NAMES)
    assert not pairs.fatal
    assert "?a" in pairs.message
    assert "?b" in pairs.message


@pytest.mark.parametrize(
    ("query", "mended_part"),
    [
        ("SELECT ?c { ?c o:population ?n FILTER(xsd:int(?n) > 5) }", "XMLSchema#integer>(?n)"),
        ('SELECT ?c { ?c rdfs:label "Alder" }', '"Alder"@en'),
    ],
)
def test_repair_mends_casts_and_labels(query: str, mended_part: str) -> None:
    repair = mended(P + query, names=NAMES)
    assert repair.sound
    assert mended_part in repair.text
