"""Ontologies for tests: small ones written in Turtle, and the shipped ones."""

from __future__ import annotations

from functools import cache

from pyoxigraph import RdfFormat, parse

from kgplatform import resources
from kgplatform.ontology.schema import Ontology, read_ontology

NAMES = "http://example.org/o#"
PREFIXES = f"""@prefix : <{NAMES}> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix core: <https://w3id.org/kgplatform/core#> .
"""


@cache
def ontology_of(turtle: str) -> Ontology:
    """The view of an ontology that is written with these prefixes."""
    return read_ontology(quad.triple for quad in parse(PREFIXES + turtle, format=RdfFormat.TURTLE))


@cache
def shipped(*names: str) -> Ontology:
    """The view of shipped ontologies, all together."""
    files = [resources.folder("ontology") / f"{name}.ttl" for name in names]
    return read_ontology(quad.triple for file in files for quad in parse(path=str(file), rename_blank_nodes=True))
