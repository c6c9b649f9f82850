"""OWL/XML (https://www.w3.org/TR/owl2-xml-serialization/), read by owlready2's parser.

That parser goes by the element it is in and leaves some axioms out without a word; they are counted here, so that they
can be reported. Two that the platform lives by are added: keys, and equivalences of more than two terms.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias
from urllib.parse import urljoin

from lxml import etree  # type: ignore[import-untyped]
from pyoxigraph import BlankNode, Literal, NamedNode, Quad

from kgplatform.errors import StoreError
from kgplatform.vocab import OWL, RDF, TYPE

_Node: TypeAlias = NamedNode | BlankNode
_TAG = f"{{{OWL}}}"
_NAMED = ("Class", "ObjectProperty", "DataProperty", "NamedIndividual", "Datatype")
_EQUIVALENT = {
    "EquivalentClasses": "equivalentClass",
    "EquivalentObjectProperties": "equivalentProperty",
    "EquivalentDataProperties": "equivalentProperty",
    "SameIndividual": "sameAs",
}
_LEFT_OUT = (
    *("DLSafeRule", "DatatypeDefinition", "NegativeObjectPropertyAssertion", "NegativeDataPropertyAssertion"),
    *("DataHasSelf", "HasKey"),
)


@dataclass(frozen=True, slots=True)
class Parsed:
    """The quads of a file, and the axioms that were left out, by kind."""

    quads: list[Quad]
    unread: Mapping[str, int]


def parse_owlxml(data: bytes, *, name: str, base_iri: str) -> Parsed:
    """The triples of an OWL/XML file that has no document type.

    Raises:
        StoreError: it is not well-formed, or not OWL/XML.
    """
    try:
        root = etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True))
    except etree.XMLSyntaxError as error:
        line, column = error.position
        raise StoreError(f"{name}: line {line}, column {column}: {error.msg}") from error
    if root.tag != f"{_TAG}Ontology":
        raise StoreError(f"{name}: its root is {etree.QName(root).localname}, not Ontology of OWL/XML")
    if not root.get("ontologyIRI"):
        root.set("ontologyIRI", base_iri)
    names = _Names(root)
    found = _Found()
    _read(etree.tostring(root), name, found)
    for triple in _added(root, names):
        found.quads[Quad(*triple)] = None
    unread = Counter(etree.QName(item).localname for item in root if isinstance(item.tag, str))
    counts = {kind: unread[kind] for kind in _LEFT_OUT if unread[kind]}
    counts.pop("HasKey", None)
    return Parsed(list(found.quads), counts)


class _Names:
    """The IRIs that elements stand for."""

    def __init__(self, root: etree._Element) -> None:
        self._base = str(root.get("{http://www.w3.org/XML/1998/namespace}base") or root.get("ontologyIRI"))
        self._prefixes = {str(p.get("name") or ""): str(p.get("IRI") or "") for p in root.iter(f"{_TAG}Prefix")}

    def of(self, element: etree._Element) -> NamedNode | None:
        """The IRI of a named term; None for an expression."""
        if element.tag not in {f"{_TAG}{name}" for name in _NAMED}:
            return None
        iri, short = element.get("IRI"), element.get("abbreviatedIRI")
        if iri is not None:
            return _node(urljoin(self._base, iri) if not iri.startswith("#") else f"{self._base.rstrip('#')}{iri}")
        prefix, _, local = str(short or "").partition(":")
        return _node(self._prefixes.get(prefix, "") + local)


def _node(iri: str) -> NamedNode | None:
    try:
        return NamedNode(iri)
    except ValueError:
        return None


def _added(root: etree._Element, names: _Names) -> Iterator[tuple[_Node, NamedNode, _Node]]:
    for datatype in root.iterfind(f"{_TAG}Declaration/{_TAG}Datatype"):
        if (iri := names.of(datatype)) is not None:
            yield iri, TYPE, NamedNode("http://www.w3.org/2000/01/rdf-schema#Datatype")
    for kind, predicate in _EQUIVALENT.items():
        for axiom in root.iterfind(f"{_TAG}{kind}"):
            terms = [iri for item in axiom if (iri := names.of(item)) is not None]
            if len(axiom) > 2:
                for first, second in pairwise(terms):
                    yield first, NamedNode(f"{OWL}{predicate}"), second
    for axiom in root.iterfind(f"{_TAG}HasKey"):
        terms = [iri for item in axiom if (iri := names.of(item)) is not None]
        if len(terms) > 1:
            yield from _list(terms[0], NamedNode(f"{OWL}hasKey"), terms[1:])


def _list(
    subject: NamedNode, predicate: NamedNode, items: Iterable[NamedNode]
) -> Iterator[tuple[_Node, NamedNode, _Node]]:
    last: _Node = subject
    link = predicate
    for item in items:
        node = BlankNode()
        yield last, link, node
        yield node, NamedNode(f"{RDF}first"), item
        last, link = node, NamedNode(f"{RDF}rest")
    yield last, link, NamedNode(f"{RDF}nil")


class _Found:
    """Collects what owlready2's parser reports, as quads."""

    def __init__(self) -> None:
        self.quads: dict[Quad, None] = {}
        self._blanks: dict[str, BlankNode] = {}

    def _term(self, name: str) -> _Node:
        if name.startswith("_"):
            return self._blanks.setdefault(name, BlankNode())
        return NamedNode(name)

    def relate(self, subject: str, predicate: str, object_: str) -> None:
        """Notes a triple between nodes."""
        self.quads[Quad(self._term(subject), NamedNode(predicate), self._term(object_))] = None

    def value(self, subject: str, predicate: str, value: object, kind: str) -> None:
        """Notes a triple with a literal; ``kind`` is ``@`` and a language, a datatype, or empty."""
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if kind.startswith("@"):
            literal = Literal(text, language=kind[1:])
        else:
            literal = Literal(text, datatype=NamedNode(kind)) if kind else Literal(text)
        self.quads[Quad(self._term(subject), NamedNode(predicate), literal)] = None


def _read(data: bytes, name: str, found: _Found) -> None:
    from owlready2 import owlxml_2_ntriples  # imported only where a file is in OWL/XML
    from owlready2.base import OwlReadyOntologyParsingError

    try:
        owlxml_2_ntriples.parse(io.BytesIO(data), found.relate, found.value)
    except OwlReadyOntologyParsingError as error:
        cause = error.__cause__
        place = str(error).partition(", line ")[2].rstrip(".")
        detail = f": {type(cause).__name__} {cause}" if cause else ""
        raise StoreError(f"{name}: line {place}: this is not read as OWL/XML{detail}"[:300]) from error
