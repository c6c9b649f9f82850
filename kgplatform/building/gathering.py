"""A workspace's graph as retrievers see it: things with their passages, relations, keywords, reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.building.communities import CommunityParts, communities
from kgplatform.dataset import EvidenceDataset
from kgplatform.describing import NAMING
from kgplatform.documents.registry import Registry
from kgplatform.linking.projection import Projection
from kgplatform.ontology import Ontology
from kgplatform.retrieval.knowledge import Keyword, Knowledge, Relation, Report, Thing
from kgplatform.store import DEFAULT_GRAPH
from kgplatform.text import has_han, normalise
from kgplatform.vocab import ALT_LABEL, COMMENT, CORE, DCTERMS, SCHEMA, SKOS, TYPE

_HIGHEST: Final = 5
_LANGUAGES: Final = ("en", "zh")
_DESCRIBING: Final = (COMMENT, NamedNode(f"{SKOS}definition"), NamedNode(f"{DCTERMS}description"))
_UPWARDS: Final = frozenset(
    NamedNode(iri)
    for iri in (
        f"{CORE}partOf",
        f"{DCTERMS}isPartOf",
        f"{SCHEMA}isPartOf",
        f"{SCHEMA}containedInPlace",
        "http://www.opengis.net/ont/geosparql#sfWithin",
    )
)
"""Properties that lead from a thing to what it lies in, as do their narrower ones and those that are transitive."""


@dataclass(frozen=True, slots=True)
class GatheringParts:
    """What is read: the dataset with its ontology, what was read in passages, and the communities as last found."""

    dataset: EvidenceDataset
    ontology: Ontology
    registry: Registry
    projection: Projection
    communities: CommunityParts


def gather(parts: GatheringParts) -> Knowledge:
    """The graph as it is now; the same graph gives the same, in the same order."""
    mentioned, keywords = _read(parts)
    stated = _stated(parts)
    names = _names(parts)
    labels = {iri.value: words.label for iri, words in names.items()}
    upwards = _upwards(stated, parts.ontology)
    things = [
        _thing(
            iri,
            words,
            mentioned.get(iri, {}),
            tuple(labels[o] for o in _above(iri.value, upwards) if o in labels),
            parts,
        )
        for iri, words in sorted(names.items(), key=lambda item: item[0].value)
    ]
    relations = [
        Relation(
            triple.subject.value,
            triple.object.value,
            _said(labels[triple.subject.value], parts.ontology.label(triple.predicate), labels[triple.object.value]),
            float(count),
            tuple(passages),
            _said_in_chinese(triple, names, parts),
        )
        for triple, (count, passages) in sorted(stated.items(), key=lambda item: str(item[0]))
        if isinstance(triple.subject, NamedNode)
        and isinstance(triple.object, NamedNode)
        and triple.subject.value in labels
        and triple.object.value in labels
    ]
    return Knowledge(tuple(things), tuple(relations), keywords, tuple(_reports(parts.communities)))


def _said_in_chinese(triple: Triple, names: Mapping[NamedNode, _Words], parts: GatheringParts) -> str:
    """The statement in Chinese; empty where neither end has a Chinese name."""
    ends = [names[end] for end in (triple.subject, triple.object) if isinstance(end, NamedNode)]
    if not any("zh" in words.labels for words in ends):
        return ""
    subject, object_ = (words.labels.get("zh", words.label) for words in ends)
    return f"{subject}{parts.ontology.label(triple.predicate, 'zh')}{object_}"


def _said(subject: str, predicate: str, object_: str) -> str:
    return f"{subject} {predicate} {object_}"


def _read(parts: GatheringParts) -> tuple[dict[NamedNode, dict[str, None]], tuple[Keyword, ...]]:
    """The passages that mention each thing, and those of each keyword, however often they were read."""
    mentioned: dict[NamedNode, dict[str, None]] = {}
    keywords: dict[str, tuple[str, dict[str, None]]] = {}
    for extraction in parts.registry.extractions():
        passage = extraction.chunk.value
        claimed = (end for claim in extraction.claims for end in (claim.subject, claim.object))
        for mention in (*extraction.mentions, *(end for end in claimed if not isinstance(end, Literal))):
            mentioned.setdefault(parts.projection.entity(mention, extraction.chunk), {})[passage] = None
        for keyword in extraction.keywords:
            key = normalise(keyword)
            if key:
                keywords.setdefault(key, (keyword, {}))[1][passage] = None
    found = (Keyword(text, tuple(passages)) for text, passages in (keywords[key] for key in sorted(keywords)))
    return mentioned, tuple(found)


def _stated(parts: GatheringParts) -> dict[Triple, tuple[int, list[str]]]:
    """The statements between things that hold: in how many graphs, and in which passages."""
    dataset, ontology = parts.dataset, parts.ontology
    left_out = {dataset.ontology, dataset.inferred, dataset.links}
    shown = {item.iri for item in ontology.domain_properties if item.is_object}
    found: dict[Triple, tuple[int, list[str]]] = {}
    for graph in sorted(dataset.store.graphs(), key=lambda graph: graph.value):
        if graph in left_out or not dataset.is_evidence(graph):
            continue
        passage = [graph.value] if "/chunk/" in graph.value else []
        for quad in dataset.store.quads(graph=graph):
            if quad.predicate in shown and isinstance(quad.object, NamedNode):
                count, passages = found.get(quad.triple, (0, []))
                found[quad.triple] = (count + 1, [*passages, *passage])
    return {triple: value for triple, value in found.items() if dataset.store.has(triple, DEFAULT_GRAPH)}


@dataclass(slots=True)
class _Words:
    """What the graph calls a thing."""

    labels: dict[str, str]
    names: dict[str, None]
    description: str = ""

    @property
    def label(self) -> str:
        """What it is called first."""
        return next((self.labels[code] for code in _LANGUAGES if code in self.labels), min(self.names))


def _names(parts: GatheringParts) -> dict[NamedNode, _Words]:
    """The things that have a name, other than the ontology's own terms."""
    terms = {*parts.ontology.classes, *parts.ontology.properties}
    found: dict[NamedNode, _Words] = {}
    for iri, word in _literals(parts, NAMING):
        if iri not in terms:
            words = found.setdefault(iri, _Words({}, {}))
            language = word.language or ("zh" if has_han(word.value) else "en")
            words.labels[language] = min(words.labels.get(language, word.value), word.value)
            words.names[word.value] = None
    for iri, word in _literals(parts, (ALT_LABEL,)):
        if iri in found:
            found[iri].names[word.value] = None
    for iri, word in _literals(parts, _DESCRIBING):
        if iri in found:
            found[iri].description = min(found[iri].description or word.value, word.value)
    return found


def _literals(parts: GatheringParts, predicates: Iterable[NamedNode]) -> Iterator[tuple[NamedNode, Literal]]:
    for predicate in predicates:
        for quad in parts.dataset.store.quads(None, predicate, None, DEFAULT_GRAPH):
            if isinstance(quad.subject, NamedNode) and isinstance(quad.object, Literal):
                yield quad.subject, quad.object


def _thing(
    iri: NamedNode, words: _Words, passages: Mapping[str, None], above: tuple[str, ...], parts: GatheringParts
) -> Thing:
    label = words.label
    return Thing(
        iri.value,
        label,
        tuple(sorted(words.names)),
        words.description,
        _kind(iri, parts),
        above,
        tuple(passages),
    )


def _kind(iri: NamedNode, parts: GatheringParts) -> str:
    """The most special class of the thing in words."""
    ontology = parts.ontology
    types = [t for t in parts.dataset.store.objects(iri, TYPE) if isinstance(t, NamedNode) and t in ontology.classes]
    known = [t for t in types if not ontology.classes[t].internal]
    best = max(known, key=lambda t: (len(ontology.superclasses(t)), t.value), default=None)
    return ontology.label(best) if best else ""


def _upwards(stated: Iterable[Triple], ontology: Ontology) -> dict[str, set[str]]:
    """What each thing lies in, as it was stated."""
    leading = {
        term.iri
        for term in ontology.domain_properties
        if term.is_object and not term.symmetric and not _UPWARDS.isdisjoint((term.iri, *term.parents))
    }
    found: dict[str, set[str]] = {}
    for triple in stated:
        if (
            triple.predicate in leading
            and isinstance(triple.subject, NamedNode)
            and isinstance(triple.object, NamedNode)
        ):
            found.setdefault(triple.subject.value, set()).add(triple.object.value)
    return found


def _above(iri: str, upwards: Mapping[str, set[str]]) -> tuple[str, ...]:
    """What the thing lies in, step by step: of several, first the one that lies in most of the others."""
    found: list[str] = []
    here = iri
    while len(found) < _HIGHEST:
        near = upwards.get(here, set()) - {iri, *found}
        if not near:
            break
        here = min(near, key=lambda one: (-len(near & upwards.get(one, set())), one))
        found.append(here)
    return tuple(found)


def _reports(parts: CommunityParts) -> Iterator[Report]:
    """The reports in both languages: a community is found in either."""
    for language in _LANGUAGES:
        for view in communities(parts, language=language):
            members = frozenset(member.value for member in view.members)
            if view.summary:
                yield Report(view.iri.value, view.title, view.summary, members, view.level, view.rank)


def kept(version: Callable[[], int], make: Callable[[], Knowledge]) -> Callable[[], Knowledge]:
    """Gathers when first asked, and again when the version has changed since; of the same state, the same object."""
    held: list[tuple[int, Knowledge]] = []

    def given() -> Knowledge:
        now = version()
        if not held or held[0][0] != now:
            made = make()
            held[:] = [(now, held[0][1] if held and held[0][1].state == made.state else made)]
        return held[0][1]

    return given
