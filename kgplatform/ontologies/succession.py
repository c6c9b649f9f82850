"""Which terms of a new version take the place of which terms of the old: only what somebody said counts.

A term is moved when the new version says so (``dcterms:isReplacedBy``, or "term replaced by", IAO:0100001), when it
is gone or deprecated there and declared equivalent to exactly one term that stays, or when the user says so. A similar
name is no reason: `kgplatform.ontologies.difference` shows it as a suggestion.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.errors import OntologyError
from kgplatform.ontology import Ontology, OntologyProperty
from kgplatform.packs import LoadedOntology
from kgplatform.vocab import DCTERMS, OWL

_REPLACED_BY = (f"{DCTERMS}isReplacedBy", "http://purl.obolibrary.org/obo/IAO_0100001")
_EQUIVALENT = (f"{OWL}equivalentClass", f"{OWL}equivalentProperty")


@dataclass(frozen=True, slots=True)
class Succession:
    """The successor of each term that has one, and terms whose successor cannot be used, each with the reason."""

    successors: Mapping[NamedNode, NamedNode]
    refused: Mapping[NamedNode, str]


def succession(
    old: LoadedOntology, new: LoadedOntology, given: Mapping[NamedNode, NamedNode] | None = None
) -> Succession:
    """The successors of the terms of the old version that are gone from the new one, or deprecated in it.

    Raises:
        OntologyError: a given successor is not declared in the new version, or is another kind of term.
    """
    said = _said(new, given or {})
    successors: dict[NamedNode, NamedNode] = {}
    refused: dict[NamedNode, str] = {}
    for term in sorted(said, key=lambda iri: iri.value):
        if term not in old.ontology.classes and term not in old.ontology.properties and term not in (given or {}):
            continue
        last, reason = _last(term, said)
        reason = reason or _unfit(term, last, old.ontology, new.ontology)
        if not reason:
            successors[term] = last
        elif given and term in given:
            raise OntologyError(reason, source=term.value)
        else:
            refused[term] = reason
    return Succession(successors, refused)


def _said(new: LoadedOntology, given: Mapping[NamedNode, NamedNode]) -> dict[NamedNode, set[NamedNode]]:
    """The terms that are said to take the place of each."""
    deprecated = {t.subject for t in new.triples if t.predicate.value == f"{OWL}deprecated" and _is_true(t.object)}
    stays = {*new.ontology.classes, *new.ontology.properties} - deprecated
    said: dict[NamedNode, set[NamedNode]] = defaultdict(set)
    equal: dict[NamedNode, set[NamedNode]] = defaultdict(set)
    for one, other, is_replaced in _pairs(new.triples):
        if is_replaced:
            said[one].add(other)
        else:
            equal[one].add(other)
            equal[other].add(one)
    for term, others in equal.items():
        if term not in stays and term not in said and others & stays:
            said[term] = others & stays
    for term, target in given.items():
        said[term] = {target}
    return said


def _pairs(triples: tuple[Triple, ...]) -> Iterator[tuple[NamedNode, NamedNode, bool]]:
    for triple in triples:
        name, subject = triple.predicate.value, triple.subject
        if name in _REPLACED_BY or name in _EQUIVALENT:
            target = triple.object
            if isinstance(target, Literal) and target.value.startswith(("http:", "https:", "urn:")):
                target = NamedNode(target.value)
            if isinstance(subject, NamedNode) and isinstance(target, NamedNode) and subject != target:
                yield subject, target, name in _REPLACED_BY


def _is_true(term: object) -> bool:
    return isinstance(term, Literal) and term.value in ("true", "1")


def _last(term: NamedNode, said: Mapping[NamedNode, set[NamedNode]]) -> tuple[NamedNode, str]:
    """The end of the chain of successors, or why there is none."""
    seen = {term}
    here = term
    while here in said:
        if len(said[here]) > 1:
            return here, "has several successors; say which by --replace OLD=NEW"
        here = next(iter(said[here]))
        if here in seen:
            return here, "is succeeded by itself in a circle"
        seen.add(here)
    return here, ""


def _unfit(term: NamedNode, target: NamedNode, old: Ontology, new: Ontology) -> str:
    """Why the target cannot take the term's place; empty if it can."""
    if term in old.classes:
        fits = target in new.classes
        return "" if fits else f"is to be replaced by {target.value}, which is no class of the new version"
    if term not in old.properties:
        return "is no class or property of the ontology in use"
    successor: OntologyProperty | None = new.properties.get(target)
    if successor is None:
        return f"is to be replaced by {target.value}, which is no property of the new version"
    if successor.is_object != old.properties[term].is_object:
        return f"is to be replaced by {target.value}, but only one of the two leads to things"
    return ""
