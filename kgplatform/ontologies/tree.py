"""The classes of an ontology as a tree, with how many things the graph has of each and what is said of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyoxigraph import NamedNode

from kgplatform.ontology import Ontology, OntologyProperty
from kgplatform.store import DEFAULT_GRAPH, Store
from kgplatform.vocab import TYPE


@dataclass(frozen=True, slots=True)
class Branch:
    """A class at its depth: ``count`` things are of it or of a class below; ``repeated`` if shown above already."""

    iri: NamedNode
    label: str
    depth: int
    count: int
    properties: tuple[OntologyProperty, ...] = ()
    repeated: bool = False


def instance_counts(ontology: Ontology, store: Store) -> dict[NamedNode, int]:
    """How many things the graph has of each class, those of the classes below included, each once."""
    members: dict[NamedNode, set[object]] = {}
    for item in store.quads(None, TYPE, None, DEFAULT_GRAPH):
        if isinstance(item.object, NamedNode) and item.object in ontology.classes:
            members.setdefault(item.object, set()).add(item.subject)
    found: Counter[NamedNode] = Counter()
    for class_ in ontology.classes:
        below = [members[item] for item in ontology.subclasses(class_) if item in members]
        if below:
            found[class_] = len(set().union(*below))
    return dict(found)


def class_tree(ontology: Ontology, counts: Mapping[NamedNode, int], *, language: str = "en") -> Iterator[Branch]:
    """The classes from the top down, by label; a class with several parents comes under each, in full once."""
    children: dict[NamedNode | None, list[NamedNode]] = {}
    shown_classes = {term.iri for term in ontology.domain_classes}
    for iri in shown_classes:
        parents = [p for p in ontology.classes[iri].parents if p in shown_classes]
        for parent in parents or (None,):
            children.setdefault(parent, []).append(iri)
    seen: set[NamedNode] = set()
    own = _own_properties(ontology)

    def name(iri: NamedNode) -> tuple[str, str]:
        return ontology.label(iri, language).casefold(), iri.value

    waiting = [(iri, 0) for iri in sorted(children.get(None, ()), key=name, reverse=True)]
    rest = sorted(shown_classes, key=name, reverse=True)  # those on a cycle have no top
    while waiting or rest:
        if not waiting:
            left = rest.pop()
            waiting = [] if left in seen else [(left, 0)]
            continue
        iri, depth = waiting.pop()
        repeated = iri in seen
        seen.add(iri)
        yield Branch(iri, ontology.label(iri, language), depth, counts.get(iri, 0), own.get(iri, ()), repeated)
        if not repeated:
            waiting += [(child, depth + 1) for child in sorted(children.get(iri, ()), key=name, reverse=True)]


def _own_properties(ontology: Ontology) -> dict[NamedNode, tuple[OntologyProperty, ...]]:
    """The properties whose domain names the class itself, in display order."""
    found: dict[NamedNode, list[OntologyProperty]] = {}
    for term in ontology.domain_properties:
        for domain in term.domains:
            found.setdefault(domain, []).append(term)
    return {iri: tuple(terms) for iri, terms in found.items()}
