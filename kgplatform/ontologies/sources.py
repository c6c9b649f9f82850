"""What an ontology can be drafted from: a file of RDF, a table, or the data of a workspace."""

from __future__ import annotations

from pathlib import Path

from pyoxigraph import NamedNode, RdfFormat

from kgplatform.dataset import EvidenceDataset
from kgplatform.documents.tabular.opening import TABLE_SUFFIXES, is_table, open_table
from kgplatform.errors import OntologyError, StoreError
from kgplatform.ontologies.draft import Draft, term_name
from kgplatform.ontologies.from_rdf import from_rdf
from kgplatform.ontologies.from_table import from_table
from kgplatform.store import DEFAULT_GRAPH, parse
from kgplatform.vocab import slug

_RDF = {
    ".ttl": RdfFormat.TURTLE,
    ".nt": RdfFormat.N_TRIPLES,
    ".nq": RdfFormat.N_QUADS,
    ".trig": RdfFormat.TRIG,
    ".rdf": RdfFormat.RDF_XML,
    ".owl": RdfFormat.RDF_XML,
    ".xml": RdfFormat.RDF_XML,
    ".jsonld": RdfFormat.JSON_LD,
}
DEFAULT_PLACE = "https://example.org/ontology/"


def draft_file(location: Path | str, *, iri: str | None = None) -> Draft:
    """The draft for a table (see `open_table` for what is one) or a file of RDF; ``iri`` names the ontology.

    Raises:
        OntologyError: the file is missing, of another kind, does not parse, or describes nothing.
        ReadError: it is no table.
    """
    if is_table(location):
        given = checked_name(iri) if iri else None
        table = open_table(location)
        name = given or _named(table.name)
        return from_table(table, iri=name, source=str(location).rpartition("/")[2])
    path = Path(location)
    name = checked_name(iri) if iri else _named(path.stem)
    suffix = path.suffix.lower()
    if suffix not in _RDF:
        known = ", ".join((*TABLE_SUFFIXES, *_RDF))
        raise OntologyError(f"has the suffix {path.suffix or '(none)'}; drafted from are {known}", source=str(path))
    try:
        data = path.read_bytes().removeprefix(b"\xef\xbb\xbf")
        quads = parse(data, _RDF[suffix], base_iri=path.resolve().as_uri(), source=path.name)
    except StoreError as error:
        raise OntologyError(str(error).removeprefix(f"{path.name}: "), source=str(path)) from error
    except OSError as error:
        raise OntologyError(f"cannot be read: {error.strerror or error}", source=str(path)) from error
    return from_rdf((item.triple for item in quads), source=path.name, iri=name)


def draft_data(dataset: EvidenceDataset, *, iri: str | None = None) -> Draft:
    """The draft for what a workspace knows, whatever ontology it has.

    Raises:
        OntologyError: it knows nothing.
    """
    apart = frozenset(item.triple for item in dataset.store.quads(graph=dataset.ontology))
    triples = (item.triple for item in dataset.store.quads(graph=DEFAULT_GRAPH) if item.triple not in apart)
    return from_rdf(triples, source="the workspace", iri=checked_name(iri or f"{dataset.base}ontology"))


def _named(stem: str) -> NamedNode:
    return checked_name(f"{DEFAULT_PLACE}{slug(term_name(stem, is_class=False) or 'draft')}")


def checked_name(iri: str) -> NamedNode:
    """The IRI of the ontology.

    Raises:
        OntologyError: it is not an absolute http IRI.
    """
    try:
        if iri.startswith(("http://", "https://", "urn:")):
            return NamedNode(iri.rstrip("#"))
    except ValueError as error:
        raise OntologyError(f"is not an IRI: {error}", source=iri) from error
    raise OntologyError("is not an absolute IRI that begins with http:, https: or urn:", source=iri)
