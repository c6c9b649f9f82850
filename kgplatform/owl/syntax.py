"""Which syntax an ontology file is in, told from its content first and its suffix second, and its triples.

A ``.owl`` file may hold RDF/XML, OWL/XML or Turtle; the content decides. Read are the RDF syntaxes (Turtle, N-Triples,
TriG, RDF/XML, JSON-LD) and OWL/XML; for OWL functional, Manchester and OBO syntax there is no reader, and the message
names a way out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from pyoxigraph import RdfFormat

from kgplatform.owl.encoding import as_utf8, without_doctype
from kgplatform.owl.owlxml import Parsed, parse_owlxml
from kgplatform.store import parse
from kgplatform.vocab import OWL

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
_HEAD = 20_000


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
    head = data[:_HEAD].decode("utf-8", "replace")
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
