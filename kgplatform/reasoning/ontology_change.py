"""What changed between two versions of an ontology, what that means for the data, and which terms succeed which.

A term is moved when the new version says so (``dcterms:isReplacedBy``, or "term replaced by", IAO:0100001), when it
is gone or deprecated there and declared equivalent to exactly one term that stays, or when the user says so. A similar
name is no reason: it is only shown as a suggestion.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.errors import OntologyError
from kgplatform.ontology.packs import LoadedOntology
from kgplatform.ontology.schema import Ontology, OntologyClass, OntologyProperty, TermIndex, Word
from kgplatform.reasoning.conformance import conformance
from kgplatform.reasoning.scope import Fault, Finding, Instances
from kgplatform.store.dataset import EvidenceDataset
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store
from kgplatform.text import normalise
from kgplatform.vocab import DCTERMS, OWL, TYPE, local_name

_AXIOMS = ("parents", "key", "is_object", "domains", "ranges", "inverse", "functional", "transitive", "symmetric",
           "pattern", "unit", "internal")  # fmt: skip


@dataclass(frozen=True, slots=True)
class TermChange:
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
class OntologyDifference:
    """The changes of the terms; ``broken`` counts the statements that keep to the old version, but not to the new."""

    changes: tuple[TermChange, ...]
    broken: Mapping[tuple[Fault, str], int]


def difference(old: LoadedOntology, new: LoadedOntology, dataset: EvidenceDataset | None = None) -> OntologyDifference:
    """What changed, and if there is data, what in it the change touches."""
    uses = _uses(dataset.store) if dataset else {}
    changes = [
        *_terms("class", old.ontology.classes, new.ontology.classes, uses),
        *_terms("property", old.ontology.properties, new.ontology.properties, uses),
    ]
    return OntologyDifference(tuple(changes), _broken(old, new, dataset) if dataset else {})


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
) -> Iterator[TermChange]:
    gone = [term for iri, term in sorted(old.items(), key=lambda item: item[0].value) if iri not in new]
    come = [term for iri, term in sorted(new.items(), key=lambda item: item[0].value) if iri not in old]
    moved = _renamed(gone, come)
    for term in come:
        if term.iri not in moved.values():
            yield TermChange("added", kind, term.iri, _label(term))
    for term in gone:
        target = moved.get(term.iri)
        if target is None:
            yield TermChange("removed", kind, term.iri, _label(term), uses=uses.get(term.iri, 0))
        else:
            details = _details(term, new[target])
            yield TermChange("renamed", kind, term.iri, _label(term), target, details, uses.get(term.iri, 0))
    for iri in sorted(old.keys() & new.keys(), key=lambda item: item.value):
        details = _details(old[iri], new[iri])
        if details:
            yield TermChange("changed", kind, iri, _label(new[iri]), None, details, uses.get(iri, 0))


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


def _broken(old: LoadedOntology, new: LoadedOntology, dataset: EvidenceDataset) -> dict[tuple[Fault, str], int]:
    """How many statements are at fault by the new version alone, by kind of fault and property or class."""
    instances = Instances(dataset)
    scope = instances.whole()

    def faults(loaded: LoadedOntology) -> dict[object, Finding]:
        vocabulary = TermIndex(loaded.ontology, loaded.triples)
        return {(f.kind, f.focus, f.path, f.value): f for f in conformance(instances, scope, vocabulary)}

    before, after = faults(old), faults(new)
    counts: Counter[tuple[Fault, str]] = Counter()
    for key, finding in after.items():
        if key not in before:
            counts[finding.kind, _about(finding)] += max(1, len(finding.statements))
    return dict(sorted(counts.items()))


def _about(finding: Finding) -> str:
    """The class that a finding about a class speaks of, else the property."""
    about = finding.value if finding.kind in (Fault.UNKNOWN_CLASS, Fault.DISJOINT) else finding.path
    return about.value if isinstance(about, NamedNode) else str(about)


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
