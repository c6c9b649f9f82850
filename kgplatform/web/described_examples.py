"""Prefixes and examples in the service description, so that a program or person can learn from it what may be asked.

Prefixes are ``sh:declare``, examples ``sh:SPARQLExecutable`` (https://www.w3.org/TR/shacl/ §5.2.1; the pattern is the
one that the endpoints of the life sciences use for their examples). Each example runs as it stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from kgplatform.vocab import COMMENT, KGP, SCHEMA, SH, TYPE, XSD

EXAMPLES: tuple[tuple[str, str, str, str], ...] = (
    (
        "search",
        "Passages by their text, and what was read in them",
        "按文本查找段落，以及从中读出的陈述",
        'SELECT ?passage ?score ?s ?p ?o {\n  SERVICE kgp:search { ?passage kgp:text "hotel" ; kgp:score ?score }\n'
        "  GRAPH ?passage { ?s ?p ?o }\n} ORDER BY DESC(?score) LIMIT 20",
    ),
    (
        "find",
        "Things by a name that need not be spelt rightly",
        "按名称查找事物，拼写不必完全准确",
        'SELECT ?thing ?label ?likeness {\n  SERVICE kgp:find { ?thing kgp:text "Wuzhen" ; kgp:label ?label ; '
        "kgp:likeness ?likeness }\n} ORDER BY DESC(?likeness)",
    ),
    (
        "convert",
        "Numbers in another unit, and days between dates",
        "换算单位，计算日期之间的天数",
        'SELECT (kgp:convert(10, "里", "km") AS ?km)\n'
        '       (kgp:days("2026-01-01"^^xsd:date, "2026-05-01"^^xsd:date) AS ?days) {}',
    ),
    (
        "geo",
        "GeoSPARQL functions, which the store has",
        "存储自带的 GeoSPARQL 函数",
        "PREFIX geof: <http://www.opengis.net/def/function/geosparql/>\n"
        "PREFIX ogc: <http://www.opengis.net/ont/geosparql#>\n"
        'ASK { FILTER(geof:sfWithin("POINT(1 1)"^^ogc:wktLiteral, "POLYGON((0 0,2 0,2 2,0 2,0 0))"^^ogc:wktLiteral)) }',
    ),
)
"""Name, what it shows in English and in Chinese, and the query."""


def prefixes_and_examples(endpoint: NamedNode, prefixes: Mapping[str, str]) -> Iterator[Triple]:
    """The triples that say both of the endpoint."""
    for name, iri in sorted(prefixes.items()):
        node = BlankNode(f"prefix{name}")
        yield Triple(endpoint, _sh("declare"), node)
        yield Triple(node, _sh("prefix"), Literal(name))
        yield Triple(node, _sh("namespace"), Literal(iri, datatype=NamedNode(f"{XSD}anyURI")))
    for name, english, chinese, query in EXAMPLES:
        example = NamedNode(f"{endpoint.value}#example-{name}")
        form = "select" if query.lstrip().startswith("SELECT") else "ask"
        yield Triple(example, TYPE, _sh("SPARQLExecutable"))
        yield Triple(example, TYPE, _sh("SPARQLSelectExecutable" if form == "select" else "SPARQLAskExecutable"))
        yield Triple(example, COMMENT, Literal(english, language="en"))
        yield Triple(example, COMMENT, Literal(chinese, language="zh"))
        yield Triple(example, _sh("prefixes"), endpoint)
        yield Triple(example, _sh(form), Literal(query))
        yield Triple(example, NamedNode(f"{SCHEMA}target"), endpoint)
    for name in ("likeness", "days", "plusDays", "convert"):
        function = NamedNode(f"{KGP}{name}")
        yield Triple(endpoint, NamedNode("http://www.w3.org/ns/sparql-service-description#extensionFunction"), function)
        yield Triple(function, TYPE, NamedNode("http://www.w3.org/ns/sparql-service-description#Function"))


def _sh(name: str) -> NamedNode:
    return NamedNode(f"{SH}{name}")
