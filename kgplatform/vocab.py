"""Namespaces, the IRIs that recur, and how the platform mints IRIs of its own.

An entity is ``<base>entity/<slug>-<hash8>``, the hash over its class and its normalised name, so that the
same name read twice gives the same IRI on every machine. A document is ``<base>document/<sha256:16>``, its
chunks ``<base>document/<…>/chunk/<n>``. Slugs keep letters of every script (RFC 3987 IRIs).
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.text import normalise, words_of_identifier

RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS: Final = "http://www.w3.org/2000/01/rdf-schema#"
OWL: Final = "http://www.w3.org/2002/07/owl#"
XSD: Final = "http://www.w3.org/2001/XMLSchema#"
SKOS: Final = "http://www.w3.org/2004/02/skos/core#"
DCTERMS: Final = "http://purl.org/dc/terms/"
PROV: Final = "http://www.w3.org/ns/prov#"
OA: Final = "http://www.w3.org/ns/oa#"
FOAF: Final = "http://xmlns.com/foaf/0.1/"
SCHEMA: Final = "https://schema.org/"
VOID: Final = "http://rdfs.org/ns/void#"
DCAT: Final = "http://www.w3.org/ns/dcat#"
SH: Final = "http://www.w3.org/ns/shacl#"
WGS84: Final = "http://www.w3.org/2003/01/geo/wgs84_pos#"

_OWN = "https://w3id.org/kgplatform/"
CORE: Final = f"{_OWN}core#"
GEO: Final = f"{_OWN}geo#"
TRAVEL: Final = f"{_OWN}travel#"
ACADEMIC: Final = f"{_OWN}academic#"
AIRPORT: Final = f"{_OWN}airport#"
KGP: Final = f"{_OWN}function#"

PREFIXES: Final[dict[str, str]] = {
    "rdf": RDF,
    "rdfs": RDFS,
    "owl": OWL,
    "xsd": XSD,
    "skos": SKOS,
    "dcterms": DCTERMS,
    "prov": PROV,
    "oa": OA,
    "foaf": FOAF,
    "schema": SCHEMA,
    "core": CORE,
    "geo": GEO,
    "travel": TRAVEL,
    "academic": ACADEMIC,
    "airport": AIRPORT,
}
"""Prefixes that every query may use without declaring them; a workspace adds those of `prefixes_of`."""


def prefixes_of(base: str) -> dict[str, str]:
    """The prefixes of a workspace: ``id:`` for its entities, ``kg:`` for all below its base, ``kgp:`` for functions."""
    return {**PREFIXES, "kgp": KGP, "kg": base, "id": f"{base}entity/"}


TYPE: Final = NamedNode(f"{RDF}type")
LABEL: Final = NamedNode(f"{RDFS}label")
COMMENT: Final = NamedNode(f"{RDFS}comment")
SUBCLASS_OF: Final = NamedNode(f"{RDFS}subClassOf")
ALT_LABEL: Final = NamedNode(f"{SKOS}altLabel")
SAME_AS: Final = NamedNode(f"{OWL}sameAs")

XSD_STRING: Final = NamedNode(f"{XSD}string")
XSD_INTEGER: Final = NamedNode(f"{XSD}integer")
XSD_DECIMAL: Final = NamedNode(f"{XSD}decimal")
XSD_DOUBLE: Final = NamedNode(f"{XSD}double")
XSD_BOOLEAN: Final = NamedNode(f"{XSD}boolean")
XSD_DATE: Final = NamedNode(f"{XSD}date")
XSD_DATETIME: Final = NamedNode(f"{XSD}dateTime")
XSD_GYEAR: Final = NamedNode(f"{XSD}gYear")

_NOT_SLUG = re.compile(r"[^\w]+", re.UNICODE)


def slug(name: str) -> str:
    """A readable part of an IRI: lower case, words joined by ``-``, letters of every script kept.

    >>> slug("West Lake (Xī Hú)")
    'west-lake-xī-hú'
    >>> slug("西栅")
    '西栅'
    """
    words = _NOT_SLUG.sub("-", unicodedata.normalize("NFKC", name).casefold().replace("_", "-"))
    return words.strip("-")[:60] or "x"


def _digest(*parts: str, length: int) -> str:
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:length]


def entity_iri(base: str, type_: NamedNode, name: str) -> NamedNode:
    """The IRI of the entity that is called ``name`` and is of class ``type_``."""
    form = normalise(name) or name
    return NamedNode(f"{base}entity/{slug(form)}-{_digest(type_.value, form, length=8)}")


def document_iri(base: str, sha256: str, part: int = 0) -> NamedNode:
    """The IRI of the document with that content; ``part`` counts the documents inside one file from 0."""
    suffix = f"-{part}" if part else ""
    return NamedNode(f"{base}document/{sha256[:16]}{suffix}")


def chunk_iri(document: NamedNode, index: int) -> NamedNode:
    """The IRI of the chunk number ``index`` (from 0), which names its evidence graph."""
    return NamedNode(f"{document.value}/chunk/{index}")


def graph_iri(base: str, name: str) -> NamedNode:
    """The IRI of one of the workspace's own graphs, such as ``ontology``, ``links`` or ``table/hotels``."""
    return NamedNode(f"{base}graph/{name}")


def local_name(iri: str) -> str:
    """The part of an IRI after its last ``#`` or ``/``.

    >>> local_name("https://w3id.org/kgplatform/geo#locatedIn")
    'locatedIn'
    """
    return re.split(r"[#/]", iri.rstrip("#/"))[-1]


def words_of_iri(iri: str) -> str:
    """The local name of an IRI in words: a label for what has none.

    >>> words_of_iri("https://w3id.org/kgplatform/travel#pricePerNight")
    'price per night'
    """
    return words_of_identifier(local_name(iri))
