"""Reference places that RDF describes: individuals of the ontology's classes, each in what it lies in.

The shipped world part is such a file. The hierarchy is any transitive property of the ontology that leads from one
described place to another; codes are the values of its other properties with a written form of their own.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from pyoxigraph import Literal, NamedNode, RdfFormat, Triple

from kgplatform import resources
from kgplatform.errors import OntologyError, StoreError
from kgplatform.ontology import Ontology, Word
from kgplatform.places.place import Place
from kgplatform.places.reference import PlaceReference
from kgplatform.store import parse
from kgplatform.vocab import ALT_LABEL, LABEL, TYPE, local_name

WORLD = "world"
_SUFFIXES = {".ttl": RdfFormat.TURTLE, ".nt": RdfFormat.N_TRIPLES}


def read_world(reference: PlaceReference, ontology: Ontology) -> None:
    """Puts the shipped world part into the reference, unless it is there as shipped."""
    data, digest = _shipped()
    if reference.digest(WORLD) != digest:
        places = described(_parsed(data, RdfFormat.TURTLE, "world.ttl"), ontology, WORLD)
        reference.replace(WORLD, places, digest=digest)


@cache
def _shipped() -> tuple[bytes, str]:
    data = (resources.folder("ontology") / "places" / "world.ttl").read_bytes()
    return data, hashlib.sha256(data).hexdigest()


def read_rdf(path: Path, ontology: Ontology, source: str) -> list[Place]:
    """The places that an RDF file describes.

    Raises:
        OntologyError: the file cannot be read, or describes no place in the terms of the ontology.
    """
    try:
        found = described(_parsed(path.read_bytes(), _SUFFIXES[path.suffix.lower()], path.name), ontology, source)
    except OSError as error:
        raise OntologyError(f"cannot be read: {error.strerror or error}", source=str(path)) from error
    if not found:
        raise OntologyError("describes no place: no labelled individual of a class of the ontology", source=str(path))
    return found


def _parsed(data: bytes, format_: RdfFormat, name: str) -> list[Triple]:
    try:
        return [quad.triple for quad in parse(data, format_, base_iri=f"file:///{name}", source=name)]
    except StoreError as error:
        raise OntologyError(str(error).removeprefix(f"{name}: "), source=name) from error


def described(triples: Iterable[Triple], ontology: Ontology, source: str) -> list[Place]:
    """The places that the triples describe, in the order of their ids; a place's id is the local name of its IRI."""
    facts: dict[NamedNode, dict[NamedNode, list[object]]] = defaultdict(lambda: defaultdict(list))
    for triple in triples:
        if isinstance(triple.subject, NamedNode):
            facts[triple.subject][triple.predicate].append(triple.object)
    found = (_place(iri, said, facts, ontology, source) for iri, said in facts.items())
    return sorted((place for place in found if place is not None), key=lambda place: place.id)


def _place(
    iri: NamedNode,
    said: Mapping[NamedNode, list[object]],
    facts: Mapping[NamedNode, object],
    ontology: Ontology,
    source: str,
) -> Place | None:
    type_ = next(
        (item for item in said.get(TYPE, ()) if isinstance(item, NamedNode) and item in ontology.classes), None
    )
    labels = _words(said.get(LABEL, ()))
    if type_ is None or not labels:
        return None
    above, within = None, None
    codes: list[tuple[NamedNode, str]] = []
    for predicate, values in said.items():
        term = ontology.properties.get(predicate)
        if term is None:
            continue
        for value in values:
            if term.is_object and term.transitive and isinstance(value, NamedNode) and value in facts:
                above, within = local_name(value.value), predicate
            elif isinstance(value, Literal):
                codes.append((predicate, value.value))
    return Place(
        id=local_name(iri.value),
        type=type_,
        source=source,
        labels=labels,
        aliases=_words(said.get(ALT_LABEL, ())),
        codes=tuple(sorted(codes, key=lambda code: (code[0].value, code[1]))),
        above=above,
        within=within,
    )


def _words(values: Iterable[object]) -> tuple[Word, ...]:
    return tuple(Word(value.value, value.language or "") for value in values if isinstance(value, Literal))
