"""RML and R2RML in Turtle, made plain for the engine: sources numbered, columns encoded.

https://www.w3.org/TR/r2rml/ and https://kg-construct.github.io/rml-core/spec/docs/
"""

from __future__ import annotations

from pathlib import Path

import pyoxigraph as ox
from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Triple

from kgplatform.errors import ReadError, StoreError
from kgplatform.mapping.columns import encoded, template_encoded
from kgplatform.mapping.sources import GIVEN, Sources
from kgplatform.store import parse

_R2RML = "http://www.w3.org/ns/r2rml#"
_NAMESPACES = (_R2RML, "http://semweb.mmlab.be/ns/rml#", "http://w3id.org/rml/")
_SOURCE = NamedNode("http://w3id.org/rml/source")
_LOGICAL = NamedNode("http://w3id.org/rml/logicalSource")


def _names(*local: str) -> frozenset[str]:
    return frozenset(namespace + name for namespace in _NAMESPACES for name in local)


_REFERENCES = _names("column", "reference", "child", "parent")
_TEMPLATES = _names("template")
_LOGICALS = _names("logicalTable", "logicalSource")
_SOURCES = _names("tableName", "source")
_DROPPED = _names("tableName", "source", "referenceFormulation", "iterator", "sqlVersion", "graphMap", "graph")
_QUERIES = _names("sqlQuery", "query")
_SUBJECTS = _names("subjectMap", "subject")
_SAYING = _names("predicateObjectMap", "class")


def prepared(text: str, path: Path) -> tuple[str, Sources]:
    """The mapping for the engine (as N-Triples), and its sources.

    Raises:
        ReadError: not Turtle, or no triples map in it.
    """
    try:
        triples = [quad.triple for quad in parse(text.encode(), RdfFormat.TURTLE, base_iri=path.resolve().as_uri())]
    except StoreError as error:
        raise ReadError(str(error).removeprefix("the text: "), path=path) from error
    logical = {triple.object: triple.subject for triple in triples if triple.predicate.value in _LOGICALS}
    maps = tuple(dict.fromkeys(str(t.subject).strip("<>") for t in triples if t.predicate.value in _SUBJECTS))
    if not maps:
        raise ReadError("is no RML mapping: it has no triples map with a subject", path=path)
    if not any(triple.predicate.value in _SAYING for triple in triples):
        raise ReadError("says nothing about any row: no triples map has a predicate or a class", path=path)
    if any(triple.predicate.value in _QUERIES for triple in triples):
        raise ReadError("a source is an SQL query; name its table instead", path=path)
    sources = Sources(path)
    kept = [_encoded(triple) for triple in triples if triple.predicate.value not in _DROPPED]
    named = {t.subject: t.object for t in triples if t.predicate.value in _SOURCES and isinstance(t.object, Literal)}
    for node in logical:
        name = None if isinstance(node, Literal) else named.get(node)
        key = sources.key(name.value if isinstance(name, Literal) else GIVEN)
        kept.append(Triple(node, _SOURCE, Literal(key)))  # type: ignore[arg-type]
    with_source = {str(subject).strip("<>") for subject in logical.values()}
    for name_ in (name for name in maps if name not in with_source):
        node = BlankNode()
        subject = NamedNode(name_) if not name_.startswith("_:") else BlankNode(name_[2:])
        kept += [Triple(subject, _LOGICAL, node), Triple(node, _SOURCE, Literal(sources.key(GIVEN)))]
    return (ox.serialize(kept, format=RdfFormat.N_TRIPLES) or b"").decode(), sources


def _encoded(triple: Triple) -> Triple:
    name, object_ = triple.predicate.value, triple.object
    if isinstance(object_, Literal):
        if name in _REFERENCES:
            object_ = Literal(encoded(object_.value.strip('"')))
        elif name in _TEMPLATES:
            object_ = Literal(template_encoded(object_.value))
    return Triple(triple.subject, triple.predicate, object_)
