"""Entity linking: which names stand for one thing.

Deterministic, over all that was read at once, and independent of the order in which it was read. A name is a class
and a normalised text; names come together by text, code, alias, wording or spelling (see `candidates`), the surest
pairs first, and never across disjoint classes, differing codes or points of the compass (see `grouping`). Two things
taken for one are worse than one thing taken for two: the rules are strict.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.documents.decisions import Apart
from kgplatform.documents.layers import Layers
from kgplatform.documents.registry import LinkedEntity, Linking, NameKey, NameLink
from kgplatform.linking.blocking import Grounds
from kgplatform.linking.candidates import Candidates, Likeness
from kgplatform.linking.gathered import read_names
from kgplatform.linking.grouping import Group, grouped, ways_from
from kgplatform.linking.names import Name, Names, sort_key
from kgplatform.linking.statistics import Statistics
from kgplatform.linking.wording import row
from kgplatform.ontology import Individual, Ontology, Word
from kgplatform.text import has_han, normalise
from kgplatform.types import Extraction
from kgplatform.vocab import CORE, DCTERMS, TYPE, XSD_DOUBLE, entity_iri


def link_entities(
    extractions: Iterable[Extraction],
    *,
    ontology: Ontology,
    base: str,
    known: Mapping[NameKey, NamedNode] | None = None,
    likeness: Likeness | None = None,
    apart: Iterable[Apart] = (),
) -> Linking:
    """The map from names to entities for everything that was read.

    ``known`` are entities that the graph has from tables or loaded data, by class and normalised name: they keep
    their IRIs. ``likeness`` says from where on names that look or sound alike are one; names ``apart`` never are.

    Raises:
        ModelUnavailableError: the embedding model cannot be used.
    """
    decided = frozenset(apart)
    rules = Rules(ontology, base, likeness or Likeness(), decided)
    names = read_names(extractions, ontology, known or {})
    values = {name.key: iri for name in names if (iri := rules.value(name)) is not None}
    kept = replace(names, by_key={key: name for key, name in names.by_key.items() if key not in values})
    statistics = Statistics(rules.grounds.wording, kept)
    made = rules.made(rules.narrowed(kept, statistics), statistics)
    links = {**made.links, **{key: value_link(key, iri) for key, iri in values.items()}}
    ordered = {key: links[key] for key in sorted(links, key=sort_key)}
    found = {iri: made.entities[iri] for iri in sorted(made.entities, key=lambda iri: iri.value)}
    return Linking(ordered, found, apart=decided)


@dataclass(frozen=True, slots=True)
class Made:
    """What names stand for, and the entities."""

    links: dict[NameKey, NameLink]
    entities: dict[NamedNode, LinkedEntity]


class Rules:
    """How names are linked in one workspace: the rules for pairs, and what becomes of the groups that they make."""

    def __init__(self, ontology: Ontology, base: str, likeness: Likeness, apart: frozenset[Apart]) -> None:
        self.grounds = Grounds(ontology)
        self._ontology = ontology
        self._base = base
        self._likeness = likeness
        self._apart = apart

    @cached_property
    def _listed(self) -> dict[tuple[str, ...], list[Individual]]:
        """The ontology's own named values, such as audiences and seasons, by their words."""
        listed: dict[tuple[str, ...], list[Individual]] = {}
        for individual in sorted(self._ontology.individuals.values(), key=lambda item: item.iri.value):
            for words in {row(normalise(word.text)) for word in individual.words}:
                listed.setdefault(words, []).append(individual)
        return listed

    def value(self, name: Name) -> NamedNode | None:
        """The named value of the ontology that the name is of, if it is."""
        for individual in self._listed.get(row(name.text), []):
            if individual.types and self._ontology.fits(name.type, individual.types):
                return individual.iri
        return None

    def narrowed(self, names: Names, statistics: Statistics) -> Names:
        """The names, each as of the class of its group: it is told by all names of a thing, and tells of their wording.

        ``statistics`` are over all names of the workspace, where these are only some of them.
        """
        minting = _Minting(self._ontology, self._base, statistics)
        types = {name.key: minting.type(group) for group in self._groups(names, statistics) for name in group.names}
        return replace(names, by_key={key: replace(name, narrowed=types[key]) for key, name in names.by_key.items()})

    def made(self, names: Names, statistics: Statistics) -> Made:
        """What narrowed names stand for."""
        minting = _Minting(self._ontology, self._base, statistics)
        made = Made({}, {})
        for group in self._groups(names, statistics):
            if not any(name.count for name in group.names):
                continue  # known, and not mentioned anywhere
            minted = minting.entity(group)
            made.entities[minted.entity.iri] = minted.entity
            made.links.update(_links(group, minted))
        return made

    def _groups(self, names: Names, statistics: Statistics) -> list[Group]:
        candidates = Candidates(names, self.grounds, self._likeness, statistics)
        return grouped(names, candidates, self._apart)


def value_link(key: NameKey, iri: NamedNode) -> NameLink:
    """The link of a name to a named value of the ontology."""
    return NameLink(*key, iri, 1.0, "value")


def named_values(ontology: Ontology) -> dict[NameKey, NameLink]:
    """The ontology's named values under their words."""
    values: dict[NameKey, NameLink] = {}
    for individual in sorted(ontology.individuals.values(), key=lambda item: item.iri.value):
        for type_ in individual.types:
            for word in individual.words:
                key = (type_, normalise(word.text))
                values.setdefault(key, NameLink(*key, individual.iri, 1.0, "value"))
    return values


def with_values(linking: Linking, values: Mapping[NameKey, NameLink]) -> Linking:
    """The map with `named_values`: what a document is seen through before it is linked.

    A value that is new to the workspace then stands for itself at once, and is not taken for a thing of its own.
    """
    names = Layers.of(linking.names)
    return replace(linking, names=names.changed({key: link for key, link in values.items() if key not in names}))


@dataclass(frozen=True, slots=True)
class _Made:
    """An entity, and the name of it from which the way to the others is counted."""

    entity: LinkedEntity
    main: Name


class _Minting:
    """Gives groups their classes, labels and IRIs; no IRI twice."""

    def __init__(self, ontology: Ontology, base: str, texts: Container[str]) -> None:
        self._ontology = ontology
        self._base = base
        self._texts = texts
        self._taken: set[NamedNode] = set()

    def entity(self, group: Group) -> _Made:
        type_ = self.type(group)
        labels = self._labels(group)
        main = min(group.names, key=lambda name: (name.known is None, -name.count, sort_key(name.key)))
        iri = min(group.known, key=lambda iri: iri.value) if group.known else self._iri(group, type_, labels)
        self._taken.add(iri)
        return _Made(LinkedEntity(iri, type_, labels), main)

    def type(self, group: Group) -> NamedNode:
        """The most specific class; of several that do not lie above one another, the one mentioned most."""
        counts: Counter[NamedNode] = Counter()
        for name in group.names:
            counts[name.type] += name.count
        lowest = [t for t in counts if not any(t != o and t in self._ontology.superclasses(o) for o in counts)]
        return min(lowest or counts, key=lambda iri: (-counts[iri], iri.value))

    def _labels(self, group: Group) -> tuple[Word, ...]:
        """In each language the name used most; where there is none, what the names are also called.

        What the graph itself calls an entity stays its label: another one in that language would be a second.
        """
        forms: dict[str, Counter[str]] = {"en": Counter(), "zh": Counter()}
        aliases: dict[str, Counter[str]] = {"en": Counter(), "zh": Counter()}
        fixed = {name.text for name in group.names if name.known}
        settled = {_language(text) for text in fixed}
        for name in group.names:
            for text, count in name.forms.items():
                if name.text in fixed or _language(text) not in settled:
                    forms[_language(text)][text] += count
            for text, count in name.aliases.items():
                if _language(text) not in settled and normalise(text) not in self._texts:
                    aliases[_language(text)][text] += count
        found = [Word(_most_used(forms[lang] or aliases[lang]), lang) for lang in forms if forms[lang] or aliases[lang]]
        return tuple(found) if any(forms.values()) else ()

    def _iri(self, group: Group, type_: NamedNode, labels: tuple[Word, ...]) -> NamedNode:
        texts = [word.text for word in labels] + [name.text for name in group.names]
        tried = [entity_iri(self._base, type_, text) for text in texts]
        tried += [entity_iri(self._base, name.type, name.text) for name in group.names]
        return next((iri for iri in tried if iri not in self._taken), tried[-1])


def _language(text: str) -> str:
    return "zh" if has_han(text) else "en"


def _most_used(texts: Counter[str]) -> str:
    return min(texts, key=lambda text: (-texts[text], -len(text), text))


def _links(group: Group, made: _Made) -> dict[NameKey, NameLink]:
    ways = ways_from(made.main.key, group.pairs)
    found: dict[NameKey, NameLink] = {}
    for name in group.names:
        if name.count:
            score, method = ways[name.key]
            if made.main.known and method == "exact":
                method = "known"
            found[name.key] = NameLink(*name.key, made.entity.iri, score, method)
    return found


def link_triples(linking: Linking, base: str, among: Container[NamedNode] | None = None) -> list[Triple]:
    """What was merged, as `core:Link` nodes with score and method, for ``graph/links``.

    ``among`` are the entities of the whole map, where this is a part of it.

    A link goes from the IRI that a name would have by itself to the entity it was taken for; that IRI is retired and
    says so (`dcterms:isReplacedBy`).
    """
    found: list[Triple] = []
    every = linking.entities if among is None else among
    for link in linking.names.values():
        own = entity_iri(base, link.type, link.name)
        if own == link.entity or own in every or link.method == "value":
            continue
        digest = hashlib.sha256(f"{own.value}\x1f{link.entity.value}".encode()).hexdigest()[:16]
        node = NamedNode(f"{base}link/{digest}")
        found += [
            Triple(node, TYPE, NamedNode(f"{CORE}Link")),
            Triple(node, NamedNode(f"{CORE}linkFrom"), own),
            Triple(node, NamedNode(f"{CORE}linkTo"), link.entity),
            Triple(node, NamedNode(f"{CORE}score"), Literal(repr(link.score), datatype=XSD_DOUBLE)),
            Triple(node, NamedNode(f"{CORE}method"), Literal(link.method)),
            Triple(own, NamedNode(f"{DCTERMS}isReplacedBy"), link.entity),
        ]
    return list(dict.fromkeys(found))
