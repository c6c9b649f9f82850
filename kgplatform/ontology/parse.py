"""Ontology files as triples: which syntax a file is in, told from its content first and its suffix second.

A ``.owl`` file may hold RDF/XML, OWL/XML or Turtle; the content decides. Read are the RDF syntaxes (Turtle,
N-Triples, TriG, RDF/XML, JSON-LD) and OWL/XML; for OWL functional, Manchester and OBO syntax there is no reader, and
the message names a way out.

Files come with byte order marks, in UTF-16, or as XML in the encoding that it declares. Many XML files written by
ontology editors begin with a document type that abbreviates namespaces (``<!ENTITY owl "…">``): such plain entities
are replaced by their values. Entities that contain others, or lie in other files, are refused: a few lines of them
could expand without bound (https://www.w3.org/TR/xml/#sec-entity-decl).

OWL/XML (https://www.w3.org/TR/owl2-xml-serialization/) is read by owlready2's parser. It goes by the element it is in
and leaves some axioms out without a word; they are counted here, so that they can be reported. Two that the platform
lives by are added: keys, and equivalences of more than two terms.
"""

from __future__ import annotations

import codecs
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import TypeAlias
from urllib.parse import urljoin

from lxml import etree  # type: ignore[import-untyped]
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat

from kgplatform.errors import StoreError
from kgplatform.store.oxigraph import parse
from kgplatform.vocab import OWL, RDF, TYPE

_DECLARATION = re.compile(rb"\A\s*<\?xml\b[^>]*?\?>")
_DECLARED = re.compile(rb"encoding\s*=\s*[\"']([\w.\-]+)[\"']")
_DOCTYPE = re.compile(
    rb"<!DOCTYPE\s+[\w:.\-]+\s*(?P<outside>(?:SYSTEM|PUBLIC)\b[^\[>]*)?(?:\[(?P<inside>.*?)\]\s*)?>", re.DOTALL
)
_ENTITY = re.compile(rb"<!ENTITY\s+([\w.\-]+)\s+(?:\"([^\"<%&]*)\"|'([^'<%&]*)')\s*>|<!--.*?-->|\s+", re.S)
_REFERENCE = re.compile(rb"&([\w.\-]+);")
_HEAD = 100_000
_MOST = 200_000_000
"""So many bytes may come out of a file by its entities."""

_WIDE = ((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"), (codecs.BOM_UTF16_LE, "utf-16"),
         (codecs.BOM_UTF16_BE, "utf-16"), (b"<\x00", "utf-16-le"), (b"\x00<", "utf-16-be"), (b"@\x00", "utf-16-le"),
         (b"\x00@", "utf-16-be"))  # fmt: skip


def as_utf8(data: bytes) -> bytes:
    """The text in UTF-8, without byte order mark, and without the encoding that an XML declaration names.

    Raises:
        ValueError: it is not in the encoding that it begins with or declares.
    """
    for mark, name in _WIDE:
        if data.startswith(mark):
            return _without_declaration(_decoded(data, name).lstrip("\ufeff").encode())
    data = data.removeprefix(codecs.BOM_UTF8)
    declaration = _DECLARATION.match(data)
    declared = _DECLARED.search(declaration[0]) if declaration else None
    if declared is None or declared[1].lower() in (b"utf-8", b"us-ascii", b"utf8"):
        return data
    return _without_declaration(_decoded(data, declared[1].decode("ascii", "replace")).encode())


def _decoded(data: bytes, name: str) -> str:
    try:
        return data.decode(name)
    except LookupError as error:
        raise ValueError(f"declares the encoding {name}, which is not known; save it as UTF-8") from error
    except UnicodeError as error:
        raise ValueError(f"is not the {name} that it begins as; save it as UTF-8") from error


def _without_declaration(data: bytes) -> bytes:
    return _DECLARATION.sub(b"", data, count=1)


def without_doctype(data: bytes) -> bytes:
    """XML without its document type, plain entities replaced by their values.

    Raises:
        ValueError: the document type has more than plain entities.
    """
    if b"<!DOCTYPE" not in data[:_HEAD]:
        if b"<!ENTITY" in data:
            raise ValueError("has an <!ENTITY> outside a DOCTYPE; save it without, or as Turtle")
        return data
    found = _DOCTYPE.search(data)
    inside = (found["inside"] or b"") if found else b""
    if found is None or found["outside"] or b"<!ENTITY" in data[found.end() :]:
        raise ValueError("has a DOCTYPE that refers to other files or is broken; save it without one, or as Turtle")
    values: dict[bytes, bytes] = {}
    place = 0
    while place < len(inside):
        item = _ENTITY.match(inside, place)
        if item is None:
            raise ValueError(
                "has a DOCTYPE with more than plain entities (such that hold others could grow without bound);"
                " save it without one, or as Turtle"
            )
        place = item.end()
        if item[1]:
            values.setdefault(item[1], item[2] if item[2] is not None else item[3] or b"")
    return _replaced(data[: found.start()] + data[found.end() :], values)


def _replaced(data: bytes, values: dict[bytes, bytes]) -> bytes:
    grown = len(data) + sum(data.count(b"&%b;" % name) * len(value) for name, value in values.items())
    if grown > _MOST:
        raise ValueError(f"would grow to {grown // 1_000_000:,} MB by the entities of its DOCTYPE; save it without one")
    return _REFERENCE.sub(lambda item: values.get(item[1], item[0]), data) if values else data


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


OWL_XML = "OWL/XML"
READ = "Turtle, N-Triples, TriG, RDF/XML, JSON-LD and OWL/XML"
SUFFIXES: Mapping[str, RdfFormat | str] = MappingProxyType({
    ".ttl": RdfFormat.TURTLE,
    ".nt": RdfFormat.N_TRIPLES,
    ".rdf": RdfFormat.RDF_XML,
    ".owl": RdfFormat.RDF_XML,
    ".xml": RdfFormat.RDF_XML,
    ".jsonld": RdfFormat.JSON_LD,
    ".trig": RdfFormat.TRIG,
    ".owx": OWL_XML,
})  # fmt: skip
_UNREADABLE = {".ofn": "OWL functional syntax", ".omn": "Manchester syntax", ".obo": "OBO format"}
_CONVERT = f"which nothing here reads; save it from its editor (Protégé: Save as) in one of: {READ}"
_XML = (RdfFormat.RDF_XML, OWL_XML)
_LINES = (RdfFormat.TURTLE, RdfFormat.N_TRIPLES, RdfFormat.TRIG)
_COMMENT = re.compile(r"\A(?:\s+|#[^\n]*(?:\n|\Z))*")
_XML_PROLOG = re.compile(r"\A(?:\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE\s+(?!html\b)[^\[>]*(?:\[.*?\]\s*)?>)*", re.S)
_ROOT = re.compile(r"<(?:([\w.\-]+):)?([\w.\-]+)([^<]*)")
_HTML = re.compile(r"(?i)<!doctype\s+html\b|<html\b|<head\b|<body\b")
_FUNCTIONAL = re.compile(r"(?:Prefix|Ontology)\s*\(")
_MANCHESTER = re.compile(r"(?:Prefix|Ontology|Class|ObjectProperty|Import):\s")
_TURTLE = re.compile(r"(?i)@prefix\b|@base\b|prefix\s+[\w.\-]*:\s*<|base\s+<")
_JSON = re.compile(r"\{\s*\"|\[\s*\{\s*\"|\{\s*\}\s*\Z|\[\s*\]\s*\Z")
_SYNTAX_HEAD = 20_000


def parse_ontology(data: bytes, *, name: str, suffix: str, base_iri: str) -> Parsed:
    """The triples that the file spells.

    Raises:
        ValueError: it is empty, HTML, in a syntax that is not read, or has a document type that may grow.
        StoreError: it does not parse.
    """
    if suffix not in SUFFIXES and suffix in _UNREADABLE:
        raise ValueError(f"is in {_UNREADABLE[suffix]}, {_CONVERT}")
    text = as_utf8(data)
    format_ = _sniffed(text, SUFFIXES.get(suffix))
    if format_ is None:
        raise ValueError(f"has the suffix {suffix or '(none)'}; read are {', '.join(SUFFIXES)}")
    if not text.strip():
        raise ValueError("is empty")
    if format_ in _XML:
        text = without_doctype(text)
    if isinstance(format_, str):
        return parse_owlxml(text, name=name, base_iri=base_iri)
    return Parsed(parse(text, format_, base_iri=base_iri, source=name), {})


def suffix_of(data: bytes) -> str:
    """The suffix that fits the content; ``.ttl`` where it does not tell.

    Raises:
        ValueError: it is HTML, or in a syntax that is not read.
    """
    format_ = _sniffed(as_utf8(data), None)
    return next((suffix for suffix, known in SUFFIXES.items() if known == format_), ".ttl")


def _sniffed(data: bytes, claimed: RdfFormat | str | None) -> RdfFormat | str | None:
    """The format that the content begins as; else the one that the suffix claims."""
    head = data[:_SYNTAX_HEAD].decode("utf-8", "replace")
    rest = _COMMENT.sub("", head, count=1)
    if _FUNCTIONAL.match(rest):
        raise ValueError(f"is in OWL functional syntax, {_CONVERT}")
    if _MANCHESTER.match(rest):
        raise ValueError(f"is in Manchester syntax, {_CONVERT}")
    if rest.startswith("format-version:"):
        raise ValueError(f"is in OBO format, {_CONVERT}")
    if _TURTLE.match(rest):
        return claimed if claimed in _LINES else RdfFormat.TURTLE
    if _JSON.match(rest):
        return RdfFormat.JSON_LD
    return _sniffed_xml(head, claimed)


def _sniffed_xml(head: str, claimed: RdfFormat | str | None) -> RdfFormat | str | None:
    rest = _XML_PROLOG.sub("", head, count=1)
    if _HTML.match(rest):
        raise ValueError("is an HTML page, not an ontology; get the file that the page is about (often .ttl or .owl)")
    root = _ROOT.match(rest)
    if root is None:
        return RdfFormat.TURTLE if claimed in _XML and rest.startswith(("<http", "_:")) else claimed
    prefix, name, attributes = root[1] or "", root[2], root[3]
    if name == "RDF":
        return RdfFormat.RDF_XML
    space = re.search(rf"\bxmlns{f':{re.escape(prefix)}' if prefix else ''}\s*=\s*[\"']([^\"']*)", attributes)
    if name == "Ontology" and (space is None or space[1] in (OWL, "&owl;")) and "rdf:about" not in attributes:
        return OWL_XML
    is_prolog = rest is not head and head.lstrip().startswith("<?xml")
    return RdfFormat.RDF_XML if is_prolog and claimed not in _XML else claimed
