"""What changed between two versions of an ontology, and what that means for the data of a workspace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields

from pyoxigraph import NamedNode

from kgplatform.checking.conformance import conformance
from kgplatform.checking.findings import Finding, Kind
from kgplatform.checking.scope import Instances
from kgplatform.checking.vocabulary import Vocabulary
from kgplatform.dataset import EvidenceDataset
from kgplatform.ontology import OntologyClass, OntologyProperty, Word
from kgplatform.packs import LoadedOntology
from kgplatform.store import DEFAULT_GRAPH, Store
from kgplatform.text import normalise
from kgplatform.vocab import TYPE, local_name

_AXIOMS = ("parents", "key", "is_object", "domains", "ranges", "inverse", "functional", "transitive", "symmetric",
           "pattern", "unit", "internal")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Change:
    """A term that came, went, moved to ``new_iri`` or is described otherwise; ``details`` say how.

    ``uses`` is how many statements of the data use the old term (0 where no data was looked at).
    """

    outcome: str
    kind: str
    iri: NamedNode
    label: str
    new_iri: NamedNode | None = None
    details: tuple[str, ...] = ()
    uses: int = 0


@dataclass(frozen=True, slots=True)
class Difference:
    """The changes of the terms; ``broken`` counts the statements that keep to the old version, but not to the new."""

    changes: tuple[Change, ...]
    broken: Mapping[tuple[Kind, str], int]


def difference(old: LoadedOntology, new: LoadedOntology, dataset: EvidenceDataset | None = None) -> Difference:
    """What changed, and if there is data, what in it the change touches."""
    uses = _uses(dataset.store) if dataset else {}
    changes = [
        *_terms("class", old.ontology.classes, new.ontology.classes, uses),
        *_terms("property", old.ontology.properties, new.ontology.properties, uses),
    ]
    return Difference(tuple(changes), _broken(old, new, dataset) if dataset else {})


def _uses(store: Store) -> dict[NamedNode, int]:
    """How many statements of the default graph use each class (by ``rdf:type``) or property."""
    found: Counter[NamedNode] = Counter()
    for item in store.quads(graph=DEFAULT_GRAPH):
        found[item.predicate] += 1
        if item.predicate == TYPE and isinstance(item.object, NamedNode):
            found[item.object] += 1
    return dict(found)


def _terms(
    kind: str,
    old: Mapping[NamedNode, OntologyClass | OntologyProperty],
    new: Mapping[NamedNode, OntologyClass | OntologyProperty],
    uses: Mapping[NamedNode, int],
) -> Iterator[Change]:
    gone = [term for iri, term in sorted(old.items(), key=lambda item: item[0].value) if iri not in new]
    come = [term for iri, term in sorted(new.items(), key=lambda item: item[0].value) if iri not in old]
    moved = _renamed(gone, come)
    for term in come:
        if term.iri not in moved.values():
            yield Change("added", kind, term.iri, _label(term))
    for term in gone:
        target = moved.get(term.iri)
        if target is None:
            yield Change("removed", kind, term.iri, _label(term), uses=uses.get(term.iri, 0))
        else:
            details = _details(term, new[target])
            yield Change("renamed", kind, term.iri, _label(term), target, details, uses.get(term.iri, 0))
    for iri in sorted(old.keys() & new.keys(), key=lambda item: item.value):
        details = _details(old[iri], new[iri])
        if details:
            yield Change("changed", kind, iri, _label(new[iri]), None, details, uses.get(iri, 0))


def _renamed(
    gone: Iterable[OntologyClass | OntologyProperty], come: Iterable[OntologyClass | OntologyProperty]
) -> dict[NamedNode, NamedNode]:
    """The new IRI of each old one that only one new term answers to, by local name or else by label."""
    moved: dict[NamedNode, NamedNode] = {}
    for names in (_local_names, _labels):
        by_name: dict[str, list[NamedNode]] = {}
        for term in come:
            if term.iri not in moved.values():
                for name in names(term):
                    by_name.setdefault(name, []).append(term.iri)
        for term in gone:
            targets = {iri for name in names(term) for iri in by_name.get(name, ())} - set(moved.values())
            if term.iri not in moved and len(targets) == 1:
                moved[term.iri] = targets.pop()
    return moved


def _local_names(term: OntologyClass | OntologyProperty) -> set[str]:
    return {normalise(local_name(term.iri.value))} - {""}


def _labels(term: OntologyClass | OntologyProperty) -> set[str]:
    """The first word in each language, which is the label."""
    first: dict[str, str] = {}
    for word in term.words:
        first.setdefault(word.language, normalise(word.text))
    return set(first.values()) - {""}


def _details(old: OntologyClass | OntologyProperty, new: OntologyClass | OntologyProperty) -> tuple[str, ...]:
    found = []
    for item in fields(old):
        before, after = getattr(old, item.name), getattr(new, item.name, None)
        if item.name in _AXIOMS and _as_set(before) != _as_set(after):
            found.append(f"{item.name}: {_shown(before)} → {_shown(after)}")
    if set(old.words) != set(new.words):
        found.append(f"words: {_words(new.words, old.words, '+')}{_words(old.words, new.words, '−')}".strip())
    if set(old.comments) != set(new.comments):
        found.append("comments reworded")
    return tuple(found)


def _as_set(value: object) -> object:
    return frozenset(value) if isinstance(value, tuple) else value


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(_shown(item) for item in value) or "none"
    if isinstance(value, NamedNode):
        return local_name(value.value)
    return "none" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _words(these: Iterable[Word], without: Iterable[Word], sign: str) -> str:
    kept = set(without)
    return "".join(f"{sign}{word.text!r} " for word in these if word not in kept)


def _label(term: OntologyClass | OntologyProperty) -> str:
    return term.words[0].text if term.words else local_name(term.iri.value)


def _broken(old: LoadedOntology, new: LoadedOntology, dataset: EvidenceDataset) -> dict[tuple[Kind, str], int]:
    """How many statements are at fault by the new version alone, by kind of fault and property or class."""
    instances = Instances(dataset)
    scope = instances.whole()

    def faults(loaded: LoadedOntology) -> dict[object, Finding]:
        vocabulary = Vocabulary(loaded.ontology, loaded.triples)
        return {(f.kind, f.focus, f.path, f.value): f for f in conformance(instances, scope, vocabulary)}

    before, after = faults(old), faults(new)
    counts: Counter[tuple[Kind, str]] = Counter()
    for key, finding in after.items():
        if key not in before:
            counts[finding.kind, _about(finding)] += max(1, len(finding.statements))
    return dict(sorted(counts.items()))


def _about(finding: Finding) -> str:
    """The class that a finding about a class speaks of, else the property."""
    about = finding.value if finding.kind in (Kind.UNKNOWN_CLASS, Kind.DISJOINT) else finding.path
    return about.value if isinstance(about, NamedNode) else str(about)
